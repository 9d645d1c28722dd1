// Two people, or a person and an agent, changed the same thing: both texts side by side, and a choice.
import { el, fill, harmless, icon, say } from "./el.js";
import { actions, button, dialog } from "./dialog.js";
import { spoken } from "./time.js";
import { STATUS } from "./words.js";

// The words of `text` that are not in `base`, in order, by the longest common subsequence of words.
export function changed(base, text) {
  const split = (each) => harmless(each).slice(0, 4000).match(/\s+|[^\s]+/g) || [];
  const [before, after] = [split(base), split(text)];
  const rows = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      rows[i][j] = before[i] === after[j] ? rows[i + 1][j + 1] + 1 : Math.max(rows[i + 1][j], rows[i][j + 1]);
    }
  }
  const parts = [];
  for (let i = 0, j = 0; j < after.length;) {
    const same = i < before.length && before[i] === after[j];
    if (!same && i < before.length && rows[i + 1][j] >= rows[i][j + 1]) {
      i += 1;
      continue;
    }
    const last = parts[parts.length - 1];
    if (last && last.same === same) last.text += after[j];
    else parts.push({ same, text: after[j] });
    if (same) i += 1;
    j += 1;
  }
  return parts;
}

const marked = (base, text) =>
  el("bdi", changed(base, text).map(({ same, text: words }) => (same ? words : el("ins", words))));

const word = (value) => STATUS[value] || harmless(value) || "none";

// Resolves with {keep: "mine" | "theirs" | "both", text} or null (the draft stays).
export function resolve(clash) {
  const textual = clash.field === "text";
  const who = clash.who === "agent" ? "The agent" : clash.by || "Somebody";
  const name = clash.by || who;
  const when = clash.when ? ` (${spoken(Date.now() - clash.when)} ago)` : "";
  return dialog(`${harmless(who)} changed this task, too`, (close) => {
    let choice = "mine";
    const mine = clash.yours === "removed" ? "Remove it all the same" : "Keep mine";
    const side = (id, title, sign, body) =>
      el(
        "button.side",
        {
          role: "radio",
          "aria-checked": String(id === choice),
          tabindex: id === choice ? 0 : -1,
          "data-choice": id,
          autofocus: id === choice,
          on: { click: () => choose(id), dblclick: () => close({ keep: id }) },
        },
        el("b", icon(sign), title),
        el("span", body),
      );
    const sides = [
      side("mine", "Yours", "person", textual ? marked(clash.base, clash.yours) : word(clash.yours)),
      side("theirs", clash.who === "agent" ? "The agent’s" : "Theirs", "working", [
        textual ? marked(clash.base, clash.theirs) : word(clash.theirs),
        clash.note ? el("small.dim", "also noted: “", say(clash.note), "”") : "",
      ]),
    ];
    const keep = button(mine, () => close({ keep: choice }), "main");
    const body = el("div.dialog-body");
    const foot = actions();
    function choose(id) {
      choice = id;
      for (const each of sides) {
        each.setAttribute("aria-checked", each.dataset.choice === id);
        each.tabIndex = each.dataset.choice === id ? 0 : -1;
        if (each.dataset.choice === id) each.focus();
      }
      fill(keep, id === "theirs" ? "Keep theirs" : mine);
    }
    const group = el("div.sides", { role: "radiogroup", "aria-label": "Which one to keep", on: { keydown } }, sides);
    function keydown(event) {
      if (/^Arrow/.test(event.key)) {
        event.preventDefault();
        choose(choice === "mine" ? "theirs" : "mine");
      }
      if (event.key === "Enter") {
        event.preventDefault();
        close({ keep: choice });
      }
    }
    function both() {
      const field = el("textarea", {
        rows: 5,
        "aria-label": "One text of both",
        value: `${clash.yours}\n${clash.theirs}`,
      });
      const send = () => field.value.trim() && close({ keep: "both", text: field.value.trim() });
      field.addEventListener(
        "keydown",
        (event) => event.key === "Enter" && !event.shiftKey && !event.isComposing && (event.preventDefault(), send()),
      );
      fill(body, el("p.dim", "Both texts, yours first. Make one of them."), field);
      fill(
        foot,
        button("Cancel", () => close(null), "plain"),
        button("Save", send, "main"),
      );
      field.focus();
    }
    fill(
      body,
      el(
        "p.dim",
        `While you were ${textual ? "typing" : "at it"}, `,
        el("bdi", harmless(name)),
        ` ${
          clash.now === null ? "removed" : textual ? "reworded" : "changed"
        } it${when}. Nothing is lost: both are kept in the history.`,
      ),
      el("div.began", el("b", "You both began with"), say(textual ? clash.base : word(clash.base))),
      group,
    );
    fill(
      foot,
      el("span.hint.dim", el("kbd", "←"), el("kbd", "→"), " choose ", el("kbd", "↵"), " keep it"),
      button("Cancel", () => close(null), "plain"),
      textual && button("Edit both", both),
      keep,
    );
    return [body, foot];
  }, { kind: "wide" });
}
