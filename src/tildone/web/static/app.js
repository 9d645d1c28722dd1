// The frame of every page: router, theme, keys, live state. Pages are functions that draw into <main>.
import { el, fill, icon, harmless } from "./el.js";
import { BASE, read } from "./api.js";
import { set, on } from "./state.js";
import * as live from "./live.js";
import { clock, tick } from "./time.js";
import { overview } from "./overview.js";
import { sessionPage } from "./session.js";
import { logPage } from "./log.js";
import { statsPage } from "./stats.js";
import { fleetPage } from "./fleet.js";
import { enter, left, signedOut } from "./enter.js";
import { palette, keyHelp } from "./palette.js";
import { answerByKey } from "./needs.js";
import { menu } from "./menu.js";
import { tell } from "./toast.js";
import { theme, setTheme, THEMES } from "./theme.js";

const root = document.documentElement;
const readonly = root.dataset.readonly === "true";
const main = el("main", { id: "main", tabindex: -1 });
let page = { end() {}, frame() {}, keys: {} };
let letters = localStorage.getItem("tildone-letters") !== "off";

const searchField = el("input", { type: "search", placeholder: "Search sessions and tasks", "aria-label": "Search sessions and tasks", autocomplete: "off" });
const dot = el("span", { class: "live", title: "" }, el("i"), el("span", {}, "Live"));
const needsCount = el("b", { hidden: true });
const fleetCount = el("b", { class: "count", hidden: true });
// Links to the fleet are there only if the store has one.
let fleetLinks = [];
let hasFleet = false;
const whoBadge = el("span", { class: "who", hidden: true });

function frame() {
  const link = (href, name, symbol, extra) => el("a", { href: `${BASE}${href}`, "data-page": name }, symbol ? icon(symbol) : "", name, extra);
  fleetLinks = [link("/fleet", "Fleet", null, fleetCount), link("/fleet", "Fleet", "fleet")];
  for (const each of fleetLinks) each.hidden = true;
  const themeButton = el("button", { type: "button", class: "icon", "aria-label": "Theme and keys", "aria-haspopup": "menu", on: { click: () => menu(themeButton, [
    ...THEMES.map(([label, value, palette_name]) => ({ label: `${theme.mode === value && theme.palette === palette_name ? "● " : ""}${label}`, act: () => setTheme(value, palette_name) })),
    null, { label: "Keys", key: "?", act: help }, { label: "Sign out", act: leave }]) } }, icon("sun"));
  fill(document.getElementById("app") || document.body,
    el("a", { class: "skip", href: "#main" }, "Skip to content"),
    el("header", { class: "top" },
      el("a", { class: "brand", href: `${BASE}/`, "aria-label": "tildone, all sessions" }, el("svg", { viewBox: "0 0 22 22", "aria-hidden": "true" }, el("path", { d: "M5 12.5c2-4 4-4 6-1.5s4 2 6-3" })), el("span", {}, "tildone")),
      el("nav", { "aria-label": "Pages" }, link("/", "Sessions"), fleetLinks[0], link("/stats", "Stats")),
      el("div", { class: "find", role: "search" }, icon("search"), searchField, el("kbd", { "aria-hidden": "true" }, "/")),
      dot, themeButton, whoBadge),
    main,
    el("nav", { class: "bottom", "aria-label": "Pages, at the thumb" }, link("/", "Sessions", "rows"), el("a", { href: `${BASE}/?state=needs+you`, "data-page": "Needs you" }, icon("needs"), "Needs you", needsCount), fleetLinks[1], link("/stats", "Stats", "stats")));
}

const initials = (name) => name.split(/[\s._-]+/).map((part) => part[0] || "").join("").slice(0, 2).toUpperCase();

let drawn = "";
let pressed = "";

// Addresses below the base path; what is unknown is the overview.
function draw() {
  drawn = location.pathname + location.search;
  const path = location.pathname.slice(BASE.length) || "/";
  const query = new URLSearchParams(location.search);
  page.end();
  document.title = "tildone";
  const session = path.match(/^\/s\/([^/]+?)(\/log|\/stats)?$/);
  const context = { main, go, query, watch: live.watch, readonly, letters: () => letters && pressed !== "g" };
  if (session && session[2] === "/log") page = logPage({ ...context, key: session[1] });
  else if (session && session[2] === "/stats") page = statsPage({ ...context, key: session[1] });
  else if (session) page = sessionPage({ ...context, key: session[1] });
  else if (path === "/stats") page = statsPage(context);
  else if (path === "/fleet") page = fleetPage(context);
  else page = overview(context);
  if (document.activeElement !== searchField) searchField.value = page.query || "";
  const here = session ? "Sessions" : path === "/stats" ? "Stats" : path === "/fleet" ? "Fleet" : query.get("state") === "needs you" ? "Needs you" : "Sessions";
  for (const each of document.querySelectorAll("[data-page]")) each.toggleAttribute("aria-current", false), each.dataset.page === here && each.setAttribute("aria-current", "page");
}

