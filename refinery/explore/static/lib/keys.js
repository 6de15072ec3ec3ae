// Keys: those of the shell, and those of the view that is shown. `?` lists them.

const layers = { shell: new Map(), view: new Map() };

// Set the keys of a layer, "shell" or "view": [[key, what it does, action], ...]. Keys as KeyboardEvent.key has them.
export function useKeys(layer, keys) {
  layers[layer] = new Map(keys.map(([key, about, action]) => [key, { about, action }]));
}

// All keys with what they do.
export function listed() {
  return [...layers.view, ...layers.shell].map(([key, { about }]) => [key, about]);
}

function typing(target) {
  return target.isContentEditable || target.tagName === "TEXTAREA" || target.tagName === "SELECT"
    || (target.tagName === "INPUT" && !["range", "checkbox", "radio", "button"].includes(target.type));
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (typing(event.target) && event.key !== "Escape") return;
  if (document.querySelector("dialog[open]")) return;
  const entry = layers.view.get(event.key) || layers.shell.get(event.key);
  if (!entry) return;
  if (["Enter", " "].includes(event.key) && event.target.closest("a, button, summary, input")) return;
  event.preventDefault();
  entry.action(event);
});
