// The tasks of a plan: a list for each phase. Rows are edited in place, moved by keys or by dragging.
//
// Of a long plan, only the rows near the viewport are in the document (`Rows` in window.js), and the one that was used
// last, which has the focus or the tab stop. Printing draws all of them.
//
// A live change never moves what a person holds: while a row is edited, dragged or under a moving pointer, other rows
// only change in place, and tasks that came, went or moved are drawn when it is let go.
import { brief, el, fill, focused, focusIn, harmless, icon, put } from "./el.js";
import { lane } from "./lanes.js";
import { tell } from "./toast.js";
import { cells } from "./task.js";
import { buttonOf, checkOf, planCheck } from "./checks.js";
import { claimText, WORD_FIELDS } from "./order.js";
import { arrangeIn, Rows } from "./window.js";

const RESTING_MS = 1500;

export class PlanView {
  // act: {mark, reword, note, block, remove, move, add, check, approve, verify, after, words}; drafts: {get, put, drop} by task number.
  constructor({ act, drafts, readonly }) {
    this.act = act;
    this.drafts = drafts;
    this.readonly = readonly;
    /** @type {Map<number, any>} */
    this.rows = new Map();
    this.folded = new Set();
    /** @type {any[]} */
    this.sections = [];
    this.check = el("div.plan-checks");
    this.checkPrint = "";
    this.empty = el("section.phase", el("p.none.dim", "No tasks yet. Add one, or wait for the agent to."));
    /** @type {Map<number, {phase: any, place: number}>} */
    this.index = new Map();
    /** @type {any[] | null} */
    this.indexed = null;
    /** @type {any[]} */
    this.arranged = [];
    /** @type {any} */
    this.model = null;
    /** @type {number | null} */
    this.editing = null;
    /** @type {any} */
    this.dragging = null;
    this.moved = 0;
    this.current = 0;
    /** @type {number[]} */
    this.pended = [];
    this.texts = { get: (number) => this.task(number)?.text };
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
    this.window = new Rows(this.list, () => this.paint());
    this.printing = (event) => {
      this.window.all = event.type === "beforeprint";
      this.paint();
    };
    for (const type of ["beforeprint", "afterprint"]) addEventListener(type, this.printing);
  }

  end() {
    this.window.end();
    clearTimeout(this.later);
    for (const type of ["beforeprint", "afterprint"]) removeEventListener(type, this.printing);
  }

  // model: {phases: [{name, tasks}], lanes, used, told, claims, scale, past, pending, until, check, checks, outputs}; own: the person's own change, drawn at once.
  set(model, own = false) {
    const before = this.model;
    this.model = model;
    this.pended = [...(model.pending?.keys() || [])];
    this.numbered = model.phases.some((phase) => phase.tasks.some((task) => task.after?.length));
    const held = this.editing !== null || this.dragging || (!own && Date.now() - this.moved < RESTING_MS);
    const isNew = model.phases !== this.indexed || Boolean(model.past) !== Boolean(before?.past);
    if (!isNew && !this.stale) this.refresh();
    else if (held && this.list.childElementCount) {
      this.drawShown();
      clearTimeout(this.later);
      this.later = setTimeout(() => this.settle(), RESTING_MS);
      this.stale = true;
    } else this.arrange();
  }

  // Shows what a person asked for, until it is answered.
  pend(pending) {
    if (!this.model || this.model.past) return;
    const model = { ...this.model, pending };
    if (this.stale) {
      this.set(model, true);
      return;
    }
    this.model = model;
    const numbers = new Set([...this.pended, ...pending.keys()]);
    this.pended = [...pending.keys()];
    for (const number of numbers) {
      const at = this.rows.has(number) && this.at(number);
      if (at) this.draw(at.phase.tasks[at.place], at.phase);
    }
    this.drawCheck();
  }

  settle() {
    if (this.stale && this.model) this.set(this.model);
  }

