"""The actions of `tildone watch`, once: for the bindings, the footer, the help and the palette."""

from tildone.base import replace
from tildone.screens.widgets.prompt import Hint, Pane, ScreenKey

KEYS = (
    ScreenKey("row.down", "down", "move(1)"),
    ScreenKey("row.up", "up", "move(-1)"),
    ScreenKey("row.pageDown", "a page down", "page(1)"),
    ScreenKey("row.pageUp", "a page up", "page(-1)"),
    ScreenKey("row.first", "to the first row", "first"),
    ScreenKey("row.last", "to the last row", "last"),
    ScreenKey("watch.open", "open the plan", "app.open", Pane.LIST),
    ScreenKey("watch.answer", "show the open question of an agent, to answer it", "app.answer", Pane.LIST),
    ScreenKey("watch.pause", "pause: the agent is not told to go on", "app.steer('pause')", Pane.LIST),
    ScreenKey("watch.resume", "resume", "app.steer('go')", Pane.LIST),
    ScreenKey("watch.stop", "stop: the agent ends its turn (asks first)", "app.steer('stop')", Pane.LIST),
    ScreenKey("task.toggle", "done, or open again", "close_task('completed')", Pane.PLAN),
    ScreenKey("task.start", "start", "start", Pane.PLAN),
    ScreenKey("task.block", "block (asks what it waits for), or unblock", "block", Pane.PLAN),
    ScreenKey("task.drop", "drop, or open again", "close_task('abandoned')", Pane.PLAN),
    ScreenKey("task.remove", "remove", "remove", Pane.PLAN),
    ScreenKey("task.edit", "edit the text", "edit", Pane.PLAN),
    ScreenKey("task.moveDown", "move the task down", "reorder(1)", Pane.PLAN),
    ScreenKey("task.moveUp", "move the task up", "reorder(-1)", Pane.PLAN),
    ScreenKey("task.add", "add a task after this one", "add", Pane.PLAN),
    ScreenKey("phase.add", "add a phase", "add_phase", Pane.PLAN),
    ScreenKey("task.note", "note", "note", Pane.PLAN),
    ScreenKey("task.glance", "the task at a glance: history, check, cost, its agent's last lines", "glance", Pane.PLAN),
    ScreenKey("task.check", "set the check: a command that passes if the task is done", "check", Pane.PLAN),
    ScreenKey("task.approve", "show a proposed check, of this task or the next, to approve it", "approve", Pane.PLAN),
    ScreenKey("task.verify", "run the check again", "verify", Pane.PLAN),
    ScreenKey("plan.check", "set the check of the plan, which passes if all of it is done", "plan_check", Pane.PLAN),
    ScreenKey("task.after", "set the order: after which tasks it comes", "after", Pane.PLAN),
    ScreenKey("task.touches", "set the files that it changes", "words('touches')", Pane.PLAN),
    ScreenKey("task.copy", "copy the text, or what is selected", "copy_task", Pane.PLAN),
    ScreenKey("plan.copy", "copy the plan as Markdown", "copy_plan", Pane.PLAN),
    ScreenKey("plan.notes", "show all notes, or few", "app.notes", Pane.PLAN),
    ScreenKey("phase.fold", "fold the phase, or unfold it", "fold", Pane.PLAN),
    ScreenKey("watch.back", "back to the list", "app.to_list", Pane.PLAN),
    ScreenKey("plan.undo", "undo", "app.undo"),
    ScreenKey("plan.redo", "redo", "app.redo"),
    ScreenKey("watch.pauseAgent", "pause the agent", "app.steer('pause')"),
    ScreenKey("watch.resumeAgent", "resume the agent", "app.steer('go')"),
    ScreenKey("watch.stopAgent", "stop the agent (asks first)", "app.steer('stop')"),
    ScreenKey("plan.filter", "filter; esc clears it", "app.filter"),
    ScreenKey("watch.escape", "clear the filter; else back to the list", "app.escape"),
    ScreenKey("watch.other", "the other pane", "app.other"),
    ScreenKey("watch.palette", "all actions, by name", "app.palette"),
    ScreenKey("watch.keys", "keys", "app.help"),
    ScreenKey("watch.quit", "leave", "app.quit"),
)

APP_KEYS = tuple(key for key in KEYS if key.pane in (Pane.PLAN, Pane.ANY) and key.action.startswith("app."))
"""What the watch screen itself does while the plan has the keys."""

_ELSEWHERE = frozenset({"app.quit", "app.other", "app.escape", "app.to_list", "app.help", "app.palette"})
PLAN_KEYS = tuple(
    replace(key, action=key.action.removeprefix("app."), pane=Pane.PLAN)
    for key in KEYS
    if key.pane in (Pane.PLAN, Pane.ANY) and key.action not in _ELSEWHERE
)
"""What a plan does on every screen."""

_UNDO, _FILTER = Hint("undo", ("plan.undo",)), Hint("filter", ("plan.filter",))
_QUIT, _HELP = Hint("leave", ("watch.quit",)), Hint("keys", ("watch.keys",))
PLAN_HINTS = (
    *(Hint("done", ("task.toggle",)), Hint("block", ("task.block",)), Hint("drop", ("task.drop",))),
    *(Hint("edit", ("task.edit",)), Hint("move", ("task.moveDown", "task.moveUp")), Hint("add", ("task.add",))),
    *(Hint("note", ("task.note",)), _UNDO),
)
FOOTERS = {
    Pane.LIST: (
        *(Hint("move", ("row.down", "row.up")), Hint("open", ("watch.open",)), Hint("pause", ("watch.pause",))),
        *(Hint("resume", ("watch.resume",)), Hint("stop", ("watch.stop",)), _FILTER, _QUIT, _UNDO, _HELP),
    ),
    Pane.PLAN: (
        *(*PLAN_HINTS, _QUIT, Hint("start", ("task.start",)), Hint("glance", ("task.glance",))),
        Hint("check", ("task.check",)),
        *(Hint("verify", ("task.verify",)), Hint("approve", ("task.approve",)), Hint("order", ("task.after",))),
        *(Hint("files", ("task.touches",)), _FILTER),
        Hint("pause, resume, stop", ("watch.pauseAgent", "watch.resumeAgent", "watch.stopAgent")),
        _HELP,
    ),
}
"""The keys in the footer of a pane, the most useful first. The last one is always shown."""
