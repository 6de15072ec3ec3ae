// The shell: navigation, theme, keys, and the view that the address names.
// A view is a module `views/<name>.js` with `show(page)`, and a style `views/<name>.css`: see `open` for what it gets.

import { get, useToken } from "./lib/api.js";
import { el, fill } from "./lib/dom.js";
import { listed, useKeys } from "./lib/keys.js";
import { link, read } from "./lib/state.js";

const main = document.getElementById("main");
const nav = document.getElementById("views");
const theme = document.getElementById("theme");
const dialog = document.getElementById("keys");
let views = [];
let session = {};
let opened = 0;

function applyTheme(name) {
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  theme.value = name;
}

function switchTheme() {
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark"
    || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  chooseTheme(dark ? "light" : "dark");
}

function chooseTheme(name) {
  localStorage.setItem("theme", name);
  applyTheme(name);
}

function showKeys() {
  const rows = listed().map(([key, about]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, about)]);
  fill(dialog, el("h2", {}, "Keys"), el("dl", {}, rows),
    el("form", { method: "dialog" }, el("button", { type: "button", onclick: () => dialog.close() }, "Close")));
  dialog.showModal();
}

// Load the style of a view, `views/<name>.css`, once.
function dress(name) {
  const href = `/static/views/${name}.css`;
  if (!document.querySelector(`link[href="${href}"]`)) document.head.append(el("link", { rel: "stylesheet", href }));
}

// Show the view of the address. Its `show` gets {root, rest, values, session, keys, title, signal}: the element to fill,
// the address behind the view's name, the address's values, a function that sets the view's keys, one that sets the
// title, and the signal that the view has been left.
let leaving = new AbortController();
async function open() {
  const number = ++opened;
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  const state = read();
  const view = views.find((one) => one.name === state.view);
  if (!view) {
    location.replace(link(views[0].name));
    return;
  }
  for (const item of nav.children) item.toggleAttribute("aria-current", item.dataset.view === view.name);
  useKeys("view", []);
  const root = el("div", { class: `view ${view.name}` });
  const title = (text) => { document.title = `${text} – ${session.run}`; };
  title(view.title);
  dress(view.name);
  fill(main, el("p", { class: "wait", role: "status" }, "…"));
  try {
    const module = await import(`./views/${view.name}.js`);
    await module.show({ root, rest: state.rest, values: state.values, session, signal, title, keys: (keys) => useKeys("view", keys) });
    if (number === opened) fill(main, root);
  } catch (error) {
    if (number === opened && error.name !== "AbortError") fill(main, el("p", { class: "error", role: "alert" }, error.message));
  }
}

function shellKeys() {
  const numbered = views.slice(0, 9).map((view, at) => [String(at + 1), view.title, () => { location.hash = link(view.name); }]);
  useKeys("shell", [...numbered, ["t", "light or dark", switchTheme], ["?", "these keys", showKeys]]);
}

async function start() {
  applyTheme(localStorage.getItem("theme") || "");
  theme.addEventListener("change", () => chooseTheme(theme.value));
  document.getElementById("help").addEventListener("click", showKeys);
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
  try {
    session = await get("session");
  } catch (error) {
    fill(main, el("p", { class: "error", role: "alert" }, error.message));
    return;
  }
  // The cookie has the token from now on: an address that is shared or kept in the history should not.
  if (location.search) history.replaceState(null, "", `${location.pathname}${location.hash}`);
  useToken(session.token);
  views = session.views;
  document.getElementById("run").textContent = session.run;
  fill(nav, views.map((view) => el("a", { href: link(view.name), "data-view": view.name }, view.title)));
  shellKeys();
  window.addEventListener("hashchange", open);
  await open();
}

start();
