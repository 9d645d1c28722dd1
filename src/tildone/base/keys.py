"""Key bindings: the actions of all screens and the keys that are bound to them.

This is the one table. Hints name an action and show its key, screens bind it, and a person can bind another one in the
settings. A binding is the name of a key, or several names that are separated by commas. A name is that of Textual: a
character, or a word such as `enter`, `pagedown`, `f6` or `question_mark`, after `ctrl+`, `alt+` or `shift+` if needed.
"""

from collections.abc import Iterable, Mapping

KeyBindings = Mapping[str, str]
"""The actions of a screen and the keys bound to them. An action that is missing has no key there."""

NO_KEYS: KeyBindings = {}
"""The bindings of output that takes no keys."""

EXPAND, THINKING, PAGER = "app.tools.expand", "app.thinking.toggle", "transcript.pager"

DEFAULT_BINDINGS: KeyBindings = {
    "app.interrupt": "escape",
    "app.clear": "ctrl+c",
    "app.exit": "ctrl+d",
    "app.suspend": "ctrl+z",
    EXPAND: "ctrl+o",
    THINKING: "ctrl+t",
    "app.editor.external": "ctrl+g",
    "app.message.followUp": "alt+enter",
    "tui.input.submit": "enter",
    "tui.select.up": "up",
    "tui.select.down": "down",
    "tui.select.confirm": "enter",
    "tui.select.cancel": "escape",
}
"""The actions of a run."""

RUN_BINDINGS: KeyBindings = {
    "run.keys": "f1",
    "run.plan": "f2",
    "run.tree": "f3",
    "run.conversations": "f4",
    "run.palette": "ctrl+x",
    "run.copyAnswer": "alt+a",
    "run.nextPane": "tab",
    "run.previousPane": "shift+tab",
    "run.redraw": "ctrl+l",
}
"""The actions of a run in full screen, in every pane."""

EDITOR_BINDINGS: KeyBindings = {
    "editor.newLine": "ctrl+j,shift+enter",
    "editor.earlier": "up",
    "editor.later": "down",
    "editor.wordLeft": "alt+b,ctrl+left,alt+left",
    "editor.wordRight": "alt+f,ctrl+right,alt+right",
    "editor.deleteWordLeft": "ctrl+w,alt+backspace,ctrl+backspace",
    "editor.deleteWordRight": "alt+d,alt+delete",
    "editor.deleteToEnd": "ctrl+k",
    "editor.deleteToStart": "ctrl+u",
    "editor.yank": "ctrl+y",
    "editor.unfold": "alt+p",
    "editor.undo": "ctrl+underscore",
    "editor.conversationEnd": "end",
}
"""The actions of the editor of a run in full screen."""

TREE_BINDINGS: KeyBindings = {
    "tree.go": "enter",
    "tree.fork": "f",
    "tree.label": "r",
    "tree.plan": "d",
    "tree.close": "escape,q,f3",
}
"""The actions of the tree of a conversation."""

ROW_BINDINGS: KeyBindings = {
    "row.down": "j,down",
    "row.up": "k,up",
    "row.pageDown": "pagedown,ctrl+d",
    "row.pageUp": "pageup,ctrl+u",
    "row.first": "g,home",
    "row.last": "G,end",
}
"""The actions of every list of rows."""

PLAN_BINDINGS: KeyBindings = {
    "task.toggle": "space",
    "task.start": "s",
    "task.block": "b",
    "task.drop": "x",
    "task.remove": "delete",
    "task.edit": "e,enter",
    "task.moveDown": "J,shift+down",
    "task.moveUp": "K,shift+up",
    "task.add": "a",
    "task.note": "n",
    "task.glance": "i",
    "task.check": "c",
    "task.approve": "C",
    "task.verify": "v",
    "task.after": "o",
    "task.touches": "f",
    "phase.add": "A",
    "phase.fold": "z",
    "task.copy": "y",
    "plan.check": "D",
    "plan.notes": "p",
    "plan.copy": "Y",
    "plan.undo": "u",
    "plan.redo": "U",
    "plan.filter": "slash",
}
"""The actions of a plan, in `tildone watch` and beside a run."""

WATCH_BINDINGS: KeyBindings = {
    "watch.open": "enter,l,right",
    "watch.pause": "p",
    "watch.resume": "r",
    "watch.stop": "s",
    "watch.answer": "y,n",
    "watch.pauseAgent": "P",
    "watch.resumeAgent": "R",
    "watch.stopAgent": "S",
    "watch.back": "h,left,f4",
    "watch.escape": "escape",
    "watch.other": "tab",
    "watch.keys": "question_mark,f1",
    "watch.palette": "ctrl+x",
    "watch.quit": "q,ctrl+c",
}
"""The actions of `tildone watch`."""

TRANSCRIPT_BINDINGS: KeyBindings = {
    "transcript.lineDown": "down",
    "transcript.lineUp": "up",
    "transcript.halfPageDown": "ctrl+d",
    "transcript.halfPageUp": "ctrl+u",
    "transcript.pageDown": "pagedown",
    "transcript.pageUp": "pageup",
    "transcript.first": "home",
    "transcript.last": "end",
    "transcript.nextBlock": "alt+down",
    "transcript.previousBlock": "alt+up",
    "transcript.fold": "enter",
    "transcript.foldAll": "ctrl+r",
    PAGER: "f9",
    "transcript.openFile": "f7",
    "transcript.select": "ctrl+k",
    "transcript.left": "left",
    "transcript.right": "right",
    "transcript.nextWord": "ctrl+right",
    "transcript.previousWord": "ctrl+left",
    "transcript.wordEnd": "alt+right",
    "transcript.copy": "ctrl+y",
    "transcript.copySelection": "ctrl+c",
    "transcript.copyBlock": "f8",
    "transcript.copyCode": "ctrl+e",
    "transcript.find": "ctrl+f",
    "transcript.nextMatch": "ctrl+n",
    "transcript.previousMatch": "ctrl+p",
    "transcript.fork": "f6",
    "transcript.edit": "f5",
    "transcript.escape": "escape",
}
"""The actions of a conversation on the screen. None has a character: what is typed there goes to the editor.

None has a character after `alt+` either: a terminal sends it as Escape and the character, and Textual knows it only if
nothing follows at once.
"""

