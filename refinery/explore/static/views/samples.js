// View `samples`: rows by outcome, statistic, source and words; one of them with its whole way.

import { get } from "../lib/api.js";
import { add, el, fill } from "../lib/dom.js";
import { bytes, count, value as figure } from "../lib/format.js";
import { listKeys } from "../lib/list.js";
import { go, link } from "../lib/state.js";
import { marked, name, plain, wordsOf } from "../lib/texts.js";
import { showSample } from "./sample/page.js";
import { CHOOSING, LISTED, listValues } from "./sample/values.js";

// Values that the form does not have: rows by their outcome in two runs.
const COMPARED = ["with", "a", "b"];


export async function show(page) {
  if (page.rest) return showSample(page);
  const choices = await get("samples/choices", {}, page.signal);
  const list = el("ol", { class: "rows", "aria-label": "Samples" });
  const status = el("p", { role: "status", class: "status" }), note = el("div", {});
  const more = el("p", { class: "row" });
  const form = filterForm(page, choices);
  add(page.root, el("h1", {}, "Samples"), compared(page.values), form, status, note, list, more);
  page.keys(listKeys(list, "a.open", [
    ["/", "search", () => form.querySelector("#q").focus()],
    ["l", "next page", () => more.querySelector("a.next")?.click()],
  ]));
  fillFields(page, form, choices.text_key);
  follow(page, choices, { list, status, note, more });
}

// Says that only rows with some outcome in either run are listed.
function compared(values) {
  if (values.with === undefined) return null;
  return el("p", {}, "Only rows that were ", el("strong", {}, name(values.a)), " in this run and ", el("strong", {}, name(values.b)),
    " in the run that it is compared with. ", el("a", { href: link("compare", { with: values.with }) }, "Compare"));
}

// Show the page of rows, and go on with a search until it is done or stopped.
async function follow(page, choices, parts) {
  const values = { ...listValues(page.values), after: page.values.after };
  let shown = null, stopped = false;
  const run = async () => {
    stopped = false;
    for (;;) {
      let answer;
      try {
        answer = await get("samples", values, page.signal);
      } catch (error) {
        if (error.name !== "AbortError") fill(parts.status, el("span", { class: "error", role: "alert" }, error.message));
        return;
      }
      const listed = JSON.stringify(answer.rows);
      if (listed !== shown) showRows(page, choices, parts, answer);
      shown = listed;
      showNext(page, parts.more, answer);
      showStatus(parts.status, answer, stopped, () => { stopped = true; }, run);
      if (!answer.search || answer.search.done || stopped) return;
    }
  };
  await run();
}

function showStatus(status, answer, stopped, stop, goOn) {
  const rows = `${count(answer.total)} ${answer.total === 1 ? "row" : "rows"}`;
  if (!answer.search) {
    fill(status, rows);
    return;
  }
  const { searched, candidates, done, matches } = answer.search;
  const part = `searched ${count(searched)} of ${count(candidates)} rows as they stand in the input: ${count(matches)} match`;
  const button = done ? null : el("button", { type: "button", onclick: stopped ? goOn : stop }, stopped ? "Go on" : "Stop");
  fill(status, done ? `${rows}; ${part}` : `${part} so far `, button);
}

function showNext(page, more, answer) {
  const values = { ...page.values };
  fill(more,
    page.values.after && el("a", { href: link("samples", { ...values, after: null }) }, "First page"),
    answer.next && el("a", { class: "next", href: link("samples", { ...values, after: answer.next }) }, "Next page"));
}

function showRows(page, choices, parts, answer) {
  const labels = new Map(choices.steps.map((step) => [step.step, stepLabel(step)]));
  const items = answer.rows.map((row) => rowItem(page, row, labels));
  fill(parts.list, items.map((item) => item.element));
  showTexts(page, items, parts.note);
}

