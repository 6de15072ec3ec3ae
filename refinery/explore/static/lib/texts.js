// Texts of documents and names as elements: characters that cannot be seen, or that turn the direction, are spelled out.

import { el } from "./dom.js";
import { count } from "./format.js";

// Controls, format characters, line separators, noncharacters; joiners of letters and emoji stay.
const HIDDEN = /(?![\t\n\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}\p{Cs}]/gu;
// In a change, which may consist of white space alone.
const HIDDEN_EVERYWHERE = /(?! )[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}\p{Noncharacter_Code_Point}\p{Cs}]/gu;
// Characters around a change, and those of a text that are shown at first.
const CONTEXT = 120, MOST = 100000;

function code(character) {
  return `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}

// A name on one line, as text: for options of a list, titles, labels.
export function plain(text) {
  return String(text).replace(HIDDEN_EVERYWHERE, (character) => (character === "\u00a0" ? " " : `[${code(character)}]`));
}

// A name or a reason within a sentence; its direction does not turn that of the sentence.
export function name(text) {
  return el("bdi", {}, visible(text));
}

// Nodes of a text. every: also line ends, tabs and special spaces are marked.
export function visible(text, every = false) {
  const nodes = [], pattern = every ? HIDDEN_EVERYWHERE : HIDDEN;
  let last = 0;
  for (const match of String(text).matchAll(pattern)) {
    nodes.push(text.slice(last, match.index));
    const sign = { "\n": "↵", "\t": "⇥" }[match[0]];
    nodes.push(el("i", { class: "hidden" }, sign || code(match[0])), sign && match[0]);
    last = match.index + match[0].length;
  }
  return [...nodes, String(text).slice(last)];
}

// Nodes of a text in which words are marked, with any letter case.
export function marked(text, words) {
  const wanted = words.filter(Boolean).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (!wanted.length) return visible(text);
  const parts = text.split(new RegExp(`(${wanted.join("|")})`, "giu"));
  return parts.map((part, at) => (at % 2 ? el("mark", {}, visible(part)) : visible(part)));
}

// Words and phrases of a search, as the server reads them.
export function wordsOf(search) {
  return [...(search || "").matchAll(/"([^"]+)"|(\S+)/g)].map((match) => match[1] || match[2]);
}

// A whole text in a box; a very long one is completed on request.
export function textBox(text, label, nodes = visible) {
  const box = el("div", { class: "text box", dir: "auto", tabindex: "0", role: "region", "aria-label": label }, nodes(text.slice(0, MOST)));
  if (text.length > MOST) box.append(more(text.length - MOST, () => nodes(text.slice(MOST)), "the other"));
  return box;
}

function more(characters, nodes, which) {
  return el("button", { type: "button", class: "more", onclick: (event) => event.target.replaceWith(...flat(nodes())) },
    `${which} ${count(characters)} characters`);
}

function flat(nodes) {
  return [nodes].flat(Infinity).filter((node) => node !== undefined && node !== null && node !== false);
}

// A difference, from pieces [kind, text] with the kinds "=", "-" and "+", and "…" with the number of characters left out.
// whole: also what is equal in both texts.
export function diffBox(pieces, whole, label) {
  const last = pieces.length - 1;
  const nodes = pieces.map(([kind, text], at) => {
    if (kind === "-") return el("del", {}, long(text, true));
    if (kind === "+") return el("ins", {}, long(text, true));
    if (kind === "…") return el("span", { class: "muted" }, ` … ${count(Number(text))} equal characters … `);
    return whole ? long(text, false) : around(text, at > 0, at < last);
  });
  return el("div", { class: "text box diff", dir: "auto", tabindex: "0", role: "region", "aria-label": label }, nodes);
}

function long(text, every) {
  const rest = text.length > MOST && more(text.length - MOST, () => visible(text.slice(MOST), every), "the other");
  return [...visible(text.slice(0, MOST), every), rest];
}

// The ends of an equal piece that touch a change.
function around(text, before, after) {
  const start = before ? CONTEXT : 0, end = after ? CONTEXT : 0, left = text.length - start - end;
  if (left <= CONTEXT) return visible(text);
  const middle = text.slice(start, text.length - end);
  return [...visible(text.slice(0, start)), more(left, () => long(middle, false), "…"), ...visible(text.slice(text.length - end))];
}

// True if a difference changes anything.
export function differs(pieces) {
  return pieces.some(([kind]) => kind !== "=");
}
