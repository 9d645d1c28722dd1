// What happened, in sentences: beside a plan, and as a page of its own with filters.
import { brief, el, fill, harmless, icon, sign } from "./el.js";
import { BASE, read } from "./api.js";
import { copyable } from "./overview.js";
import { absolute, clock, day, plural, span } from "./time.js";
import { setTitle } from "./title.js";

const VIEWS = { Plan: "", History: "/log", Statistics: "/stats" };

// Where a page of a session is, and the ways to its other pages. `here` is the name of this one.
export const crumbs = (key, here, ...title) =>
  el(
    "div.crumbs",
    el("p", el("a", { href: `${BASE}/` }, "Sessions"), " / ", title),
    el(
      "nav.views",
      { "aria-label": "Pages of the session" },
      Object.entries(VIEWS).map(([name, path]) =>
        el("a", { href: `${BASE}/s/${key}${path}`, "aria-current": name === here ? "page" : false }, name)
      ),
    ),
  );

const ICONS = { nudge: "go", person: "person", letgo: "letgo", label: "label", undo: "undo", directive: "pause" };
const SIGNS = { completed: "completed", started: "in_progress", blocked: "blocked", dropped: "abandoned" };

// completed #4 “Write the parser” → the words, and the quoted text in bold; its number says nothing here.
export function sentence(text) {
  const parts = harmless(text).slice(0, 600).replace(/#\d+ (?=“)/g, "").replace(
    /^told to go on \((\d+)\/(\d+)\)/,
    "told it to go on ($1 of $2)",
  ).split(/(“[^”]*”)/);
  return parts.map((part) => (part.startsWith("“") ? el("b", el("bdi", part.slice(1, -1))) : el("bdi", part)));
}

const ACTORS = { agent: "Agent", timer: "Gate", import: "Import" };
export const actor = (row) => ACTORS[row.who] || row.by || "A person";

function rowIcon(row) {
  const verb = Object.keys(SIGNS).find((each) => (row.what[0] || "").startsWith(each));
  if (row.kind === "nudge" || row.kind === "letgo" || row.kind === "label") {
    return icon(ICONS[row.kind], { class: `ic ${row.kind === "label" ? "" : row.kind === "nudge" ? "warn" : "bad"}` });
  }
  if (row.who === "user") return icon("person");
  return verb ? sign(SIGNS[verb]) : icon("note");
}

/** @param {any} row @param {{go?: (row: any) => void}} options */
export function eventRow(row, { go } = {}) {
  const durations = (row.durations || []).filter(Boolean);
  const words = row.what.slice(0, 3).map((text, index) => [index ? "; " : " ", sentence(text)]);
  const line = el(
    "p",
    el("b", { title: row.agent && harmless(row.agent) }, brief(actor(row), 80)),
    words,
    row.what.length > 3 && ` and ${row.what.length - 3} more`,
    durations.length === 1 && el("span.dim", ` (${span(durations[0])})`),
  );
  const when = el(go ? "button" : "time", {
    class: "when dim",
    type: go && "button",
    title: absolute(row.at),
    "aria-label": go && `Show the plan at ${clock(row.at)}`,
    on: go ? { click: () => go(row) } : {},
  }, clock(row.at));
  return el("li", { "data-id": row.id }, rowIcon(row), line, when);
}

const FIRST = 100;