// Texts come later and in pieces: reading them from the input may take longer than finding the rows.
async function showTexts(page, items, note) {
  const words = wordsOf(page.values.q);
  for (let at = 0; at < items.length; at += 10) {
    const some = items.slice(at, at + 10);
    let excerpts;
    try {
      excerpts = await get("samples/texts", { rows: some.map((item) => item.row), q: page.values.q, in: page.values.in }, page.signal);
    } catch (error) {
      if (error.name === "AbortError") return;
      items.slice(at).forEach((item) => fill(item.text));
      fill(note, el("p", { class: "error", role: "alert" }, "Texts cannot be shown: ", name(error.message)));
      return;
    }
    const known = new Map(excerpts.map((excerpt) => [excerpt.row, excerpt]));
    for (const item of some) showText(item, known.get(item.row), words);
  }
}

function showText(item, excerpt, words) {
  if (!excerpt) {
    fill(item.text, el("span", { class: "muted" }, "could not be read"));
    return;
  }
  item.place.textContent = plain(excerpt.place.split("/").pop());
  item.place.title = plain(excerpt.place);
  const left = excerpt.characters - excerpt.start - (excerpt.text || "").length;
  fill(item.text, excerpt.text === null ? el("span", { class: "muted" }, "no text") : [
    excerpt.start > 0 && "…", marked(excerpt.text, words), left > 0 && "…"]);
  if (excerpt.text !== null) item.size.textContent = `${count(excerpt.characters)} characters`;
}

function rowItem(page, row, labels) {
  const text = el("div", { class: "excerpt", dir: "auto" }, el("span", { class: "muted" }, "…"));
  const file = row.file ? `${row.file.split("/").pop()}${row.line === null ? "" : `:${row.line}`}` : "";
  const place = el("span", { class: "muted place", title: plain(row.file || "") }, plain(file));
  const size = el("span", { class: "muted" });
  const href = link(`samples/${row.row}`, { ...page.values, after: null, at: row.cursor });
  const element = el("li", { class: `item ${row.fate}` },
    el("div", { class: "row" },
      el("a", { class: "open", href }, `row ${count(row.row)}`),
      el("strong", { class: `fate ${row.fate}` }, row.fate),
      row.reason && el("span", {}, row.step ? `by step ${row.step} ${plain(labels.get(row.step) || row.operator)}: ` : "", name(row.reason),
        row.value !== null && ` (${figure(row.value)}${row.bound === null ? "" : `, bound ${figure(row.bound)}`})`),
      row.kept_instead !== null && el("a", { href: link(`samples/${row.kept_instead}`) }, `stays: row ${count(row.kept_instead)}`),
      row.sort !== null && el("span", { class: "muted" }, `${sortLabel(page.values.sort)} ${sortValue(page.values.sort, row.sort)}`),
      size, place),
    text);
  return { row: row.row, element, text, place, size };
}

function sortLabel(sort) {
  return plain((sort || "").replace(/^stat:/, ""));
}

function sortValue(sort, amount) {
  return sort === "bytes" ? bytes(amount) : plain(typeof amount === "object" ? JSON.stringify(amount) : figure(amount));
}

export function stepLabel(step) {
  return step.name ? `${step.name} (${step.operator})` : step.operator;
}

// The filter

function filterForm(page, choices) {
  const values = page.values;
  const form = el("form", { class: "box filter", role: "search", onsubmit: (event) => submit(event, form) });
  const set = CHOOSING.filter((key) => values[key] && !["q", "in", "fate", "stat", "how", ...COMPARED].includes(key)).length;
  form.append(
    el("div", { class: "row" },
      labelled("Search words", el("input", { id: "q", name: "q", type: "search", value: values.q || "", size: "28" })),
      labelled("in", select("in", values.in, [["", plain(choices.text_key)], ["*", "whole sample"]])),
      labelled("Outcome", select("fate", values.fate, fates(choices.rows))),
      labelled("Sort by", select("sort", values.sort, sorts(choices))),
      select("order", values.order, [["", "ascending"], ["down", "descending"]], "Order"),
      el("button", { type: "submit" }, "Show"),
      el("a", { href: link("samples") }, "Reset")),
    el("details", { open: set > 0 }, el("summary", {}, set ? `Filters (${set})` : "Filters"),
      el("div", { class: "row" }, byStep(values, choices), byStatistic(values, choices), bySource(values, choices))));
  form.addEventListener("change", (event) => event.target.tagName === "SELECT" && !["stat", "how", "field"].includes(event.target.name) && form.requestSubmit());
  return form;
}

