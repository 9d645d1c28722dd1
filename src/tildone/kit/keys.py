"""Key bindings, for hints that name an action and show its key."""

from __future__ import annotations

from collections.abc import Mapping

KeyBindings = Mapping[str, str]
"""The actions of a screen and the keys bound to them. An action that is missing has no key there."""

NO_KEYS: KeyBindings = {}
"""The bindings of output that takes no keys."""

EXPAND = "app.tools.expand"

DEFAULT_BINDINGS: KeyBindings = {
    "app.interrupt": "escape",
    "app.clear": "ctrl+c",
    "app.exit": "ctrl+d",
    "app.suspend": "ctrl+z",
    EXPAND: "ctrl+o",
    "app.thinking.toggle": "ctrl+t",
    "app.editor.external": "ctrl+g",
    "app.message.followUp": "alt+enter",
    "tui.input.submit": "enter",
    "tui.select.up": "up",
    "tui.select.down": "down",
    "tui.select.confirm": "enter",
    "tui.select.cancel": "escape",
}


def key_of(action: str, bindings: KeyBindings = DEFAULT_BINDINGS) -> str:
    """Return the key bound to an action; empty if there is none."""
    return bindings.get(action, "")
