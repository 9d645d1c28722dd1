// What needs a person: each with its question and its answers in place. The first answer wins.
import { brief, el, fill, focusedPart, focusIn, harmless, icon, say } from "./el.js";
import { ago, since, spoken } from "./time.js";
import { BASE, write } from "./api.js";
import { actions, button, cancelOr, dialog } from "./dialog.js";
import { toast } from "./toast.js";
import { agentName } from "./card.js";
import { arrangeIn } from "./window.js";

const LABELS = {
  once: "Allow once",
  session: "Always here",
  always: "Always here",
  yes: "Yes",
  no: "Deny",
  deny: "Deny",
  allow: "Allow",
  merged: "It is merged",
  discard: "Leave it out",
  retry: "Retry",
  cancel: "Give up",
};
const HARSH = new Set(["no", "deny"]);
const LEADS = { command: "May I run ", change: "May I change ", check: "May I run the check " };

export function answerLabel(need, option) {
  if (need.kind === "confirm" && option === "no") return "No";
  if (LEADS[need.kind] && option === "yes") return "Allow";
  return LABELS[option] || option;
}

// A session that needs a person without an open question offers what the page can do: unblock its task, or open it.
const MOST_SHOWN = 50;

// Draws the first needs in a list, each with `more` buttons of the page. One that is being answered keeps its focus and what was typed, unless it has changed.
export function fillNeeds(list, open, readonly, more = (_need) => []) {
  const held = focusedPart(list, "[data-need]")?.dataset.need;
  const known = new Map([...list.children].map((li) => [li.dataset.need, li]));
  const rows = open.slice(0, MOST_SHOWN).map((need, index) => {
    // What its agent is doing meanwhile is not shown.
    const print = JSON.stringify([{ ...need, agent: agentName(need.agent) }, readonly]);
    const old = known.get(need.id || need.key);
    const li = old?.print === print ? old : needRow(need, readonly, more(need));
    li.tabIndex = index ? -1 : 0;
    return Object.assign(li, { print });
  });
  arrangeIn(list, rows);
  if (held && !focusIn(list)) rows.find((each) => each.dataset.need === held)?.focus();
}

// Where it is: the task that it is about, at a glance, or else its session.
export const placeOf = (need) =>
  `${BASE}/s/${need.key}${need.task ? `#t${need.task}` : (need.at ?? -1) >= 0 ? `#p${need.at}` : ""}`;

function needRow(need, readonly, more) {
  const li = el("li.need", { "data-need": need.id || need.key });
  const fault = el("p.fault", { role: "alert", hidden: true });
  const say_no = (text) => {
    fault.hidden = !text;
    fill(fault, text ? brief(text) : "");
  };
  const by = el("p.by.dim", el("a", { href: placeOf(need) }, el("b", brief(need.name, 120))), details(need));
  fill(
    li,
    icon("needs"),
    el("div.words", by, question(need), need.caution && el("p.bad", need.caution)),
    el("div.answers", more, readonly ? [] : buttons(need, li, say_no)),
    fault,
  );
  return li;
}

function details(need) {
  const when = since(el("time"), need.since, (at) => (need.id ? `asked ${ago(at)}` : ago(at)));
  return [
    " · ",
    need.run && need.run !== need.name ? [brief(need.run), " · "] : [],
    [agentName(need.agent)].filter(Boolean).map((name) => [brief(name), " · "]),
    need.detail ? [brief(need.detail, 200), " · "] : [],
    when,
  ];
}

function question(need) {
  const text = harmless(need.text, { lines: true });
  if (LEADS[need.kind]) {
    const long = text.length > 90 || text.includes("\n");
    const lead = LEADS[need.kind];
    return el(
      "div.text",
      lead,
      el("pre", {
        class: long ? "long" : "",
        dir: "ltr",
        tabindex: long ? 0 : false,
        "aria-label": long ? "What it asks for" : false,
      }, el("bdi", text)),
    );
  }
  if (need.kind === "conflict") return el("div.text", el("pre.long", { dir: "ltr", tabindex: 0 }, el("bdi", text)));
  if (need.id) return el("p.text", "“", say(need.text), "”");
  return el("p.text", blocked(need) ? ["Waits for: “", say(need.text.replace(/^waits: /, "")), "”"] : say(need.text));
}

const blocked = (need) => !need.id && need.at !== null;

