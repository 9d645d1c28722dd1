// One row of a plan.
import { capital, el, harmless, icon, say, sign } from "./el.js";
import { plural, span, spoken } from "./time.js";
import { menu } from "./menu.js";
import { drag } from "./drag.js";
import { STATUS } from "./words.js";
import { toGlance } from "./glance.js";
import { checkLines } from "./checks.js";
import { orderLines, orderWords, WORD_FIELDS } from "./order.js";

const NEXT = {
  pending: "in_progress",
  in_progress: "completed",
  completed: "pending",
  abandoned: "pending",
  blocked: "pending",
};

// What a row shows: sign, text and notes, time or what became of it, menu. `view` is the list that it is in.
export function cells(view, task, row, { waits, draft, since, check }) {
  const off = view.readonly || Boolean(view.model.past);
  const words = harmless(task.text).slice(0, 300);
  const used = view.model.used?.[task.number];
  const claim = view.model.claims?.[task.number];
  const name = `${words}: ${STATUS[task.status]}${task.worked ? `, ${spoken(task.worked)}` : ""}${
    task.notes.length ? `, ${plural(task.notes.length, "note")}` : ""
  }${check?.words ? `, check ${harmless(check.words).slice(0, 80)}` : ""}${orderWords(task, claim)}`;
  const part = (id, node) => {
    node.dataset.part = id;
    node.tabIndex = -1;
    return node;
  };
  const mark = part(
    "sign",
    el("button.signal", {
      "aria-label": name,
      "aria-pressed": task.status === "completed" ? "true" : task.status === "in_progress" ? "mixed" : "false",
      "aria-disabled": off || false,
      "aria-keyshortcuts": "Space S B X E I M C V O F Alt+ArrowUp Alt+ArrowDown",
      title: off ? STATUS[task.status] : `${STATUS[task.status]}: press for ${STATUS[NEXT[task.status]]}`,
      on: { click: () => off || view.act.mark(row.task, NEXT[row.task.status]) },
    }, sign(task.status, Boolean(waits))),
  );
  // A text with a button in it is no link.
  const long = task.text.length > 2000;
  const text = part(
    "text",
    el(
      long ? "span" : "a",
      { class: "words", ...(long ? {} : toGlance(view, task.number)) },
      view.numbered && el("span.number.dim", `#${task.number} `),
      long ? say(task.text) : el("bdi", harmless(task.text)),
    ),
  );
  text.addEventListener("dblclick", () => view.edit(row.task.number));
  const right = since
    ? el("span.since", since)
    : draft
    ? el("button.since.btn-draft", { tabindex: -1, on: { click: () => view.edit(row.task.number) } }, "draft kept")
    : waits?.checking
    ? ""
    : waits
    ? el("span.dim", "saving")
    : task.worked
    ? el("span.dim.took", used ? `${used} · ${span(task.worked)}` : span(task.worked))
    : used
    ? el("span.dim.took", used)
    : "";
  const more = !off &&
    part(
      "menu",
      el("button.icon.more.ctl", {
        "aria-label": `Change ${words.slice(0, 80)}`,
        "aria-haspopup": "menu",
        on: { click: (event) => choices(view, row, event.currentTarget) },
      }, icon("more")),
    );
  const grip = !off &&
    el(
      "span.grip.ctl",
      { "aria-hidden": "true", on: { pointerdown: (event) => drag(view, event, row) } },
      icon("grip"),
    );
  return el(
    "div.cell",
    grip,
    mark,
    el(
      "div.body",
      text,
      orderLines(task, { claim, texts: view.texts, told: view.model.told?.[task.number] }),
      checkLines(view, task, row, check, { off, part }),
      notes(task),
    ),
    right,
    more,
  );
}

function choices(view, row, anchor) {
  const { task } = row;
  const item = (label, key, act) => ({ label, key, act });
  menu(anchor, [
    task.status !== "completed" && item("Done", "space", () => view.act.mark(task, "completed")),
    task.status !== "in_progress" && item("Start", "s", () => view.act.mark(task, "in_progress")),
    task.status !== "pending" && item("Reopen", "", () => view.act.mark(task, "pending")),
    task.status !== "blocked" && item("Block…", "b", () => view.act.block(task)),
    task.status !== "abandoned" && item("Drop", "x", () => view.act.mark(task, "abandoned")),
    null,
    item("At a glance", "i", () => view.act.glance(task.number)),
    item("Edit", "e", () => view.edit(task.number)),
    item("Add a note…", "m", () => view.act.note(task)),
    item(task.check ? "Change the check…" : "Set a check…", "c", () => view.act.check(task)),
    task.check && item("Verify", "v", () => view.act.verify(task)),
    item("Order…", "o", () => view.act.after(task)),
    ...WORD_FIELDS.map((field) => item(`${capital(field.thing)}…`, field.key, () => view.act.words(task, field))),
    item("Move up", "alt+↑", () => view.shift(row, -1)),
    item("Move down", "alt+↓", () => view.shift(row, 1)),
    null,
    item("Remove…", "", () => view.act.remove(task)),
  ]);
}

function notes(task) {
  if (!task.notes.length) return [];
  const newest = task.notes[task.notes.length - 1];
  const line = (text) =>
    el(
      "p",
      { class: task.status === "blocked" ? "note warn" : "note" },
      task.status === "blocked" && text === newest ? "Waits for: " : "",
      say(text),
    );
  if (task.notes.length === 1) return [line(newest)];
  const older = el(
    "details.older",
    el("summary", plural(task.notes.length - 1, "older note")),
    task.notes.slice(0, -1).map((text) => el("p.note", say(text))),
  );
  return [line(newest), older];
}
