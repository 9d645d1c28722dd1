// What is going on now: the task, what the agent is doing, and what is left of the bounds.
import { brief, el, fill } from "./el.js";
import { agentName, hostName, reason } from "./card.js";
import { clock, money, since, tokens } from "./time.js";

export function drawNow(now, session, checks) {
  const agent = (session.agents || [])[0];
  const fact = (label, value) => value && el("div", el("dt", label), el("dd", value));
  // The others say something only when they are being used up.
  const bounds = (session.bounds || []).filter((bound) => bound.main || bound.used * 2 >= bound.limit);
  const bounded = bounds.some((bound) => bound.name === "Cost");
  const used = [session.tokens && tokens(session.tokens), session.cost && !bounded && money(session.cost)];
  const spent = used.filter(Boolean).join(" · ");
  const numbers = [...(checks?.proposed || [])].sort((one, other) => (one || Infinity) - (other || Infinity));
  const proposed = numbers.map((number, index) => [
    index ? ", " : "",
    number ? el("a.more-link", { href: `#t${number}` }, `#${number}`) : "the plan",
  ]);
  fill(
    now,
    el("h2", "Now"),
    el("p.doing", doing(session)),
    agent && agent.doing &&
      el(
        "p.two",
        "running",
        el("code", brief(agent.doing, 160)),
        agent.since ? ["·", since(el("time"), agent.since, (at) => elapsed(Date.now() - at))] : "",
      ),
    el(
      "dl",
      fact("Agent", agent ? brief(agentName(agent, " · ")) : "nobody at work"),
      fact("Model", agent && agent.model && brief(agent.model)),
      session.agents && session.agents.length > 1 &&
        fact("Also", brief(session.agents.slice(1).map((each) => hostName(each.host)).join(", "))),
      proposed.length > 0 && fact("To approve", proposed),
      bounds.map((bound) => fact(bound.name, brief(bound.text))),
      fact(bounded ? "Tokens" : "Tokens, cost", spent),
    ),
  );
}

// The task in progress, or else why there is none. What an agent asks is told in its own letters: it may be a command.
function doing(session) {
  const task = session.plan.phases.flatMap((phase) => phase.tasks).find((each) => each.status === "in_progress");
  if (task) return brief(task.text);
  const need = (session.needs || [])[0];
  if (need) return need.kind === "command" ? ["May I run ", el("code", brief(need.text, 160))] : brief(need.text);
  return brief(reason(session) || (session.state === "done" ? "All tasks are done" : "Nobody is at work"));
}

const elapsed = (ms) => `${Math.floor(ms / 60000)}:${String(Math.floor(ms / 1000) % 60).padStart(2, "0")}`;

// When it is done at this pace, or why that cannot be said.
export function estimateLine(session) {
  const { estimate } = session;
  if (!estimate) return "";
  return estimate.at
    ? `At this pace done about ${clock(estimate.at)}`
    : estimate.reason
    ? `no estimate: ${estimate.reason}`
    : "";
}
