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

// Changes of the address that are not written yet: browsers refuse more than some changes a second.
let waiting = null;

// Change values of the address without showing the view anew; null removes one.
export function keep(changes) {
  if (waiting) Object.assign(waiting.changes, changes);
  else waiting = { changes: { ...changes }, hash: location.hash, timer: setTimeout(flush, 100) };
}

// Write the changes that wait, now.
export function flush() {
  if (!waiting) return;
  const { changes, hash, timer } = waiting;
  clearTimeout(timer);
  waiting = null;
  if (hash !== location.hash) return; // another view is shown now
  const { view, rest, values } = read();
  history.replaceState(null, "", link(rest ? `${view}/${rest}` : view, { ...values, ...changes }));
}

// Change values of the address, and show the view with them.
export function go(changes) {
  flush();
  const { view, rest, values } = read();
  location.hash = link(rest ? `${view}/${rest}` : view, { ...values, ...changes });
}
