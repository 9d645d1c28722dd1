// The fleet: five numbers, what needs a person, workers, and runs. Rows change in place; their order is made anew
// only while nobody holds it.
import { brief, capital, el, fill, focused, focusedPart, focusIn, harmless, icon } from "./el.js";
import { BASE, read, write } from "./api.js";
import { on } from "./state.js";
import { fillNeeds } from "./needs.js";
import { strip } from "./strip.js";
import { menu } from "./menu.js";
import { confirm } from "./dialog.js";
import { hostName } from "./card.js";
import { tell, toast } from "./toast.js";
import { copyable } from "./overview.js";
import { money, plural, since, span } from "./time.js";
import { setTitle } from "./title.js";
import { RUNS } from "./words.js";

const GROUPS = Object.keys(RUNS);
const LOOKS = {
  "needs you": ["needs", "needs"],
  running: ["working", "working"],
  done: ["done", "done"],
  failed: ["letgo", "letgo"],
  lapsed: ["stuck", "stuck"],
  paused: ["", "pause"],
  pausing: ["", "pause"],
  cancelled: ["", "stop"],
  cancelling: ["", "stop"],
  waiting: ["needs", "needs"],
};
const TOLD = { pause: "Asked to rest", resume: "Resumed", retry: "Queued again", cancel: "Asked to end" };
const PAGE = 60;
const CALM_MS = 2000;
const MAX_COUNTED = 10000;
const MAX_SLOTS = 24;

const many = (count) => (count >= MAX_COUNTED ? `${MAX_COUNTED.toLocaleString("en")}+` : count.toLocaleString("en"));
const stateWord = (row) => capital(row.word);

