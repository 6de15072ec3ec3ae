// Parts of a statistic besides its histogram: the legend, and values that are no numbers.

import { el } from "../lib/dom.js";
import { count } from "../lib/format.js";
import { name } from "../lib/texts.js";

export function legend() {
  const part = (name, text) => el("span", {}, el("i", { class: `key ${name}` }), text);
  return el("p", { class: "row legend muted" }, part("kept", "kept"), part("here", "removed by this filter in the run"), part("later", "removed by another step"));
}

export function valueList(statistic) {
  const rows = statistic.values.map((one) => el("tr", {}, el("th", { scope: "row" }, one.value === null ? "NULL" : name(one.value)),
    ["samples", "kept", "here", "later"].map((name) => el("td", { class: "number" }, count(one[name])))));
  return el("div", { class: "scroll" }, el("table", {},
    el("thead", {}, el("tr", {}, ["value", "samples", "kept", "removed here", "removed by another step"].map((title) => el("th", { scope: "col" }, title)))),
    el("tbody", {}, rows)));
}
