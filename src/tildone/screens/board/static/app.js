// The frame of every page: router, theme, keys, live state. Pages are functions that draw into <main>.
import { el, fill, focused, harmless, icon } from "./el.js";
import { BASE, hasKey, read } from "./api.js";
import { on, set } from "./state.js";
import * as live from "./live.js";
import { clock, tick } from "./time.js";
import { enter, left, signedOut, signIn } from "./enter.js";
import { keyHelp, palette } from "./palette.js";
import { answerByKey } from "./needs.js";
import { menu } from "./menu.js";
import { canNotify, idOf, noteLooks, notifies, notify, toggle } from "./notify.js";
import { tell, toast } from "./toast.js";
import { setTheme, theme, THEMES } from "./theme.js";
import { setCount, setTitle } from "./title.js";

const root = document.documentElement;
const readonly = root.dataset.readonly === "true";
const main = el("main", { id: "main", tabindex: -1 });
/**
 * What a page's module returns. `query` is what was searched for.
 * @typedef {object} Page
 * @property {() => void} end
 * @property {(frame: any) => void} frame
 * @property {Record<string, () => any>} keys
 * @property {() => {label: string, hint?: string, act: () => void}[]} [commands]
 * @property {(text: string) => void} [search]
 * @property {string} [query]
 */
/** @type {Page} */
let page = { end() {}, frame() {}, keys: {} };
/**
 * The rows of the server's table (`board/pages.py`).
 * @type {{path: string, module: string, name: string, icon: string, key: string, only_with: string}[]}
 */
const PAGES = JSON.parse(root.dataset.pages || "[]");
const NAMED = PAGES.filter((row) => row.name);
const modules = await Promise.all(PAGES.map((row) => import(`./${row.module}`)));
let letters = localStorage.getItem("tildone-letters") !== "off";

const searchField = el("input", {
  type: "search",
  placeholder: "Search sessions and tasks",
  "aria-label": "Search sessions and tasks",
  autocomplete: "off",
});
const dot = el("span.live", { title: "" }, el("i"), el("span", "Live"));
const needsCount = el("b", { hidden: true });
const fleetCount = el("b.count", { hidden: true });
// Parts that not every store has, such as a fleet, and the links that are there only with them.
let parts = {};
const partLinks = [];
const isThere = (row) => !row.only_with || Boolean(parts[row.only_with]);
// Drafts outlast it.
const renew = el("button.btn.soft", {
  hidden: true,
  "aria-label": "Reload: the board has another version than this page",
  title: "The board has another version than this page. What you have typed is kept.",
  on: { click: () => location.reload() },
}, "Reload");
const whoBadge = el("span.who", { hidden: true });

function frame() {
  const link = (href, name, symbol, extra) =>
    el("a", { href: `${BASE}${href}`, "data-page": name }, symbol ? icon(symbol) : "", name, extra);
  const links = (withIcons) =>
    NAMED.map((row) => {
      const made = link(
        row.path,
        row.name,
        withIcons && row.icon,
        !withIcons && row.path === "/fleet" && fleetCount,
      );
      if (row.only_with) partLinks.push([made, row]);
      made.hidden = !isThere(row);
      return made;
    });
  const [first, ...others] = links(true);
  const bell = el("button.icon.bell", {
    "aria-label": "Notify me",
    title: "Notify me when something needs me",
    "aria-pressed": String(notifies()),
    hidden: !canNotify(),
    on: {
      click: async () => {
        toast(await toggle());
        bell.setAttribute("aria-pressed", String(notifies()));
      },
    },
  }, icon("bell"));
  const themeButton = el("button.icon", {
    "aria-label": "Theme and keys",
    "aria-haspopup": "menu",
    on: {
      click: () =>
        menu(themeButton, [
          ...THEMES.map(([label, value, palette_name]) => ({
            label: `${theme.mode === value && theme.palette === palette_name ? "● " : ""}${label}`,
            act: () => setTheme(value, palette_name),
          })),
          null,
          { label: "Keys", key: "?", act: help },
          { label: "Sign out", act: leave },
        ]),
    },
  }, icon("sun"));
  fill(
    document.getElementById("app") || document.body,
    el("a.skip", { href: "#main" }, "Skip to content"),
    el(
      "header.top",
      el(
        "a.brand",
        { href: `${BASE}/`, "aria-label": "tildone, all sessions" },
        el("svg", { viewBox: "0 0 22 22", "aria-hidden": "true" }, el("path", { d: "M5 12.5c2-4 4-4 6-1.5s4 2 6-3" })),
        el("span", "tildone"),
      ),
      el("nav", { "aria-label": "Pages" }, links(false)),
      el("div.find", { role: "search" }, icon("search"), searchField, el("kbd", { "aria-hidden": "true" }, "/")),
      renew,
      dot,
      bell,
      themeButton,
      whoBadge,
    ),
    main,
    el(
      "nav.bottom",
      { "aria-label": "Pages, at the thumb" },
      first,
      el("a", { href: `${BASE}/?state=needs+you`, "data-page": "Needs you" }, icon("needs"), "Needs you", needsCount),
      others,
    ),
  );
}

