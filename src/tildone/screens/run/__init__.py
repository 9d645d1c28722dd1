"""The actions of the full-screen run, once: for the bindings, the help and the palette.

Their keys are in `tildone.base.keys`, and a person can bind others. The keys that answer a question are not among them:
they are part of the question.
"""

from tildone.base.keys import EXPAND
from tildone.screens.transcript.widget import KEYS as TRANSCRIPT_KEYS
from tildone.screens.watch.actions import PLAN_KEYS
from tildone.screens.widgets.prompt import FixedKeys, Pane, ScreenKey

APP_KEYS = (
    ScreenKey("run.keys", "all keys (/keys)", "app.command('keys')"),
    ScreenKey("run.palette", "all actions, by name", "app.palette"),
    ScreenKey("run.plan", "the plan, to edit it; again: hide it (/plan)", "app.command('plan')"),
    ScreenKey("run.tree", "the conversation as a tree (/tree)", "app.command('tree')"),
    ScreenKey("run.conversations", "other conversations (/sessions)", "app.command('sessions')"),
    ScreenKey(
        "app.interrupt",
        "close what is open; else stop the countdown; else the turn; twice: its command; what waits comes back",
        "app.escape",
    ),
    ScreenKey("app.clear", "copy a selection; else empty the editor; else stop; twice: leave", "app.interrupt"),
    ScreenKey("run.copyAnswer", "copy the last answer (/copy)", "app.command('copy')"),
    ScreenKey("run.nextPane", "the next pane; while a list is open, complete", "app.next_pane"),
    ScreenKey("run.previousPane", "the previous pane", "app.previous_pane"),
    ScreenKey(EXPAND, "show results expanded, or collapsed", "app.expand"),
    ScreenKey("app.editor.external", "edit in $VISUAL or $EDITOR", "app.edit_outside"),
    ScreenKey("app.suspend", "suspend", "app.suspend_process"),
    ScreenKey("run.redraw", "redraw", "app.redraw"),
)
EDITOR_KEYS = (
    ScreenKey("tui.input.submit", "send; while the model works, it reads it before its next step", "send", Pane.EDITOR),
    ScreenKey("app.message.followUp", "send when the model has stopped (/later)", "send_later", Pane.EDITOR),
    ScreenKey("editor.newLine", "a new line; \\ before enter, too", "new_line", Pane.EDITOR),
    ScreenKey("editor.earlier", "what you sent before, by the beginning of what is typed", "earlier", Pane.EDITOR),
    ScreenKey("editor.later", "what you sent after that", "later", Pane.EDITOR),
    ScreenKey(
        "editor.conversationEnd",
        "at the end of the text: the end of the conversation",
        "app.conversation_end",
        Pane.EDITOR,
    ),
    ScreenKey("app.exit", "leave, if nothing is typed (/quit)", "app.leave", Pane.EDITOR),
)
WORD_KEYS = (
    ScreenKey("editor.wordLeft", "a word left", "cursor_word_left", Pane.EDITOR),
    ScreenKey("editor.wordRight", "a word right", "cursor_word_right", Pane.EDITOR),
    ScreenKey("editor.deleteWordLeft", "delete a word to the left", "kill('delete_word_left')", Pane.EDITOR),
    ScreenKey("editor.deleteWordRight", "delete a word to the right", "kill('delete_word_right')", Pane.EDITOR),
    ScreenKey(
        "editor.deleteToEnd",
        "delete to the end of the line",
        "kill('delete_to_end_of_line_or_delete_line')",
        Pane.EDITOR,
    ),
    ScreenKey(
        "editor.deleteToStart", "delete to the start of the line", "kill('delete_to_start_of_line')", Pane.EDITOR
    ),
    ScreenKey("editor.unfold", "unfold what was pasted", "unfold", Pane.EDITOR),
    ScreenKey("editor.yank", "insert what was deleted last", "yank", Pane.EDITOR),
    ScreenKey("editor.undo", "undo what was typed", "undo", Pane.EDITOR),
)
TREE_KEYS = (
    ScreenKey("tree.go", "go there", "choose('go')", Pane.TREE),
    ScreenKey("tree.fork", "a new conversation from before this message", "choose('fork')", Pane.TREE),
    ScreenKey("tree.label", "label it", "label", Pane.TREE),
    ScreenKey("tree.plan", "the plan as it was then", "plan", Pane.TREE),
    ScreenKey("tree.close", "back", "close", Pane.TREE),
)
KEYS = (
    *(*APP_KEYS, *EDITOR_KEYS, *WORD_KEYS),
    *(key for key in TRANSCRIPT_KEYS if key.name != EXPAND),
    *PLAN_KEYS,
    *TREE_KEYS,
)

FIXED: FixedKeys = {
    Pane.EDITOR.value: (
        ("@  /  !", "a file, a command, a command of the shell"),
        ("shift and drag", "select by the terminal's own mouse"),
    ),
    "In a question": (
        ("y", "once; Y for what cannot be undone"),
        ("a, then a again", "all of the kind, in this conversation"),
        ("p, then p again", "exactly the commands of the plan"),
        ("n", "no, with a reason for the model"),
        ("j k, v", "the next change in a diff, side by side"),
        ("↑ ↓ page keys", "scroll; a long question must be read to its end"),
        ("esc", "back to the editor; the question waits"),
    ),
}
"""Keys that cannot be changed."""


def listed_first(pane: Pane) -> list[ScreenKey]:
    """Return all actions, those of a pane first."""
    return sorted(KEYS, key=lambda key: key.pane is not pane)
