// What has become of the runs of a fleet: what needs a person, what is done, what still goes on.
import { brief, capital, el, fill, harmless, icon } from "./el.js";
import { BASE, read, write } from "./api.js";
import { fillNeeds } from "./needs.js";
import { actions, button, confirm, dialog } from "./dialog.js";
import { copyable } from "./overview.js";
import { plural, since } from "./time.js";
import { setTitle } from "./title.js";
import { toast } from "./toast.js";
import { on } from "./state.js";

const GROUPS = {
  needs: ["Needs you", "needs"],
  done: ["Done", "done"],
  running: ["Working", "working"],
  queued: ["Queued", "idle"],
  over: ["Over", "stop"],
};
const HOURS = { 12: "12 hours", 24: "24 hours", 168: "7 days" };
const CALM_MS = 1000;

export function page({ main, query, watch, readonly }) {
  const hours = HOURS[query.get("hours")] ? query.get("hours") : "24";
  const sub = el("span.dim");
  const chips = el("nav.chips", { "aria-label": "Since when" });
  const asks = el("ul.asks", { "aria-label": "Waiting for an answer" });
  const box = el("div.results");
  fill(main, el("div.page", el("div.head", el("h1", { tabindex: -1 }, "Results"), sub), chips, box));
  fill(
    chips,
    Object.entries(HOURS).map(([each, name]) =>
      el("a", { href: `${BASE}/results?hours=${each}`, "aria-current": each === hours ? "true" : false }, name)
    ),
  );
  let calm = 0;
  let open = [];
  let results = {};

  const load = () =>
    read(`/api/fleet/results?hours=${hours}`).then((found) => {
      results = found;
      draw();
    }).catch((error) => fill(box, el("div.empty", el("h2", "The results cannot be shown"), el("p", error.message))));

  // What is asked is answered in place; the row of its run would say it again.
  function draw() {
    const asked = new Set(open.map((need) => need.run));
    const rows = (group) => results[group].filter((row) => group !== "needs" || !asked.has(row.run));
    const groups = Object.keys(GROUPS).filter((group) => results[group]?.length);
    fill(sub, results.counts || "");
    fill(
      box,
      groups.length
        ? groups.map((group) =>
          el(
            "section.panel",
            { class: `panel ${group === "needs" ? "waits" : ""}` },
            el("h2", GROUPS[group][0], " ", el("span.dim", String(results[group].length))),
            group === "needs" && asks,
            el("ul.fleet-rows", { "aria-label": GROUPS[group][0] }, rows(group).map((row) => item(row, group))),
          )
        )
        : el("div.empty", el("h2", "No runs in this time"), copyable("tildone fleet add plan.md")),
    );
  }

  function item(row, group) {
    return el(
      "li.result",
      icon(GROUPS[group][1]),
      el(
        "div.words",
        el(
          "p",
          row.key
            ? el("a", { href: `${BASE}/s/${row.key}` }, el("b", brief(row.title, 120)))
            : el("b", brief(row.title)),
          row.word && [" ", el("span.tag", capital(row.word))],
        ),
        el(
          "p.dim",
          brief(row.run),
          row.earlier ? ` and ${plural(row.earlier, "run")} before` : "",
          " · ",
          brief(row.facts, 200),
          " · ",
          since(el("time"), Date.parse(row.since)),
        ),
        row.reasons.map((reason) => el("p.reason", brief(reason, 300))),
      ),
      el("div.answers", buttons(row)),
    );
  }

  const named = (row, label, act, kind = "") =>
    el("button.btn", {
      class: `btn ${kind}`,
      "aria-label": `${label}: ${harmless(row.run)}`,
      on: { click: act },
    }, label);

  // Whoever asks has begun.
  function transcriptOf(need) {
    const row = { run: need.run, title: need.name, commands: { transcript: `tildone fleet transcript ${need.run}` } };
    return named(row, "Transcript", () => show(row, "transcript"));
  }

  function buttons(row) {
    return [
      row.commands.diff && named(row, "Diff", () => show(row, "diff")),
      row.commands.transcript && named(row, "Transcript", () => show(row, "transcript")),
      row.commands.merge && named(row, "Merge…", () => merge(row)),
      !readonly && row.commands.retry && named(row, "Retry", () => ask(row, "retry"), "soft"),
      !readonly && row.commands.retry && named(row, "Give up", () => giveUp(row)),
    ].filter(Boolean);
  }

  async function ask(row, what) {
    try {
      await write("/api/fleet/ask", { run: row.run, ask: what });
      toast(`${what === "retry" ? "Queued again" : "Given up"}: ${row.title}`);
      load();
    } catch (error) {
      toast(`${error.message} ${error.hint}`.trim(), { bad: true });
    }
  }

  async function giveUp(row) {
    const words = ["It is not run any more, and needs nobody.", "Its plan and its branch are kept."];
    if (await confirm(`Give up ${harmless(row.title)}?`, words, "Give up")) ask(row, "cancel");
  }

  const merge = (row) =>
    dialog("Merge the branch", (close) => [
      el("div.dialog-body", el("p", "In a working tree of the repository, type:"), copyable(row.commands.merge)),
      actions(button("Close", () => close(null), "main")),
    ]);

  async function show(row, what) {
    const text = el("pre.long", { tabindex: 0, "aria-label": capital(what), dir: "ltr" }, "…");
    read(`/api/fleet/${what}?run=${encodeURIComponent(row.run)}`).then(
      (found) => fill(text, harmless(found.text, { lines: true })),
      (error) => fill(text, `${error.message} ${error.hint}`.trim()),
    );
    await dialog(`${capital(what)}: ${harmless(row.title)}`, (close) => [
      el("div.dialog-body", text, copyable(row.commands[what])),
      actions(button("Close", () => close(null), "main", { autofocus: true })),
    ], { kind: "wide" });
  }

  const end = on("needs", (value) => {
    open = (value?.open || []).filter((need) => need.run && need.kind !== "failure");
    fillNeeds(asks, open, readonly, transcriptOf);
    if (results.counts) draw();
  });
  load();
  watch(["needs", "fleet"]);
  setTitle("Results");

  return {
    end() {
      end();
      clearTimeout(calm);
    },
    frame(frame) {
      if (!["open", "reset", "run", "fleet"].includes(frame.event)) return;
      clearTimeout(calm);
      calm = setTimeout(load, CALM_MS);
    },
    keys: {},
  };
}