  // The task with a number, and where it is.
  at(number) {
    if (!this.model) return undefined;
    if (this.indexed !== this.model.phases) {
      this.indexed = this.model.phases;
      this.index = new Map();
      for (const phase of this.model.phases) {
        phase.tasks.forEach(({ number }, place) => this.index.set(number, { phase, place }));
      }
    }
    return this.index.get(number);
  }

  task(number) {
    const at = this.at(number);
    return at?.phase.tasks[at.place];
  }

  // What is in the document changes in place: no row comes, goes or moves.
  refresh() {
    this.drawShown();
    this.sections.forEach((section, index) => this.head(section, this.model.phases[index], index));
    this.drawCheck();
  }

  drawShown() {
    for (const number of this.rows.keys()) {
      const at = this.at(number);
      if (at) this.draw(at.phase.tasks[at.place], at.phase);
    }
  }

  arrange() {
    this.stale = false;
    this.arranged = this.model.phases;
    const focus = focusIn(this.list);
    const [row, part] = focus?.dataset.part ? [focus.closest("li.task"), focus.dataset.part] : [];
    const { phases } = this.model;
    this.at(0);
    const some = this.index.size > 0;
    for (const number of this.rows.keys()) if (!this.index.has(number)) this.rows.delete(number);
    this.sections.length = Math.min(this.sections.length, phases.length);
    phases.forEach((phase, index) => {
      this.sections[index] ??= { node: el("section.phase", { "data-phase": index }), list: el("ol"), print: "" };
      this.head(this.sections[index], phase, index);
    });
    const last = this.sections[this.addTo ?? -1] || this.sections.at(-1);
    if (!last || !some || !this.canAdd()) this.adding.remove();
    else if (last.node.lastChild !== this.adding) last.node.append(this.adding);
    if (!some && this.canAdd()) this.empty.append(this.adding);
    arrangeIn(this.list, some ? [...this.sections.map((section) => section.node), this.check] : [this.empty]);
    this.drawCheck();
    this.paint();
    // A row that was moved in the document has lost the focus.
    /** @type {HTMLElement | null | undefined} */
    const again = row?.isConnected ? row.querySelector(`[data-part="${part}"]`) : focus;
    if (again?.isConnected && focused() !== again) again.focus({ preventScroll: true });
  }

  drawCheck() {
    const { check, checks, outputs, past, pending } = this.model;
    const print = JSON.stringify([check, checks, outputs?.get(0), Boolean(past), pending?.get(0)]);
    if (this.checkPrint === print) return;
    this.checkPrint = print;
    const own = focusIn(this.check)?.textContent;
    fill(this.check, planCheck(this));
    if (own !== undefined) buttonOf(this.check, own)?.focus({ preventScroll: true });
  }

  // The rows that belong into the document now, in their lists.
  paint() {
    // Those that were arranged last: while a person holds a row, tasks that came, went or moved wait.
    const phases = this.arranged;
    if (!phases.some((phase) => phase.tasks.length)) return;
    const lists = phases.map((phase, index) => ({
      node: this.sections[index].list,
      tasks: this.folded.has(phase.name || "") ? [] : phase.tasks,
    }));
    const kept = new Set();
    const held = new Set([this.current, this.editing, this.dragging?.row.task.number]);
    this.window.paint(lists, held, (task, list, place, count) => {
      const now = this.at(task.number);
      const { li } = now
        ? this.draw(now.phase.tasks[now.place], now.phase)
        : this.draw(task, phases[lists.indexOf(list)]);
      li.setAttribute("aria-posinset", String(place + 1));
      li.setAttribute("aria-setsize", String(count));
      kept.add(task.number);
      return li;
    });
    for (const number of this.rows.keys()) if (!kept.has(number)) this.rows.delete(number);
    this.tabStop();
  }

  canAdd() {
    return !this.readonly && !this.model.past;
  }

