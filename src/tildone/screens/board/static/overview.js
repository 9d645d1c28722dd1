// All sessions: what needs a person first, then filters, then cards or rows. The address holds every filter.
import { capital, el, fill, focused, icon } from "./el.js";
import { BASE, read } from "./api.js";
import { on } from "./state.js";
import { told } from "./live.js";
import { Window } from "./window.js";
import { card } from "./card.js";
import { STATES } from "./words.js";
import { fillNeeds } from "./needs.js";
import { plural } from "./time.js";
import { tell } from "./toast.js";

const SORTS = { activity: "What needs you first", updated: "Last activity first", title: "By name" };
const PAGE = 60;
const CALM_MS = 2000;
const MOST_RELOADED = 600;

export function page({ main, go, watch, readonly }) {
  const query = new URLSearchParams(location.search);
  const filter = {
    state: query.get("state") || "",
    q: query.get("q") || "",
    sort: query.get("sort") || "activity",
    view: query.get("view") || "cards",
    by: query.get("by") || "",
  };
  const rowsView = filter.view === "rows";
  const list = el("ul", { class: `grid${rowsView ? " rows" : ""}`, "aria-label": "Sessions" });
  const title = el("h1", { tabindex: -1 }, " ");
  const needs = el("ul.asks.panel", { "aria-label": "Needs you", hidden: true });
  const chips = el("nav.chips", { "aria-label": "States" });
  const none = el("div");
  const items = [];
  const byKey = new Map();
  let cursor = null;
  let loading = null;
  let total = 0;
  let stale = 0;
  let drawn = "";

  const address = (change) => {
    const next = new URLSearchParams();
    for (const [name, value] of Object.entries({ ...filter, ...change })) {
      if (value && !(name === "sort" && value === "activity") && !(name === "view" && value === "cards")) {
        next.set(name, value);
      }
    }
    return `${BASE}/${next.size ? `?${next}` : ""}`;
  };
  const request = (after) => {
    const ask = new URLSearchParams({ sort: filter.sort, limit: String(PAGE) });
    for (const name of ["state", "q", "by"]) if (filter[name]) ask.set(name, filter[name]);
    if (after) ask.set("after", after);
    return `/api/sessions?${ask}`;
  };

  const view = new Window(list, {
    height: rowsView ? 46 : 148,
    gap: rowsView ? 6 : 14,
    columns: (width) => (rowsView ? 1 : Math.max(1, Math.min(5, Math.floor((width + 14) / 350)))),
    draw: (index, old) =>
      card(items[index], old, {
        href: `${BASE}/s/${items[index].key}`,
        index,
        size: Math.max(total, items.length),
        rows: rowsView,
      }),
    reach: () => cursor && !loading && more(),
  });
  fill(
    main,
    el(
      "div.page",
      el(
        "div.head",
        title,
        el(
          "a.btn.push",
          { href: address({ view: rowsView ? "cards" : "rows" }), "aria-label": rowsView ? "Cards" : "Rows" },
          icon(rowsView ? "cards" : "rows"),
          el("span", rowsView ? "Cards" : "Rows"),
        ),
      ),
      needs,
      chips,
      el("h2.sr", "Sessions"),
      list,
      none,
    ),
  );

  // As many as were there before, so that nobody loses their place.
  async function load() {
    const most = Math.min(items.length, MOST_RELOADED);
    const bodies = [await read(request(null))];
    while (bodies.length * PAGE < most && bodies.at(-1).after) bodies.push(await read(request(bodies.at(-1).after)));
    items.length = 0;
    byKey.clear();
    stale = 0;
    for (const body of bodies) take(body);
  }

  function more() {
    loading = read(request(cursor)).then(take).catch(() => {}).finally(() => {
      loading = null;
    });
    return loading;
  }

  // A frame may have come in while the answer was on its way: the newer one counts.
  function take(body) {
    for (const row of body.sessions) {
      if (!byKey.has(row.key)) {
        const newer = told("session", row.key, body.seq);
        byKey.set(row.key, items.length);
        items.push(newer ? { ...row, ...newer } : row);
      }
    }
    cursor = body.after || null;
    show(told("counts", "", body.seq) || body.counts);
    view.resize(items.length, (index) => items[index].key);
    watchWindow();
  }

  function show(counts) {
    if (!counts) return;
    total = filter.state ? filter.state.split(",").reduce((sum, word) => sum + (counts[word] || 0), 0) : counts.all;
    if (filter.q) total = items.length;
    headline(counts);
    fill(
      chips,
      chip("All", "", counts.all),
      STATES.filter((word) => counts[word] && word !== "empty" || filter.state === word).map((word) =>
        chip(capital(word), word, counts[word] || 0)
      ),
      el(
        "span.push",
        stale > 0 &&
          el("button.fold", { on: { click: refresh } }, `${plural(stale, "change")} · show`),
        sorter(),
      ),
    );
    empty(counts);
  }

  const chip = (label, state, count) =>
    el(
      "a",
      { href: address({ state }), "aria-current": filter.state === state ? "true" : false },
      label,
      el("span", String(count)),
    );

  function sorter() {
    const select = el(
      "select",
      { "aria-label": "Order", on: { change: () => go(address({ sort: select.value })) } },
      Object.entries(SORTS).map(([value, label]) => el("option", { value, selected: value === filter.sort }, label)),
    );
    select.value = filter.sort;
    return select;
  }

  function headline(counts) {
    const waiting = counts["needs you"] || 0;
    const work = (counts.working || 0) + (counts.stuck || 0);
    const text = waiting
      ? `${plural(waiting, "session")} need${waiting === 1 ? "s" : ""} you`
      : !counts.all
      ? "Sessions"
      : work
      ? `All quiet: ${work} at work`
      : "All quiet";
    if (title.textContent !== text) fill(title, text);
  }

  function empty(counts) {
    if (items.length) return fill(none);
    if (!counts.all && !filter.q) {
      return fill(
        none,
        el(
          "div.empty",
          el("h2", "No plans here yet"),
          el("p", "An agent with tildone shows up by itself."),
          copyable("tildone install claude"),
        ),
      );
    }
    return fill(
      none,
      el(
        "div.empty",
        el("h2", filter.q ? "Nothing found" : `Nothing is ${filter.state || "here"}.`),
        el("a.btn", { href: address({ state: "", q: "", by: "" }) }, "Clear filter"),
      ),
    );
  }

  function drawNeeds(open) {
    const print = JSON.stringify(open);
    if (print === drawn) return;
    drawn = print;
    fillNeeds(needs, open, readonly);
    needs.hidden = !open.length;
  }

  const hovered = () => list.matches(":hover") || list.contains(focused());
  let calm = 0;

  // Cards change in place. The order is made anew only while nobody holds it.
  function refresh() {
    clearTimeout(calm);
    load().catch(() => {});
  }

  function changed(row) {
    const at = byKey.get(row.key);
    if (at === undefined) stale += 1;
    else {
      if (items[at].state !== row.state) {
        stale += 1;
        tell(`${row.title || row.name}: ${capital(row.state)}`);
      }
      items[at] = { ...items[at], ...row };
      view.later();
    }
    if (stale && !hovered() && scrollY < innerHeight) {
      clearTimeout(calm);
      calm = setTimeout(() => (hovered() ? null : refresh()), CALM_MS);
    }
  }

  let watched = "";
  function watchWindow() {
    const topic = "sessions";
    if (topic !== watched) watch(["needs", "counts", watched = topic]);
  }

  const ends = [on("needs", (value) => value && drawNeeds(value.open)), on("counts", (value) => value && show(value))];
  const slow = setTimeout(
    () =>
      items.length || total ||
      fill(none, el("div.bars", { role: "status", "aria-label": "Loading" }, el("i"), el("i"))),
    300,
  );
  load().finally(() => clearTimeout(slow)).catch((error) =>
    fill(none, el("div.empty", el("h2", "The sessions cannot be shown"), el("p", error.message)))
  );
  watchWindow();

  return {
    end() {
      view.end();
      clearTimeout(calm);
      clearTimeout(slow);
      for (const each of ends) each();
    },
    frame(frame) {
      if (frame.event === "open" || frame.event === "reset") refresh();
      if (frame.event === "session") changed(frame.data);
      if (frame.event === "gone" && byKey.has(frame.data.key)) refresh();
    },
    search(text) {
      go(address({ q: text }), { replace: true, keep: true });
    },
    query: filter.q,
    keys: {
      j: () => step(1),
      k: () => step(-1),
      ArrowDown: () => step(columns()),
      ArrowUp: () => step(-columns()),
      ArrowRight: () => step(1),
      ArrowLeft: () => step(-1),
      n: nextNeed,
    },
  };

  function columns() {
    return view.place(0).columns;
  }

  function step(by) {
    const at = byKey.get(focused()?.dataset?.key);
    const next = at === undefined ? 0 : at + by;
    if (next < 0 || next >= items.length) return;
    view.show(next)?.querySelector("a")?.focus({ preventScroll: true });
  }

  function nextNeed() {
    const all = [...needs.children];
    const at = all.findIndex((each) => each.contains(focused()));
    all[(at + 1) % all.length]?.focus();
  }
}

export function copyable(text) {
  const button = el("button.icon", {
    "aria-label": `Copy ${text}`,
    on: {
      click: async () => {
        await navigator.clipboard?.writeText(text);
        tell("Copied");
        fill(button, icon("done"));
      },
    },
  }, icon("copy"));
  return el("p.cmd", el("code", text), button);
}