function buttons(need, li, fault) {
  const send = async (request, told) => {
    for (const each of li.querySelectorAll("button")) each.disabled = true;
    fault("");
    try {
      const answer = await request();
      li.classList.add("gone");
      told(answer);
    } catch (error) {
      for (const each of li.querySelectorAll("button")) each.disabled = false;
      fault(error.status === 409 ? taken(error.body) || error.message : `${error.message} ${error.hint}`);
    }
  };
  // A question in the log of a plan is answered there: exactly the one that the person saw.
  const post = (answer) => {
    if (!need.question) return write(`/api/needs/${encodeURIComponent(need.id)}`, { answer });
    return write("/api/fleet/answer", { run: need.run, question: need.question, seen: need.text, answer });
  };
  const reply = async (answer, label) => {
    if (need.caution && !HARSH.has(answer) && !(await isSure(need, label))) return;
    send(() => post(answer), () => toast(`${label}: ${need.name}`));
  };
  if (blocked(need)) {
    const told = (answer) => toast(`Unblocked: ${need.name}`, { action: "Undo", act: () => undo(need, answer) });
    return [button("Unblock", () => send(() => unblock(need), told), "soft")];
  }
  if (!need.id) return [el("a.btn.soft", { href: placeOf(need) }, "Open")];
  if (need.kind === "input" || !(need.options || []).length) {
    return [button("Answer", () => answerIn(li, reply), "soft")];
  }
  return need.options.map((option, index) =>
    button(
      harmless(answerLabel(need, option)).slice(0, 80),
      () => reply(option, answerLabel(need, option)),
      index === 0 && !HARSH.has(option) ? "soft" : "",
      { "data-answer": option },
    )
  );
}

// The field is where the button was, below the question.
function answerIn(li, reply) {
  const box = li.querySelector(".answers");
  const before = [...box.childNodes];
  const back = () => {
    fill(box, before);
    box.querySelector("button")?.focus();
  };
  const send = () => (field.value.trim() ? reply(field.value.trim(), "Answered") : field.focus());
  const field = el("textarea", {
    rows: 2,
    "aria-label": "Your answer",
    placeholder: "Your answer",
    on: {
      keydown: (event) => {
        if (event.key === "Escape") back();
        if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        send();
      },
    },
  });
  fill(box, el("div.answer-form", field, button("Cancel", back, "plain"), button("Send", send, "main")));
  field.focus();
}

// A dangerous command is allowed with two clicks, as with a capital letter in a terminal.
const isSure = (need, label) =>
  dialog("Let this command run?", (close) => [
    el(
      "div.dialog-body",
      el(
        "pre.long",
        { dir: "ltr", tabindex: 0, "aria-label": "The command" },
        el("bdi", harmless(need.text, { lines: true })),
      ),
      el("p.bad", need.caution),
    ),
    actions(
      button("Cancel", () => close(null), "plain", { autofocus: true }),
      button(label, () => close(true), "main"),
    ),
  ], { kind: "wide" });

const unblock = (need) =>
  write(`/api/s/${need.key}/ops`, { ops: [{ op: "mark", at: [need.at], status: "pending" }] }, { head: need.head });

const undo = (need, { event, head }) =>
  write(`/api/s/${need.key}/undo`, { event }, { head }).catch((error) => toast(error.message, { bad: true }));

function taken(body) {
  if (body.clash) return "The task has changed meanwhile.";
  if (!body.answer) return "";
  const when = body.at ? ` ${spoken(Date.now() - body.at)} ago` : "";
  return `${body.by || "Somebody"} answered it${when}: ${LABELS[body.answer] || body.answer}.`;
}

let agreed = false;

// `y` and `d` on a focused need; the first use asks, because single keys are hit by accident.
export async function answerByKey(li, key) {
  const choice = [...li.querySelectorAll("[data-answer]")];
  const target = key === "y"
    ? choice.find((each) => each.dataset.answer === "once") || choice.find((each) => !HARSH.has(each.dataset.answer))
    : choice.find((each) => HARSH.has(each.dataset.answer));
  if (!target) return;
  if (!agreed) {
    agreed = await dialog("Answer with one key?", (close) => [
      el(
        "div.dialog-body",
        el("p", `${key} means “${target.textContent}”. You are asked this once.`),
        el("p.q", li.querySelector(".text").textContent),
      ),
      cancelOr(close, target.textContent, () => close(true), { autofocus: true }),
    ]);
    if (!agreed) return;
  }
  target.click();
}
