// One sample: its whole way through the steps, with differences word by word.

import { get } from "../../lib/api.js";
import { add, el } from "../../lib/dom.js";
import { count, value as figure } from "../../lib/format.js";
import { go, link } from "../../lib/state.js";
import { diffBox, differs, name, plain, textBox } from "../../lib/texts.js";
import { listValues } from "./values.js";

export async function showSample(page) {
  const sample = await get(`samples/way/${encodeURIComponent(page.rest)}`, {}, page.signal);
  const whole = page.values.text !== "changes";
  const at = (row) => link(`samples/${row}`, { ...page.values, at: null });
  const back = link("samples", { ...page.values, text: null, at: null });
  const following = el("a", { hidden: true }, "Next in the list");
  followList(page, following);
  page.title(`Row ${sample.row}`);
  page.keys([
    ["u", "back to the list", () => { location.hash = back; }],
    ["n", "next row: of the list, or of the input", () => {
      if (!following.hidden) following.click();
      else if (page.values.at === undefined && sample.row < sample.last) location.hash = at(sample.row + 1);
    }],
    ["p", "row before: the last one shown, or of the input", () => {
      if (page.values.at !== undefined) history.back();
      else if (sample.row > 0) location.hash = at(sample.row - 1);
    }],
    ["w", "whole texts or changes", () => go({ text: whole ? "changes" : null })],
  ]);
  add(page.root,
    el("p", { class: "row" }, el("a", { href: back }, "Samples"),
      sample.row > 0 && el("a", { href: at(sample.row - 1) }, "Row before"),
      sample.row < sample.last && el("a", { href: at(sample.row + 1) }, "Next row"), following),
    el("h1", {}, `Row ${count(sample.row)}: `, el("span", { class: `fate ${sample.fate}` }, sample.fate)),
    el("p", {}, name(sample.file)),
    sample.why_not ? recorded(sample) : ending(sample),
    sample.raw && raw(sample.raw),
    sample.fields.length > 0 && chooser(whole),
    sample.fields.map((field) => fieldPart(field, whole)),
    sample.events.length > 0 && el("h2", {}, "Steps"),
    el("ol", { class: "steps" }, sample.events.map((event) => eventItem(event, sample))),
    sample.sample !== null && record(sample.sample));
}

// The row behind this one in the list that it was opened from.
async function followList(page, following) {
  if (page.values.at === undefined) return;
  let answer;
  try {
    answer = await get("samples", { ...listValues(page.values), after: page.values.at, limit: 1 }, page.signal);
  } catch {
    return;  // the list itself says what is wrong
  }
  const [row] = answer.rows;
  if (!row) return;
  following.href = link(`samples/${row.row}`, { ...page.values, at: row.cursor });
  following.hidden = false;
}

function ending(sample) {
  const last = sample.events.find((event) => event.fate === "removed" || event.fate === "quarantined");
  if (!last) return sample.error && el("p", { class: "error" }, name(sample.error));
  return el("p", {}, `${last.fate} by step ${last.step} `, name(last.name || last.operator), ": ", name(last.reason || sample.error || ""), figures(last));
}

// What the tables say of a row that cannot be recomputed.
function recorded(sample) {
  const known = sample.recorded;
  return [
    el("p", { class: "error", role: "alert" }, "The sample cannot be read: ", name(sample.why_not)),
    known.reason && el("p", {}, known.step ? `${known.fate} by step ${known.step} ${plain(known.operator)}: ` : `${known.fate}: `, name(known.reason), figures(known),
      known.kept_instead !== null && [" – stays instead: ", el("a", { href: link(`samples/${known.kept_instead}`) }, `row ${count(known.kept_instead)}`)]),
  ];
}

function figures(event) {
  if (event.value === null) return null;
  return ` (${figure(event.value)}${event.bound === null ? "" : `, bound ${figure(event.bound)}`})`;
}

function raw(line) {
  const text = line.raw === null ? line.raw_bytes : line.raw;
  return [el("h2", {}, "Raw line"), textBox(text || "", "Raw line")];
}

function chooser(whole) {
  const option = (value, title) => el("label", {},
    el("input", { type: "radio", name: "text", checked: whole === (value === "whole"), onchange: () => go({ text: value === "whole" ? null : value }) }), ` ${title}`);
  return el("fieldset", { class: "row" }, el("legend", {}, "Texts"), option("whole", "whole"), option("changes", "changes only"));
}

