// A person's edits of one plan: sent with the head they saw, shown as pending until the answer, undone by a key.
import { capital, el, harmless } from "./el.js";
import { BASE, headers, write } from "./api.js";
import { ask, confirm } from "./dialog.js";
import { resolve } from "./conflict.js";
import { toast } from "./toast.js";
import { differences } from "./past.js";
import { STATUS } from "./words.js";
import { checkActs, tellUnproved } from "./checks.js";
import { askAfter, askWords } from "./order.js";

const DONE = {
  completed: "Done",
  in_progress: "Started",
  pending: "Reopened",
  abandoned: "Dropped",
  blocked: "Blocked",
};

export function edits({ key, model, redraw, showPending, letters, accept, load, look }) {
  const pending = new Map();
  let left = null;
  const head = () => model.session.head;
  const fault = (text, hint = "") => toast(`${text}${hint ? ` ${hint}` : ""}`, { bad: true });
  const short = (text) => harmless(text).slice(0, 120);
  const self = { pending, fault, drafts: drafts(key) };

  // `shown` is what the row shows meanwhile; the answer replaces it, or it is set back with a message.
  /** @param {object[]} ops @param {{task?: any, shown?: any, said?: string, seen?: string, clashed?: any}} options */
  async function send(ops, { task, shown, said, seen = head(), clashed } = {}) {
    if (task && shown) {
      pending.set(task.number, shown);
      showPending();
    }
    try {
      const answer = await write(`/api/s/${key}/ops`, { ops }, { head: seen });
      if (task) pending.delete(task.number);
      await taken(answer);
      if (answer.unproved?.length) {
        tellUnproved(model.outputs, task || { text: "the plan" }, answer.unproved);
        redraw(true);
        return false;
      }
      const moved = answer.rebased ? " The plan had moved on; your change still fitted." : "";
      if (said) toast(`${said}${moved}`, { action: "Undo", act: () => self.undo(answer.event) });
      return true;
    } catch (error) {
      if (task) pending.delete(task.number);
      if (error.status === 409 && error.body.clash) return settle(error.body, ops, { task, said, clashed });
      redraw(true);
      if (error.status === 422) fault((error.body.faults || [error.message]).join(" "));
      else fault(error.message, error.hint);
      return false;
    }
  }

  async function taken(answer) {
    if (answer.error || !accept(answer, true)) await load(true);
  }

  // Both changed the same: the person chooses. Keeping theirs needs no request.
  async function settle(body, ops, { task, said, clashed }) {
    const clash = body.clash[0];
    await taken(body);
    const choice = await resolve(clash);
    if (!choice) {
      redraw(true);
      return false;
    }
    if (choice.keep === "theirs") {
      clashed?.(true);
      redraw(true);
      toast("Kept theirs");
      return false;
    }
    if (clash.now === null) {
      clashed?.(true);
      return clash.field === "text"
        ? send([{ op: "append", tasks: [{ text: choice.text || clash.yours }] }], { said: "Added again" })
        : redraw(true);
    }
    const again = ops.map((op) => ({
      ...op,
      at: [clash.now],
      base: undefined,
      ...(choice.text ? { text: choice.text } : {}),
    }));
    const done = await send(again, { task, said, clashed });
    if (done) clashed?.(true);
    return done;
  }

  const at = (task) => [position(task)];
  const position = (task) =>
    model.session.plan.phases.flatMap((phase) => phase.tasks).findIndex((each) => each.number === task.number);

  const checks = checkActs({
    key,
    head,
    outputs: model.outputs,
    pending,
    redraw,
    taken,
    fault,
    send,
    look,
    facts: () => model.checks,
    undo: (event) => self.undo(event),
  });

  self.act = {
    head,
    fault,
    letters,
    mark: (task, status) =>
      task.status === status ||
      (status === "completed" && task.check
        ? checks.complete(task, at(task), `Done: ${short(task.text)}`)
        : send([{ op: "mark", at: at(task), status }], {
          task,
          shown: { status },
          said: `${DONE[status]}: ${short(task.text)}`,
        })),
    check: (task) => checks.check(task),
    approve: (task) => checks.approve(task),
    verify: (task) => checks.verify(task),
    async after(task) {
      const after = await askAfter(task, model.session.plan.phases.flatMap((phase) => phase.tasks));
      if (after && after.join() !== task.after.join()) {
        send([{ op: "order", at: at(task), after }], {
          said: after.length
            ? `Comes after ${after.map((each) => `#${each}`).join(", ")}: ${short(task.text)}`
            : `Waits for no other task: ${short(task.text)}`,
        });
      }
    },
    async words(task, field) {
      const words = await askWords(task, field);
      if (words && words.join("\n") !== task[field.name].join("\n")) {
        const shown = `${capital(field.shown)} ${short(words.join(", "))}`;
        send([{ op: field.op, at: at(task), [field.words]: words }], {
          said: `${words.length ? shown : field.none}: ${short(task.text)}`,
        });
      }
    },
    async reword(task, draft) {
      const drop = () => self.drafts.drop(task.number);
      // The draft says what the person saw, which may be older than what is here.
      const done = await send([{ op: "reword", at: at(task), text: draft.text, base: draft.base }], {
        task,
        shown: { text: draft.text },
        said: "Reworded",
        clashed: drop,
      });
      if (done) drop();
      redraw(true);
    },
    async note(task) {
      const text = await ask("Add a note", "Note", { hint: short(task.text), verb: "Add" });
      if (text) send([{ op: "note", at: at(task), text }], { said: `Noted: ${short(text)}` });
    },
    async block(task) {
      const text = await ask("What does it wait for?", "It waits for", { hint: short(task.text), verb: "Block" });
      if (text) {
        send([{ op: "mark", at: at(task), status: "blocked" }, { op: "note", at: at(task), text }], {
          task,
          shown: { status: "blocked" },
          said: `Blocked: ${short(task.text)}`,
        });
      }
    },
    async remove(task) {
      if (
        await confirm("Remove this task?", [
          `“${short(task.text)}” is ${STATUS[task.status]}. It stays in the history, and you can undo this.`,
        ], "Remove")
      ) {
        send([{ op: "remove", at: at(task) }], { said: `Removed: ${short(task.text)}` });
      }
    },
    move(task, { before, phase }) {
      const op = before ? { op: "move", at: at(task), before: position(before) } : { op: "move", at: at(task), phase };
      return send([op], { said: `Moved: ${short(task.text)}` });
    },
    add: (text, phase) =>
      send([{ op: "append", tasks: [{ text }], ...(phase ? { phase } : {}) }], { said: `Added: ${short(text)}` }),
    discard: () => confirm("Give up this text?", ["What you typed is not saved."], "Give it up"),
  };

  const command = async (path, body, said) => {
    const from = head();
    const before = left;
    // At once: a frame may show the restored plan before the answer comes.
    if (path === "restore") left = { to: from, at: body.event };
    try {
      const answer = await write(`/api/s/${key}/${path}`, body, { head: from });
      await taken(answer);
      if (said) toast(said(answer), path === "undo" ? { action: "Redo", act: () => self.redo() } : {});
      return true;
    } catch (error) {
      if (path === "restore") left = before;
      fault(error.status === 422 ? (error.body.faults || [error.message]).join(" ") : error.message, error.hint);
      return false;
    }
  };

  self.undo = (event) => {
    if (model.past) return;
    // A restored plan is left by going back to where it was left.
    if (!event && left && left.at === head()) {
      command("restore", { event: left.to }, () => "Took back: the restored plan");
      return;
    }
    command("undo", event ? { event } : {}, (answer) => `Took back${answer.what ? `: ${short(answer.what)}` : ""}`);
  };
  self.redo = () => model.past || command("redo", {}, () => "Done again");
  self.steer = async (directive) => {
    const words = { stop: "Stopped", pause: "Paused", go: "Resumed" };
    if (
      directive === "stop" &&
      !(await confirm(
        "Stop the agent?",
        ["Its work ends at its next step. The plan stays, and you can resume it."],
        "Stop",
      ))
    ) return;
    command("directive", { directive }, () => words[directive]);
  };
  self.agreed = (past) =>
    confirm("Restore this plan?", [differences(past).summary, "The agent is told. You can undo this."], "Restore");
  self.restore = async (point) => {
    if (await command("restore", { event: point.id }, null)) {
      toast("Restored", {
        action: "Undo",
        act: () => self.undo(),
      });
    }
  };
  self.download = async () => {
    try {
      const response = await fetch(`${BASE}/s/${key}.md`, { headers: headers() });
      if (!response.ok) throw new Error(`The board answered ${response.status}.`);
      const url = URL.createObjectURL(await response.blob());
      el("a", { href: url, download: `${key}.md` }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10000);
    } catch (error) {
      fault(error.message);
    }
  };
  return self;
}

// Drafts survive live updates and reloads of the page; they belong to this tab.
function drafts(key) {
  const name = (id) => `tildone-draft:${BASE}:${key}:${id}`;
  return {
    get: (id) => JSON.parse(sessionStorage.getItem(name(id)) || "null"),
    put: (id, draft) => sessionStorage.setItem(name(id), JSON.stringify(draft)),
    drop: (id) => sessionStorage.removeItem(name(id)),
  };
}
