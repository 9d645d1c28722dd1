// The plan on paper: all of its tasks, whichever of them are drawn on the screen. It is made when it is printed.
import { brief, el, fill, harmless, sign } from "./el.js";
import { span } from "./time.js";
import { STATUS } from "./task.js";

// `phases` returns what is shown now. Returns what ends it.
export function printed(paper, phases) {
  const draw = () =>
    fill(
      paper,
      phases().map((phase) => [phase.name && el("h2", brief(phase.name, 200)), el("ol", phase.tasks.map(row))]),
    );
  const clear = () => fill(paper);
  addEventListener("beforeprint", draw);
  addEventListener("afterprint", clear);
  return () => {
    removeEventListener("beforeprint", draw);
    removeEventListener("afterprint", clear);
  };
}

const row = (task) =>
  el(
    "li",
    sign(task.status),
    el(
      "div",
      el("bdi", harmless(task.text)),
      el("span.state", ` (${STATUS[task.status]}${task.worked ? `, ${span(task.worked)}` : ""})`),
    ),
    task.check &&
      el("p.two", el("code", "$ ", brief(task.check.line, 300)), task.check.words && ` ${task.check.words}`),
    task.notes.map((note) => el("p.two", el("bdi", harmless(note)))),
  );
