// View `bounds`: the bounds of a filter, moved with mouse or keys, and at once what they keep and remove.

import { changesOf, choose, linkTo, written } from "../bounds/changes.js";
import { chart } from "../bounds/chart.js";
import { controls } from "../bounds/controls.js";
import { figures } from "../bounds/figures.js";
import { Recipe } from "../bounds/recipe.js";
import { Samples } from "../bounds/samples.js";
import { Scale } from "../bounds/scale.js";
import { setTable } from "../bounds/set.js";
import { legend, valueList } from "../bounds/values.js";
import { get } from "../lib/api.js";
import { el, fill } from "../lib/dom.js";
import { count } from "../lib/format.js";
import { keep } from "../lib/state.js";
import { name as named, plain } from "../lib/texts.js";

export async function show(page) {
  const filters = await get("bounds", {}, page.signal);
  page.root.append(el("h1", {}, "Bounds"));
  if (!filters.length) {
    page.root.append(el("p", { class: "note" }, "The recipe has no filter."));
    return;
  }
  const step = Number(page.values.step) || (filters.find((filter) => filter.removed) ?? filters[0]).step;
  page.root.append(chooser(filters, step));
  const move = (by) => {
    const at = filters.findIndex((filter) => filter.step === step) + by;
    if (filters[at]) choose(filters[at].step);
  };
  page.keys([["n", "next filter", () => move(1)], ["p", "previous filter", () => move(-1)]]);
  const about = await get("bounds/filter", { step }, page.signal);
  page.title(`${plain(about.name ?? about.operator)}, bounds`);
  new Bounds(page, about).draw();
}

function chooser(filters, step) {
  const options = filters.map((filter) => {
    const option = el("option", { value: filter.step }, `${filter.step} ${plain(filter.name ?? filter.operator)}: ${count(filter.removed)} removed`);
    option.selected = filter.step === step;
    return option;
  });
  return el("label", { class: "row" }, "Filter",
    el("select", { id: "filter", onchange: (event) => choose(event.target.value) }, options));
}

