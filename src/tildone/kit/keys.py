"""Which key does what, for hints that name an action and show its key."""

from __future__ import annotations

from collections.abc import Mapping

KeyBindings = Mapping[str, str]

DEFAULT_BINDINGS: KeyBindings = {
    "app.interrupt": "escape",
    "app.clear": "ctrl+c",
    "app.exit": "ctrl+d",
    "app.suspend": "ctrl+z",
    "app.tools.expand": "ctrl+o",
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
    """The key that does it; nothing where no key does. What `bindings` does not name is bound as usual."""
    return bindings.get(action, DEFAULT_BINDINGS.get(action, ""))


def key_hint(action: str, words: str, bindings: KeyBindings = DEFAULT_BINDINGS) -> str:
    """A key and what it is good for: `ctrl+o to expand`; nothing where no key does it."""
    key = key_of(action, bindings)
    return f"{key} {words}" if key else ""
