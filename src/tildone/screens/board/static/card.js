// A session as a card or a row: name and state, where, one line of what or why, strip, counts.
import { brief, capital, el, fill, focusIn, icon } from "./el.js";
import { strip } from "./strip.js";
import { money, since, span } from "./time.js";
import { AGENTS } from "./words.js";

const CLASSES = { "needs you": "needs", "let go": "letgo" };
const ICONS = { paused: "pause", stopped: "stop", empty: "idle" };

export const stateClass = (word) => CLASSES[word] || word;
export const stateIcon = (word) => ICONS[word] || stateClass(word);

export const pill = (word) => el("span", { class: `pill ${stateClass(word)}` }, icon(stateIcon(word)), capital(word));

export const hostName = (host) => AGENTS[host] || host || "";

// "Claude Code on mk-laptop"
export function agentName(agent, joint = " on ") {
  if (!agent) return "";
  return [hostName(agent.host) || agent.agent || "An agent", agent.on].filter(Boolean).join(joint);
}

// Why a session is in its state, as a sentence; only our own words get a capital letter.
export const reason = (row) => capital(row.why || "").replace(/^Waits: /, "Waits for: ");

function what(row) {
  if (row.state === "done") return `All ${row.total} tasks are done`;
  if (row.state === "empty") return "No tasks yet";
  if (row.state === "needs you" && row.needs) return row.why || row.doing;
  if (row.state === "needs you" || row.state === "let go") return reason(row) || row.doing;
  if (row.state === "idle") return row.doing ? `Next: ${row.doing}` : reason(row);
  return row.doing || reason(row);
}

function facts(row) {
  const agent = row.agents && row.agents[0];
  const [told, limit] = row.nudges || [0, 0];
  if (row.state === "stuck" || row.state === "paused" || row.state === "stopped") return row.why || "";
  if (row.state === "let go") return told ? `let go after ${told} nudges` : "let go";
  if (row.state === "done") return `${told} nudges${row.cost ? ` · ${money(row.cost)}` : ""}`;
  if (agent) {
    return `${hostName(agent.host) || agent.agent}${agent.since ? ` · ${span(Date.now() - agent.since)}` : ""}`;
  }
  return row.state === "idle" ? "nobody at work" : limit && told ? `told ${told} of ${limit} times` : "";
}

export function card(row, old, { href, index, size, rows }) {
  if (old && old.row === row && old.index === index && old.size === size) return old;
  const li = old || el("li");
  // Asked before the link moves into the new card: it loses the focus then.
  const held = focusIn(li);
  Object.assign(li, { row, index, size });
  const where = [row.where, row.agents && row.agents[0] && row.agents[0].on].filter(Boolean).join(" · ");
  const link = li.querySelector("a") || el("a.stretch");
  link.setAttribute("href", href);
  link.dataset.key = row.key;
  fill(link, brief(row.title || row.name, 120));
  const updated = since(el("time.dim"), row.updated);
  const head = [el("h3.clip", link), pill(row.state)];
  const line = el(
    "p.line",
    icon(stateIcon(row.state), { class: `ic ${rows ? "sr" : ""}` }),
    el("span.clip", brief(what(row))),
  );
  const bar = strip(row.strip || "", { most: rows ? 40 : 60 });
  const count = el("span", row.total ? `${row.closed} of ${row.total}` : "0 tasks");
  const more = el("span.dim.clip", brief(facts(row), 60));
  const body = rows ? [el("div.cell.name", head[0]), head[1], bar, count, line, more, updated] : [
    el("div.card-head", head),
    el("p.where.dim.clip", brief(where || " ", 120)),
    line,
    bar,
    el("p.foot", count, more, updated),
  ];
  const article = el("article", { class: rows ? "card row" : "card" }, body);
  li.setAttribute("aria-setsize", size);
  li.setAttribute("aria-posinset", index + 1);
  fill(li, article);
  if (held) link.focus({ preventScroll: true });
  return li;
}
