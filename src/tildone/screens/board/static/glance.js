// A task at a glance, beside its plan: notes, who has it, check and its output, what it took, the agent's last lines, and
// what happened. Its address is that of the session with `#t7`; back and forward open and close it.
import { brief, capital, el, fill, harmless, icon, say, sign } from "./el.js";
import { BASE, read } from "./api.js";
import { button } from "./dialog.js";
import { tell } from "./toast.js";
import { absolute, moment, plural } from "./time.js";

const CALM_MS = 700;
const PHONE = matchMedia("(max-width: 760px)");

// The number of the task that the address names: by its number, or by its place in the plan.
export function namedTask(plan) {
  const [, kind, digits] = location.hash.match(/^#([tp])(\d+)$/) || [];
  if (!kind) return 0;
  if (kind === "t") return Number(digits);
  const number = plan.phases.flatMap((phase) => phase.tasks)[Number(digits)]?.number || 0;
  if (number) history.replaceState(null, "", `${location.search}#t${number}`);
  return number;
}

// What makes a link of a row show its task at a glance, without the jump to the address that would carry the row away.
export const toGlance = (view, number) => ({
  href: `#t${number}`,
  on: {
    click(event) {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      if (getSelection()?.isCollapsed !== false) view.act.glance(number);
    },
  },
});

export class Glance {
  // act: {approve, verify, allowed}; task(number) returns the task in the plan; closed(number) is called after it was closed.
  constructor({ key, act, task, readonly, closed }) {
    this.key = key;
    this.act = act;
    this.task = task;
    this.readonly = readonly;
    this.closed = closed;
    this.print = "";
    this.number = 0;
    this.timer = 0;
    this.title = el("h2", { tabindex: -1, id: "glance-title" });
    this.body = el("div.glance-body");
    this.node = el(
      "section.glance",
      { "aria-labelledby": "glance-title", hidden: true },
      el(
        "div.glance-head",
        this.title,
        el(
          "button.icon",
          { "aria-label": "Copy the link to this task", on: { click: () => this.copy() } },
          icon("copy"),
        ),
        el("button.icon", { "aria-label": "Close the task", on: { click: () => this.close() } }, icon("close")),
      ),
      this.body,
    );
  }

  open(number) {
    if (number !== this.number) history.pushState(null, "", `${location.search}#t${number}`);
    this.show(number);
  }

  // What the address names; 0 is nothing.
  show(number) {
    if (number === this.number) return;
    const before = this.number;
    this.number = number;
    this.node.hidden = !number;
    this.end();
    this.cover(Boolean(number) && PHONE.matches);
    if (!number) {
      this.closed(before);
      return;
    }
    fill(this.title, say(this.task(number)?.text ?? `Task #${number}`));
    fill(this.body);
    this.node.scrollTop = 0;
    this.title.focus({ preventScroll: true });
    this.load();
  }

  close() {
    if (!this.number) return;
    history.pushState(null, "", location.pathname + location.search);
    this.show(0);
  }

  // The plan has changed. What is open is read again, but not with every event.
  changed() {
    if (!this.number || this.timer) return;
    this.timer = setTimeout(() => {
      this.timer = 0;
      this.load();
    }, CALM_MS);
  }

  end() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.cover(false);
  }

  // On a phone, nothing else can be seen or reached.
  cover(inert) {
    for (const each of document.querySelectorAll(".top, .bottom, .session > :not(.glance)")) {
      /** @type {HTMLElement} */ (each).inert = inert;
    }
  }

  async copy() {
    await navigator.clipboard?.writeText(location.href);
    tell("Copied");
  }

  async load() {
    const { number } = this;
    try {
      const found = await read(`/api/s/${this.key}/task/${number}`, { keep: false });
      if (number === this.number) this.draw(found);
    } catch (error) {
      if (number !== this.number || (error.status !== 404 && this.body.childElementCount)) return;
      fill(this.title, error.status === 404 ? error.message : "The task cannot be shown");
      fill(this.body, el("p.two", error.status === 404 ? error.hint : `${error.message} ${error.hint}`));
    }
  }

  draw(found) {
    // Where something has the focus or is selected, nothing is drawn anew unless it has changed.
    const { seq: _seq, ...facts } = found;
    const print = JSON.stringify([facts, this.act.allowed(found.number)]);
    if (this.print === print && this.body.childElementCount) return;
    this.print = print;
    const held = document.activeElement?.closest(".glance-body") && document.activeElement.textContent;
    fill(this.title, say(found.text));
    const part = (name, ...content) => el("section", el("h3", name), content);
    fill(
      this.body,
      el(
        "p.glance-state",
        sign(found.status),
        el("b", capital(found.word)),
        el("span.dim", `#${found.number}`),
        found.phase && el("span.dim", brief(found.phase, 120)),
      ),
      found.holder &&
        el(
          "p",
          { title: found.agent && harmless(found.agent) },
          found.is_held ? "Held by " : "Worked on by ",
          el("b", brief(found.holder, 80)),
        ),
      found.cost && el("p.two", brief(found.cost.words, 300)),
      found.notes.length > 0 && part("Notes", el("ul.glance-notes", found.notes.map((note) => el("li", say(note))))),
      found.check && part("Check", this.check(found)),
      found.last_lines.length > 0 && part("The agent’s last lines", lines(found.last_lines, "The agent’s last lines")),
      part("History", this.history(found)),
    );
    if (held) [...this.body.querySelectorAll("button, a")].find((each) => each.textContent === held)?.focus();
  }

  check({ number, check }) {
    const task = this.task(number);
    const allowed = this.act.allowed(number);
    return [
      el("p.note.check", el("code", { dir: "ltr" }, "$ ", brief(check.command, 2000))),
      el(
        "p.note.check",
        el("span", { class: `state ${check.state}` }, brief(check.words, 300)),
        check.finished && el("time.dim", { title: absolute(check.finished) }, ` ${moment(check.finished)}`),
      ),
      check.output.length > 0 && lines(check.output, "The end of its output"),
      task && !this.readonly &&
      el(
        "div.glance-acts",
        check.state === "proposed" && allowed && button("Approve…", () => this.act.approve(task), "soft"),
        check.state !== "proposed" && button("Verify", () => this.act.verify(task)),
      ),
    ];
  }

  history({ text, history, earlier, begins }) {
    const all = `${BASE}/s/${this.key}/log?${new URLSearchParams({ task: harmless(text).slice(0, 120) })}`;
    return [
      el(
        "ol.glance-history",
        history.map(({ at, who, what }) =>
          el(
            "li",
            el("time.dim", { title: absolute(at) }, moment(at)),
            el("span", el("b", brief(who, 80)), " ", brief(what, 600)),
          )
        ).reverse(),
      ),
      !history.length && el("p.dim", "Nothing happened to it yet."),
      earlier > 0 && el("p.dim", `and ${plural(earlier, "earlier change")}`),
      begins && el("p.dim", `What happened before ${moment(begins)} was not read.`),
      el("p", el("a.more-link", { href: all }, "In the history of the session")),
    ];
  }
}

const lines = (texts, label) =>
  el(
    "pre.long",
    { dir: "ltr", tabindex: 0, role: "region", "aria-label": label },
    el("bdi", harmless(texts.join("\n"), { lines: true })),
  );