const initials = (name) => name.split(/[\s._-]+/).map((part) => part[0] || "").join("").slice(0, 2).toUpperCase();

let drawn = "";
let pressed = "";

// The row of an address, and the key of the session in it; null if there is no such page.
function route(address) {
  const path = address.slice(BASE.length) || "/";
  for (const row of PAGES) {
    const found = path.match(new RegExp(`^${row.path.replace("{key}", "([^/]+)")}$`));
    if (found) return { row, key: found[1] };
  }
  return null;
}

function draw() {
  drawn = location.pathname + location.search;
  const query = new URLSearchParams(location.search);
  page.end();
  setTitle();
  const { row, key } = route(location.pathname) || { row: PAGES[0], key: undefined };
  page = modules[PAGES.indexOf(row)].page({
    main,
    key,
    go,
    query,
    watch: live.watch,
    readonly,
    letters: () => letters && pressed !== "g",
  });
  if (focused() !== searchField) searchField.value = page.query || "";
  const here = row === PAGES[0] && query.get("state") === "needs you" ? "Needs you" : row.name || PAGES[0].name;
  for (const each of document.querySelectorAll("[data-page]")) {
    if (each.getAttribute("data-page") === here) each.setAttribute("aria-current", "page");
    else each.removeAttribute("aria-current");
  }
}

// keep: the focus and the place stay, as for a filter.
export function go(href, { replace = false, keep = false } = {}) {
  const url = new URL(href, location.href);
  if (!replace && url.hash && url.pathname + url.search === drawn) {
    history.pushState(null, "", href);
    dispatchEvent(new HashChangeEvent("hashchange"));
    return;
  }
  if (replace) history.replaceState(null, "", href);
  else history.pushState(null, "", href);
  draw();
  if (keep) return;
  scrollTo(0, 0);
  main.focus({ preventScroll: true });
}

function clicked(event) {
  const link = event.target.closest?.("a[href]");
  if (
    !link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey ||
    link.hasAttribute("download")
  ) return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || !url.pathname.startsWith(`${BASE}/`) || /\.\w+$/.test(url.pathname)) return;
  // Coming in, leaving and what is missing are pages of the server.
  if (!route(url.pathname)) return;
  if (url.pathname === location.pathname && url.search === location.search && url.hash) return;
  event.preventDefault();
  go(url.pathname + url.search + url.hash);
}

function key(event) {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    return openPalette();
  }
  const field = /^(input|textarea|select)$/i.test(event.target.tagName) || event.target.isContentEditable;
  if (
    event.defaultPrevented || document.querySelector("dialog[open], .menu") || event.ctrlKey || event.metaKey ||
    event.altKey
  ) return undefined;
  if (field) {
    if (event.key === "Escape" && event.target === searchField) searchField.blur();
    return undefined;
  }
  if (event.key === "Escape" && page.keys.Escape) return run(event, page.keys.Escape);
  if (event.key.startsWith("Arrow")) {
    return event.target.closest("a, button, [role=slider]") && !event.target.closest(".grid")
      ? undefined
      : page.keys[event.key] && event.target.closest(".grid, body")
      ? run(event, page.keys[event.key])
      : undefined;
  }
  if (!letters) return undefined;
  const need = event.target.closest?.(".need");
  if (need && (event.key === "y" || event.key === "d")) return run(event, () => answerByKey(need, event.key));
  if (pressed === "g") {
    pressed = "";
    const row = NAMED.find((each) => each.key === event.key && isThere(each));
    if (row) return run(event, () => go(`${BASE}${row.path}`));
  }
  if (event.key === "g") {
    pressed = "g";
    setTimeout(() => {
      pressed = "";
    }, 1500);
    return undefined;
  }
  if (event.key === "/") {
    return run(event, () => {
      searchField.focus();
      searchField.select();
    });
  }
  if (event.key === "?") return run(event, help);
  if (page.keys[event.key]) return run(event, page.keys[event.key]);
  if (event.key === "n") return run(event, () => go(`${BASE}/?state=needs+you`));
  return undefined;
}

