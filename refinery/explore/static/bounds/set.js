// A list of values as tick boxes, with what the run kept and removed of each value.

import { el } from "../lib/dom.js";
import { bytes, count } from "../lib/format.js";
import { name } from "../lib/texts.js";

const FATES = [["kept", "kept"], ["here", "removed here"], ["later", "removed by another step"]];

// bound: {name, doc, value, before, choices}; move(name, value) is called for every change. Returns {node, draw}.
export function setTable(bound, move) {
  const boxes = bound.choices.map((choice) => el("input", {
    type: "checkbox", "aria-label": `${bound.name} ${choice.value}`, "data-member": String(choice.value),
    onchange: (event) => move(bound.name, changed(bound, choice.value, event.target.checked)),
  }));
  const reset = el("button", { type: "button", class: "reset", "aria-label": `${bound.name} as in the run`, onclick: () => move(bound.name, bound.before) }, "as in the run");
  const draw = () => {
    boxes.forEach((box, at) => { box.checked = bound.value.includes(bound.choices[at].value); });
    reset.disabled = bound.value === bound.before;
  };
  const rows = bound.choices.map((choice, at) => el("tr", {},
    el("td", {}, boxes[at]), el("th", { scope: "row" }, name(String(choice.value))),
    FATES.map(([fate]) => [el("td", { class: "number" }, count(choice[fate])), el("td", { class: "number muted" }, bytes(choice[`${fate}_bytes`]))])));
  const titles = ["in the list", "value", ...FATES.flatMap(([, title]) => [title, "bytes"])];
  const node = el("div", { class: "control" },
    el("div", { class: "row" }, el("strong", { title: bound.doc }, bound.name), reset),
    el("div", { class: "scroll" }, el("table", {},
      el("thead", {}, el("tr", {}, titles.map((title) => el("th", { scope: "col" }, title)))), el("tbody", {}, rows))));
  return { node, draw };
}

// The list with or without a value: that of the run where it has the same members, so that it counts as unchanged.
function changed(bound, member, ticked) {
  const value = bound.value.filter((one) => one !== member).concat(ticked ? [member] : []);
  const same = value.length === bound.before.length && bound.before.every((one) => value.includes(one));
  return same ? bound.before : value;
}
