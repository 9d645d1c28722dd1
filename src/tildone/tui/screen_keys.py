"""Actions with keys, for every screen: their bindings, the keys as they are shown, and the help that lists them.

The keys are in `tildone.kit.keys`. A screen binds an action under its name (`Binding(id=...)`), and Textual replaces
the keys by those of the person (`App.set_keymap`); what shows keys takes the bindings that are in force.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

from textual.binding import Binding, BindingType

from tildone.kit.keys import ALL_BINDINGS, PUNCTUATION, KeyBindings, key_names
from tildone.kit.text import display_width, wrap_text
from tildone.kit.theme import Role, Span
from tildone.tui.row_list import Line
from tildone.value import value

KEY_COLUMNS, LEAST_COLUMNS = 19, 8
"""How wide the keys are in a help, and how narrow what they do may become."""

_SHOWN = {"escape": "esc", "pagedown": "page down", "pageup": "page up"}
_ARROWS = {"up": "↑", "down": "↓", "left": "←", "right": "→"}
_CHARACTERS = {name: character for character, name in PUNCTUATION.items()}


class Pane(Enum):
    """Where a key works. The value is a heading."""

    ANY = "Everywhere"
    LIST = "In the list of sessions"
    EDITOR = "In the editor"
    TRANSCRIPT = "In the conversation"
    PLAN = "In the plan"
    TREE = "In the tree of the conversation"


@value
class ScreenKey:
    """An action: its name in the table of bindings, what it does, Textual's action, and where its key works."""

    name: str
    does: str
    action: str
    pane: Pane = Pane.ANY


@value
class Hint:
    """Actions in a footer, and a word for them. The first key of each is shown."""

    word: str
    names: tuple[str, ...]


FixedKeys = Mapping[str, tuple[tuple[str, str], ...]]
"""Keys that cannot be changed, by heading, and what they do."""


def key_bindings(keys: Iterable[ScreenKey], *, priority: bool = False) -> list[BindingType]:
    """Return the bindings with the default keys; `App.set_keymap` replaces them by those of the person."""
    return [
        Binding(ALL_BINDINGS[key.name], key.action, key.does, show=False, priority=priority, id=key.name)
        for key in keys
    ]


def shown_keys(keys: str) -> list[str]:
    """Return the keys of a binding as they are shown: `j`, `↓`."""
    return [_shown_key(name) for name in key_names(keys)]


def first_key(keys: KeyBindings, name: str) -> str:
    """Return the first key of an action as it is shown. A name that is not that of an action is a key."""
    return shown_keys(keys.get(name, name))[0]


def footer_line(hints: Sequence[Hint], columns: int, keys: KeyBindings = ALL_BINDINGS) -> Line:
    """Return as many keys as fit, the first ones; the last one is always shown."""
    shown = [(" ".join(first_key(keys, name) for name in hint.names), hint.word) for hint in hints]
    while len(shown) > 1 and sum(display_width(f"{key} {word}") + 2 for key, word in shown) - 1 > columns:
        shown.pop(-2)
    return Span(" "), *(part for key, word in shown for part in (Span(key, bold=True), Span(f" {word}  ", Role.MUTED)))


def help_lines(
    listed: Iterable[ScreenKey], first: Pane, keys: KeyBindings, columns: int, fixed: FixedKeys | None = None
) -> list[Line]:
    """Return all keys, by pane, those of one of them first. What they do is wrapped, not cut off."""
    rows: dict[str, list[tuple[str, str]]] = {first.value: []}
    for pane in Pane:
        rows.setdefault(pane.value, [])
    for key in listed:
        rows[key.pane.value].append((" ".join(shown_keys(keys[key.name])), key.does))
    for heading, more in (fixed or {}).items():
        rows.setdefault(heading, []).extend(more)
    lines: list[Line] = []
    for heading, found in rows.items():
        if found:
            lines += [(Span(heading, bold=True),)]
            lines += [line for shown, does in found for line in _help_rows(shown, does, columns)]
            lines += [()]
    return lines[:-1]


def _help_rows(shown: str, does: str, columns: int) -> list[Line]:
    names = f"  {shown:<{KEY_COLUMNS}} "
    width = display_width(names)
    first_line, *others = wrap_text(does, max(LEAST_COLUMNS, columns - width))
    rest: list[Line] = [(Span(" " * width), Span(other, Role.MUTED)) for other in others]
    return [(Span(names, Role.ACCENT), Span(first_line, Role.MUTED)), *rest]


def _shown_key(name: str) -> str:
    *modifiers, last = name.split("+") if len(name) > 1 else [name]
    shown = _SHOWN.get(last) or _ARROWS.get(last) or _CHARACTERS.get(last, last)
    return "+".join([*modifiers, shown])