function run(event, act) {
  event.preventDefault();
  act();
}

const help = () =>
  keyHelp(letters, (value) => {
    letters = value;
    localStorage.setItem("tildone-letters", value ? "on" : "off");
  });

function openPalette() {
  if (document.querySelector("dialog[open]")) return;
  const [first, ...others] = NAMED.filter(isThere).map((row) => ({
    label: row.name,
    hint: `g ${row.key}`,
    act: () => go(`${BASE}${row.path}`),
  }));
  palette([
    first,
    { label: "Needs you", hint: "n", act: () => go(`${BASE}/?state=needs+you`) },
    ...others,
    ...(page.commands ? page.commands() : []),
    ...THEMES.map(([label, mode, name]) => ({ label: `Theme: ${label}`, act: () => setTheme(mode, name) })),
    { label: "Keys", hint: "?", act: help },
  ], go);
}

function leave() {
  location.href = `${BASE}/out`;
}

function showLive(state) {
  dot.classList.toggle("off", !state.on);
  fill(dot.lastChild, state.on ? "Live" : `Not live since ${clock(state.since)}`);
  dot.title = state.on ? "Changes appear by themselves" : "The board does not answer. It is tried again by itself.";
}

let waiting = null;
// What has needed a person before.
let known = new Set();

function frameHeard(frame) {
  if (frame.event === "needs") showNeeds(frame.data);
  if (frame.event === "counts") set("counts", frame.data);
  if (frame.event === "open" || frame.event === "reset") {
    read("/api/needs").then((body) => showNeeds(live.told("needs", "", body.seq) || body)).catch(() => {});
  }
  page.frame(frame);
}

function showNeeds(data) {
  set("needs", data);
  const { count } = data;
  needsCount.hidden = !count;
  fill(needsCount, String(count));
  parts = data;
  for (const [link, row] of partLinks) link.hidden = !isThere(row);
  const asking = data.open.filter((need) => need.run).length;
  fleetCount.hidden = !asking;
  fill(fleetCount, String(asking));
  if (waiting !== null && count > waiting) {
    tell(`${data.open[data.open.length - 1]?.name || "A session"} needs you`, true);
  }
  notify(data.open.filter((need) => waiting !== null && !known.has(idOf(need))), go);
  known = new Set(data.open.map(idOf));
  waiting = count;
  setCount(count);
}

let typing = 0;
searchField.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(
    () => (page.search ? page.search(searchField.value.trim()) : searchField.value.trim() &&
      go(`${BASE}/?${new URLSearchParams({ q: searchField.value.trim() })}`, { keep: true })),
    150,
  );
});

if (location.pathname === `${BASE}/in`) enter();
else if (location.pathname === `${BASE}/out`) left();
else if (!hasKey()) signIn();
else {
  frame();
  // A change of the fragment alone is a place in the same page.
  addEventListener("popstate", () => location.pathname + location.search !== drawn && draw());
  document.addEventListener("click", clicked);
  document.addEventListener("keydown", key);
  on("live", showLive);
  on("user", (name) => {
    whoBadge.hidden = !name;
    whoBadge.title = harmless(name || "");
    fill(whoBadge, initials(harmless(name || "")));
  });
  on("outdated", (is) => {
    renew.hidden = !is;
    if (is) tell("The board has another version than this page. Reload it.", true);
  });
  on("signed-out", (out) => out && signedOut());
  noteLooks();
  live.listen(frameHeard);
  draw();
  live.start();
  setInterval(tick, 1000);
}
