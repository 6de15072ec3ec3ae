// Samples nearest to a bound, on both sides of it.

import { get } from "../lib/api.js";
import { el, fill } from "../lib/dom.js";
import { count, value as shown } from "../lib/format.js";
import { link } from "../lib/state.js";
import { name, visible } from "../lib/texts.js";

// Fill `node` with the samples at a bound. Waits until nothing has changed for a moment, and drops what comes too late.
export class Samples {
  // others: changes of other filters.
  constructor(node, about, others, signal) {
    Object.assign(this, { node, about, others, signal, timer: 0, number: 0 });
    signal.addEventListener("abort", () => clearTimeout(this.timer));
  }

  show(bound, values) {
    clearTimeout(this.timer);
    this.number += 1;
    if (!bound || bound.value === null || !bound.statistics.length) {
      fill(this.node, el("p", { class: "note" }, "Choose a bound of a statistic to see the samples at it."));
      return;
    }
    const number = this.number;
    this.node.setAttribute("aria-busy", "true");
    this.timer = setTimeout(() => this.#load(bound, values, number), 250);
  }

  async #load(bound, values, number) {
    try {
      const sides = await get("bounds/samples", { step: this.about.step, parameter: bound.name, values, others: this.others }, this.signal);
      if (number !== this.number) return;
      fill(this.node, this.#side("Just inside: kept", sides.inside, bound), this.#side("Just outside: removed", sides.outside, bound));
    } catch (error) {
      if (number === this.number && error.name !== "AbortError") fill(this.node, el("p", { class: "error" }, error.message));
    }
    if (number === this.number) this.node.removeAttribute("aria-busy");
  }

  #side(title, samples, bound) {
    const cards = samples.map((sample) => el("article", { class: "sample" },
      el("div", { class: "row muted" },
        el("a", { href: link(`samples/${sample.row}`) }, `row ${sample.row}`),
        el("span", {}, name(bound.statistics[0]), ` ${shown(sample.value)}`),
        el("span", {}, name(this.#fate(sample))),
        el("span", {}, name(sample.file))),
      el("p", { class: "text", dir: "auto" }, sample.text ? visible(sample.text) : "(empty)", sample.characters > sample.text.length && ` … (${count(sample.characters)} characters)`)));
    return el("section", {}, el("h3", {}, title), cards.length ? cards : el("p", { class: "note" }, "none"));
  }

  #fate(sample) {
    if (sample.fate === "here") return "removed here in the run";
    if (sample.others) return sample.others.split(",").map((step) => `removed by ${this.about.steps[step] ?? step}`).join(", ");
    return "kept by all other steps";
  }
}