export function page({ main, query, watch, readonly }) {
  const group = GROUPS.includes(query.get("state")) ? query.get("state") : "";
  const sub = el("span.dim");
  const everything = el("span.push");
  const tiles = el("div.panel.tiles.five", { "aria-label": "Numbers", role: "group" });
  const workersBox = el("ul.fleet-rows.workers", { "aria-label": "Workers" });
  const runsBox = el("ul.fleet-rows.runs", { "aria-label": "Runs" });
  const asks = el("ul.asks", { "aria-label": "Needs you" });
  const chips = el("nav.chips", { "aria-label": "States of runs" });
  const note = el("span.dim");
  const foot = el("p.fleet-foot");
  const none = el("div");
  const sections = el(
    "div.fleet",
    panel("waits", "Needs you", el("span.dim", "longest first"), asks),
    panel("", "Workers", note, heads("workers", ["Worker", "Labels", "Slots", "Heartbeat", "Version", ""]), workersBox),
    panel(
      "",
      "Runs",
      el("span.dim", "newest first"),
      chips,
      heads("runs", ["Plan", "State", "Progress", "Doing", "Worker", "Cost", "For", ""]),
      runsBox,
      foot,
    ),
  );
  fill(
    main,
    el("div.page", el("div.head", el("h1", { tabindex: -1 }, "Fleet"), sub, everything), tiles, sections, none),
  );
  sections.hidden = tiles.hidden = true;

  const workers = new Map();
  const runs = new Map();
  let info = { numbers: {}, counts: {} };
  let needs = [];
  let cursor = null;
  let stale = 0;
  let calm = 0;

  const keyOf = (row) => `${row.run}/${row.hand}`;
  const address = (state) => `${BASE}/fleet${state ? `?state=${state}` : ""}`;
  const request = (after) =>
    `/api/fleet/runs?${new URLSearchParams({ limit: PAGE, ...(group && { state: group }), ...(after && { after }) })}`;

  async function load() {
    const [found, first] = await Promise.all([read("/api/fleet"), read(request(null))]);
    const bodies = [first];
    while (bodies.length * PAGE < runs.size && bodies.at(-1).after) {
      bodies.push(await read(request(bodies.at(-1).after)));
    }
    workers.clear();
    runs.clear();
    stale = 0;
    for (const worker of found.workers) workers.set(worker.id, worker);
    for (const body of bodies) take(body);
    numbers(found);
    drawWorkers();
    drawRuns();
  }

  function take(body) {
    for (const row of body.runs) runs.set(keyOf(row), row);
    cursor = body.after;
  }

  async function more() {
    const before = runs.size;
    take(await read(request(cursor)));
    drawRuns();
    runsBox.children[before]?.querySelector("a, button")?.focus();
  }

  function numbers(found) {
    info = { ...info, ...found };
    const { running = 0, queued = 0, taken_over: taken = 0, cost = 0 } = info.numbers;
    const exists = info.exists !== false;
    sections.hidden = tiles.hidden = !exists;
    fill(none, exists ? [] : empty());
    fill(sub, exists ? plural(workers.size, "worker") : "");
    fill(
      tiles,
      tile(many(running), RUNS.running),
      tile(String(needs.length), needs.length === 1 ? RUNS.waiting : "need you", needs.length ? "warn" : ""),
      tile(many(queued), "queued"),
      tile(String(taken), "taken over in 24 h"),
      tile(money(cost), "in 24 h"),
    );
    if (info.lost) fill(note, `silent for ${span(info.late)} is late, ${span(info.lost)} is lost`);
    drawAll();
    drawChips();
  }

  // All runs rest, or all that rest go on: whichever there is something to do for.
  function drawAll() {
    const { running = 0, queued = 0, waiting = 0, paused = 0 } = info.counts;
    const awake = running + queued + waiting;
    const what = awake ? "pause" : "resume";
    if (readonly || info.exists === false || !(awake || paused)) return fill(everything);
    if (everything.firstChild?.dataset.act === what) return undefined;
    return fill(
      everything,
      el(
        "button.btn",
        { "data-act": what, on: { click: () => (what === "pause" ? pauseAll() : resumeAll()) } },
        icon(what === "pause" ? "pause" : "play"),
        what === "pause" ? "Pause all" : "Resume all",
      ),
    );
  }

  function drawChips() {
    const all = Object.values(info.counts).reduce((sum, count) => sum + count, 0);
    const chip = (label, state, count) =>
      el(
        "a",
        { href: address(state), "aria-current": group === state ? "true" : false },
        label,
        el("span", many(count)),
      );
    fill(
      chips,
      chip("All", "", all),
      GROUPS.filter((each) => info.counts[each] || each === group).map((each) =>
        chip(capital(RUNS[each]), each, info.counts[each] || 0)
      ),
      el(
        "span.push",
        stale > 0 &&
          el("button.fold", { on: { click: refresh } }, `${plural(stale, "change")} · show`),
      ),
    );
  }

  function drawWorkers() {
    if (!workers.size) {
      return fill(
        workersBox,
        el(
          "li.nothing",
          el("p", el("b", "No workers yet"), " Queued runs wait until one is started:"),
          copyable("tildone fleet work --slots 2 --allow '*'"),
        ),
      );
    }
    const rows = [...workers.values()].sort((one, other) =>
      Number(one.state === "lost") - Number(other.state === "lost") || (one.id < other.id ? -1 : 1)
    );
    fill(sub, plural(workers.size, "worker"));
    return keepFocus(workersBox, () => fill(workersBox, rows.map((row) => workerRow(row, { readonly, drain }))));
  }

  function drawRuns() {
    drawChips();
    fill(
      foot,
      cursor && el("button.btn", { on: { click: () => more().catch(failed) } }, "Show more"),
    );
    foot.hidden = !cursor;
    if (!runs.size) {
      return fill(
        runsBox,
        el(
          "li.nothing",
          group
            ? [
              el("p", `No run ${group === "waiting" ? RUNS[group] : `is ${RUNS[group]}`}. `),
              el("a.btn", { href: address("") }, "Show all"),
            ]
            : [el("p", el("b", "No runs yet"), " To queue a plan:"), copyable("tildone fleet add plan.md")],
        ),
      );
    }
    return keepFocus(runsBox, () => fill(runsBox, [...runs.values()].map((row) => runRow(row, { readonly, act }))));
  }

  function drawNeeds(open) {
    needs = open.filter((need) => need.run);
    fillNeeds(asks, needs, readonly);
    if (!needs.length) fill(asks, el("li.nothing.dim", "Nothing needs you."));
    numbers({});
  }

  async function act(row, what) {
    if (
      what === "cancel" && !(await confirm(`Cancel ${harmless(row.name)}?`, [
        row.worker
          ? "Its agent ends at its next boundary. What it has begun by then is not finished."
          : "It is not run any more.",
        "Its plan and its branch are kept. It can be retried.",
      ], "Cancel the run"))
    ) return;
    await send("/api/fleet/ask", { run: row.run, ask: what }, `${TOLD[what]}: ${row.name}`);
  }

  async function pauseAll() {
    const { running = 0, queued = 0, waiting = 0 } = info.counts;
    if (
      !(await confirm("Pause all runs?", [
        plural(running + queued + waiting, "run") +
        " will rest: those in work when the task that is worked on is done, the others at once.",
        "What they have done is kept. They can be resumed.",
      ], "Pause all runs"))
    ) return;
    await send("/api/fleet/ask-all", { ask: "pause" }, "Asked to rest: all runs");
  }

  const resumeAll = () => send("/api/fleet/ask-all", { ask: "resume" }, "Resumed: all runs");

  async function drain(row) {
    if (
      !(await confirm(`Drain ${harmless(row.host)}?`, [
        "It takes no more runs, and ends when those that it has have ended.",
        "This cannot be undone; a new worker can be started there.",
      ], "Drain the worker"))
    ) return;
    await send("/api/fleet/drain", { worker: row.id }, `Takes nothing more: ${row.host}`);
  }

  async function send(path, body, told) {
    try {
      await write(path, body);
      toast(told);
    } catch (error) {
      toast(`${error.message} ${error.hint}`.trim(), { bad: true });
    }
  }

  const failed = (error) => toast(error.message, { bad: true });
  const hovered = () => runsBox.matches(":hover") || runsBox.contains(focused());

  function refresh() {
    clearTimeout(calm);
    load().catch(() => {});
  }

  function runChanged(row) {
    const before = runs.get(keyOf(row));
    if (!before && group && row.group !== group) return;
    if (!before || before.group !== row.group || before.since !== row.since) stale += 1;
    if (before) {
      if (before.state !== row.state) tell(`${row.title}: ${stateWord(row)}`);
      runs.set(keyOf(row), row);
      drawRuns();
    } else drawChips();
    if (!stale || hovered()) return;
    clearTimeout(calm);
    calm = setTimeout(() => hovered() || refresh(), CALM_MS);
  }

  function workerChanged(row) {
    if (row.gone) workers.delete(row.id);
    else {
      const before = workers.get(row.id);
      if (before && before.state !== row.state && row.state === "lost") tell(`Worker ${row.host} is lost`, true);
      workers.set(row.id, row);
    }
    drawWorkers();
  }

  const end = on("needs", (value) => value && drawNeeds(value.open));
  load().catch((error) => {
    sections.hidden = tiles.hidden = true;
    fill(none, el("div.empty", el("h2", "The fleet cannot be shown"), el("p", error.message)));
  });
  watch(["needs", "fleet"]);
  setTitle("Fleet");

  return {
    end() {
      end();
      clearTimeout(calm);
    },
    frame(frame) {
      if (frame.event === "open" || frame.event === "reset") refresh();
      if (frame.event === "run") runChanged(frame.data);
      if (frame.event === "worker") workerChanged(frame.data);
      if (frame.event === "fleet") numbers({ ...frame.data, exists: true });
    },
    keys: { j: () => step(1), k: () => step(-1), ArrowDown: () => step(1), ArrowUp: () => step(-1), n: nextNeed },
  };

  function step(by) {
    const all = [...runsBox.querySelectorAll("a.plan")];
    const at = all.findIndex((each) => each.closest("li").contains(focused()));
    all[at < 0 ? 0 : Math.max(0, Math.min(all.length - 1, at + by))]?.focus();
  }

  function nextNeed() {
    const all = [...asks.querySelectorAll(".need")];
    const at = all.findIndex((each) => each.contains(focused()));
    all[(at + 1) % all.length]?.focus();
  }
}

