// Inputs of a bound: a slider, a number or a text, and a switch for "no bound".

import { el } from "../lib/dom.js";
import { value as shown } from "../lib/format.js";

// bound: {name, doc, type, value, before, can_be_off}. scale: null without a histogram. move(name, value) is called for
// every change. Returns {node, draw}.
export function controls(bound, scale, move) {
  const whole = bound.type === "int", text = bound.type === "str";
  const slider = scale && el("input", {
    type: "range", min: 0, max: scale.positions, step: 1, "aria-label": `${bound.name}, slider`, "data-slider": bound.name,
    oninput: () => move(bound.name, typed(bound, scale.fromPosition(Number(slider.value)))),
  });
  const number = el("input", {
    ...(text ? { type: "text" } : { type: "number", step: whole ? 1 : "any", min: bound.min, max: bound.max }),
    "aria-label": bound.name, "data-number": bound.name,
    onchange: () => { if (text || number.value !== "") move(bound.name, text ? number.value : typed(bound, Number(number.value))); },
  });
  const off = bound.can_be_off && el("label", {},
    el("input", { type: "checkbox", "data-off": bound.name, onchange: (event) => move(bound.name, event.target.checked ? null : start(bound, scale)) }), " no bound");
  const reset = el("button", { type: "button", class: "reset", onclick: () => move(bound.name, bound.before) }, `run: ${bound.before === null ? "none" : shown(bound.before)}`);
  reset.setAttribute("aria-label", `${bound.name} as in the run`);
  const draw = () => {
    number.value = bound.value === null ? "" : String(bound.value);
    number.disabled = bound.value === null;
    if (slider) {
      slider.disabled = bound.value === null;
      slider.value = bound.value === null ? (bound.side === "low" ? 0 : scale.positions) : scale.position(bound.value);
      slider.setAttribute("aria-valuetext", bound.value === null ? "no bound" : shown(bound.value));
    }
    if (off) off.firstChild.checked = bound.value === null;
    reset.disabled = bound.value === bound.before;
  };
  const node = el("div", { class: "control" },
    el("div", { class: "row" }, el("strong", { title: bound.doc }, bound.name), number, off, reset),
    slider);
  return { node, draw };
}

function typed(bound, value) {
  return bound.type === "int" ? Math.round(value) : value;
}

// The value of a bound that is switched on: the end of the axis at which it removes nothing.
function start(bound, scale) {
  if (bound.before !== null) return bound.before;
  if (!scale) return typed(bound, bound.min ?? 0);
  return bound.side === "low" ? scale.fromPosition(0) : scale.fromPosition(scale.positions);
}
