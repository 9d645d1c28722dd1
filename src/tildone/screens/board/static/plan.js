// The tasks of a plan: a list for each phase. Rows are edited in place, moved by keys or by dragging.
//
// A live change never moves what a person holds: while a row is edited, dragged or under a moving pointer, other rows
// only change in place, and tasks that came, went or moved are drawn when it is let go.
import { brief, el, fill, focused, focusIn, harmless, icon } from "./el.js";
import { lane } from "./lanes.js";
import { tell } from "./toast.js";
import { cells } from "./task.js";
import { buttonOf, checkOf, planCheck } from "./checks.js";
import { claimText, WORD_FIELDS } from "./order.js";

const RESTING_MS = 1500;
const MOST_ROWS = 150;

export class PlanView {
  // act: {mark, reword, note, block, remove, move, add, check, approve, verify, after, words}; drafts: {get, put, drop} by task number.
  constructor({ act, drafts, readonly }) {
    this.act = act;
    this.drafts = drafts;
    this.readonly = readonly;
    /** @type {Map<number, any>} */
    this.rows = new Map();
    this.folded = new Set();
    /** @type {any} */
    this.model = null;
    /** @type {number | null} */
    this.editing = null;
    /** @type {any} */
    this.dragging = null;
    this.moved = 0;
    this.current = 0;
    this.shown = new Map();
    this.texts = new Map();
    this.stale = false;
    this.list = el("div.phases");
    this.node = el("div.plan", {
      on: {
        keydown: (event) => this.key(event),
        focusin: (event) => this.rove(event),
        pointermove: () => {
          this.moved = Date.now();
        },
        pointerleave: () => {
          this.moved = 0;
          this.settle();
        },
      },
    }, this.list);
    this.adding = this.addForm();
  }

  // model: {phases: [{name, tasks}], lanes, used, told, claims, scale, past, pending, until, check, checks, outputs}; own: the person's own change, drawn at once.
  set(model, own = false) {
    this.model = model;
    const tasks = model.phases.flatMap((phase) => phase.tasks);
    this.texts = new Map(tasks.map((task) => [task.number, task.text]));
    this.numbered = tasks.some((task) => task.after?.length);
    const held = this.editing !== null || this.dragging || (!own && Date.now() - this.moved < RESTING_MS);
    if (held && this.list.childElementCount) {
      for (const { task, phase } of this.tasks()) if (this.rows.has(task.number)) this.draw(task, phase);
      clearTimeout(this.later);
      this.later = setTimeout(() => this.settle(), RESTING_MS);
      this.stale = true;
    } else this.arrange();
  }

  settle() {
    if (this.stale && this.model) this.set(this.model);
  }

  tasks() {
    return this.model.phases.flatMap((phase) => phase.tasks.map((task) => ({ task, phase })));
  }

  arrange() {
    this.stale = false;
    const focus = focusIn(this.list);
    const [row, part] = focus?.dataset.part ? [focus.closest("li.task"), focus.dataset.part] : [];
    const own = focus?.closest(".plan-check") && focus.textContent;
    const sections = this.model.phases.map((phase, index) => this.section(phase, index));
    const gone = new Set(this.rows.keys());
    for (const { task } of this.tasks()) gone.delete(task.number);
    for (const number of gone) this.rows.delete(number);
    const last = sections[this.addTo ?? sections.length - 1] || sections[sections.length - 1];
    if (last && this.canAdd() && this.tasks().length) last.append(this.adding);
    same(
      this.list,
      this.tasks().length ? [...sections, planCheck(this)].filter(Boolean) : [
        el(
          "section.phase",
          el("p.none.dim", "No tasks yet. Add one, or wait for the agent to."),
          this.canAdd() && this.adding,
        ),
      ],
    );
    this.tabStop();
    // A row that was moved in the document has lost the focus.
    const again = row?.isConnected
      ? row.querySelector(`[data-part="${part}"]`)
      : own
      ? buttonOf(this.list, own)
      : focus;
    if (again?.isConnected && focused() !== again) again.focus({ preventScroll: true });
  }

