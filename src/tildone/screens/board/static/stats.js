// Statistics: of one session (burn-down, time and cost per task) and of all (per day, per agent, per model).
import { brief, el, fill, focused, harmless, say } from "./el.js";
import { BASE, read } from "./api.js";
import { hostName } from "./card.js";
import { scaleOf } from "./lanes.js";
import { Scrub } from "./scrub.js";
import { moment, money, plural, span, tokens } from "./time.js";
import { crumbs, gone } from "./log.js";
import { setTitle } from "./title.js";
import { STATUS } from "./words.js";

export function page({ main, key, query, watch }) {
  const box = el("div.page");
  fill(main, box);
  const asked = Number(query.get("days"));
  const draw = key ? () => one(box, key) : () => all(box, PERIODS.includes(asked) ? asked : 14);
  const bars = el("div.bars", { role: "status", "aria-label": "Loading" }, el("i"), el("i"));
  const slow = setTimeout(() => fill(box, bars), 300);
  const failed = (error) =>
    key
      ? gone(main, error, key)
      : fill(box, el("div.empty", el("h1", "The statistics cannot be shown"), el("p", error.message)));
  const load = () => draw().catch(failed).finally(() => clearTimeout(slow));
  watch(key ? [`session:${key}`, "needs"] : ["needs", "counts"]);
  load();
  return {
    end: () => clearTimeout(slow),
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
const some = (number, words) => (number ? words(number) : "–");
const count = (number) => some(number, (each) => each.toLocaleString("en"));
// Columns but the first one are numbers.
const table = (label, names, rows) =>
  el(
    "div.scroll",
    { tabindex: 0, role: "region", "aria-label": label },
    el(
      "table",
      el("caption.sr", label),
      el(
        "thead",
        el("tr", names.map((name, index) => el("th", { scope: "col", class: index ? "num" : "" }, name))),
      ),
      el(
        "tbody",
        rows.map(([first, ...others]) =>
          el("tr", el("th", { scope: "row" }, first), others.map((value) => el("td.num", value)))
        ),
      ),
    ),
  );

// What may be long is drawn when it is opened.
function asTable(build) {
  const node = el("details", {
    on: { toggle: () => node.open && node.childElementCount === 1 && node.append(build()) },
  }, el("summary", "Show as table"));
  return node;
}

const MARKS = { nudges: "nudge", let_goes: "letgo", changes_by_people: "person", labels: "label" };

async function one(box, key) {
  const stats = await read(`/api/s/${key}/stats`);
  const worked = stats.tasks.reduce((sum, task) => sum + (task.in_progress_ms || 0), 0);
  const longest = Math.max(1, ...stats.tasks.map((task) => task.in_progress_ms || 0));
  const scrub = new Scrub({ move() {}, zoom() {} });
  setTitle(`Statistics: ${harmless(stats.title).slice(0, 80)}`);
  redraw(
    box,
    crumbs(key, "Statistics", el("a", { href: `${BASE}/s/${key}` }, brief(stats.title, 120))),
    el("div.head", el("h1", { tabindex: -1 }, "Statistics")),
    el(
      "div.panel.tiles",
      tile(`${stats.closed} of ${stats.total}`, "tasks closed"),
      tile(span(worked), "in progress"),
      tile(String(stats.nudges.length), "told to go on"),
      tile(String(stats.let_goes.length), "let go"),
      tile(some(stats.tokens, tokens), "tokens"),
      tile(some(stats.cost, money), "cost"),
    ),
    el(
      "section.panel.chart",
      el("h2", "Open tasks over time"),
      el("div.burn-chart.still", scrub.svg),
      asTable(() =>
        table(
          "Open tasks over time",
          ["When", "Open"],
          stats.open.map((each) => [moment(each.at), String(each.count)]),
        )
      ),
    ),
    el(
      "section.panel.chart",
      el("h2", "Time and cost per task"),
      table(
        "Time and cost per task",
        ["Task", "State", "In progress", "Told to go on", "Tokens", "Cost"],
        stats.tasks.map((task) => [
          say(task.text),
          task.removed ? "removed" : STATUS[task.status],
          some(task.in_progress_ms, (ms) => [
            span(ms),
            el("span.meter", { "aria-hidden": "true", style: { width: `${Math.round((ms / longest) * 100)}%` } }),
          ]),
          count(task.nudges),
          some(task.tokens, tokens),
          some(task.cost, money),
        ]),
      ),
    ),
  );
  if (!stats.open.length) return;
  const marks = Object.entries(MARKS).flatMap(([name, kind]) => stats[name].map(({ at }) => ({ at, kind })));
  const times = [...new Set([stats.from, ...stats.open, ...marks].map((each) => each?.at ?? each))].sort((a, b) =>
    a - b
  );
  const busy = stats.tasks.flatMap((task) => task.periods.map((each) => [each.from, each.to]));
  scrub.set({
    points: marks.sort((a, b) => a.at - b.at).map((each) => ({ ...each, id: "", open: 0, total: 0, text: "" })),
    steps: stats.open.map((each) => [each.at, each.count]),
    scale: scaleOf(times, times[times.length - 1], Math.max(60, scrub.svg.clientWidth || 600) / 0.9, { busy }),
    index: null,
    live: false,
    estimate: null,
  });
}

const PERIODS = [7, 14, 30, 90];
const FIGURES = ["Done", "Told to go on", "Let go", "Tokens", "Cost"];
const figures = (row) => [
  count(row.done),
  count(row.nudges),
  count(row.let_goes),
  some(row.tokens, tokens),
  some(row.cost, money),
];

async function all(box, days) {
  const stats = await read(`/api/stats?days=${days}`);
  const { period } = stats;
  const most = Math.max(1, ...stats.days.map((each) => each.done));
  const section = (title, first, rows, ...before) =>
    el("section.panel.chart", el("h2", title), before, table(title, [first, ...FIGURES], rows));
  setTitle("Statistics");
  redraw(
    box,
    el("div.head", el("h1", { tabindex: -1 }, "Statistics"), el("span.dim", plural(stats.sessions, "session"))),
    el(
      "nav.chips",
      { "aria-label": "Period" },
      PERIODS.map((each) =>
        el("a", { href: `${BASE}/stats?days=${each}`, "aria-current": each === days ? "true" : false }, `${each} days`)
      ),
    ),
    el(
      "div.panel.tiles",
      tile(count(period.done), "tasks done"),
      tile(count(period.nudges), "told to go on"),
      tile(count(period.let_goes), "let go"),
      tile(some(period.tokens, tokens), "tokens"),
      tile(some(period.cost, money), "cost"),
      tile(`${stats.closed} of ${stats.total}`, "tasks closed in all"),
    ),
    stats.partial &&
      el("p.partial.warn", "These figures are not whole: of so many sessions and events, the newest are counted."),
    section(
      "Per day",
      "Day",
      stats.days.map((row) => [row.day, ...figures(row)]).reverse(),
      el(
        "ol",
        { class: `day-bars${days > 14 ? " many" : ""}`, "aria-hidden": "true" },
        stats.days.map((each, index) =>
          el(
            "li",
            el("b", days <= 30 && each.done ? each.done : ""),
            el("i", { style: { height: `${Math.round((each.done / most) * 110)}px` } }),
            el("span", (stats.days.length - 1 - index) % Math.ceil(days / 14) ? "" : each.day.slice(8)),
          )
        ),
      ),
    ),
    section(
      "Per agent",
      "Agent",
      stats.agents.map((row) => [row.agent ? brief(hostName(row.agent), 80) : "People", ...figures(row)]),
    ),
    section(
      "Per model",
      "Model",
      stats.models.map((row) => [row.model ? brief(row.model, 80) : "not known", ...figures(row)]),
    ),
  );
}
