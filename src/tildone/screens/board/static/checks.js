// Checks of tasks and of the plan, whose number is 0: how they are shown, and setting, approving and running them.
import { brief, el, harmless } from "./el.js";
import { read, write } from "./api.js";
import { actions, button, cancelOr, dialog } from "./dialog.js";
import { toGlance } from "./glance.js";
import { toast } from "./toast.js";

const LOOK_MS = 4000;
const short = (text) => harmless(text).slice(0, 120);
const warned = (answer) => answer.warnings.map((each) => `. But ${harmless(each).slice(0, 200)}`).join("");

// The state of a check: what was recorded, and what is known on the machine of the board. `waits` is a pending change.
export function checkOf(number, { check, status }, facts, waits) {
  if (!check) return null;
  const known = facts || {};
  const has = (list) => (known[list] || []).includes(number);
  if (waits?.checking || has("checking")) return { state: "checking", words: "checking…" };
  if (has("stale") && (status === undefined || status === "completed")) return { state: "stale", words: "stale" };
  if (has("proposed")) return { state: "proposed", words: "proposed", approve: known.may_approve };
  if (check.state === "proposed" && known.here) return { state: "", words: "" };
  return { state: check.state, words: check.words };
}

const soft = (label, act, props) => button(label, act, "soft small", props);

// What is below the text of a task about its check.
export function checkLines(view, task, row, found, { off, part }) {
  if (!found || task.status === "abandoned") return [];
  const act = !off && found.approve
    ? ["approve", "Approve…", () => view.act.approve(row.task)]
    : !off && found.state === "stale" && ["verify", "Verify", () => view.act.verify(row.task)];
  const state = { ...toGlance(view, task.number), "data-part": "state", tabindex: -1 };
  return [checkLine(task.check, found, act && part(act[0], soft(act[1], act[2])), state)];
}

// Shows what a check that did not pass has printed, if it was run from this page; undefined if it was not.
function printedBy(view, task, found) {
  const kept = ["failed", "inconclusive"].includes(found.state) && view.model.outputs?.get(task.number);
  return kept ? () => showOutput(`Check of “${short(task.text)}”`, kept) : undefined;
}

// The check of the plan itself, below all tasks; without one, a button that sets it.
export function planCheck(view) {
  const { check, checks, pending, past } = view.model;
  if (past) return null;
  const plan = { number: 0, text: "the plan", check };
  const found = checkOf(0, { check, status: "" }, checks, pending?.get(0));
  const off = view.readonly;
  if (!found && off) return null;
  const set = !off &&
    soft(
      found ? "Change…" : "Set a check of the plan…",
      () => view.act.check(plan),
      found ? { "aria-label": "Change the check of the plan" } : {},
    );
  const more = found && !off && found.state !== "checking" &&
    (found.approve
      ? soft("Approve…", () => view.act.approve(plan), { "aria-label": "Approve the check of the plan" })
      : soft("Verify", () => view.act.verify(plan), { "aria-label": "Verify the plan" }));
  const printed = found && printedBy(view, plan, found);
  return el(
    "section.plan-check",
    { "aria-label": "Check of the plan" },
    found && el("p.dim", "The plan is done only if this passes:"),
    found && checkLine(check, found),
    el("div.row", more, printed && soft("What it printed", printed), set),
  );
}

// The button of the check of the plan with these words, or else the first one, so that the focus stays where it was.
export function buttonOf(list, words) {
  const all = [...list.querySelectorAll(".plan-check button")];
  return all.find((each) => each.textContent === words) || all[0];
}

// `link` makes the state lead to the output.
export const checkLine = (check, found, more, link = {}) =>
  el(
    "p.note.check",
    el("code", { dir: "ltr" }, "$ ", brief(check.line, 300)),
    check.folder && [" in ", brief(check.folder, 80)],
    found.words &&
      [
        " ",
        el(
          link.href ? "a" : "span",
          { class: `state ${found.state}`, title: check.program && `by ${harmless(check.program)}`, ...link },
          brief(found.words, 200),
        ),
      ],
    more && [" ", more],
  );

// The end of what a check has printed.
const showOutput = (title, { reason, output }) =>
  dialog(title, (close) => [
    el(
      "div.dialog-body",
      el("p", brief(reason, 600)),
      el(
        "pre.long.output",
        { dir: "ltr", tabindex: 0, "aria-label": "The end of its output" },
        el("bdi", harmless(output, { lines: true })),
      ),
    ),
    actions(button("Close", () => close(), "main", { autofocus: true })),
  ], { kind: "wide" });

// Tells about a check that did not pass; its output is shown on demand, so that no dialog takes what is being typed.
export function tellUnproved(outputs, task, unproved) {
  const [first] = unproved;
  for (const each of unproved) if (each.output) outputs.set(each.number, each);
  const more = first.output ? { action: "Output", act: () => showOutput(`Check of “${short(task.text)}”`, first) } : {};
  toast(`Not done: ${first.reason}`, { bad: true, ...more });
}

