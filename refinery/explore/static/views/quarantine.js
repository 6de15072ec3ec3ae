// View `quarantine`: rows that could not be read or on which a step failed.

import { get } from "../lib/api.js";
import { add, el, table } from "../lib/dom.js";
import { count } from "../lib/format.js";
import { listKeys } from "../lib/list.js";
import { link } from "../lib/state.js";
import { name, plain, textBox } from "../lib/texts.js";

export async function show(page) {
  const { kind, step, after, after_step } = page.values;
  const answer = await get("quarantine", { kind, step, after, after_step }, page.signal);
  add(page.root, el("h1", {}, "Quarantine"));
  if (!answer.kinds.length) {
    add(page.root, el("p", {}, "Every row could be read, and no step failed on one."));
    return;
  }
  const list = el("ol", { class: "rows", "aria-label": "Rows in quarantine" }, answer.rows.map(item));
  add(page.root,
    table(kindColumns(), answer.kinds, "Kinds of errors"),
    el("p", { role: "status" }, `${count(answer.total)} rows`, kind && [" with the error ", name(kind), " ", el("a", { href: link("quarantine") }, "show all")]),
    list,
    el("p", { class: "row" },
      after && el("a", { href: link("quarantine", { kind, step }) }, "First page"),
      answer.next && el("a", { class: "next", href: link("quarantine", { kind, step, after: answer.next[0], after_step: answer.next[1] }) }, "Next page")));
  page.keys(listKeys(list, "a.open", [["l", "next page", () => page.root.querySelector("a.next")?.click()]]));
}

function kindColumns() {
  return [
    { title: "rows", number: true, cell: (kind) => count(kind.rows) },
    { title: "step", cell: where },
    { title: "error", cell: (kind) => el("a", { href: link("quarantine", { kind: kind.kind, step: kind.step }) }, name(kind.kind)) },
  ];
}

function where(row) {
  return row.step ? `step ${row.step} ${plain(row.operator)}` : "reading";
}

function item(row) {
  const shown = row.raw === null ? row.hex : row.raw;
  const size = row.raw === null ? `${count(row.bytes)} bytes that are no UTF-8, in hexadecimal digits` : `${count(row.characters)} characters`;
  return el("li", {},
    el("div", { class: "row" }, el("a", { class: "open", href: link(`samples/${row.row}`) }, `row ${count(row.row)}`),
      el("strong", {}, where(row)), name(row.error)),
    el("div", { class: "muted" }, name(`${row.file}${row.line === null ? "" : `:${row.line}`}`), `, ${size}`),
    shown !== null && textBox(shown, `Raw line of row ${row.row}`),
    row.raw !== null && row.raw.length < row.characters && el("p", { class: "muted" }, `the first ${count(row.raw.length)} characters; the table quarantine has all`));
}
