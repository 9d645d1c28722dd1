// The plan of a moment beside the plan of now: what has changed since, in words.
import { brief, el, say } from "./el.js";
import { BASE, read } from "./api.js";
import { actions, button, dialog } from "./dialog.js";
import { clock, plural } from "./time.js";
import { whole } from "./shown.js";
import { STATUS } from "./words.js";

const SINCE = {
  completed: "since done",
  in_progress: "since started",
  abandoned: "since dropped",
  blocked: "since blocked",
  pending: "since reopened",
};

// The rows of the past: as they were, each with what became of it; tasks that came later are at their places, dashed.
export function sinceWords(then, now, point) {
  const current = new Map();
  for (const phase of now.phases) for (const task of phase.tasks) current.set(task.number, task);
  const words = new Map();
  const known = new Set();
  const phases = then.phases.map((phase) => ({ ...phase, tasks: [...phase.tasks] }));
  for (const phase of phases) {
    for (const task of phase.tasks) {
      known.add(task.number);
      const today = current.get(task.number);
      if (!today) words.set(task.number, "since removed");
      else if (today.status !== task.status) words.set(task.number, SINCE[today.status]);
      else if (today.text !== task.text) words.set(task.number, "since reworded");
    }
  }
  for (const phase of now.phases) {
    const later = phase.tasks.filter((task) => !known.has(task.number));
    if (!later.length) continue;
    let place = phases.find((each) => each.name === phase.name);
    if (!place) phases.push(place = { name: phase.name, tasks: [] });
    for (const task of later) {
      words.set(task.number, "added since");
      place.tasks.push({ ...task, status: "pending", notes: [], worked: 0 });
    }
  }
  return { phases, words, changed: words.size, then, now, point };
}

export function differences({ words }) {
  const count = (...which) => [...words.values()].filter((word) => which.includes(word)).length;
  /** @type {[number, (n: number) => string][]} */
  const counted = [
    [count("since done", "since dropped"), (n) => `${plural(n, "task goes", "tasks go")} back to open`],
    [
      count("since started", "since blocked", "since reopened"),
      (n) => `${plural(n, "task gets its", "tasks get their")} earlier status back`,
    ],
    [count("since reworded"), (n) => `${plural(n, "task gets its", "tasks get their")} earlier words back`],
    [count("added since"), (n) => `${plural(n, "task is", "tasks are")} taken out`],
    [count("since removed"), (n) => `${plural(n, "task comes", "tasks come")} back`],
  ];
  const parts = counted.filter(([n]) => n).map(([n, words]) => words(n));
  return { summary: parts.length ? `${parts.join(", ")}.` : "Nothing changes: the plan is as it was." };
}

// The moment that is shown, and another one: the address names both while they are compared.
export async function compareWith(id, key, model) {
  const { past } = model;
  const other = id === model.session.head ? null : await read(`/api/s/${key}/at/${encodeURIComponent(id)}`);
  if (model.past !== past) return;
  const address = `${BASE}/s/${key}?at=${past.point.id}`;
  history.replaceState(null, "", `${address}&vs=${encodeURIComponent(id)}`);
  await compare(other ? sinceWords(past.then, whole(other.plan), past.point) : past, other && other.at);
  if (model.past === past) history.replaceState(null, "", address);
}

// Both plans, task by task, only where they differ. `at` is the time of the second one; without it, that is now.
function compare(past, at) {
  const [first, second] = [clock(past.point.at), at ? clock(at) : "now"];
  const current = new Map(past.now.phases.flatMap((phase) => phase.tasks).map((task) => [task.number, task]));
  const rows = past.phases.flatMap((phase) => phase.tasks).filter((task) => past.words.has(task.number)).map((task) => {
    const today = current.get(task.number);
    const added = past.words.get(task.number) === "added since";
    return el(
      "tr",
      el("td", say(task.text)),
      el("td", added ? "–" : STATUS[task.status]),
      el("td", today ? STATUS[today.status] : "removed"),
      el("td", today && today.text !== task.text ? say(today.text) : brief(past.words.get(task.number))),
    );
  });
  return dialog(`${first} and ${second}`, (close) => [
    el(
      "div.dialog-body",
      rows.length
        ? el(
          "div.scroll",
          el(
            "table",
            el(
              "thead",
              el(
                "tr",
                ["Task", first, at ? second : "Now", ""].map((name) =>
                  el("th", { scope: "col" }, name || el("span.sr", "What changed"))
                ),
              ),
            ),
            el("tbody", rows),
          ),
        )
        : el("p", "No task has changed since."),
    ),
    actions(button("Close", () => close(), "main", { autofocus: true })),
  ], { kind: "wide" });
}
