// The state of the page in its address: `#/<view>/<rest>?name=value`. An address can be shared and kept.

// The state of the current address: {view, rest, values}; values is a plain object of texts.
export function read() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [view, ...rest] = path.split("/").map(decoded);
  return { view, rest: rest.join("/"), values: Object.fromEntries(new URLSearchParams(query || "")) };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// The address of a view: link("samples", {step: 3}), link("samples/42").
export function link(path, values = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== null && value !== "") query.set(name, String(value));
  }
  const text = query.toString();
  return `#/${path.split("/").map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

// Change values of the address without showing the view anew; null removes one.
export function keep(changes) {
  const { view, rest, values } = read();
  history.replaceState(null, "", link(rest ? `${view}/${rest}` : view, { ...values, ...changes }));
}

// Change values of the address, and show the view with them.
export function go(changes) {
  const { view, rest, values } = read();
  location.hash = link(rest ? `${view}/${rest}` : view, { ...values, ...changes });
}