export function page({ main, key, query, go, watch }) {
  const filter = { who: query.get("who") || "", what: query.get("what") || "", task: query.get("task") || "" };
  const list = el("div.log.panel");
  const title = el("h1", { tabindex: -1 }, "History");
  const where = el("div");
  const count = el("span.dim");
  const rows = [];
  let before = null;
  const change = (name) => (event) => {
    const next = new URLSearchParams(
      Object.entries({ ...filter, [name]: event.target.value }).filter(([, value]) => value),
    );
    go(`${BASE}/s/${key}/log${next.size ? `?${next}` : ""}`, { replace: true, keep: true });
  };
  const choice = (name, label, options) => {
    const select = el(
      "select",
      { on: { change: change(name) } },
      options.map(([value, text]) => el("option", { value }, text)),
    );
    select.value = filter[name];
    return el("label", label, select);
  };
  const field = el("input", { type: "search", value: filter.task, placeholder: "any", on: { change: change("task") } });
  fill(
    main,
    el(
      "div.page",
      where,
      el("div.head", title, count),
      el(
        "div.filters",
        choice("who", "Who", [["", "anybody"], ["agent", "the agent"], ["user", "a person"], ["timer", "the gate"]]),
        choice("what", "What", [["", "anything"], ["nudge", "told to go on"], ["change", "changes"], [
          "letgo",
          "let go",
        ], ["label", "labels"]]),
        el("label", "Task", field),
      ),
      list,
    ),
  );

  const fits = (row) =>
    (!filter.who || row.who === filter.who) &&
    (!filter.what ||
      (filter.what === "change" ? !["nudge", "letgo", "label"].includes(row.kind) : row.kind === filter.what)) &&
    (!filter.task || row.what.some((text) => text.toLowerCase().includes(filter.task.toLowerCase())));

  async function load(more) {
    const body = await read(`/api/s/${key}/history?limit=${FIRST}${more && before ? `&before=${before}` : ""}`);
    if (!more) rows.length = 0;
    rows.push(...body.rows);
    before = body.before || null;
    const name = brief(body.name || key, 120);
    fill(where, crumbs(key, "History", el("a", { href: `${BASE}/s/${key}` }, name)));
    setTitle(`History: ${harmless(body.name || key).slice(0, 80)}`);
    fill(count, plural(body.total ?? rows.length, "event"));
    draw();
  }

  function draw() {
    const shown = rows.filter(fits);
    /** @type {{name: string, rows: any[]}[]} */
    const days = [];
    for (const row of shown) {
      const name = day(row.at);
      if (!days.length || days[days.length - 1].name !== name) days.push({ name, rows: [] });
      days[days.length - 1].rows.push(row);
    }
    fill(
      list,
      days.map((each) => [
        el("h2.day", each.name),
        el("ol.events", each.rows.map((row) => eventRow(row, { go: (one) => go(`${BASE}/s/${key}?at=${one.id}`) }))),
      ]),
      !shown.length && el("div.empty", rows.length ? "Nothing here fits." : "Nothing happened yet."),
      before &&
        el(
          "p.head",
          el("button.btn", { on: { click: () => load(true).catch(() => {}) } }, "Older"),
        ),
    );
  }

  watch([`session:${key}`, "needs"]);
  load(false).catch((error) => gone(main, error, key));
  return {
    end() {},
    frame(frame) {
      const about = frame.data && frame.data.key === key;
      if (frame.event === "open" || frame.event === "reset" || (about && frame.event === "plan")) {
        if (scrollY < 200) load(false).catch(() => {});
      }
    },
    keys: {},
  };
}

// A session that cannot be shown: why, and what to do. `was` says that it was shown before.
export function gone(node, error, key, was = false) {
  const lost = error.status === 404;
  const words = key.split("-").slice(0, -1).join(" ");
  setTitle("Not found");
  fill(
    node,
    el(
      "div.empty",
      el(
        "h1",
        { tabindex: -1 },
        !lost
          ? "The session cannot be shown"
          : was
          ? "This session is no longer in the store."
          : "There is no such session",
      ),
      !lost
        ? el("p", `${error.message} ${error.hint}`)
        : !was && el("p", "It was deleted, or the link belongs to another store, whose board is opened by:"),
      lost && !was && copyable("tildone board --store PLANS.db"),
      el(
        "p.head",
        words && lost && el("a.btn", { href: `${BASE}/?${new URLSearchParams({ q: words })}` }, `Search “${words}”`),
        el("a.btn", { href: `${BASE}/` }, "All sessions"),
      ),
    ),
  );
}