  // The name of a phase and how many of its tasks are closed.
  head(section, phase, index) {
    const closed = phase.tasks.filter((task) => task.status === "completed" || task.status === "abandoned").length;
    const key = phase.name || "";
    const folded = this.folded.has(key);
    const print = JSON.stringify([phase.name, index, closed, phase.tasks.length, folded, this.canAdd()]);
    if (section.print === print) return;
    section.print = print;
    const { node, list } = section;
    const held = focusIn(node)?.closest(".phase-head button")?.className;
    node.querySelector(".phase-head")?.remove();
    put(node, "aria-labelledby", phase.name ? `ph${index}` : false);
    put(node, "aria-label", phase.name ? false : "Tasks");
    const fold = () => {
      this.folded.has(key) ? this.folded.delete(key) : this.folded.add(key);
      this.arrange();
    };
    if (phase.name) {
      const toggle = el(
        "button.phase-name",
        { "aria-expanded": String(!folded), on: { click: fold } },
        icon("chevron"),
        brief(phase.name, 200),
      );
      node.prepend(
        el(
          "div.phase-head",
          el("h3", { id: `ph${index}` }, toggle),
          el("span.dim", `${closed} of ${phase.tasks.length}`),
          this.canAdd() &&
            el("button.icon.add-to.ctl", {
              "aria-label": `Add a task to ${harmless(phase.name).slice(0, 80)}`,
              on: { click: () => this.add(index) },
            }, icon("plus")),
        ),
      );
    }
    if (folded) list.remove();
    else if (list.parentNode !== node) phase.name ? node.firstChild.after(list) : node.prepend(list);
    if (held) [...node.querySelectorAll(".phase-head button")].find((each) => each.className === held)?.focus();
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
    // An empty lane is the same at any scale.
    const bars = JSON.stringify([
      Boolean(scale),
      stretches?.length && [stretches, until, scale?.begin, scale?.end, scale?.width, scale?.zoom, scale?.ticks[0]],
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
      const phase = this.model.phases[this.addTo ?? -1] || this.model.phases.at(-1);
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
    } else if (plain && event.key in moves) this.step(row.task.number, moves[event.key]);
    else if (plain && (event.key === "ArrowRight" || event.key === "ArrowLeft")) this.within(event);
    else if (plain && event.key === "Home") this.focusTask(this.order()[0]);
    else if (plain && event.key === "End") this.focusTask(this.order().at(-1));
    else if (letters && event.key === "i") this.act.glance(row.task.number);
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

  // The numbers of the tasks that are not folded away, in order.
  order() {
    const open = this.model.phases.filter((phase) => !this.folded.has(phase.name || ""));
    return open.flatMap((phase) => phase.tasks.map((task) => task.number));
  }

  step(number, by) {
    const all = this.order();
    this.focusTask(all[all.indexOf(number) + by]);
  }

  focusTask(number) {
    const li = this.rows.get(number)?.li || this.reveal(number);
    li?.querySelector('[data-part="sign"]')?.focus();
  }

  focusStop() {
    const stop = this.list.querySelector('[data-part="sign"][tabindex="0"]')?.closest("li");
    if (stop) this.focusTask(Number(stop.dataset.number));
  }

  // Brings a task into the middle of the window, wherever it is, and returns its row.
  reveal(number) {
    const at = this.at(number);
    if (!at) return undefined;
    this.current = number;
    if (this.folded.delete(at.phase.name || "")) this.arrange();
    // The rows around it are drawn where it comes to rest, which moves it if they are higher than was assumed.
    for (let round = 0; round < 3; round += 1) {
      this.paint();
      this.rows.get(number)?.li.scrollIntoView({ block: "center" });
    }
    this.paint();
    return this.rows.get(number)?.li;
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
    const { phase, place: index } = this.at(row.task.number) || { phase: phases[0], place: 0 };
    const at = phases.indexOf(phase);
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
    const to = this.model.phases.indexOf(this.at(number)?.phase);
    if (to < 0) return;
    const others = this.model.phases[to].tasks.filter((task) => task.number !== row.task.number);
    this.move(row, to, others.findIndex((task) => task.number === number) + (after ? 1 : 0));
  }
}