class Bounds {
  constructor(page, about) {
    Object.assign(this, { page, about, asked: false, asking: false });
    const { [about.step]: own = {}, ...others } = changesOf(page.values);
    Object.assign(this, { own, others });
    this.bounds = about.parameters.filter((known) => !known.by_column).map((known) => this.#bound(known));
    this.switches = about.switches.map((known) => ({ ...known, before: known.value, value: this.#switch(known) }));
    this.active = this.bounds.find((bound) => bound.name === page.values.at)
      ?? this.bounds.find((bound) => bound.value !== bound.before) ?? this.bounds.find((bound) => bound.value !== null && bound.statistics.length);
    this.drawn = [];
    this.figures = el("section", { class: "box figures" });
    this.status = el("p", { class: "announced", role: "status" });
    this.#lay();
  }

  #bound(known) {
    const value = this.own[known.name];
    const fits = known.type === "set" ? Array.isArray(value) : value === null || typeof value === (known.type === "str" ? "string" : "number");
    return { ...known, before: known.value, value: fits ? value : known.value };
  }

  #switch(known) {
    const value = this.own[known.name];
    return typeof value === "boolean" ? value : known.value;
  }

  get values() {
    const changed = [...this.bounds, ...this.switches].filter((bound) => bound.value !== bound.before);
    return Object.fromEntries(changed.map((bound) => [bound.name, bound.value]));
  }

  #lay() {
    const { about } = this;
    const left = el("div", { class: "statistics" }, about.statistics.map((statistic) => this.#statistic(statistic)),
      this.#elsewhere(), this.#switchBox(), this.#byColumn());
    const right = el("div", { class: "side" }, this.figures, this.status);
    const others = Object.keys(this.others);
    if (others.length) this.page.root.append(el("p", { class: "note changed" }, "Changed, too: ", others.map((step) => [el("a", { href: linkTo(step, this.page.values) }, `step ${step} `, named(about.steps[step] ?? "")), " "]),
      about.measure_only ? "– the figures here count these steps with their new values; the histograms are those of the run."
        : "– the figures here count these steps with their values of the run, which has not stored what they would do with samples removed before them."));
    this.page.root.append(el("details", { class: "doc" }, el("summary", {}, `${about.operator}`), el("p", {}, about.doc)));
    if (about.why_not) this.page.root.append(el("p", { class: "note why-not" }, about.why_not));
    this.page.root.append(el("div", { class: "split" }, left, right));
    if (about.why_not) {
      right.remove();
      return;
    }
    this.recipe = new Recipe(about, this.page.signal);
    const samples = el("div", { class: "grid samples" });
    this.samples = new Samples(samples, about, this.others, this.page.signal);
    right.append(this.recipe.node);
    this.page.root.append(el("h2", {}, "Samples at the bound"), this.#activeChooser(), samples);
  }

  #statistic(statistic) {
    const bounds = this.bounds.filter((bound) => bound.statistics.includes(statistic.column));
    const title = el("h2", {}, named(statistic.column));
    const lists = this.bounds.filter((bound) => bound.column === statistic.column);
    const missing = [[statistic.missing, "have no value (NULL)"], [statistic.not_finite, "have a value that is not finite"]]
      .filter(([samples]) => samples > 0).map(([samples, what]) => el("p", { class: "note" }, `${count(samples)} samples ${what}`));
    if (statistic.values) return el("section", { class: "box" }, title, missing, lists.length ? this.#lists(lists) : valueList(statistic));
    if (!statistic.axis) return el("section", { class: "box" }, title, missing, el("p", { class: "note" }, "All values are the same, or none is a number."), this.#controls(bounds, null), this.#lists(lists));
    const scale = new Scale(statistic.axis, statistic.whole);
    const reversed = () => this.switches.some((one) => one.name === "reversed_range" && one.value);
    const picture = chart(statistic, scale, bounds, reversed, (name, value) => this.move(name, value));
    this.drawn.push(picture);
    return el("section", { class: "box" }, title, missing, picture.node, legend(), this.#controls(bounds, scale), this.#lists(lists));
  }

  #lists(bounds) {
    return bounds.map((bound) => {
      const made = setTable(bound, (name, value) => this.move(name, value));
      this.drawn.push(made);
      return made.node;
    });
  }

  #controls(bounds, scale) {
    return bounds.map((bound) => {
      const made = controls(bound, scale, (name, value) => this.move(name, value));
      this.drawn.push(made);
      return made.node;
    });
  }

  #elsewhere() {
    const bounds = this.bounds.filter((bound) => !bound.statistics.length && !bound.column);
    return bounds.length > 0 && el("section", { class: "box" }, el("h2", {}, "Other parameters"), this.#controls(bounds, null));
  }

  #switchBox() {
    if (!this.switches.length) return null;
    const boxes = this.switches.map((one) => el("label", { title: one.doc }, el("input", {
      type: "checkbox", checked: one.value, "data-switch": one.name, onchange: (event) => { one.value = event.target.checked; this.changed(); },
    }), ` ${one.name}`));
    return el("details", {}, el("summary", {}, "Ends of the range"), el("div", { class: "row" }, boxes));
  }

  #byColumn() {
    return this.about.parameters.filter((known) => known.by_column).map((known) => el("section", { class: "box" },
      el("h2", {}, `${known.name} depends on `, named(known.by_column.column)),
      el("ul", {}, Object.entries(known.by_column.values).map(([text, value]) => el("li", {}, named(text), `: ${value}`)), el("li", {}, `others: ${known.by_column.default}`))));
  }

  #activeChooser() {
    const bounds = this.bounds.filter((bound) => bound.statistics.length);
    this.chooser = el("select", { id: "at", onchange: () => this.activate(this.bounds.find((bound) => bound.name === this.chooser.value)) },
      bounds.map((bound) => el("option", { value: bound.name }, bound.name)));
    return el("label", { class: "row" }, "Bound", this.chooser);
  }

  activate(bound) {
    this.active = bound;
    this.changed();
  }

  move(name, value) {
    const bound = this.bounds.find((one) => one.name === name);
    if (bound.value === value && this.active === bound) return;
    bound.value = value;
    this.activate(bound);
  }

  // Show values that have changed: inputs and lines now, figures when the server has counted.
  changed() {
    const state = Object.fromEntries([...this.bounds, ...this.switches].map((one) =>
      [`c.${this.about.step}.${one.name}`, one.value === one.before ? null : written(one.value)]));
    keep({ ...state, step: this.about.step, at: this.active?.name });
    this.draw();
  }

  draw() {
    for (const one of this.drawn) one.draw();
    if (this.about.why_not) return;
    if (this.active) this.chooser.value = this.active.name;
    this.samples.show(this.active, this.values);
    this.recipe.show({ ...this.others, [this.about.step]: this.values });
    this.figures.dataset.asked = JSON.stringify(this.values);
    this.#count();
  }

  // One request at a time; what changes meanwhile is asked next.
  async #count() {
    this.asked = true;
    if (this.asking) return;
    this.asking = true;
    while (this.asked && !this.page.signal.aborted) {
      this.asked = false;
      try {
        const now = await get("bounds/trial", { step: this.about.step, values: this.values, others: this.others }, this.page.signal);
        fill(this.figures, figures(this.about, now, this.about.figures));
      } catch (error) {
        if (error.name !== "AbortError") fill(this.figures, el("p", { class: "error" }, error.message));
      }
    }
    this.asking = false;
    this.figures.dataset.counted = JSON.stringify(this.values);
    const [first, second] = this.figures.querySelectorAll("td.rows");
    this.status.textContent = second ? `${first.textContent} kept by this filter, ${second.textContent} by all steps` : this.figures.textContent;
  }
}
