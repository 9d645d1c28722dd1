// The session that a page shows: read whole once, then changed by what the server says differs.
import { WORD_FIELDS } from "./order.js";

const LISTS = ["notes", "after", "waits", "meets", ...WORD_FIELDS.map((field) => field.name)];
const SIGNS = { completed: "d", abandoned: "x", in_progress: "a", blocked: "b", pending: "." };
// What an answer says of the edit, and not of the session.
const OF_ANSWER = new Set(["event", "left", "rebased", "seq", "unproved", "what"]);
/** @type {any} */
const none = Object.freeze([]);

// The server leaves out what is empty.
function filled(task) {
  for (const name of LISTS) task[name] ??= none;
  return task;
}

export function whole(plan) {
  for (const phase of plan.phases) phase.tasks.forEach(filled);
  return plan;
}

// The strip of a plan, as the overview gets it from the server.
const stripOf = (plan) =>
  plan.phases.map((phase) => phase.tasks.map((task) => SIGNS[task.status]).join("")).filter(Boolean).join(" ");

export const started = (got) => ({ ...got, plan: whole(got.plan) });

/**
 * Changes a session by what differs since a head, and returns it; null if it shows another one.
 * Only what differs is touched; a plan with other tasks, or another order, gets new phases.
 */
export function changed(session, got) {
  const { from, tasks, order, check, rows: _rows, steps, lanes, used, told, ...more } = got;
  const rest = Object.fromEntries(Object.entries(more).filter(([name]) => !OF_ANSWER.has(name)));
  if (got.head === session.head && from !== got.head) {
    const isNew = Object.entries(rest).some(([name, fact]) => JSON.stringify(session[name]) !== JSON.stringify(fact));
    return isNew ? { ...session, ...rest } : session;
  }
  if (from !== session.head) return null;
  const { plan } = session;
  const phases = order ? ordered(plan, tasks, order) : replaced(plan.phases, tasks);
  for (const [name, news] of Object.entries({ lanes, used, told })) {
    for (const { number } of tasks) delete session[name][number];
    Object.assign(session[name], news);
  }
  if (steps?.length) rest.open = [...session.open.filter(([at]) => at < steps[0][0]), ...steps];
  const next = { ...session, ...rest, plan: phases === plan.phases && check === plan.check ? plan : { phases, check } };
  return Object.assign(next, { strip: stripOf(next.plan) });
}

function replaced(phases, tasks) {
  const news = new Map(tasks.map((task) => [task.number, task]));
  for (const phase of news.size ? phases : []) {
    for (let at = 0; at < phase.tasks.length && news.size; at += 1) {
      const task = news.get(phase.tasks[at].number);
      if (!task) continue;
      phase.tasks[at] = filled(task);
      news.delete(task.number);
    }
  }
  return phases;
}

// Numbers come as ranges: "1-3,7".
function ordered(plan, tasks, order) {
  const known = new Map(plan.phases.flatMap((phase) => phase.tasks).map((task) => [task.number, task]));
  for (const task of tasks) known.set(task.number, filled(task));
  return order.map(([name, ranges]) => ({
    name,
    tasks: ranges.split(",").filter(Boolean).flatMap((range) => {
      const [first, last = first] = range.split("-").map(Number);
      return Array.from({ length: last - first + 1 }, (_, at) => known.get(first + at));
    }),
  }));
}
