// View `profile`: fields of the input, and what in them deserves a look.

import { get } from "../lib/api.js";
import { add, el, fill } from "../lib/dom.js";
import { count, percent, value as figure } from "../lib/format.js";
import { listKeys } from "../lib/list.js";
import { link } from "../lib/state.js";
import { name, plain } from "../lib/texts.js";

// Seconds of reading before the reader is asked.
const ROUNDS = 3;
const KINDS = {
  constant: "one value", missing: "missing", mixed: "mixed kinds", skewed: "skewed", lost: "lost more than half", short: "short texts", long: "long texts",
};

export async function show(page) {
  const status = el("p", { role: "status" }), remarks = el("section", {}), fields = el("section", {});
  add(page.root, el("h1", {}, "Fields of the input"), status, remarks, fields);
  page.keys(listKeys(page.root, "a.open"));
  const parts = { status, remarks, fields };
  const answer = await get("profile", {}, page.signal);
  draw(parts, answer, page);
  readOn(page, parts, answer, ROUNDS - 1);
}

async function readOn(page, parts, answer, rounds) {
  try {
    while (!answer.done && rounds > 0) {
      answer = await get("profile", {}, page.signal);
      rounds -= 1;
      draw(parts, answer, page);
    }
  } catch (error) {
    if (error.name !== "AbortError") fill(parts.status, el("span", { class: "error", role: "alert" }, error.message));
    return;
  }
  if (!answer.done) {
    add(parts.status, " ", el("button", { type: "button", onclick: () => readOn(page, parts, answer, 10) }, "Read on"));
  }
}

function draw(parts, answer, page) {
  fill(parts.status, answer.why_not ? ["The fields cannot be read: ", name(answer.why_not)] : progress(answer));
  fill(parts.remarks, el("h2", {}, "Look here"), answer.remarks.length
    ? el("ul", { class: "remarks" }, answer.remarks.map(remark))
    : el("p", {}, "Nothing stands out."));
  fill(parts.fields, answer.fields.length > 0 && el("h2", {}, "Fields"), el("div", { class: "grid" }, answer.fields.map((field) => card(field, answer))));
}

function progress(answer) {
  const rows = answer.read + answer.unreadable;
  const part = answer.done ? `All ${count(answer.total)} rows were read` : `${count(rows)} of ${count(answer.total)} rows were read (${percent(rows, answer.total)}), by pieces from all over the input`;
  return [part, answer.unreadable > 0 && `, ${count(answer.unreadable)} of them are no samples`, answer.more_fields && "; only the first 500 fields are listed", "."];
}

function remark(one) {
  const filter = Object.keys(one.rows).length > 0;
  return el("li", {}, el("strong", {}, KINDS[one.kind] || one.kind), " ",
    filter ? el("a", { class: "open", href: link("samples", one.rows) }, name(one.subject)) : name(one.subject), ": ", name(one.remark));
}

function card(field, answer) {
  const text = answer.read - field.missing;
  return el("section", { class: "box" },
    el("h3", {}, name(field.name), " ", el("code", { class: "muted" }, name(short(field.type)))),
    el("dl", {},
      fact("present", `${count(text)} (${percent(text, answer.read)})`),
      field.missing > 0 && fact("missing", el("a", { href: link("samples", { field: field.name, how: "missing" }) }, `${count(field.missing)} (${percent(field.missing, answer.read)})`)),
      field.kinds.length > 1 && fact("kinds", field.kinds.map(([kind, rows]) => `${kind} ${count(rows)}`).join(", ")),
      field.shortest && fact("length", [rowAt(field.shortest), " to ", rowAt(field.longest), `, about ${count(field.median_length)} in the middle`]),
      field.least !== null && fact("range", `${figure(field.least)} to ${figure(field.greatest)}`),
      fact("values", field.distinct === null ? "more than 1,000, or long ones" : `${count(field.distinct)} different`)),
    shown(field) && categories(field, field.values, "is", "value"),
    field.hosts.length > 0 && categories(field, field.hosts, "host", "host"),
    el("details", {}, el("summary", {}, "Examples"), el("ul", {}, field.examples.map(([row, example]) =>
      el("li", {}, el("a", { href: link(`samples/${row}`) }, `row ${count(row)}`), " ", name(example))))));
}

function linked(field, how, value) {
  const shownAs = name(value === "" ? "(empty)" : value);
  return how === "host" || (field.comparable && value !== "") ? el("a", { href: link("samples", { field: field.name, how, what: value }) }, shownAs) : shownAs;
}

function short(type) {
  return type.length > 60 ? `${type.slice(0, 60)}…` : type;
}

// Values that repeat are categories; numbers of rows that differ everywhere are none.
function shown(field) {
  return field.values.length > 0 && field.distinct < field.present / 2;
}

function fact(title, value) {
  return [el("dt", {}, title), el("dd", {}, value)];
}

function rowAt([length, row]) {
  return el("a", { href: link(`samples/${row}`), title: `row ${row}` }, count(length));
}

function categories(field, values, how, title) {
  const most = Math.max(1, ...values.map(([, rows]) => rows));
  const items = values.slice(0, 8).map(([value, rows, lost]) => el("li", {},
    el("span", { class: "bar", "aria-hidden": "true" },
      el("span", { class: "kept", style: { width: `${(100 * (rows - lost)) / most}%` } }),
      el("span", { class: "removed", style: { width: `${(100 * lost) / most}%` } })),
    linked(field, how, value),
    ` ${count(rows)}`, lost > 0 && el("span", { class: "muted" }, `, ${count(lost)} not kept`)));
  return el("details", { open: true }, el("summary", {}, `Most frequent by ${title}`), el("ul", { class: "values" }, items));
}