function byStep(values, choices) {
  const ended = choices.steps.filter((step) => step.removed || step.quarantined);
  const changing = choices.steps.filter((step) => step.kind === "mapper" || step.kind === "deduplicator");
  const reasons = choices.reasons.filter((reason) => !values.step || String(reason.step) === values.step);
  return [
    labelled("Removed by step", select("step", values.step, [["", "any"], ...ended.map((step) => [step.step, `${step.step} ${plain(stepLabel(step))} (${count(step.removed)})`])])),
    labelled("Reason", select("reason", values.reason, [["", "any"], ...reasons.map((reason) => [reason.reason, `${plain(reason.reason)} (${count(reason.rows)})`])])),
    choices.more_reasons && el("span", { class: "muted" }, "only the first 300 reasons are listed"),
    labelled("Changed by step", select("changed", values.changed, [["", "any"], ...changing.filter((step) => step.changed).map((step) => [step.step, `${step.step} ${plain(stepLabel(step))} (${count(step.changed)})`])])),
  ];
}

function byStatistic(values, choices) {
  const input = (key, label, size) => labelled(label, el("input", { name: key, value: values[key] || "", size, inputmode: key === "value" ? "text" : "decimal" }));
  return [
    labelled("Statistic", select("stat", values.stat, [["", "none"], ...choices.stats.map((stat) => [stat.name, plain(stat.name)])])),
    input("low", "from", "8"), input("high", "to", "8"), input("value", "equal to", "10"),
  ];
}

function bySource(values, choices) {
  const how = [["", "is"], ["contains", "contains"], ["host", "is an address on host"], ["missing", "is missing"]];
  return [
    labelled("File", select("file", values.file, [["", "any"], ...choices.files.map((file) => [file.file, `${plain(file.file.split("/").pop())} (${count(file.rows)})`])])),
    choices.more_files && el("span", { class: "muted" }, "only the first 300 files are listed"),
    labelled("Field", el("input", { name: "field", value: values.field || "", size: "12", list: "fields" })),
    el("datalist", { id: "fields" }),
    select("how", values.how === "is" ? "" : values.how, how, "Comparison"),
    labelled("value", el("input", { name: "what", value: values.what || "", size: "16" })),
  ];
}

// Names of fields are read from the input, which takes a moment.
async function fillFields(page, form, textKey) {
  let names;
  try {
    names = await get("samples/fields", {}, page.signal);
  } catch {
    return;  // the list of rows says why the input cannot be read
  }
  fill(form.querySelector("#fields"), names.map((field) => el("option", { value: field })));
  form.elements.in.append(...names.filter((field) => field !== textKey).map((field) => el("option", { value: field, selected: field === page.values.in }, plain(field))));
}

function submit(event, form) {
  event.preventDefault();
  const changes = Object.fromEntries([...CHOOSING, ...LISTED].filter((key) => !COMPARED.includes(key)).map((key) => [key, form.elements[key].value || null]));
  if (changes.field && !changes.how) changes.how = "is";
  if (!changes.field) changes.how = changes.what = null;
  go({ ...changes, after: null });
}

function fates(rows) {
  return [["", `any (${count(rows.rows_read)})`], ...["kept", "removed", "quarantined"].map((fate) => [fate, `${fate} (${count(rows[`rows_${fate}`])})`])];
}

function sorts(choices) {
  return [["", "row"], ["bytes", "bytes of the text"], ...choices.stats.map((stat) => [`stat:${stat.name}`, plain(stat.name)])];
}

function select(key, current, options, label) {
  const known = options.some(([option]) => String(option) === (current || ""));
  const all = known ? options : [...options, [current, plain(current)]];
  return el("select", { name: key, "aria-label": label },
    all.map(([option, title]) => el("option", { value: option, selected: String(option) === (current || "") }, title)));
}

function labelled(title, control) {
  return el("label", {}, `${title} `, control);
}