const panel = (kind, title, about, ...children) =>
  el("section", { class: `panel ${kind}` }, el("h2", title, " ", about), children);
const heads = (kind, names) =>
  el("div", { class: `fleet-head ${kind}`, "aria-hidden": "true" }, names.map((name) => el("span", name)));
const tile = (number, label, kind = "") => el("div", el("b", { class: kind }, number), el("span", label));
// The name of a value, for who sees no heads of columns.
const cell = (kind, name, ...children) => el("span", { class: `cell ${kind}` }, el("span.name", `${name} `), children);

const empty = () =>
  el(
    "div.empty",
    el("h2", "No workers yet"),
    el("p", "A fleet runs plans on one machine or on many. Queue a plan, then start a worker:"),
    copyable("tildone fleet add plan.md"),
    copyable("tildone fleet work --slots 2 --allow '*'"),
  );

function keepFocus(box, redraw) {
  const row = focusedPart(box, "[data-row]")?.dataset.row;
  const place = focusIn(box)?.dataset.act || "";
  redraw();
  if (row === undefined) return;
  const li = [...box.children].find((each) => each.dataset.row === row);
  (li?.querySelector(place ? `[data-act="${place}"]` : "a, button") || li?.querySelector("a, button"))?.focus({
    preventScroll: true,
  });
}

