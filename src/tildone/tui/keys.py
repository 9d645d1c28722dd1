"""The actions of `tildone watch`, once: for the bindings, the footer, the help and the palette."""

from __future__ import annotations

from collections.abc import Sequence

from textual.binding import BindingType

from tildone.kit.keys import ALL_BINDINGS, KeyBindings
from tildone.kit.text import display_width
from tildone.kit.theme import Role, Span
from tildone.tui.row_list import Line
from tildone.tui.screen_keys import Pane, ScreenKey, first_key, key_bindings
from tildone.value import value

KEYS = (
    ScreenKey("row.down", "down", "move(1)"),
    ScreenKey("row.up", "up", "move(-1)"),
    ScreenKey("row.pageDown", "a page down", "page(1)"),
    ScreenKey("row.pageUp", "a page up", "page(-1)"),
    ScreenKey("row.first", "to the first row", "first"),
    ScreenKey("row.last", "to the last row", "last"),
    ScreenKey("watch.open", "open the plan", "app.open", Pane.LIST),
    ScreenKey("watch.answer", "show the open question of an agent, to answer it", "app.answer", Pane.LIST),
    ScreenKey("watch.pause", "pause: the agent is not told to continue", "app.steer('pause')", Pane.LIST),
    ScreenKey("watch.resume", "resume", "app.steer('go')", Pane.LIST),
    ScreenKey("watch.stop", "stop: the agent ends its turn (asks first)", "app.steer('stop')", Pane.LIST),
    ScreenKey("task.toggle", "done, or open again", "app.close_task('completed')", Pane.PLAN),
    ScreenKey("task.start", "start", "app.start", Pane.PLAN),
    ScreenKey("task.block", "block (asks what it waits for), or unblock", "app.block", Pane.PLAN),
    ScreenKey("task.drop", "drop, or open again", "app.close_task('abandoned')", Pane.PLAN),
    ScreenKey("task.remove", "remove", "app.remove", Pane.PLAN),
    ScreenKey("task.edit", "edit the text", "app.edit", Pane.PLAN),
    ScreenKey("task.moveDown", "move the task down", "app.reorder(1)", Pane.PLAN),
    ScreenKey("task.moveUp", "move the task up", "app.reorder(-1)", Pane.PLAN),
    ScreenKey("task.add", "add a task after this one", "app.add", Pane.PLAN),
    ScreenKey("phase.add", "add a phase", "app.add_phase", Pane.PLAN),
    ScreenKey("task.note", "note", "app.note", Pane.PLAN),
    ScreenKey("task.check", "set the check: a command that passes if the task is done", "app.check", Pane.PLAN),
    ScreenKey(
        "task.approve", "show a proposed check, of this task or the next, to approve it", "app.approve", Pane.PLAN
    ),
    ScreenKey("task.verify", "run the check again", "app.verify", Pane.PLAN),
    ScreenKey(
        "plan.check", "set the check of the plan, which passes if all of it is done", "app.plan_check", Pane.PLAN
    ),
    ScreenKey("task.after", "set the order: after which tasks it comes", "app.after", Pane.PLAN),
    ScreenKey("task.touches", "set the files that it changes", "app.touches", Pane.PLAN),
    ScreenKey("task.copy", "copy the text, or what is selected", "app.copy_task", Pane.PLAN),
    ScreenKey("plan.copy", "copy the plan as Markdown", "app.copy_plan", Pane.PLAN),
    ScreenKey("plan.notes", "show all notes, or few", "app.notes", Pane.PLAN),
    ScreenKey("phase.fold", "fold the phase, or unfold it", "app.fold", Pane.PLAN),
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


@value
class Hint:
    """Actions in a footer, and a word for them. The first key of each is shown."""

    word: str
    names: tuple[str, ...]


_MOVE = Hint("move", ("row.down", "row.up"))
_UNDO, _FILTER, _QUIT = Hint("undo", ("plan.undo",)), Hint("filter", ("plan.filter",)), Hint("leave", ("watch.quit",))
FOOTERS = {
    Pane.LIST: (
        _MOVE,
        Hint("open", ("watch.open",)),
        Hint("pause", ("watch.pause",)),
        Hint("resume", ("watch.resume",)),
        Hint("stop", ("watch.stop",)),
        _FILTER,
        _QUIT,
        _UNDO,
    ),
    Pane.PLAN: (
        Hint("done", ("task.toggle",)),
        Hint("block", ("task.block",)),
        Hint("drop", ("task.drop",)),
        Hint("edit", ("task.edit",)),
        Hint("move", ("task.moveDown", "task.moveUp")),
        Hint("add", ("task.add",)),
        Hint("note", ("task.note",)),
        _UNDO,
        _QUIT,
        Hint("start", ("task.start",)),
        Hint("check", ("task.check",)),
        Hint("verify", ("task.verify",)),
        Hint("approve", ("task.approve",)),
        Hint("order", ("task.after",)),
        Hint("files", ("task.touches",)),
        _FILTER,
        Hint("pause, resume, stop", ("watch.pauseAgent", "watch.resumeAgent", "watch.stopAgent")),
    ),
}
"""The keys in the footer of a pane, the most useful first. The key to all keys is always shown."""

HELP = Hint("keys", ("watch.keys",))


def bindings(pane: Pane) -> list[BindingType]:
    """Return the bindings of a pane."""
    return key_bindings(key for key in KEYS if key.pane in (pane, Pane.ANY))


def footer_line(pane: Pane, columns: int, keys: KeyBindings = ALL_BINDINGS) -> Line:
    """Return as many keys of a pane as fit."""
    hints = [(" ".join(first_key(keys, name) for name in hint.names), hint.word) for hint in (*FOOTERS[pane], HELP)]
    while len(hints) > 1 and _width(hints) > columns:
        hints.pop(-2)
    parts = (part for key, word in hints for part in (Span(key, bold=True), Span(f" {word}  ", Role.MUTED)))
    return Span(" "), *parts


def _width(hints: Sequence[tuple[str, str]]) -> int:
    return sum(display_width(f"{key} {word}") + 2 for key, word in hints) - 1
