// Statistics: of one session (burn-down, time per task, nudges) and of all (finished per day, nudges, cost).
import { brief, el, fill, focused, say } from "./el.js";
import { BASE, read } from "./api.js";
import { strip } from "./strip.js";
import { scaleOf } from "./lanes.js";
import { Scrub } from "./scrub.js";
import { clock, day, money, plural, span, tokens } from "./time.js";
import { STATUS } from "./task.js";
import { gone } from "./log.js";

export function page({ main, key, watch }) {
  const box = el("div.page");
  fill(main, box);
  const draw = key ? () => one(box, key) : () => all(box);
  const load = () =>
    draw().catch((error) => (key ? gone(main, error, key) : fill(box, el("div.empty", error.message))));
  watch(key ? [`session:${key}`, "needs"] : ["needs", "counts"]);
  load();
  return {
    end() {},
    frame(frame) {
      if (
        frame.event === "open" || frame.event === "reset" || (key && frame.event === "plan" && frame.data.key === key)
      ) load();
    },
    keys: {},
  };
}

// What is drawn again keeps what is open, and the focus.
function redraw(box, ...content) {
  const opened = [...box.querySelectorAll("details")].map((each) => each.open);
  const held = [...box.querySelectorAll("summary")].indexOf(focused());
  fill(box, ...content);
  box.querySelectorAll("details").forEach((each, index) => {
    each.open = Boolean(opened[index]);
  });
  box.querySelectorAll("summary")[held]?.focus();
}

const tile = (number, label) => el("div", el("b", number), el("span", label));
const table = (names, rows) =>
  el(
    "div.scroll",
    { tabindex: 0, role: "region", "aria-label": "Table" },
    el(
      "table",
      el(
        "thead",
        el("tr", names.map((name, index) => el("th", { scope: "col", class: index ? "num" : "" }, name))),
      ),
      el("tbody", rows),
    ),
  );
const cells = (...values) => el("tr", values.map((value, index) => el("td", { class: index ? "num" : "" }, value)));
const asTable = (node) => el("details", el("summary", "Show as table"), node);

async function one(box, key) {
  const session = await read(`/api/s/${key}`);
  const tasks = session.plan.phases.flatMap((phase) => phase.tasks);
  const rows = session.history.rows;
  const worked = tasks.reduce((sum, task) => sum + (task.worked || 0), 0);
  const longest = Math.max(1, ...tasks.map((task) => task.worked || 0));
  const scrub = new Scrub({ move() {}, zoom() {} });
  const kinds = (kind) => rows.filter((row) => row.kind === kind).length;
  redraw(
    box,
    el(
      "p.crumbs",
      el("a", { href: `${BASE}/` }, "Sessions"),
      " / ",
      el("a", { href: `${BASE}/s/${key}` }, brief(session.title || session.name, 120)),
    ),
    el("div.head", el("h1", { tabindex: -1 }, "Statistics")),
    el(
      "div.panel.tiles",
      tile(`${session.closed} of ${session.total}`, "tasks closed"),
      tile(span(worked), "in progress"),
      tile(String(kinds("nudge")), "told to go on"),
      tile(String(kinds("letgo")), "let go"),
      tile(session.tokens ? tokens(session.tokens) : "–", "tokens"),
      tile(session.cost ? money(session.cost) : "–", "cost"),
    ),
    el(
      "section.panel.chart",
      el("h2", "Open tasks over time"),
      strip(session.strip || "", { tall: true }),
      el("div.burn-chart.still", scrub.svg),
      asTable(
        table(
          ["When", "Open"],
          (session.open || []).map(([at, count]) => cells(`${day(at)}, ${clock(at)}`, String(count))),
        ),
      ),
    ),
    el(
      "section.panel.chart",
      el("h2", "Time per task"),
      table(
        ["Task", "State", "Time", "Share"],
        tasks.map((task) =>
          cells(
            say(task.text),
            STATUS[task.status],
            task.worked ? span(task.worked) : "–",
            el("span.meter", { style: { width: `${Math.round(((task.worked || 0) / longest) * 100)}px` } }),
          )
        ),
      ),
    ),
  );
  const width = Math.max(60, scrub.svg.clientWidth || 600);
  const times = rows.map((row) => row.at);
  if (times.length) {
    scrub.set({
      points: rows.map((row) => ({ ...row, open: 0, total: 0, text: "" })),
      steps: session.open || [],
      scale: scaleOf(times, times[times.length - 1], width / 0.9, { busy: Object.values(session.lanes || {}).flat() }),
      index: null,
      live: false,
      estimate: null,
    });
  }
}

async function all(box) {
  const stats = await read("/api/stats");
  const most = Math.max(1, ...stats.days.map((each) => each.done));
  const bar = 100 / stats.days.length;
  redraw(
    box,
    el("div.head", el("h1", { tabindex: -1 }, "Statistics")),
    el(
      "div.panel.tiles",
      tile(String(stats.sessions), plural(stats.sessions, "session").replace(/^\S+ /, "")),
      tile(`${stats.closed} of ${stats.total}`, "tasks closed"),
      tile(String(stats.nudges), "told to go on"),
      tile(String(stats.let_goes), "let go"),
      tile(stats.tokens ? tokens(stats.tokens) : "–", "tokens"),
      tile(stats.cost ? money(stats.cost) : "–", "cost"),
    ),
    el(
      "section.panel.chart",
      el("h2", "Tasks done per day"),
      el(
        "svg.wide",
        { height: 140, "aria-hidden": "true", viewBox: "0 0 100 140", preserveAspectRatio: "none" },
        stats.days.map((each, index) =>
          el("rect.bar", {
            x: index * bar + bar * 0.12,
            width: bar * 0.76,
            y: 140 - (each.done / most) * 130,
            height: Math.max(each.done ? 2 : 0, (each.done / most) * 130),
          })
        ),
      ),
      el("p.days.dim", { "aria-hidden": "true" }, stats.days.map((each) => el("span", each.day.slice(8)))),
      asTable(
        table(
          ["Day", "Done", "Told to go on", "Let go"],
          stats.days.map((each) => cells(each.day, String(each.done), String(each.nudges), String(each.let_goes))),
        ),
      ),
    ),
  );
}
