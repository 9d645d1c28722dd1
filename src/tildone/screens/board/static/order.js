// The order of tasks, the files that they change, and which agent works on them.
import { brief, capital, el, fill, harmless } from "./el.js";
import { cancelOr, dialog } from "./dialog.js";
import { span } from "./time.js";

/**
 * The fields of a task that are words without a rule (`core/plan.py`).
 * @type {{name: string, thing: string, words: string, shown: string, none: string, op: string, key: string, question: string, hint: string, example: string}[]}
 */
export const WORD_FIELDS = JSON.parse(document.documentElement.dataset.fields || "[]");

const listed = (numbers) => numbers.map((number) => `#${number}`).join(", ");
const quoted = (glob) => (/[\s"]/.test(glob) ? `"${glob}"` : glob);

// What is below the text of a task, before its check. `texts` are the texts of the tasks by number, and `told` is how
// often the agent was told to go on with it.
export function orderLines(task, { claim, texts, told }) {
  const line = (cls, ...children) => el("p", { class: `note ${cls}` }, children);
  const open = !["completed", "abandoned"].includes(task.status);
  const one = task.waits?.length === 1 && texts.get(task.waits[0]);
  return [
    claim && task.status === "in_progress" &&
    line(claim.until > Date.now() ? "dim" : "warn", brief(claimText(claim), 300)),
    open && task.waits?.length > 0 && line("", "waits for ", listed(task.waits), one && [" ", brief(one, 120)]),
    open &&
    WORD_FIELDS.map(({ name, shown }) =>
      task[name]?.length > 0 && line("dim", `${shown} `, el("code", { dir: "ltr" }, brief(task[name].join(", "), 300)))
    ),
    task.meets?.length > 0 && line("", "waits for ", listed(task.meets), ", which may change the same files"),
    told && line("dim", `told to go on ${told === 1 ? "once" : `${told} times`}`),
  ];
}

// What a screen reader is told about it with the name of the task.
export const orderWords = (task, claim) =>
  [
    claim && task.status === "in_progress" && claimText(claim),
    task.waits?.length && `waits for ${listed(task.waits)}`,
    task.meets?.length && `waits for ${listed(task.meets)}, which may change the same files`,
  ].filter(Boolean).map((words) => `, ${words}`).join("");

export const claimText = (claim) =>
  `${
    claim.until > Date.now()
      ? `held by ${claim.name} for ${span(Math.max(60e3, claim.until - Date.now()))}`
      : `left by ${claim.name}: others can take it over`
  }${claim.before_name ? `, taken over from ${claim.before_name}` : ""}`;

// Asks for one line; `parse` returns what it means, or throws an error with a sentence. Resolves with that, or null.
/** @param {string} title @param {{label: string, hint: string, value: string, placeholder: string, parse: (line: string) => any[], more?: Node | null}} options */
const askLine = (title, { label, hint, value, placeholder, parse, more }) =>
  dialog(title, (close) => {
    const field = el("input", {
      type: "text",
      value,
      "aria-label": label,
      placeholder,
      autocomplete: "off",
      spellcheck: "false",
      autofocus: true,
      maxlength: 20000,
    });
    const wrong = el("p.bad", { role: "alert" });
    const send = () => {
      try {
        close(parse(field.value));
      } catch (error) {
        fill(wrong, error.message);
        field.focus();
      }
    };
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      send();
    });
    return [
      el("div.dialog-body", el("p", hint), field, wrong, more),
      cancelOr(close, "Set", send),
    ];
  });

// The numbers of the tasks that a task comes after. The others are listed, because rows may have no numbers.
export function askAfter(task, tasks) {
  const known = new Set(tasks.map((each) => each.number));
  const parse = (line) =>
    line.split(/[\s,]+/).filter(Boolean).map((word) => {
      if (!/^#?\d{1,9}$/.test(word)) throw new Error(`“${harmless(word).slice(0, 40)}” is no number of a task.`);
      const number = Number(word.replace("#", ""));
      if (!known.has(number)) throw new Error(`There is no task #${number}.`);
      return number;
    });
  const others = tasks.filter((each) =>
    each.number !== task.number && !["completed", "abandoned"].includes(each.status)
  );
  const more = el(
    "ul.others",
    { tabindex: 0, "aria-label": "Open tasks" },
    others.map((each) => el("li", el("span.dim", `#${each.number} `), brief(each.text, 200))),
  );
  return askLine("After which tasks does it come?", {
    label: "Numbers of tasks",
    placeholder: "1 3",
    hint: "Numbers of tasks. Without any, it waits for none.",
    value: task.after.map((each) => `#${each}`).join(" "),
    parse,
    more: others.length ? more : null,
  });
}

// The words of a field, separated by spaces; quotation marks keep a space.
export const askWords = (task, { name, words, question, hint, example }) =>
  askLine(question, {
    label: capital(words),
    placeholder: example,
    value: task[name].map(quoted).join(" "),
    hint,
    parse: (line) => [...line.matchAll(/"([^"]*)"|[^\s"]+/g)].map(([whole, inner]) => inner ?? whole).filter(Boolean),
  });