  canAdd() {
    return !this.readonly && !this.model.past;
  }

  section(phase, index) {
    const id = `ph${index}`;
    const closed = phase.tasks.filter((task) => task.status === "completed" || task.status === "abandoned").length;
    const key = phase.name || "";
    const folded = this.folded.has(key);
    const section = el("section.phase", {
      "aria-labelledby": phase.name ? id : false,
      "aria-label": phase.name ? false : "Tasks",
      "data-phase": index,
    });
    const fold = () => {
      folded ? this.folded.delete(key) : this.folded.add(key);
      this.arrange();
    };
    if (phase.name) {
      const toggle = el(
        "button.phase-name",
        {
          "aria-expanded": String(!folded),
          on: { click: () => fold() },
        },
        icon("chevron"),
        brief(phase.name, 200),
      );
      section.append(
        el(
          "div.phase-head",
          el("h3", { id }, toggle),
          el("span.dim", `${closed} of ${phase.tasks.length}`),
          this.canAdd() &&
            el("button.icon.add-to.ctl", {
              "aria-label": `Add a task to ${harmless(phase.name).slice(0, 80)}`,
              on: { click: () => this.add(index) },
            }, icon("plus")),
        ),
      );
    }
    if (folded) return section;
    const most = this.shown.get(key) || MOST_ROWS;
    const rows = phase.tasks.slice(0, most).map((task) => this.draw(task, phase).li);
    const list = el("ol", rows);
    if (phase.tasks.length > most) {
      const more = () => {
        this.shown.set(key, most * 4);
        this.arrange();
      };
      list.append(el("li", el("button.btn.plain", { on: { click: more } }, `Show ${phase.tasks.length - most} more`)));
    }
    section.append(list);
    return section;
  }

  draw(task, phase) {
    let row = this.rows.get(task.number);
    if (!row) {
      row = {
        li: el("li.task", { id: `t${task.number}`, "data-number": task.number }),
        lane: el("div.lane-cell"),
        print: "",
        bars: "",
      };
      this.rows.set(task.number, row);
    }
    row.task = task;
    row.phase = phase;
    const { scale, lanes, used, claims, until, past, pending } = this.model;
    const waits = pending && pending.get(task.number);
    const stretches = lanes && lanes[task.number];
    const draft = this.drafts.get(task.number);
    if (this.editing === task.number || this.dragging?.row === row) return row;
    const li = row.li;
    const bars = JSON.stringify([
      stretches,
      until,
      scale && [scale.begin, scale.end, scale.width, scale.zoom, scale.ticks[0]],
    ]);
    if (row.bars !== bars) {
      row.bars = bars;
      fill(row.lane, scale && lane(stretches, scale, until ?? null));
    }
    // What a person has selected in a row stays, unless the row itself changes.
    const check = checkOf(task.number, task, past ? null : this.model.checks, waits);
    const print = JSON.stringify([
      task,
      check,
      this.model.outputs?.get(task.number),
      used && used[task.number],
      this.model.told?.[task.number],
      claims?.[task.number] && claimText(claims[task.number]),
      this.numbered,
      task.waits?.map((number) => this.texts.get(number)),
      waits,
      past && past.get(task.number),
      Boolean(past),
      draft && draft.text,
    ]);
    if (row.print === print) return row;
    row.print = print;
    const shown = { ...task, ...waits };
    const within = focusIn(li)?.dataset.part;
    li.className = `task ${shown.status}${waits ? " pending-op" : ""}${
      past && past.get(task.number) === "added since" ? " later" : ""
    }`;
    fill(li, cells(this, shown, row, { waits, draft, since: past && past.get(task.number), check }), row.lane);
    if (within) li.querySelector(`[data-part="${within}"]`)?.focus({ preventScroll: true });
    else if (this.current === task.number) this.tabStop();
    return row;
  }

