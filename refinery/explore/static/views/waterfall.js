// View `waterfall`: what each step left of rows or bytes, with reasons.

import { get } from "../lib/api.js";
import { add, el } from "../lib/dom.js";
import { bytes, count, percent } from "../lib/format.js";
import { go, link } from "../lib/state.js";
import { name } from "../lib/texts.js";

export async function show(page) {
  const data = await get("waterfall", {}, page.signal);
  const by = page.values.by === "bytes" ? "bytes" : "rows";
  page.keys([["b", "rows or bytes", () => go({ by: by === "rows" ? "bytes" : "rows" })]]);
  const whole = Math.max(1, ...data.steps.map((step) => amounts(step, by).before));
  const steps = data.steps.map((step) => stepItem(step, by, whole, data.reasons.filter((reason) => reason.step === step.step)));
  add(page.root,
    el("h1", {}, "Waterfall"),
    el("p", {}, summary(data.run)),
    data.run.unread > 0 && el("p", { class: "note" }, `${count(data.run.unread)} rows could not be read; they came to no step.`),
    chooser(by),
    el("ol", { class: "steps" }, steps));
}

function summary(run) {
  return `${count(run.rows_read)} rows read = ${count(run.rows_kept)} kept + ${count(run.rows_removed)} removed + `
    + `${count(run.rows_quarantined)} quarantined`;
}

function chooser(by) {
  const option = (name, title) => el("label", {},
    el("input", { type: "radio", name: "by", checked: by === name, onchange: () => go({ by: name }) }), ` ${title}`);
  return el("fieldset", { class: "row chooser" }, el("legend", {}, "Bars show"), option("rows", "rows"), option("bytes", "bytes of text"));
}

function amounts(step, by) {
  const before = Number(by === "rows" ? step.rows_in : step.bytes_in), after = Number(by === "rows" ? step.rows_out : step.bytes_out);
  return { before, after, lost: before - after };
}

function stepItem(step, by, whole, reasons) {
  const { before, after, lost } = amounts(step, by);
  const shown = by === "rows" ? count : bytes;
  const label = step.name ? `${step.name} (${step.operator})` : step.operator;
  const title = step.kind === "filter" ? el("a", { href: link("bounds", { step: step.step }) }, name(label)) : name(label);
  return el("li", { value: step.step },
    el("div", { class: "line" },
      el("span", { class: "label" }, title),
      el("span", { class: "bar", "aria-hidden": "true" }, part("kept", after, whole), part("removed", Math.max(0, lost), whole)),
      el("span", { class: "figures" }, `${shown(after)} of ${shown(before)}`)),
    el("div", { class: "about muted" }, facts(step, by, lost, before)),
    reasons.length > 0 && reasonList(reasons));
}

function part(name, amount, whole) {
  return el("span", { class: name, style: { width: `${(100 * amount) / whole}%` } });
}

function facts(step, by, lost, before) {
  const rows = (number, title, values) => (number ? el("a", { href: link("samples", values) }, `${count(number)} ${title}`) : null);
  const removed = rows(step.removed, "removed", { fate: "removed", step: step.step });
  const changed = rows(step.changed, "changed", { changed: step.step });
  const quarantined = rows(step.quarantined, "quarantined", { fate: "quarantined", step: step.step });
  const size = by === "bytes" && lost ? `${lost > 0 ? bytes(lost) : `-${bytes(-lost)}`} less (${percent(lost, before)})` : null;
  const share = by === "rows" && lost ? percent(lost, before) : null;
  const known = [removed, changed, quarantined, share, size, `${step.seconds.toFixed(2)} s`].filter(Boolean);
  return known.map((fact, at) => [at > 0 && " · ", fact]);
}

function reasonList(reasons) {
  const items = reasons.map((reason) => el("li", {}, `${count(reason.rows)} rows, ${bytes(reason.bytes)} as read: `,
    reason.reason === null ? el("a", { href: link("clusters", { step: reason.step }) }, "duplicates of other samples")
      : el("a", { href: link("samples", { step: reason.step, reason: reason.reason }) }, name(reason.reason))));
  return el("details", { open: reasons.length <= 4 }, el("summary", {}, `${count(reasons.length)} ${reasons.length === 1 ? "reason" : "reasons"}`), el("ul", {}, items));
}
