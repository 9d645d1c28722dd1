// One session: plan, lanes, scrubber, now, what happened. ?at=EVENT is a moment, &vs=EVENT compares it with another one, or with now.
import { brief, el, fill, focusIn, harmless, icon } from "./el.js";
import { BASE, read } from "./api.js";
import { get, on } from "./state.js";
import { PlanView } from "./plan.js";
import { Scrub } from "./scrub.js";
import { gridLines, hatch, scaleOf } from "./lanes.js";
import { restrip, strip } from "./strip.js";
import { pill } from "./card.js";
import { fillNeeds } from "./needs.js";
import { crumbs, eventRow, gone } from "./log.js";
import { clock, moment, plural, spoken } from "./time.js";
import { edits } from "./edits.js";
import { tell } from "./toast.js";
import { compareWith, sinceWords } from "./past.js";
import { drawNow, estimateLine } from "./now.js";
import { points } from "./points.js";
import { Glance, namedTask } from "./glance.js";
import { followChecks } from "./checks.js";
import { isAfter, told } from "./live.js";
import { changed, started, whole } from "./shown.js";
import { setTitle } from "./title.js";

/**
 * What is shown: the session as the server tells it, its events, and the moment of the past that is looked at.
 * @typedef {object} Model
 * @property {any} session
 * @property {Map<string, any>} known
 * @property {any[]} rows
 * @property {import("./points.js").Point[]} points
 * @property {any} scale
 * @property {[number, number]} view
 * @property {number | null} index
 * @property {any} past
 * @property {{times: number[], end: number} | null} frozen
 * @property {Map<number, any>} outputs
 * @property {any} [checks]
 * @property {string | null} [wanted]
 * @property {string | null} [asked]
 */

