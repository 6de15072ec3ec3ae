// View `compare`: the run (a) beside another one (b).

import { get } from "../lib/api.js";
import { add, el, table } from "../lib/dom.js";
import { count, value as figure } from "../lib/format.js";
import { listKeys } from "../lib/list.js";
import { go, link } from "../lib/state.js";
import { diffBox, name, plain } from "../lib/texts.js";

export async function show(page) {
  const others = await get("compare", {}, page.signal);
  add(page.root, el("h1", {}, "Compare"));
  if (!others.length) {
    add(page.root, el("p", {}, "No other run was named. Start the page with one: ", el("code", {}, "refinery explore RUN --with OTHER")));
    return;
  }
  const number = page.values.with || "0";
  const answer = await get(`compare/${encodeURIComponent(number)}`, {}, page.signal);
  add(page.root,
    el("label", {}, "Other run ", el("select", { onchange: (event) => go({ with: event.target.value }) },
      others.map((other) => el("option", { value: other.number, selected: String(other.number) === number }, plain(other.folder))))),
    table(runColumns(), [["a (this run)", answer.a], ["b", answer.b]], "Runs"),
    answer.apart && el("p", { class: "error" }, "Rows cannot be compared: ", name(answer.apart)),
    answer.notes.map((note) => el("p", { class: "note" }, name(note))),
    changes(answer), outcomes(answer, number), statistics(answer), texts(answer));
  page.keys(listKeys(page.root, "a.open"));
}

function runColumns() {
  const figures = ["read", "kept", "removed", "quarantined"];
  return [
    { title: "run", cell: ([title]) => title },
    { title: "folder", cell: ([, run]) => name(run.folder) },
    { title: "began (UTC)", cell: ([, run]) => plain(run.began).slice(0, 19).replace("T", " ") },
    ...figures.map((key) => ({ title: key, number: true, cell: ([, run]) => count(run[key]) })),
  ];
}

function changes(answer) {
  const steps = answer.steps.filter((step) => step.change !== "same");
  if (!answer.keys.length && !steps.length) return el("p", {}, "Both runs have the same recipe.");
  const columns = [
    { title: "step", cell: (change) => change.where },
    { title: "difference", cell: (change) => change.what },
    { title: "in a", cell: (change) => setting(change.a) },
    { title: "in b", cell: (change) => setting(change.b) },
  ];
  const keys = answer.keys.map((key) => ({ where: "", what: name(key.key), a: key.a, b: key.b }));
  return el("section", {}, el("h2", {}, "Recipe"), table(columns, [...steps.flatMap(stepChanges), ...keys], "Differences of the recipes"));
}

function setting(value) {
  return value === null || value === undefined ? "" : name(typeof value === "string" ? value : JSON.stringify(value));
}

// A row for the step, if it stands elsewhere or in one run only, and one for each parameter.
function stepChanges(step) {
  const where = [plain(step.operator)];
  const numbers = [step.step_a, step.step_b].map((number) => (number === null ? null : `step ${number}`));
  const parameters = Object.entries(step.parameters).map(([key, [a, b]]) => ({ where: numbers[0] === null ? where : [where, ` (${numbers[0]})`], what: name(key), a, b }));
  const moves = step.change === "changed" ? [] : [{ where, what: step.change, a: numbers[0], b: numbers[1] }];
  const names = step.name_a === step.name_b ? [] : [{ where, what: "name", a: step.name_a, b: step.name_b }];
  return [...moves, ...names, ...parameters];
}

function outcomes(answer, number) {
  if (!answer.fates.length) return null;
  const columns = [
    { title: "in a", cell: (fate) => name(fate.a) },
    { title: "in b", cell: (fate) => name(fate.b) },
    { title: "rows", number: true, cell: (fate) => el("a", { class: "open", href: link("samples", { with: number, a: fate.a, b: fate.b }) }, count(fate.rows)) },
    { title: "first rows", cell: (fate) => rows(fate.examples) },
  ];
  const different = answer.fates.filter((fate) => fate.a !== fate.b), same = answer.fates.filter((fate) => fate.a === fate.b);
  return el("section", {}, el("h2", {}, "Outcomes of rows"),
    different.length ? table(columns, different, "Rows with another outcome") : el("p", {}, "Every row has the same outcome in both runs."),
    same.length > 0 && el("details", {}, el("summary", {}, "Rows with the same outcome"), table(columns, same, "Rows with the same outcome")));
}

function rows(examples) {
  return examples.slice(0, 10).map((row) => [el("a", { href: link(`samples/${row}`) }, count(row)), " "]);
}

function statistics(answer) {
  if (!answer.stats.length) return null;
  const columns = [
    { title: "statistic", cell: (stat) => name(stat.stat) },
    { title: "over", cell: (stat) => `${plain(stat.over)} rows` },
    { title: "mean in a", number: true, cell: (stat) => figure(stat.mean_a) },
    { title: "mean in b", number: true, cell: (stat) => figure(stat.mean_b) },
    { title: "effect size d", number: true, cell: (stat) => (stat.d === null ? "" : figure(stat.d)) },
  ];
  return el("section", {}, el("h2", {}, "Statistics"), table(columns, answer.stats, "Means of statistics"));
}

function texts(answer) {
  if (!answer.texts) return null;
  const { compared, differing, exact, examples, note, longest } = answer.texts;
  return el("section", {}, el("h2", {}, "Final texts"),
    el("p", {}, `${exact ? "" : "at least "}${count(differing)} of ${count(compared)} rows that both runs kept have different texts`),
    note && el("p", { class: "note" }, name(note)),
    examples.map((pair) => el("div", {}, el("h3", {}, el("a", { class: "open", href: link(`samples/${pair.row}`) }, `row ${count(pair.row)}`),
      el("span", { class: "muted" }, " a before, b after")), diffBox(pair.diff, false, `Difference of row ${pair.row}`))),
    examples.length > 0 && el("p", { class: "muted" }, `Texts are compared up to ${count(longest)} characters.`));
}