  edit(number) {
    const row = this.rows.get(number);
    if (!row || this.readonly || this.model.past || this.editing === number) return;
    if (this.editing !== null) this.rows.get(this.editing)?.finish?.();
    this.editing = number;
    const draft = this.drafts.get(number);
    const base = draft ? draft.base : row.task.text;
    const head = draft ? draft.head : this.act.head();
    const field = el("textarea.edit", {
      rows: 1,
      value: draft ? draft.text : row.task.text,
      "aria-label": "Text of the task",
      maxlength: 100000,
    });
    const grow = () => {
      field.style.setProperty("height", "auto");
      field.style.setProperty("height", `${Math.min(field.scrollHeight + 2, 320)}px`);
    };
    const stop = (keep) => {
      if (this.editing !== number) return;
      this.editing = null;
      if (!keep) this.drafts.drop(number);
      row.print = "";
      row.finish = null;
      this.set(this.model, true);
      row.li.querySelector('[data-part="sign"]')?.focus({ preventScroll: true });
    };
    row.finish = () => stop(field.value !== base);
    field.addEventListener("input", () => {
      grow();
      this.drafts.put(number, { text: field.value, base, head });
    });
    field.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        const text = field.value.trim();
        if (!text) return this.act.fault("A task needs some words.");
        const same_text = text === base;
        if (!same_text) this.drafts.put(number, { text, base, head });
        stop(!same_text);
        if (!same_text) this.act.reword(row.task, { text, base, head });
      } else if (event.key === "Escape") {
        event.preventDefault();
        this.giveUp(field.value !== base, stop);
      }
    });
    fill(row.li.querySelector(".body"), field);
    row.li.classList.add("editing");
    grow();
    field.focus();
    field.setSelectionRange(field.value.length, field.value.length);
  }

  async giveUp(isChanged, stop) {
    if (!isChanged || (await this.act.discard())) stop(false);
  }

  addForm() {
    const field = el("textarea", {
      rows: 1,
      class: "edit",
      placeholder: "Add a task",
      "aria-label": "Add a task",
      value: this.drafts.get("add")?.text || "",
      maxlength: 100000,
    });
    field.addEventListener(
      "input",
      () => (field.value ? this.drafts.put("add", { text: field.value }) : this.drafts.drop("add")),
    );
    field.addEventListener("keydown", async (event) => {
      event.stopPropagation();
      if (event.key === "Escape") field.blur();
      if (event.key !== "Enter" || event.shiftKey || event.isComposing || !field.value.trim()) return;
      event.preventDefault();
      const phase = this.model.phases[this.addTo ?? this.model.phases.length - 1];
      const text = field.value.trim();
      field.readOnly = true;
      if (await this.act.add(text, phase ? phase.name : null)) {
        field.value = "";
        this.drafts.drop("add");
      }
      field.readOnly = false;
    });
    this.field = field;
    return el("div.adding", icon("plus"), field);
  }

  add(index) {
    this.addTo = index;
    this.arrange();
    this.field.focus();
  }

  // Keys on a row; in a field they are ordinary letters.
  key(event) {
    const li = event.target.closest?.("li.task");
    if (!li || /^(textarea|input)$/i.test(event.target.tagName)) return;
    const row = this.rows.get(Number(li.dataset.number));
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
    const letters = plain && this.act.letters();
    const moves = { ArrowDown: 1, ArrowUp: -1, ...(letters ? { j: 1, k: -1 } : {}) };
    const off = this.readonly || this.model.past;
    if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
      off || this.shift(row, event.key === "ArrowUp" ? -1 : 1);
    } else if (plain && event.key in moves) this.step(li, moves[event.key]);
    else if (plain && (event.key === "ArrowRight" || event.key === "ArrowLeft")) this.within(event);
    else if (plain && event.key === "Home") this.focusRow(this.order()[0]);
    else if (plain && event.key === "End") this.focusRow(this.order().at(-1));
    else if (off || !plain) return;
    else if (event.key === " " && event.target.dataset.part === "sign") {
      this.act.mark(row.task, row.task.status === "completed" ? "pending" : "completed");
    } else if (event.key === "F2") this.edit(row.task.number);
    else if (event.key === "Delete") this.act.remove(row.task);
    else if (!letters) return;
    else if (event.key === "s") this.act.mark(row.task, "in_progress");
    else if (event.key === "b") this.act.block(row.task);
    else if (event.key === "x") this.act.mark(row.task, "abandoned");
    else if (event.key === "e") this.edit(row.task.number);
    else if (event.key === "m") this.act.note(row.task);
    else if (event.key === "c") this.act.check(row.task);
    else if (event.key === "v") this.act.verify(row.task);
    else if (event.key === "o") this.act.after(row.task);
    else if (WORD_FIELDS.some((field) => field.key === event.key)) {
      this.act.words(row.task, WORD_FIELDS.find((field) => field.key === event.key));
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  order() {
    return [...this.list.querySelectorAll("li.task")];
  }

  step(li, by) {
    const all = this.order();
    this.focusRow(all[all.indexOf(li) + by]);
  }

  focusRow(li) {
    li?.querySelector('[data-part="sign"]')?.focus();
  }

  within(event) {
    const parts = [...event.target.closest("li").querySelectorAll("[data-part]")];
    parts[parts.indexOf(event.target) + (event.key === "ArrowRight" ? 1 : -1)]?.focus();
  }

  rove(event) {
    const li = event.target.closest?.("li.task");
    if (!li) return;
    this.current = Number(li.dataset.number);
    this.tabStop();
  }

  // One Tab stop for the whole list: the row that was used last, else the one in progress.
  tabStop() {
    for (const each of this.list.querySelectorAll('[data-part][tabindex="0"]')) each.tabIndex = -1;
    const li = this.rows.get(this.current)?.li;
    const target = li && li.isConnected
      ? li
      : this.list.querySelector("li.task.in_progress") || this.list.querySelector("li.task");
    for (const each of target?.querySelectorAll("[data-part]") || []) {
      each.tabIndex = each.dataset.part === "sign" ? 0 : -1;
    }
  }

  // Up or down by one, across phases.
  shift(row, by) {
    const { phases } = this.model;
    const at = phases.indexOf(row.phase) >= 0
      ? phases.indexOf(row.phase)
      : phases.findIndex((phase) => phase.tasks.some((task) => task.number === row.task.number));
    const phase = phases[at];
    const index = phase.tasks.findIndex((task) => task.number === row.task.number);
    this.current = row.task.number;
    if (by < 0 && index > 0) return this.move(row, at, index - 1);
    if (by > 0 && index < phase.tasks.length - 1) return this.move(row, at, index + 1);
    const next = at + by;
    if (next >= 0 && next < phases.length) return this.move(row, next, by > 0 ? 0 : phases[next].tasks.length);
    return tell(by < 0 ? "Already first" : "Already last");
  }

  // To position `index` of phase `to`, counted without the task itself.
  move(row, to, index) {
    const phase = this.model.phases[to];
    const others = phase.tasks.filter((task) => task.number !== row.task.number);
    tell(`Moved to ${index + 1} of ${others.length + 1}${phase.name ? ` in ${harmless(phase.name)}` : ""}`);
    this.act.move(row.task, { before: others[index] || null, phase: phase.name, after: others[index - 1] || null });
  }

  drop(row, { number, after }) {
    const to = this.model.phases.findIndex((phase) => phase.tasks.some((task) => task.number === number));
    if (to < 0) return;
    const others = this.model.phases[to].tasks.filter((task) => task.number !== row.task.number);
    this.move(row, to, others.findIndex((task) => task.number === number) + (after ? 1 : 0));
  }
}

// Makes the children of a node these, and leaves those in place that are already right.
function same(node, children) {
  if (children.length === node.children.length && children.every((child, index) => child === node.children[index])) {
    return;
  }
  node.replaceChildren(...children);
}
