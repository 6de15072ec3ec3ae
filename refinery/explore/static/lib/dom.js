// Elements without HTML: every text becomes a text node, so a document never runs as code.

const SVG = "http://www.w3.org/2000/svg";

// An element. attributes: `on*` are listeners, `class` and others are set as attributes, true and false switch them;
// `value` and `checked` of inputs are properties. children: elements, texts, numbers, or lists of them; null is left out.
export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

// An element of a drawing.
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") element[name] = value;
    else if (name === "style") Object.assign(element.style, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(element, child);
    else if (child instanceof Node) element.append(child);
    else if (child !== null && child !== undefined && child !== false) element.append(document.createTextNode(String(child)));
  }
}

// Put children behind an element's content.
export function add(element, ...children) {
  append(element, children);
}

// Put children in the place of an element's content.
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

// A table that scrolls within itself. columns: {title, cell(row), number: true for figures}.
export function table(columns, rows, caption) {
  const head = el("tr", {}, columns.map((column) => el("th", { scope: "col", class: column.number && "number" }, column.title)));
  const body = rows.map((row) =>
    el("tr", {}, columns.map((column) => el("td", { class: column.number && "number" }, column.cell(row)))));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", {}, el("caption", {}, caption), el("thead", {}, head), el("tbody", {}, body)));
}
