// Two samples side by side, as a deduplicator compared them, with what they share.

import { get } from "../../lib/api.js";
import { add, el, fill } from "../../lib/dom.js";
import { count, value as figure } from "../../lib/format.js";
import { link } from "../../lib/state.js";
import { plain, visible } from "../../lib/texts.js";

export function rowLink(row) {
  return el("a", { href: link(`samples/${row}`) }, `row ${count(row)}`);
}

// A page of its own for two samples.
export async function showPair(page, step, left, right) {
  const pair = el("section", {});
  page.title(`Rows ${left} and ${right}`);
  add(page.root, el("h1", {}, `Rows ${count(left)} and ${count(right)} in step ${plain(step)}`), pair);
  await fillPair(page, pair, { step, left, right });
}

// Fill an element with two texts side by side. asked: {step, left, right}, with `unit` for a part of the right one. why: what joined
// them, as nodes.
export async function fillPair(page, pair, asked, why = null) {
  const { left, right } = asked;
  fill(pair, el("p", { class: "wait" }, "…"));
  let answer;
  try {
    answer = await get("clusters/pair", asked, page.signal);
  } catch (error) {
    if (error.name !== "AbortError") fill(pair, el("p", { class: "error", role: "alert" }, error.message));
    return;
  }
  const { counts } = answer;
  fill(pair,
    el("h2", {}, `Side by side: shared ${answer.shared} are marked`),
    why && el("p", {}, rowLink(right), " was joined by ", why, "."),
    counts && el("p", {}, `${count(counts.count)} shared shingles; ${count(counts.here)} in row ${count(left)}, ${count(counts.there)} in row ${count(right)}; Jaccard similarity of the shingles ${figure(counts.jaccard)}`),
    el("div", { class: "grid pair" }, side(answer.left, left), side(answer.right, right)));
}

function side(text, row) {
  return el("section", {}, el("h3", {}, rowLink(row), text.as_compared && el("span", { class: "muted" }, " as compared: its tokens")),
    el("div", { class: "text box", dir: "auto", tabindex: "0", role: "region", "aria-label": `Text of row ${row}` },
      text.pieces.map(([shared, piece]) => (shared ? el("mark", {}, visible(piece)) : visible(piece)))));
}