ALL_BINDINGS: KeyBindings = {
    **DEFAULT_BINDINGS,
    **RUN_BINDINGS,
    **EDITOR_BINDINGS,
    **TREE_BINDINGS,
    **ROW_BINDINGS,
    **PLAN_BINDINGS,
    **WATCH_BINDINGS,
    **TRANSCRIPT_BINDINGS,
}

_WATCH_ANYWHERE = {
    *ROW_BINDINGS,
    *("plan.undo", "plan.redo", "plan.filter"),
    *("watch.escape", "watch.other", "watch.keys", "watch.palette", "watch.quit"),
    *("watch.pauseAgent", "watch.resumeAgent", "watch.stopAgent"),
}
WATCH_LIST = frozenset({*_WATCH_ANYWHERE, "watch.open", "watch.pause", "watch.resume", "watch.stop", "watch.answer"})
WATCH_PLAN = frozenset({*_WATCH_ANYWHERE, *PLAN_BINDINGS, "watch.back"})
_WORD_MOTIONS = {"transcript.nextWord", "transcript.previousWord", "transcript.wordEnd"}
TRANSCRIPT = frozenset({*TRANSCRIPT_BINDINGS, EXPAND, THINKING} - _WORD_MOTIONS)
TRANSCRIPT_SELECTING = frozenset({*TRANSCRIPT, *_WORD_MOTIONS} - {"transcript.fork", "transcript.edit"})
_RUN_ANYWHERE = {*RUN_BINDINGS, "app.interrupt", "app.clear", "app.suspend", "app.editor.external", EXPAND}
RUN_EDITOR = frozenset(
    {*_RUN_ANYWHERE, *EDITOR_BINDINGS, "tui.input.submit", "app.message.followUp", "app.exit"},
)
# What is shared on purpose: a selection is copied, or ended, before the same key means something else.
RUN_TRANSCRIPT = TRANSCRIPT | (_RUN_ANYWHERE - {"app.interrupt", "app.clear"})
RUN_PLAN = frozenset(
    {*_RUN_ANYWHERE, *ROW_BINDINGS, *PLAN_BINDINGS, "watch.pauseAgent", "watch.resumeAgent", "watch.stopAgent"}
)
TREE = frozenset({*TREE_BINDINGS, *ROW_BINDINGS})
TOGETHER: tuple[frozenset[str], ...] = (
    *(WATCH_LIST, WATCH_PLAN, TRANSCRIPT, TRANSCRIPT_SELECTING),
    *(RUN_EDITOR, RUN_TRANSCRIPT, RUN_PLAN, TREE),
)
"""The actions that wait for a key at the same time: no two of one group may have the same key."""

PUNCTUATION = dict(
    zip(
        "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
        (
            *("exclamation_mark", "quotation_mark", "number_sign", "dollar_sign", "percent_sign", "ampersand"),
            *("apostrophe", "left_parenthesis", "right_parenthesis", "asterisk", "plus", "comma", "minus", "full_stop"),
            *("slash", "colon", "semicolon", "less_than_sign", "equals_sign", "greater_than_sign", "question_mark"),
            *("at", "left_square_bracket", "backslash", "right_square_bracket", "circumflex_accent", "underscore"),
            *("grave_accent", "left_curly_bracket", "vertical_line", "right_curly_bracket", "tilde"),
        ),
        strict=True,
    )
)
"""The names of the keys of characters that are neither letters nor digits."""

_NAMED = {
    *("backspace", "delete", "insert", "enter", "escape", "space", "tab"),
    *("down", "up", "left", "right", "home", "end", "pagedown", "pageup"),
    *(f"f{number}" for number in range(1, 25)),
}
_MODIFIERS = ("ctrl+", "alt+", "shift+")


def key_of(action: str, bindings: KeyBindings = DEFAULT_BINDINGS) -> str:
    return bindings.get(action, "")


def key_names(keys: str) -> list[str]:
    return [name.strip() for name in keys.split(",")]


def is_key(name: str) -> bool:
    for modifier in _MODIFIERS:
        name = name.removeprefix(modifier)
    return name in _NAMED or name in PUNCTUATION.values() or (len(name) == 1 and name.isprintable() and name != " ")


def clash(own: KeyBindings, groups: Iterable[frozenset[str]] = TOGETHER) -> tuple[str, str, str] | None:
    """Return the first two actions that would have the same key, and the key; None if there are none.

    `own` are the bindings of a person, in place of the defaults of these actions.
    """
    bindings = {**ALL_BINDINGS, **own}
    for group in groups:
        taken: dict[str, str] = {}
        # Those of the person come last, so that they are named as the ones to change.
        for action in sorted(group, key=lambda each: (each in own, each)):
            for key in key_names(bindings[action]):
                name = PUNCTUATION.get(key, key)
                if taken.setdefault(name, action) != action:
                    return taken[name], action, key
    return None
