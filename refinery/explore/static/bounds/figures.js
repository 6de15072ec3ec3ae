// Figures of the values that are tried: what is kept, what is removed, and by whom else.

import { el } from "../lib/dom.js";
import { bytes, count, percent } from "../lib/format.js";
import { name as named } from "../lib/texts.js";

// figures: of the server for the values; before: those of the run.
export function figures(about, now, before) {
  const row = (title, name, words) => line(title, now[name], before[name], about.reached, words);
  return [
    el("table", { class: "amounts" },
      el("caption", {}, `Of ${count(about.reached.rows)} samples that reached step ${about.step}`),
      el("thead", {}, el("tr", {}, ["", "rows", "", "bytes", "against the run"].map((title) => el("th", { scope: "col" }, title)))),
      el("tbody", {},
        row("kept by this filter", "alone"),
        row("kept by all steps", "together", "bytes as exported"),
        (now.unsure.rows > 0 || before.unsure.rows > 0) && row("not known", "unsure"),
        row("removed", "removed"),
        row("… by no other step", "only_here"),
        now.unknown.rows > 0 && row("… others unknown", "unknown"))),
    now.unsure.rows > 0 && note("not known: this filter removed them in the run, so later steps have not decided about them."),
    now.unknown.rows > 0 && note("others unknown: removed here in the run, too, so that later steps have not seen them."),
    removals("Also removed by", now.others, (name) => `step ${name} ${about.steps[name] ?? ""}`),
    removals("Reasons", now.reasons, (name) => name),
    missing(about),
    about.notes.map(note),
  ];
}

function line(title, amount, before, reached, words) {
  const change = Number(amount.rows) - Number(before.rows);
  return el("tr", { "data-figure": title },
    el("th", { scope: "row" }, title),
    el("td", { class: "number rows" }, count(amount.rows)),
    el("td", { class: "number muted" }, percent(Number(amount.rows), Number(reached.rows))),
    el("td", { class: "number", title: words }, bytes(amount.bytes)),
    el("td", { class: "number change" }, change ? `${change > 0 ? "+" : "−"}${count(Math.abs(change))}` : "same"));
}

function note(text) {
  return el("p", { class: "note" }, text);
}

function removals(title, listed, name) {
  if (!listed.length) return null;
  const items = listed.slice(0, 12).map((one) => el("li", {}, named(name(one.name)), `: ${count(one.rows)} rows, ${bytes(one.bytes)}`));
  return [el("h3", {}, title), el("ul", { class: "removals" }, items),
    listed.length > 12 && note(`and ${count(listed.length - 12)} more`)];
}

function missing(about) {
  const parts = [];
  if (about.removed_before) parts.push(`${count(about.removed_before)} were removed by earlier steps`);
  if (about.quarantined) parts.push(`${count(about.quarantined)} are in quarantine`);
  if (!parts.length) return null;
  return note(`Unknown: of ${count(about.rows)} rows read, ${parts.join(" and ")}; they have no statistic and are not counted here.`);
}
