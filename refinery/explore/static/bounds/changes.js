// Changes of filters in the address, `c.<step>.<parameter>=value`; they stay while one goes from filter to filter.

import { flush, link, read } from "../lib/state.js";

// The address of a filter, with the changes among some values of an address.
export function linkTo(step, values) {
  const changes = Object.entries(values).filter(([name]) => name.startsWith("c."));
  return link("bounds", { ...Object.fromEntries(changes), step });
}

// Show another filter.
export function choose(step) {
  flush();
  location.hash = linkTo(step, read().values);
}

// The changes among the values of an address: {step: {parameter: value}}.
export function changesOf(values) {
  const changes = {};
  for (const [name, text] of Object.entries(values)) {
    const match = /^c\.(\d+)\.(.+)$/.exec(name);
    if (match) (changes[match[1]] ??= {})[match[2]] = parsed(text);
  }
  return changes;
}

// The text that stands for a value in an address; texts are in quotes, since one may look like a number, lists in brackets.
export function written(value) {
  if (value === null) return "none";
  return typeof value === "string" || Array.isArray(value) ? JSON.stringify(value) : value;
}

function parsed(text) {
  if (/^(".*"|\[.*\])$/s.test(text)) {
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }
  if (text === "none") return null;
  if (text === "true" || text === "false") return text === "true";
  return text.trim() === "" || Number.isNaN(Number(text)) ? text : Number(text);
}
