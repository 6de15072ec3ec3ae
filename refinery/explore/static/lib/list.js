// A list through which j and k move: its items have links, and Enter follows the focused one.

// Keys of a view for the links of `root` with a selector. more: further keys.
export function listKeys(root, selector, more = []) {
  const move = (by) => {
    const links = [...root.querySelectorAll(selector)];
    if (!links.length) return;
    const at = links.indexOf(document.activeElement.closest ? document.activeElement.closest(selector) : null);
    const next = at < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + by));
    links[next].focus();
    links[next].scrollIntoView({ block: "nearest" });
  };
  return [["j", "next item", () => move(1)], ["k", "item before", () => move(-1)], ...more];
}