export function page({ main, key, query, go, watch, readonly, letters }) {
  const header = el("div.s-head");
  const area = el("div.plan-area");
  const lines = el("svg.lane-grid", { "aria-hidden": "true" });
  const head_line = el("div.headline");
  const banner = el("div.banner", { hidden: true });
  const needs = el("ul.asks.in-session.panel", { "aria-label": "Needs you", hidden: true });
  const now = el("div.now.panel");
  const events = el("ol.events");
  const eventCount = el("span.dim");
  const bodyBox = el("div.s-body");
  const title = el("h1", { tabindex: -1 });
  /** @type {Model} */
  const model = {
    session: null,
    known: new Map(),
    rows: [],
    points: [],
    scale: null,
    view: [0, 1],
    index: null,
    past: null,
    frozen: null,
    outputs: new Map(),
  };
  let failed = false;
  let forgotten = false;
  // Known before each drawing: to ask for it then would take a layout of the page.
  let chartWidth = 0;
  let seq = "";

  const checks = followChecks({ key, model, changed: () => draw() });
  const work = edits({
    key,
    model,
    redraw: (own) => draw(own),
    showPending: () => plan.pend(work.pending),
    letters,
    accept,
    load,
    look: checks.look,
  });
  work.act.glance = (number) => glance.open(number);
  work.act.allowed = () => Boolean(model.checks?.may_approve);
  const plan = new PlanView({ act: work.act, drafts: work.drafts, readonly });
  work.plan = plan;
  const glance = new Glance({
    key,
    act: work.act,
    task: (number) => plan.task(number),
    readonly,
    closed: (number) => plan.rows.get(number)?.li.querySelector('[data-part="text"]')?.focus({ preventScroll: true }),
  });
  const scrub = new Scrub({ move, zoom });
  area.append(el("h2.sr", "Plan"), lines, plan.node, head_line);
  const body = el("div.s-main");
  body.append(banner, needs, area, scrub.node);
  const side = el(
    "aside.s-side",
    { "aria-label": "Now and what happened" },
    now,
    el(
      "section",
      { "aria-labelledby": "happened" },
      el(
        "div.side-head",
        el("h2", { id: "happened" }, "What happened"),
        el("a", { href: `${BASE}/s/${key}/log` }, eventCount),
      ),
      events,
    ),
  );
  bodyBox.append(body, side);

  // Nothing is drawn for what takes less than 300 ms.
  const bars = el("div.page.bars", { role: "status", "aria-label": "Loading" }, el("i"), el("i"));
  const slow = setTimeout(() => model.session || fill(main, bars), 300);

  // Everything, or what differs from what is shown.
  async function load(own = false) {
    const known = !model.session || failed || forgotten ? "" : `?since=${encodeURIComponent(model.session.head ?? "")}`;
    try {
      const got = await read(`/api/s/${key}${known}`, { keep: false });
      // A later request may have been answered before.
      if (isAfter(seq, got.seq)) return;
      seq = got.seq;
      // Of two first requests, one comes to a page that is there, where a person may have the keys.
      const first = !model.session || failed;
      failed = false;
      if (first) fill(main, hatch(), el("div.session", header, bodyBox, glance.node));
      // So may a frame have come in, which is about who is at work and not read again.
      if (!accept({ ...got, ...told("presence", key, got.seq) }, own)) return load(own);
      if (first && query.get("at")) await moveTo(query.get("at"));
      if (first && model.past && query.get("vs")) {
        compareWith(query.get("vs"), key, model).catch((error) => work.fault(error.message));
      }
      if (first) showNamed();
    } catch (error) {
      if (error.status !== 404 && model.session) return undefined;
      failed = true;
      gone(main, error, key, Boolean(model.session));
    } finally {
      clearTimeout(slow);
    }
    return undefined;
  }

  // The task that the address names.
  function showNamed() {
    const number = model.session ? namedTask(model.session.plan) : 0;
    if (number && number !== glance.number) plan.reveal(number);
    glance.show(number);
  }

  // The newest state of the session, from a snapshot, a frame or the answer to an edit. Returns whether it could be taken.
  function accept(got, own = false) {
    const before = model.session;
    // What was sent later shows a newer plan: an answer may be late.
    const newer = got.seq && told("plan", key, got.seq);
    if (before && newer && newer.head !== got.head) return false;
    if (got.plan) {
      model.session = started(got);
      forgotten = false;
      learn(got.history.rows, got.history.rows.at(-1));
    } else if (got.from === undefined) model.session = { ...before, ...got };
    else {
      const next = changed(before, got);
      for (const row of got.rows) model.known.set(row.id, row);
      const last = model.known.get(got.head);
      // Without the newest event, the others cannot be put in order: everything is read again.
      forgotten = Boolean(got.head && !last);
      if (!next || forgotten) return false;
      // A frame and the answer to an edit tell the same: it is no longer pending.
      if (next === before) {
        plan.pend(work.pending);
        return true;
      }
      model.session = next;
      learn(got.rows, last);
    }
    if (before && before.closed !== undefined && got.closed > before.closed) {
      tell(`${plural(got.closed - before.closed, "task")} done, ${got.total - got.closed} left`);
    }
    draw(own);
    if (!before || before.head !== model.session.head) checks.look();
    return true;
  }

  // All events that are known, as the branch that ends with `last`: newer ones come by themselves, older ones on demand.
  function learn(rows, last) {
    for (const row of rows) model.known.set(row.id, row);
    model.rows = [];
    for (let row = last; row; row = model.known.get(row.parent)) model.rows.push(row);
    model.rows.reverse();
    model.points = points(model.rows, model.session);
  }

  async function older() {
    const [first] = model.rows;
    if (!first.parent || model.asked === first.parent) return;
    model.asked = first.parent;
    const page = await read(`/api/s/${key}/history?before=${first.parent}&limit=200`).catch(() => null);
    model.asked = null;
    if (!page) return;
    const count = model.points.length;
    learn(page.rows, model.rows.at(-1));
    if (model.index !== null) model.index += model.points.length - count;
    if (model.frozen) model.frozen.times = axis();
    draw(true);
  }

  function draw(own = false) {
    if (!model.session || failed) return;
    drawHead();
    layout(own);
    drawNow(now, model.session, model.checks);
    drawEvents();
    drawNeeds();
    glance.changed();
  }

  const working = () =>
    Boolean((model.session.agents || []).length) || ["working", "stuck"].includes(model.session.state);

  // The times of all that is known: the curve and the bars begin before the first event that was read.
  function axis() {
    const times = model.points.map((point) => point.at);
    return [...(model.session.open || []).map(([at]) => at).filter((at) => at < times[0]), ...times];
  }

  // What is not shown of a long history: "" if it is whole.
  function missing() {
    const { begins, created } = model.session;
    const whole = el("a", { href: `${BASE}/s/${key}/stats` }, "Whole history");
    if (begins > created) return [`Curve and bars begin at ${moment(begins)}. `, whole];
    return model.rows[0]?.parent ? `Marks begin at ${moment(model.rows[0].at)}; earlier ones are read on the way.` : "";
  }

  function layout(own = false) {
    chartWidth ||= scrub.chart.clientWidth;
    const width = Math.max(60, chartWidth || lines.clientWidth || 600);
    const times = model.frozen ? model.frozen.times : axis();
    const end = model.frozen ? model.frozen.end : working() ? Date.now() : times[times.length - 1] || Date.now();
    const busy = Object.values(model.session.lanes || {}).flat().filter((each) => each[2] !== "blocked");
    model.scale = scaleOf(times, Math.max(end, times[times.length - 1] || 0), width, { view: model.view, busy });
    const { session, scale, past, index } = model;
    const begins = session.begins > session.created ? session.begins : undefined;
    gridLines(lines, scale, begins);
    const x = index === null ? scale.x(scale.end) : scale.x(model.points[index].at);
    head_line.style.setProperty("left", `calc(var(--tasks) + ${x.toFixed(1)}px)`);
    head_line.hidden = model.points.length < 1;
    body.classList.toggle("past", Boolean(past));
    const shown = past ? past.phases : session.plan.phases;
    plan.set({
      phases: shown,
      lanes: session.lanes,
      used: session.used,
      told: session.told,
      claims: past ? null : model.checks?.claims || session.claims,
      scale,
      past: past && past.words,
      until: past ? x : null,
      pending: past ? null : work.pending,
      check: past ? null : session.plan.check,
      checks: past ? null : model.checks,
      outputs: past ? null : model.outputs,
    }, own);
    scrub.set({
      points: model.points,
      steps: session.open || [],
      begins,
      scale,
      index,
      estimate: session.estimate && session.estimate.at,
      live: working(),
    });
    const all = (past?.then || session.plan).phases.flatMap((phase) => phase.tasks);
    const open = all.filter((task) => !["completed", "abandoned"].includes(task.status)).length;
    const at = index === null ? null : model.points[index].at;
    const line = at ? `${all.length - open} were closed, ${spoken(Date.now() - at)} ago` : estimateLine(session);
    scrub.say({ open, total: all.length, at, line, missing: missing() });
    drawBanner();
  }

  function drawHead() {
    const { session } = model;
    setTitle(harmless(session.title || session.name).slice(0, 80));
    if (title.textContent !== harmless(session.title || session.name)) {
      fill(title, brief(session.title || session.name, 200));
    }
    const act = (label, symbol, run, props) =>
      el("button.btn", { "aria-label": label, ...props, on: { click: run } }, icon(symbol), el("span", label));
    const download = (event) => {
      event.preventDefault();
      work.download();
    };
    const directive = session.state === "paused" || session.state === "stopped" ? "go" : "pause";
    const print = JSON.stringify([
      session.where,
      session.state,
      session.why,
      session.can_undo,
      session.can_redo,
      session.directive,
      (session.needs || []).length,
    ]);
    if (header.strip && header.stripped !== session.strip) restrip(header.strip, session.strip || "");
    header.stripped = session.strip;
    if (header.print === print) return;
    header.print = print;
    header.strip ??= strip(session.strip || "", { tall: true });
    const held = focusIn(header)?.getAttribute("aria-label");
    fill(
      header,
      crumbs(key, "Plan", brief(session.name, 200)),
      el(
        "div.s-title",
        title,
        pill(session.state),
        ["paused", "stopped", "let go", "stuck", "needs you"].includes(session.state) && session.why &&
          !(session.needs || []).length && el("span.why", brief(session.why, 160)),
        el(
          "div.push",
          !readonly && act("Undo", "undo", () => work.undo(), { disabled: session.can_undo === false }),
          el(
            "a.btn",
            {
              href: `${BASE}/s/${key}.md`,
              download: true,
              "aria-label": "Markdown",
              on: { click: download },
            },
            icon("down"),
            el("span", "Markdown"),
          ),
          !readonly &&
            act(
              directive === "go" ? "Resume" : "Pause",
              directive === "go" ? "play" : "pause",
              () => work.steer(directive),
            ),
          !readonly && session.state !== "stopped" && act("Stop", "stop", () => work.steer("stop")),
        ),
      ),
      header.strip,
    );
    if (held) [...header.querySelectorAll("button")].find((each) => each.getAttribute("aria-label") === held)?.focus();
  }

  function drawEvents() {
    const newest = model.rows.slice(-60).reverse();
    const at = model.index === null ? null : model.points[model.index].id;
    const print = JSON.stringify([newest.map((row) => row.id), at, model.session.head]);
    if (events.print === print) return;
    events.print = print;
    // What is there stays where it is, with focus and selection; newer events come before it.
    const known = new Map([...events.children].map((li) => [li.dataset.id, li]));
    const fresh = newest.filter((row) => !known.has(row.id)).map((row) => eventRow(row, { go: () => moveTo(row.id) }));
    events.prepend(...fresh);
    const wanted = new Map(newest.map((row) => [row.id, row]));
    for (const li of [...events.children]) {
      if (!wanted.has(li.dataset.id)) li.remove();
      else li.classList.toggle("on", li.dataset.id === at);
    }
    fill(eventCount, plural(model.session.events ?? model.rows.length, "event"));
  }

  function drawNeeds() {
    const mine = ((get("needs") || {}).open || []).filter((need) => need.key === key && need.id);
    const print = JSON.stringify(mine);
    if (needs.print === print) return;
    needs.print = print;
    needs.hidden = !mine.length;
    fillNeeds(needs, mine, readonly);
  }

  // The playhead moved; what is shown follows at once, the address when it rests.
  async function move(index, resting) {
    if (index === null) return toNow(resting);
    if (!model.frozen) {
      model.frozen = {
        times: axis(),
        end: working() ? Date.now() : model.points[model.points.length - 1].at,
      };
    }
    model.index = index;
    const point = model.points[index];
    model.wanted = point.id;
    if (resting) history.replaceState(null, "", `${BASE}/s/${key}?at=${point.id}${location.hash}`);
    if (index === 0) older();
    if (model.past) layout(true);
    try {
      const then = await read(`/api/s/${key}/at/${point.id}`);
      if (model.wanted !== point.id) return undefined;
      model.past = sinceWords(whole(then.plan), model.session.plan, point);
      draw(true);
    } catch (error) {
      work.fault(error.message);
      toNow(true);
    }
    return undefined;
  }

  function moveTo(id) {
    const index = model.points.findIndex((point) => point.id === id);
    if (index < 0) return work.fault("That moment is not in this history.");
    return index === model.points.length - 1 ? toNow(true) : move(index, true);
  }

  function toNow(resting) {
    Object.assign(model, { index: null, past: null, frozen: null, wanted: null });
    if (resting) history.replaceState(null, "", `${BASE}/s/${key}${location.hash}`);
    draw(true);
  }

  function drawBanner() {
    const { past, index } = model;
    banner.hidden = !past;
    if (!past || index === null) {
      banner.print = "";
      return;
    }
    const point = model.points[index];
    const print = `${point.id} ${past.changed}`;
    if (banner.print === print) return;
    banner.print = print;
    const held = focusIn(banner)?.textContent;
    fill(
      banner,
      icon("undo"),
      el(
        "p",
        el("b", `${clock(point.at)}, ${spoken(Date.now() - point.at)} ago.`),
        past.changed ? ` ${plural(past.changed, "task has", "tasks have")}` : " No task has",
        " changed since.",
      ),
      el(
        "div.push",
        el(
          "button.btn.plain",
          { on: { click: () => toNow(true) } },
          "Back to now ",
          el("kbd", { "aria-hidden": "true" }, "Esc"),
        ),
        el("button.btn", { on: { click: () => compareWith(model.session.head, key, model) } }, "Compare"),
        !readonly && el("button.btn", { on: { click: restore } }, "Restore this"),
      ),
    );
    if (held) [...banner.querySelectorAll("button")].find((each) => each.textContent === held)?.focus();
  }

  async function restore() {
    const { past } = model;
    if (!past || !(await work.agreed(past))) return;
    toNow(true);
    work.restore(past.point);
  }

  /** @param {{by?: number, around?: number, from?: number, to?: number}} change */
  function zoom({ by, around = 0, from, to = 0 }) {
    const [left, right] = model.view;
    const width = model.scale.width;
    const share = (px) => left + (px / width) * (right - left);
    if (from !== undefined) model.view = [share(from), share(to)];
    else if (!by) model.view = [0, 1];
    else {
      const middle = share(around);
      const next = [middle - (middle - left) * by, middle + (right - middle) * by];
      model.view = next[1] - next[0] >= 1 ? [0, 1] : [Math.max(0, next[0]), Math.min(1, next[1])];
    }
    if (model.view[1] - model.view[0] < 0.01) model.view = [model.view[0], model.view[0] + 0.01];
    layout(true);
  }

  const sizes = new ResizeObserver(([entry]) => {
    chartWidth = scrub.chart.clientWidth;
    if (model.session && !failed && entry) layout();
  });
  sizes.observe(scrub.chart);
  const minute = setInterval(
    () => !document.hidden && model.session && working() && !model.past && !scrub.held && layout(),
    30000,
  );
  const ends = [on("needs", () => model.session && !failed && drawNeeds())];
  addEventListener("hashchange", showNamed);
  watch([`session:${key}`, "needs"]);
  load();

  return {
    end() {
      clearTimeout(slow);
      glance.end();
      checks.end();
      plan.end();
      removeEventListener("hashchange", showNamed);
      sizes.disconnect();
      clearInterval(minute);
      for (const each of ends) each();
    },
    frame(frame) {
      if (frame.event === "open" || frame.event === "reset") load();
      if (!frame.data || frame.data.key !== key || failed) return;
      const fits = frame.event === "plan" && model.session && frame.data.from !== undefined && accept(frame.data);
      if (!fits && ["plan", "session", "gone"].includes(frame.event)) load();
      if (frame.event === "presence" && model.session) {
        const { doing, since } = frame.data;
        const [first, ...others] = model.session.agents || [];
        const agents = frame.data.agents || (first ? [{ ...first, doing, since }, ...others] : []);
        accept({ ...frame.data, agents });
      }
    },
    commands: () => (readonly || !model.session ? [] : [
      { label: "Undo", hint: "z", act: () => work.undo() },
      { label: "Redo", hint: "shift+z", act: () => work.redo() },
      { label: "Add a task", hint: "a", act: () => plan.field.focus() },
      {
        label: "Pause or resume",
        hint: "p",
        act: () => work.steer(["paused", "stopped"].includes(model.session.state) ? "go" : "pause"),
      },
      {
        label: "Check of the plan…",
        act: () => work.act.check({ number: 0, text: "the plan", check: model.session.plan.check }),
      },
      { label: "Markdown", act: () => work.download() },
      { label: "History", act: () => go(`${BASE}/s/${key}/log`) },
      { label: "Statistics of this session", act: () => go(`${BASE}/s/${key}/stats`) },
    ]),
    keys: {
      Escape: () => (model.past && !focusIn(glance.node) ? toNow(true) : glance.close()),
      a: () => !readonly && !model.past && plan.field.focus(),
      z: () => readonly || work.undo(),
      Z: () => readonly || work.redo(),
      p: () => readonly || work.steer(["paused", "stopped"].includes(model.session.state) ? "go" : "pause"),
      r: () => !readonly && model.past && restore(),
      j: () => plan.focusStop(),
      k: () => plan.focusStop(),
    },
  };
}
