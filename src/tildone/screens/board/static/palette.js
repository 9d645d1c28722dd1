// Go anywhere by typing (ctrl+k), and the list of all keys (?).
import { brief, capital, el, fill, harmless } from "./el.js";
import { BASE, read } from "./api.js";
import { actions, button, dialog } from "./dialog.js";

const WAIT_MS = 150;

// commands: [{label, hint, act}]
export function palette(commands, go) {
  return dialog("Go to", (close) => {
    const list = el("ul", { id: "palette-list", role: "listbox", "aria-label": "Results" });
    const field = el("input", {
      type: "text",
      role: "combobox",
      "aria-expanded": "true",
      "aria-controls": "palette-list",
      "aria-label": "Session or command",
      placeholder: "Session or command",
      autocomplete: "off",
      autofocus: true,
    });
    const run = (command) => {
      close();
      command.act();
    };
    let found = [];
    let at = 0;
    let timer = 0;
    let asked = null;
    const draw = () => {
      const query = field.value.trim().toLowerCase();
      const some = commands.filter((each) => each.label.toLowerCase().includes(query));
      const all = [
        ...found.map((row) => ({
          label: row.title || row.name,
          hint: capital(row.state),
          act: () => go(`${BASE}/s/${row.key}`),
        })),
        ...some,
      ].slice(0, 30);
      at = Math.max(0, Math.min(at, all.length - 1));
      fill(
        list,
        all.map((each, index) =>
          el(
            "li",
            {
              role: "option",
              id: `po${index}`,
              "aria-selected": String(index === at),
              on: { click: () => run(each) },
            },
            brief(each.label, 160),
            each.hint && el("small", each.hint),
          )
        ),
      );
      if (all.length) field.setAttribute("aria-activedescendant", `po${at}`);
      else field.removeAttribute("aria-activedescendant");
      list.children[at]?.scrollIntoView({ block: "nearest" });
      list.chosen = all[at];
    };
    const search = () => {
      clearTimeout(timer);
      timer = setTimeout(async () => {
        asked?.abort();
        asked = new AbortController();
        try {
          found = (await read(
            `/api/sessions?${new URLSearchParams({ q: field.value.trim(), limit: "8", sort: "activity" })}`,
            { signal: asked.signal },
          )).sessions;
          draw();
        } catch { /* the commands are still there */ }
      }, WAIT_MS);
    };
    field.addEventListener("input", () => {
      at = 0;
      draw();
      search();
    });
    field.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step) {
        event.preventDefault();
        at += step;
        draw();
      }
      if (event.key === "Enter" && list.chosen) {
        event.preventDefault();
        run(list.chosen);
      }
    });
    draw();
    search();
    return [field, list];
  }, { kind: "palette" });
}

/** @type {[string, [string, string][]][]} */
const KEYS = [
  ["Everywhere", [
    ["/", "search"],
    ["ctrl+k", "go to a session or command"],
    ["g s · g f · g t", "sessions · fleet · stats"],
    ["n", "next that needs you"],
    ["?", "this list"],
    ["esc", "close, give up, back to now"],
  ]],
  ["Sessions", [["j k, arrows", "move"], ["enter", "open"], ["y · d", "allow once · deny (on a need)"]]],
  ["A plan", [
    ["space", "done"],
    ["s", "start"],
    ["b", "block"],
    ["x", "drop"],
    ["i", "a task at a glance"],
    ["e", "edit"],
    ["a", "add"],
    ["m", "note"],
    ["c · v", "set the check · run it again"],
    ["o · f", "after which tasks it comes · which files it changes"],
    ["alt+↑ ↓", "move"],
    ["z · shift+z", "undo · redo"],
    ["p", "pause or resume"],
  ]],
  ["History", [
    ["← →", "event"],
    ["shift+← →", "change of a task"],
    ["home · end", "first · now"],
    ["+ − 0", "zoom"],
    ["r", "restore this"],
  ]],
];

export const keyHelp = (letters, change) =>
  dialog("Keys", (close) => [
    el(
      "div.dialog-body",
      el(
        "dl.keys",
        KEYS.map(([group, keys]) => [
          el("dt.sr", group),
          el("dd.group", el("b", harmless(group))),
          keys.map(([key, text]) => [el("dt", el("kbd", key)), el("dd", text)]),
        ]),
      ),
      el("label.check", checkbox(letters, change), "One-letter keys"),
    ),
    actions(button("Close", () => close(), "main", { autofocus: true })),
  ]);

function checkbox(letters, change) {
  const box = el("input", { type: "checkbox", on: { change: () => change(box.checked) } });
  box.checked = letters;
  return box;
}