// keep: the focus and the place stay, as for a filter.
export function go(href, { replace = false, keep = false } = {}) {
  if (replace) history.replaceState(null, "", href);
  else history.pushState(null, "", href);
  draw();
  if (keep) return;
  scrollTo(0, 0);
  main.focus({ preventScroll: true });
}

function clicked(event) {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || link.hasAttribute("download")) return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || !url.pathname.startsWith(`${BASE}/`) || /\.\w+$/.test(url.pathname)) return;
  // Coming in and leaving are pages of their own.
  if ([`${BASE}/in`, `${BASE}/out`].includes(url.pathname)) return;
  if (url.pathname === location.pathname && url.search === location.search && url.hash) return;
  event.preventDefault();
  go(url.pathname + url.search + url.hash);
}

function key(event) {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") { event.preventDefault(); return openPalette(); }
  const field = /^(input|textarea|select)$/i.test(event.target.tagName) || event.target.isContentEditable;
  if (event.defaultPrevented || document.querySelector("dialog[open], .menu") || event.ctrlKey || event.metaKey || event.altKey) return undefined;
  if (field) {
    if (event.key === "Escape" && event.target === searchField) searchField.blur();
    return undefined;
  }
  if (event.key === "Escape" && page.keys.Escape) return run(event, page.keys.Escape);
  if (event.key.startsWith("Arrow")) return event.target.closest("a, button, [role=slider]") && !event.target.closest(".grid") ? undefined : page.keys[event.key] && event.target.closest(".grid, body") ? run(event, page.keys[event.key]) : undefined;
  if (!letters) return undefined;
  const need = event.target.closest?.(".need");
  if (need && (event.key === "y" || event.key === "d")) return run(event, () => answerByKey(need, event.key));
  if (pressed === "g") {
    pressed = "";
    const place = { s: "/", t: "/stats", f: hasFleet && "/fleet" }[event.key];
    if (place) return run(event, () => go(`${BASE}${place}`));
  }
  if (event.key === "g") { pressed = "g"; setTimeout(() => { pressed = ""; }, 1500); return undefined; }
  if (event.key === "/") return run(event, () => { searchField.focus(); searchField.select(); });
  if (event.key === "?") return run(event, help);
  if (page.keys[event.key]) return run(event, page.keys[event.key]);
  if (event.key === "n") return run(event, () => go(`${BASE}/?state=needs+you`));
  return undefined;
}

function run(event, act) {
  event.preventDefault();
  act();
}

const help = () => keyHelp(letters, (value) => { letters = value; localStorage.setItem("tildone-letters", value ? "on" : "off"); });

function openPalette() {
  if (document.querySelector("dialog[open]")) return;
  palette([
    { label: "Sessions", hint: "g s", act: () => go(`${BASE}/`) },
    { label: "Needs you", hint: "n", act: () => go(`${BASE}/?state=needs+you`) },
    ...(hasFleet ? [{ label: "Fleet", hint: "g f", act: () => go(`${BASE}/fleet`) }] : []),
    { label: "Stats", hint: "g t", act: () => go(`${BASE}/stats`) },
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

function frameHeard(frame) {
  if (frame.event === "needs") showNeeds(frame.data);
  if (frame.event === "counts") set("counts", frame.data);
  if (frame.event === "open" || frame.event === "reset") read("/api/needs").then((body) => showNeeds(live.told("needs", "", body.seq) || body)).catch(() => {});
  page.frame(frame);
}

function showNeeds(data) {
  set("needs", data);
  const { count } = data;
  needsCount.hidden = !count;
  fill(needsCount, String(count));
  hasFleet = Boolean(data.fleet);
  for (const each of fleetLinks) each.hidden = !hasFleet;
  const asking = data.open.filter((need) => need.run).length;
  fleetCount.hidden = !asking;
  fill(fleetCount, String(asking));
  if (waiting !== null && count > waiting) tell(`${data.open[data.open.length - 1]?.name || "A session"} needs you`, true);
  waiting = count;
}

let typing = 0;
searchField.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => (page.search ? page.search(searchField.value.trim()) : searchField.value.trim() && go(`${BASE}/?${new URLSearchParams({ q: searchField.value.trim() })}`, { keep: true })), 150);
});

if (location.pathname === `${BASE}/in`) enter();
else if (location.pathname === `${BASE}/out`) left();
else {
  frame();
  // A change of the fragment alone is a place in the same page.
  addEventListener("popstate", () => location.pathname + location.search !== drawn && draw());
  document.addEventListener("click", clicked);
  document.addEventListener("keydown", key);
  on("live", showLive);
  on("user", (name) => { whoBadge.hidden = !name; whoBadge.title = harmless(name || ""); fill(whoBadge, initials(harmless(name || ""))); });
  on("signed-out", (out) => out && signedOut());
  live.listen(frameHeard);
  draw();
  live.start();
  setInterval(tick, 1000);
}
