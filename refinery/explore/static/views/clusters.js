// View `clusters`: clusters by size, the members of one, two members side by side, and audits of removals.

import { get } from "../lib/api.js";
import { add, el, fill, table } from "../lib/dom.js";
import { count, value as figure } from "../lib/format.js";
import { listKeys } from "../lib/list.js";
import { go, link } from "../lib/state.js";
import { name, plain } from "../lib/texts.js";
import { fillAuditLines, showAudit } from "./clusters/audit.js";
import { fillPair, rowLink, showPair } from "./clusters/pair.js";

export async function show(page) {
  const { step, cluster, left, right } = page.values;
  if (page.rest === "audit") await showAudit(page);
  else if (step && cluster === undefined && left && right) await showPair(page, step, left, right);
  else if (step && cluster !== undefined) await showCluster(page, step, cluster);
  else await showList(page);
}

async function showList(page) {
  const { step, after } = page.values;
  const answer = await get("clusters", { step, after }, page.signal);
  add(page.root, el("h1", {}, "Clusters"));
  if (!answer.deduplicators.length) {
    add(page.root, el("p", {}, "The recipe has no deduplicator."));
    return;
  }
  const body = el("div", {}), audit = el("section", {});
  add(page.root, chooser(answer.deduplicators, step), el("p", { role: "status" }, `${count(answer.total)} clusters, the largest first`), body, audit);
  const columns = [
    { title: "cluster", cell: (one) => el("a", { class: "open", href: link("clusters", { step: one.step, cluster: one.cluster }) }, `${one.step}.${one.cluster}`) },
    { title: "deduplicator", cell: (one) => `step ${one.step} ${plain(one.operator)}` },
    { title: "samples", number: true, cell: (one) => count(one.size) },
    { title: "stays", cell: (one) => (one.survivor === null ? "one in an index" : rowLink(one.survivor)) },
  ];
  fill(body, table(columns, answer.clusters, "Clusters"), el("p", { class: "row" },
    after && el("a", { href: link("clusters", { step }) }, "First page"),
    answer.next && el("a", { class: "next", href: link("clusters", { step, after: answer.next }) }, "Next page")));
  page.keys(listKeys(body, "a.open", [
    ["l", "next page", () => body.querySelector("a.next")?.click()],
    ["a", "audit: was it right?", () => { location.hash = link("clusters/audit", { step }); }],
  ]));
  fillAuditLines(page, audit, step);
}

function chooser(deduplicators, step) {
  const options = [["", "all"], ...deduplicators.map((one) => [String(one.step), `${one.step} ${plain(one.operator)} (${count(one.clusters)} clusters, ${count(one.removed)} removed)`])];
  return el("label", {}, "Deduplicator ", el("select", { onchange: (event) => go({ step: event.target.value || null, after: null }) },
    options.map(([value, title]) => el("option", { value, selected: value === (step || "") }, title))));
}

// The members of one cluster, and the one that stays beside the chosen one.
async function showCluster(page, step, cluster) {
  const { after } = page.values;
  const answer = await get(`clusters/${encodeURIComponent(step)}/${encodeURIComponent(cluster)}`, { after }, page.signal);
  if (!answer.members.length) throw new Error(`There is no cluster ${cluster} of step ${step}`);
  const first = answer.members[0], others = answer.members.filter((member) => member !== first);
  const wanted = answer.members.find((member) => String(member.row) === (page.values.right || page.values.row) && member !== first);
  const right = wanted || others[0];
  const left = page.values.left === undefined ? partner(right, first) : Number(page.values.left);
  const choose = (member) => go({ right: member.row, left: null });
  page.title(`Cluster ${step}.${cluster}`);
  const members = el("div", {}, table(memberColumns(step, cluster, right), answer.members, "Members"),
    answer.next !== null && el("a", { class: "next", href: link("clusters", { step, cluster, after: answer.next }) }, "More members"));
  const pair = el("section", { "aria-live": "polite" });
  add(page.root,
    el("p", {}, el("a", { href: link("clusters", { step }) }, "Clusters")),
    el("h1", {}, `Cluster ${step}.${cluster}: ${count(first.size)} samples`),
    el("p", {}, `${plain(answer.operator ? answer.operator.operator : "")} joined them: each matches another one, so two of them may be alike only through a third. `,
      first.survivor ? ["One stays: ", rowLink(first.row), "."] : "None of them stays, because a sample of the cluster is in an index."),
    members, pair);
  const at = others.indexOf(right);
  page.keys(listKeys(members, "a.open", [
    ["n", "compare with the next member", () => at < others.length - 1 && choose(others[at + 1])],
    ["p", "compare with the member before", () => at > 0 && choose(others[at - 1])],
    ["u", "back to the clusters", () => { location.hash = link("clusters", { step }); }],
  ]));
  if (right) fillPair(page, pair, { step, left, right: right.row }, joined(right));
}

// The sample that a member is best compared with: its direct match.
function partner(member, first) {
  return member && member.via !== null ? member.via : first.row;
}

function memberColumns(step, cluster, chosen) {
  const compare = (member) => link("clusters", { step, cluster, right: member.row });
  return [
    { title: "row", cell: (member) => el("a", { class: "open", href: compare(member), "aria-current": chosen && member.row === chosen.row ? "true" : null }, count(member.row)) },
    { title: "outcome here", cell: (member) => el("span", { class: `fate ${member.survivor ? "kept" : "removed"}` }, member.survivor ? "stays" : "removed") },
    { title: "joined by", cell: joined },
    { title: "way", cell: (member) => el("a", { href: link(`samples/${member.row}`) }, "steps") },
  ];
}

function joined(member) {
  if (member.matched === null) return member.survivor ? "" : "no match is recorded";
  return [
    member.via === null ? null : ["row ", count(member.via), ", "], name(member.matched),
    member.jaccard !== null && `, Jaccard similarity ${figure(member.jaccard)}`,
    member.estimated_jaccard !== null && `, estimated ${figure(member.estimated_jaccard)}`,
    member.distance !== null && `, ${member.distance} bits differ`,
    member.kept_in_index !== null && [", stays in an index: ", name(member.kept_in_index)],
  ];
}