function workerRow(row, { readonly, drain }) {
  const lost = row.state === "lost";
  const state = lost ? el("b.bad", "lost ") : row.state === "late" ? el("b.warn", "late ") : "";
  const about = [row.draining && "draining", lost && row.held && `${row.held} to take over`].filter(Boolean).join(", ");
  return el(
    "li.fleet-row",
    { "data-row": row.id },
    cell(
      "main",
      "Worker",
      el("b", brief(row.host, 80)),
      el("small.dim", brief(`pid ${row.pid}`), about && [" · ", el("span.warn", about)]),
    ),
    cell(
      "labels",
      "Labels",
      row.labels.length ? row.labels.map((label) => el("span.tag", brief(label, 40))) : "–",
    ),
    cell("slot", "Slots", slots(row)),
    cell(
      "beat",
      "Heartbeat",
      state,
      since(el("time"), row.seen, (at) => `${span(Date.now() - at)}${lost ? " ago" : ""}`),
    ),
    cell("version dim", "Version", brief(row.version || "–", 40)),
    cell(
      "acts",
      "",
      !readonly && !row.draining && !lost &&
        el("button.btn", {
          "data-act": "drain",
          "aria-label": `Drain ${harmless(row.host)}`,
          on: { click: () => drain(row) },
        }, "Drain"),
    ),
  );
}

// One square for each slot: in use, with a question, free; those of a lost worker are dashed.
function slots(row) {
  const label = `${row.held} of ${row.slots} in use${
    row.waiting ? `, ${row.waiting} ${row.waiting === 1 ? RUNS.waiting : "need you"}` : ""
  }`;
  const used = (index) => (index >= row.held - row.waiting ? "waits" : "used");
  const kind = (index) => (index >= row.held ? "" : row.state === "lost" ? "lost" : used(index));
  const count = Math.min(MAX_SLOTS, Math.max(row.slots, row.held));
  return el(
    "span.slots",
    { role: "img", "aria-label": label, title: label },
    Array.from({ length: count }, (_, index) => el("i", { class: kind(index) })),
    el("small.dim", { "aria-hidden": "true" }, `${row.held}/${row.slots}`),
  );
}

function runRow(row, { readonly, act }) {
  const [look, sign] = LOOKS[row.state] || ["", "idle"];
  const title = el(row.key ? "a" : "span", {
    class: "plan",
    tabindex: row.key ? false : 0,
    href: row.key && `${BASE}/s/${row.key}`,
  }, el("b", brief(row.title, 120)));
  const agent = [hostName(row.agent), row.model].filter(Boolean).join(" ");
  const trouble = [
    row.losses && `taken over${row.losses > 1 ? ` ${row.losses} times` : ""}`,
    row.fails && plural(row.fails, "failed attempt"),
  ].filter(Boolean).join(", ");
  const button = !readonly && row.can.length > 0 &&
    el("button.icon", {
      "data-act": "menu",
      "aria-haspopup": "menu",
      "aria-label": `Change ${harmless(row.name)}`,
      on: {
        click: () =>
          menu(
            button,
            row.can.map((what) => ({
              label: what === "cancel" ? "Cancel…" : capital(what),
              act: () => act(row, what),
            })),
          ),
      },
    }, icon("more"));
  return el(
    "li.fleet-row",
    { "data-row": `${row.run}/${row.hand}` },
    cell(
      "main",
      "Plan",
      title,
      el("small.dim", brief([row.name !== row.title && row.name, agent].filter(Boolean).join(" · "), 120)),
    ),
    cell(
      "state",
      "State",
      el("span", { class: `pill ${look}` }, icon(sign), stateWord(row)),
      trouble && el("small.dim", trouble),
    ),
    cell(
      "bar",
      "Progress",
      row.total ? [strip(row.strip || "", { most: 30 }), el("small.dim", `${row.closed} of ${row.total}`)] : "–",
    ),
    cell(row.doing ? "doing" : "doing nil", "Doing", row.doing ? brief(row.doing, 200) : "–"),
    cell(
      "where",
      "Worker",
      row.host ? brief(row.host, 80) : "–",
      el("small.dim", `epoch ${row.epoch}, attempt ${row.attempt}`),
    ),
    cell("num cost", "Cost", row.cost ? money(row.cost) : "–"),
    cell("num for", "For", since(el("time"), row.since, (at) => span(Math.max(0, Date.now() - at)))),
    cell("acts", "", button),
  );
}