function fieldPart(field, whole) {
  const changed = differs(field.diff);
  const note = changed ? `before and after; changed by ${field.changed_by.length === 1 ? "step" : "steps"} ${field.changed_by.join(", ")}` : "not changed";
  const text = field.diff.map(([, piece]) => piece).join("");
  return el("section", {}, el("h2", {}, name(field.field), " ", el("span", { class: "muted" }, note)),
    changed ? diffBox(field.diff, whole, `Difference of ${plain(field.field)}`) : textBox(text, plain(field.field)));
}

function eventItem(event, sample) {
  const cluster = sample.clusters.find((one) => one.step === event.step);
  return el("li", { value: event.step, class: `event ${event.fate.replace(" ", "-")}` },
    el("div", { class: "row" },
      el("strong", {}, name(event.name ? `${event.name} (${event.operator})` : event.operator)),
      el("span", { class: `fate ${event.fate}` }, event.fate),
      event.reason && el("span", {}, name(event.reason), figures(event)),
      el("span", { class: "muted" }, plain(event.where))),
    event.stats && Object.keys(event.stats).length > 0 && el("div", { class: "muted" }, stats(event.stats)),
    event.diff && el("details", { open: true }, el("summary", {}, "what it changed"), diffBox(event.diff, false, `Change by step ${event.step}`)),
    event.units && event.units.length > 0 && units(event.units),
    event.duplicate && duplicate(event, sample),
    cluster && el("div", {}, el("a", { href: link("clusters", { step: event.step, cluster: cluster.cluster, row: sample.row }) },
      `cluster of ${count(cluster.size)} samples, side by side`)));
}

function stats(values) {
  return Object.entries(values).map(([key, value], at) => [at > 0 && " · ", name(key), ` ${plain(typeof value === "object" && value !== null ? JSON.stringify(value) : figure(value))}`]);
}

function units(list) {
  const items = list.map((unit) => el("li", {}, `${unit.kind} ${unit.unit + 1}, `, name(unit.matched), ": ",
    unit.text === null ? "" : el("del", {}, name(unit.text)),
    unit.first !== null && [" – first in ", el("a", { href: link(`samples/${unit.first}`) }, `row ${count(unit.first)}`), unit.file && [" ", name(unit.file)]]));
  return el("details", { open: true }, el("summary", {}, `${count(list.length)} parts taken out`), el("ul", {}, items));
}

function duplicate(event, sample) {
  const { kept, kept_in_index: index, via, matched } = event.duplicate;
  const to = (other) => [el("a", { href: link(`samples/${other.row}`) }, `row ${count(other.row)}`), " ", name(other.file)];
  const numbers = [
    event.duplicate.jaccard !== null && `Jaccard similarity ${figure(event.duplicate.jaccard)}`,
    event.duplicate.estimated_jaccard !== null && `estimated Jaccard similarity ${figure(event.duplicate.estimated_jaccard)}`,
    event.duplicate.distance !== null && `${event.duplicate.distance} bits of SimHash differ`,
  ].filter(Boolean).join(", ");
  const nearest = via || kept;
  return el("ul", {},
    kept && el("li", {}, "stays instead: ", to(kept)),
    index && el("li", {}, "stays instead, in an index: ", name(index)),
    via && el("li", {}, "matches directly: ", to(via)),
    el("li", {}, "match: ", name(matched), numbers && `; ${numbers}`),
    nearest && nearest.shared && el("li", {}, `${count(nearest.shared.count)} shared shingles of ${count(nearest.shared.here)} here and ${count(nearest.shared.there)} there`),
    nearest && el("li", {}, el("a", { href: link("clusters", { step: event.step, row: sample.row, left: nearest.row, right: sample.row }) }, "texts side by side")));
}

function record(sample) {
  const rows = Object.entries(sample).map(([key, value]) => [
    el("dt", {}, name(key)),
    el("dd", {}, typeof value === "string" ? textBox(value, plain(key)) : name(JSON.stringify(value)))]);
  return el("details", { class: "record" }, el("summary", {}, "The sample as it was read"), el("dl", {}, rows));
}