// The command is shown whole: what a person approves must not end beyond a fold.
const agreed = (task) =>
  dialog("Let this command be run as a check?", (close) => [
    el(
      "div.dialog-body",
      el(
        "pre.long",
        { dir: "ltr", tabindex: 0, "aria-label": "The command" },
        el("bdi", harmless(task.check.line, { lines: true })),
      ),
      task.check.caution && el("p.bad", task.check.caution),
      el(
        "p.dim",
        "It runs on the machine of this board",
        task.check.folder && [", in ", brief(task.check.folder, 200)],
        task.number ? `, whenever “${short(task.text)}” is marked as done.` : ", when all tasks are done.",
      ),
    ),
    actions(
      button("Cancel", () => close(null), "plain", { autofocus: true }),
      button("Approve", () => close(true), "main"),
    ),
  ], { kind: "wide" });

const askLine = (task) =>
  dialog("When is it done?", (close) => {
    const field = el("input", {
      type: "text",
      value: task.check?.line || "",
      "aria-label": "Command",
      placeholder: "pytest -q tests/parser",
      autocomplete: "off",
      spellcheck: "false",
      autofocus: true,
      maxlength: 20000,
    });
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      close({ line: field.value.trim() });
    });
    return [
      el(
        "div.dialog-body",
        el("p.dim", short(task.text)),
        el(
          "p",
          task.number
            ? "A command that succeeds if the task is done."
            : "A command that succeeds if the plan is done: it is run when all tasks are.",
          " No shell interprets it. Without a command, there is no check.",
        ),
        field,
      ),
      cancelOr(close, "Set", () => close({ line: field.value.trim() })),
    ];
  });

// `send` sends ops, `taken` accepts an answer, `facts` returns what is known about the checks.
export function checkActs({ key, head, outputs, pending, redraw, taken, fault, send, facts, look, undo }) {
  const proposed = (task) => (facts()?.proposed || []).includes(task.number);
  const running = (task) => pending.get(task.number)?.checking || (facts()?.checking || []).includes(task.number);

  async function post(path, task, body, shown) {
    if (shown) {
      pending.set(task.number, shown);
      redraw(true);
    }
    try {
      const answer = await write(`/api/s/${key}/${path}`, { number: task.number, ...body }, { head: head() });
      pending.delete(task.number);
      await taken(answer);
      return answer;
    } catch (error) {
      pending.delete(task.number);
      if (error.body.plan) await taken(error.body);
      redraw(true);
      fault(error.status === 422 ? (error.body.faults || [error.message]).join(" ") : error.message, error.hint);
      return null;
    } finally {
      look();
    }
  }

  const self = {
    async complete(task, at, said) {
      if (running(task)) return fault("Its check is running already.");
      if (proposed(task) && !(await self.approve(task))) return false;
      const done = await send([{ op: "mark", at, status: "completed" }], { task, shown: { checking: true }, said });
      look();
      return done;
    },
    async check(task) {
      const asked = await askLine(task);
      if (!asked || asked.line === (task.check?.line || "")) return;
      const answer = await post("check", task, { line: asked.line, base: task.check?.line || "" });
      if (answer) {
        toast(
          asked.line
            ? `Check set${answer.approved ? "" : ", and proposed: a person has to approve it"}: ${short(asked.line)}${
              warned(answer)
            }`
            : "Check removed",
          answer.event ? { action: "Undo", act: () => undo(answer.event) } : {},
        );
      }
    },
    async approve(task) {
      if (!facts()?.may_approve) {
        fault("Only the person who started the board can approve a command on its machine.", "There: tildone approve");
        return false;
      }
      if (!(await agreed(task))) return false;
      const answer = await post("approve", task, { command: task.check.command, folder: task.check.folder });
      if (!answer) return false;
      const known = facts();
      known.proposed = known.proposed.filter((number) => number !== task.number);
      redraw(true);
      toast(`Approved: ${short(task.check.line)}${warned(answer)}`);
      return true;
    },
    async verify(task) {
      if (!task.check) return fault(task.number ? "This task has no check." : "The plan has no check.");
      if (running(task)) return fault("Its check is running already.");
      if (proposed(task) && !(await self.approve(task))) return undefined;
      const answer = await post("verify", task, {}, { checking: true });
      if (!answer) return undefined;
      if (!answer.unproved.length) return toast(`Passed: ${short(task.check.line)}`);
      tellUnproved(outputs, task, answer.unproved);
      return redraw(true);
    },
  };
  return self;
}

// What only the machine of the board knows is not in the store, so nothing tells about it: a visible page asks.
export function followChecks({ key, model, changed }) {
  const has = () =>
    model.session &&
    (Object.keys(model.session.claims || {}).length || model.session.plan.check ||
      model.session.plan.phases.some((phase) => phase.tasks.some((task) => task.check)));
  let asking = false;
  let again = false;
  async function look() {
    if (!has() || document.hidden) return;
    if (asking) {
      again = true;
      return;
    }
    asking = true;
    const found = await read(`/api/s/${key}/checks`).catch(() => null);
    asking = false;
    const { seq: _seq, ...facts } = found || {};
    if (found && JSON.stringify(facts) !== JSON.stringify(model.checks)) {
      model.checks = facts;
      changed();
    }
    if (again) {
      again = false;
      look();
    }
  }
  const timer = setInterval(look, LOOK_MS);
  return { look, end: () => clearInterval(timer) };
}
