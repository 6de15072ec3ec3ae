// The audit of deduplicators: shares of like samples by source, hubs, chains, and compared pairs side by side.

import { get } from "../../lib/api.js";
import { add, el, fill, svg, table } from "../../lib/dom.js";
import { count, value as figure } from "../../lib/format.js";
import { listKeys } from "../../lib/list.js";
import { go, link } from "../../lib/state.js";
import { name, plain } from "../../lib/texts.js";
import { fillPair, rowLink } from "./pair.js";

// Similarity of the share that stands for a step, where the step has no cosine.
const SHOWN = 0.8;
// What the figures of a step count, by what was compared; parts have their own names.
const WHAT = { texts: "samples", signatures: "samples, by signatures of an index," };
// Width of the drawing of an interval.
const WIDTH = 120;

// One line for each deduplicator, below the list of clusters.
export async function auditLines(page, step) {
  const { audit, deduplicators } = await get("clusters/audit", { step }, page.signal);
  const of = (rows, one) => rows.filter((row) => row.step === one.step);
  const chosen = deduplicators.filter((one) => !step || String(one.step) === step);
  if (!audit) return chosen.some((one) => one.removed) ? [el("h2", {}, "Was it right?"), notStored(step)] : [];
  const shown = chosen.filter((one) => one.removed || of(audit.summary, one).length);
  const columns = [
    { title: "deduplicator", cell: (one) => el("a", { class: "audit", href: link("clusters/audit", { step: one.step }) }, `step ${one.step} ${plain(one.operator)}`) },
    { title: "removed that is like what stays", cell: (one) => shareOf(of(audit.summary, one)) },
    { title: "hubs of unlike texts", number: true, cell: (one) => count(of(audit.hubs, one).filter((hub) => !hub.alike).length) },
    { title: "chains of unlike texts", number: true, cell: (one) => count(of(audit.chains, one).length) },
  ];
  return [el("h2", {}, "Was it right?"), table(columns, shown, "What was removed, compared with what stays")];
}

function shareOf(rows) {
  const whole = rows.filter((row) => row.source === null);
  const row = whole.find((one) => one.measure === "cosine") || whole.find((one) => one.threshold === SHOWN);
  return row ? [`${shareText(row)} (${measure(row)}; ${count(row.n)} of ${count(row.removed)} ${WHAT[row.basis] ?? row.basis} compared)`] : "not compared";
}

function shareText(row) {
  return `${(100 * row.low).toFixed(1)} to ${(100 * row.high).toFixed(1)} %`;
}

function measure(row) {
  return `${row.measure.replace("_", " ")} of at least ${figure(row.threshold)}`;
}

// A run has stored no audit: large steps that do not look wrong are left out, and a refilter stores none.
function notStored(step) {
  return el("p", {}, "The run has stored no audit. ",
    el("a", { class: "audit", href: link("clusters/audit", { step, made: "now" }) }, "Compare removed samples now"),
    ": their texts are recomputed from the input, which may take minutes.");
}

// The audit of one deduplicator, or of all.
export async function showAudit(page) {
  const { step, made, after } = page.values;
  const { audit, deduplicators } = await get("clusters/audit", { step, made, after }, page.signal);
  page.title("Was it right?");
  page.keys([["u", "back to the clusters", back(step)]]);
  add(page.root, el("p", {}, el("a", { href: link("clusters", { step }) }, "Clusters")), el("h1", {}, "Was it right?"), chooser(deduplicators, step));
  if (!audit) {
    add(page.root, notStored(step));
    return;
  }
  add(page.root,
    el("p", {}, "What was removed is compared with what stays, by the texts as they reached the step.", audit.stored ? "" : " Recomputed from the input just now; nothing was written."),
    audit.notes.map((note) => el("p", { class: "error" }, name(note))));
  if (!audit.summary.length) {
    add(page.root, el("p", {}, "Nothing was removed for another sample, or part of one, that stays, so there is nothing to compare."));
    return;
  }
  add(page.root, shares(audit.summary), hubs(audit.hubs), chains(audit.chains));
  pairs(page, audit);
}

function back(step) {
  return () => { location.hash = link("clusters", { step }); };
}

function chooser(deduplicators, step) {
  const options = [["", "all"], ...deduplicators.map((one) => [String(one.step), `${one.step} ${plain(one.operator)} (${count(one.removed)} removed)`])];
  return el("label", {}, "Deduplicator ", el("select", { onchange: (event) => go({ step: event.target.value || null, after: null, row: null }) },
    options.map(([value, title]) => el("option", { value, selected: value === (step || "") }, title))));
}

// The shares of all sources, and folded those of each source.
function shares(rows) {
  const columns = [
    { title: "step", cell: (row) => `${row.step} ${plain(row.operator)}` },
    { title: "source", cell: (row) => (row.source === null ? "all" : name(row.source)) },
    { title: "compared by", cell: (row) => name(row.basis) },
    { title: "similarity", cell: measure },
    { title: "share that has it, with 95 % confidence", cell: (row) => el("span", { class: "interval" }, interval(row), ` ${shareText(row)}`) },
    { title: "compared", number: true, cell: (row) => count(row.n) },
    { title: "of", number: true, cell: (row) => count(row.removed) },
  ];
  const sources = rows.filter((row) => row.source !== null);
  return [
    table(columns, rows.filter((row) => row.source === null), "Share of what was removed that is like what stays"),
    sources.length > 0 && el("details", { open: sources.length <= 12 }, el("summary", {}, "By source"), table(columns, sources, "The same by input file")),
  ];
}

