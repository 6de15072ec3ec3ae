// The values as a recipe and a command, to copy; the command can be started from the page.

import { get, post } from "../lib/api.js";
import { el, fill } from "../lib/dom.js";
import { count, percent } from "../lib/format.js";

export class Recipe {
  constructor(about, signal) {
    Object.assign(this, { about, signal, changes: {}, number: 0, timer: 0 });
    this.shown = el("div");
    this.state = el("div", { role: "status", class: "refilter-state" });
    this.node = el("section", { class: "box recipe" }, el("h2", {}, "As a recipe"), this.shown, this.state);
    get("bounds/refilter", {}, signal).then((job) => this.#follow(job), () => {});
  }

  // Show changes, {step: {parameter: value}}, once they have been the same for a moment.
  show(changes) {
    this.changes = changes;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#load(changes, ++this.number), 200);
  }

  async #load(changes, number) {
    try {
      const texts = await get("bounds/recipe", { changes }, this.signal);
      if (number === this.number) this.#fill(texts);
    } catch (error) {
      if (number === this.number && error.name !== "AbortError") fill(this.shown);
    }
  }

  #fill(texts) {
    const start = el("button", { type: "button", class: "start", disabled: !texts.command, onclick: () => this.#start() }, "Run it");
    fill(this.shown,
      el("pre", { class: "step" }, texts.steps),
      el("div", { class: "row" }, copier("Copy the steps", texts.steps), copier("Copy the whole recipe", texts.recipe)),
      texts.command
        ? [el("pre", { class: "command" }, texts.command),
          el("div", { class: "row" }, copier("Copy the command", texts.command), start,
            el("span", { class: "note" }, "It makes a new run beside this one; this run stays as it is."))]
        : el("p", { class: "note" }, "These are the values of the run."));
  }

  async #start() {
    try {
      this.#follow(await post("bounds/refilter", { changes: this.changes }));
    } catch (error) {
      fill(this.state, el("p", { class: "error" }, error.message));
    }
  }

  // Show a refilter until it has ended.
  async #follow(job) {
    if (job.state === "none" || this.signal.aborted) return;
    fill(this.state, view(job));
    if (job.state !== "running") return;
    await new Promise((done) => setTimeout(done, 400));
    try {
      this.#follow(await get("bounds/refilter", {}, this.signal));
    } catch (error) {
      if (error.name !== "AbortError") fill(this.state, el("p", { class: "error" }, error.message));
    }
  }
}

function view(job) {
  const what = `refilter ${job.sets.join(", ")}`;
  if (job.state === "failed") return el("p", { class: "error" }, `${what}: ${job.error}`);
  if (job.state === "running") {
    const { shards_done: done, shards } = job.progress;
    return el("p", {}, `${what} runs in ${job.folder} … ${shards ? percent(done, shards) : ""}`);
  }
  const rows = job.result.rows;
  return el("div", { class: "done" },
    el("p", {}, `${what}: ${count(rows.kept)} of ${count(rows.read)} rows kept, in ${job.folder}`),
    el("pre", {}, `refinery explore ${job.folder} --with ${job.run}`));
}

function copier(title, text) {
  const button = el("button", { type: "button", onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select the text: the browser does not let the page copy";
    }
    setTimeout(() => { button.textContent = title; }, 1500);
  } }, title);
  return button;
}