// An interval on a line from 0 to 100 %.
function interval(row) {
  const x = (share) => 2 + share * (WIDTH - 4);
  const mark = (kind, from, to) => svg("line", { class: kind, x1: x(from), x2: x(to), y1: 6, y2: 6 });
  return svg("svg", { width: WIDTH, height: 12, role: "img", "aria-label": shareText(row) },
    mark("whole", 0, 1), mark("known", row.low, row.high), svg("circle", { cx: x(row.share), cy: 6, r: 3 }));
}

function hubs(rows) {
  if (!rows.length) return null;
  const columns = [
    { title: "text", cell: (hub) => name(hub.excerpt || "(empty)") },
    { title: "matched by", cell: (hub) => name(hub.matched ?? "") },
    { title: "connects", number: true, cell: (hub) => count(hub.connected) },
    { title: "median similarity", cell: (hub) => (hub.median_similarity === null ? "" : `${figure(hub.median_similarity)} (${hub.measure}, ${count(hub.compared)} compared)`) },
    { title: "likely reason", cell: (hub) => el("span", { class: `fate ${hub.alike ? "kept" : "removed"}` }, name(hub.reason)) },
    { title: "sample", cell: (hub) => [rowLink(hub.via), clusterLink(hub)] },
  ];
  return [el("h2", {}, "Hubs"), el("p", {}, "One sample with which many others were matched. It is wrong where these are unlike each other."),
    table(columns, rows, "Samples that connect most others")];
}

function clusterLink(row) {
  return row.cluster === null ? null : [", ", el("a", { href: link("clusters", { step: row.step, cluster: row.cluster }) }, `cluster ${row.step}.${row.cluster}`)];
}

function chains(rows) {
  if (!rows.length) return null;
  const pair = (chain) => link("clusters", { step: chain.step, left: chain.kept, right: chain._row });
  const columns = [
    { title: "removed", cell: (chain) => rowLink(chain._row) },
    { title: "stays", cell: (chain) => rowLink(chain.kept) },
    { title: "similarity of both", cell: (chain) => el("a", { href: pair(chain) }, `${chain.measure} ${figure(chain.similarity)}: side by side`) },
    { title: "path of matches", cell: (chain) => chain.path.map((row, at) => [at > 0 && " – ", el("a", { href: link(`samples/${row}`) }, count(row))]) },
    { title: "samples", number: true, cell: (chain) => [count(chain.cluster_size), clusterLink(chain)] },
  ];
  return [el("h2", {}, "Chains"), el("p", {}, "Matches connect a removed sample with one that stays, although the two are unlike."),
    table(columns, rows, "Chains between unlike samples")];
}

// The compared pairs, the least alike first, and the chosen one side by side.
function pairs(page, audit) {
  const { after } = page.values;
  const address = (pair) => ({ row: pair._row, of: pair.step, unit: pair.unit });
  const isChosen = (pair) => Object.entries(address(pair)).every(([key, value]) => String(value ?? "") === (page.values[key] ?? ""));
  const chosen = audit.pairs.find(isChosen) || audit.pairs[0];
  const choose = (pair) => go(address(pair));
  const pageAt = (place) => link("clusters/audit", { ...page.values, after: place, row: null, of: null, unit: null });
  const columns = [
    { title: "removed", cell: (pair) => [el("a", { class: "open", href: link("clusters/audit", { ...page.values, ...address(pair) }), "aria-current": pair === chosen ? "true" : null }, count(pair._row)), partName(pair)] },
    { title: "stays", cell: (pair) => (pair.kept === null ? "one in an index" : rowLink(pair.kept)) },
    { title: "step", number: true, cell: (pair) => pair.step },
    { title: "similarity", cell: likeness },
    { title: "matched by", cell: (pair) => name(pair.matched ?? "") },
    { title: "source", cell: (pair) => name(pair.source) },
  ];
  const list = el("div", {}, table(columns, audit.pairs, "Compared pairs"), el("p", { class: "row" },
    after && el("a", { href: pageAt(null) }, "First pairs"),
    audit.next !== null && el("a", { class: "next", href: pageAt(audit.next) }, "Next pairs")));
  const pair = el("section", { "aria-live": "polite" });
  add(page.root, el("h2", {}, "Compared pairs"), el("p", { role: "status" }, `${count(audit.total)} pairs, the least alike first`), list, pair);
  const at = audit.pairs.indexOf(chosen);
  page.keys(listKeys(list, "a.open", [
    ["n", "next pair", () => at < audit.pairs.length - 1 && choose(audit.pairs[at + 1])],
    ["p", "pair before", () => at > 0 && choose(audit.pairs[at - 1])],
    ["l", "next page", () => list.querySelector("a.next")?.click()],
    ["u", "back to the clusters", back(page.values.step)],
  ]));
  if (!chosen) return;
  if (chosen.kept === null) fill(pair, el("p", {}, "The kept sample is in an index, which has no texts."));
  else fillPair(page, pair, { step: chosen.step, left: chosen.kept, right: chosen._row, unit: chosen.unit });
}

// The part of a sample that was compared: "paragraphs 3".
function partName(pair) {
  return pair.unit === null ? null : `, ${pair.basis} at ${count(pair.unit)}`;
}

function likeness(pair) {
  const known = ["cosine", "jaccard", ...(pair.basis === "signatures" ? ["estimated_jaccard"] : [])].filter((measured) => pair[measured] !== null);
  return known.map((measured) => `${measured.replace("_", " ")} ${figure(pair[measured])}`).join(", ");
}

// Fill an element with the lines of the audit, behind the list of clusters.
export async function fillAuditLines(page, node, step) {
  try {
    fill(node, await auditLines(page, step));
  } catch (error) {
    if (error.name !== "AbortError") fill(node, el("p", { class: "error", role: "alert" }, error.message));
  }
}
