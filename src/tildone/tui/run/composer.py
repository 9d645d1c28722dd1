"""The editor: where the person types messages and commands. It never waits for anything.

Enter sends. A line break is ctrl+j, Enter after a backslash, or shift+enter where the terminal can tell it from Enter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import isawaitable
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.widgets import TextArea

from tildone.kit.keys import ALL_BINDINGS, PUNCTUATION, KeyBindings, key_names
from tildone.tui.run.completion import EditorCandidate, EditorCompletions
from tildone.tui.run.keys import WORD_KEYS
from tildone.tui.run.typed_history import TypedHistory
from tildone.tui.screen_keys import key_bindings
from tildone.views.sanitize import visible

PLACEHOLDER = "Say what is to be done. @ names a file, / a command."
CONTINUATION = "\\"
SAME_KEYS = dict.fromkeys(("alt+ctrl+m", "ctrl+alt+m"), "alt+enter")
"""Other names that terminals have for a key."""


class Composer(TextArea):
    """The text that the person is typing."""

    DEFAULT_CSS = """
    Composer, Composer:focus {
        height: auto; min-height: 1; max-height: 8; border: none; padding: 0; background: $background;
        & .text-area--cursor-line { background: $background; }
        & .text-area--placeholder { color: $foreground-muted; }
        scrollbar-size-vertical: 1;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = key_bindings(WORD_KEYS)

    @dataclass
    class Sent(Message):
        """The person has sent a text; `later`, for when the model has stopped."""

        text: str
        later: bool

    class Typing(Message):
        """The text has changed, or the cursor has moved: what can be completed is another thing."""

    def __init__(self, keys: KeyBindings = ALL_BINDINGS, offered: Callable[[str], bool] = lambda _: False) -> None:
        """`offered` takes a character that the last block of the conversation offers, while nothing is typed."""
        super().__init__(
            compact=True,
            soft_wrap=True,
            tab_behavior="focus",
            highlight_cursor_line=False,
            placeholder=PLACEHOLDER,
            id="composer",
        )
        self.sent_texts = TypedHistory()
        self.completions = EditorCompletions()
        self._keys, self._offered = keys, offered
        self._killed = ""

    @property
    def before_cursor(self) -> str:
        return self.get_text_range((0, 0), self.cursor_location)

    def fill(self, text: str) -> None:
        """Replace the text, with the cursor at its end."""
        self.load_text(text)
        self.move_cursor(self.document.end)

    def accept(self, candidate: EditorCandidate) -> None:
        """Replace the word before the cursor by a completion."""
        before = self.before_cursor
        self.completions, length = EditorCompletions(), len(before) - self.completions.start
        row, column = self.cursor_location
        self.replace(candidate.text, (row, column - length), (row, column))

    def action_send(self, *, later: bool = False) -> None:
        text = self.text
        if text.strip():
            self.sent_texts.add(text)
            self.load_text("")
            self.completions = EditorCompletions()
            self.post_message(self.Sent(text.strip(), later=later))

    def action_send_later(self) -> None:
        self.action_send(later=True)

    async def _on_key(self, event: events.Key) -> None:
        if self._handle(event):
            event.stop()
            event.prevent_default()
            return
        await super()._on_key(event)

    def _handle(self, event: events.Key) -> bool:
        """Apply a key of our own; return False if it is one of the widget's."""
        key = event.key
        if self.completions.candidates and self._handle_completions(key):
            self.post_message(self.Typing())
        elif key == "enter" and self.before_cursor.endswith(CONTINUATION):
            self.action_delete_left()
            self.insert("\n")
        elif self._is(key, "tui.input.submit"):
            self.action_send()
        elif self._is(key, "app.message.followUp"):
            self.action_send_later()
        elif self._is(key, "editor.newLine"):
            self.action_new_line()
        elif self._is(key, "app.exit") and not self.text:
            self.app.call_later(self.run_action, "app.leave")
        elif not self.text and event.character and self._offered(event.character):
            return True
        elif self._is(key, "editor.earlier") and self.cursor_at_first_line:
            return self.action_earlier()
        elif self._is(key, "editor.later") and self.cursor_at_last_line:
            return self.action_later()
        else:
            return False
        return True

    def _is(self, key: str, action: str) -> bool:
        return SAME_KEYS.get(key, key) in {PUNCTUATION.get(name, name) for name in key_names(self._keys[action])}

    def _handle_completions(self, key: str) -> bool:
        offered = self.completions
        is_up = self._is(key, "tui.select.up")
        if is_up or self._is(key, "tui.select.down"):
            self.completions = offered.moved(-1 if is_up else 1)
        elif self._is(key, "tui.select.confirm") and offered.was_moved:
            self.accept(offered.candidate)
        elif self._is(key, "tui.select.cancel"):
            self.completions = EditorCompletions(dismissed=self.text)
        else:
            return False
        return True

    def action_new_line(self) -> None:
        self.insert("\n")

    def action_earlier(self) -> bool:
        """Recall what was sent before; return whether there is something."""
        return self._recall(self.sent_texts.earlier(self.text))

    def action_later(self) -> bool:
        """Recall what was sent after that; return whether there is something."""
        return self._recall(self.sent_texts.later())

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        text = event.text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ")
        self.sent_texts.leave()
        self.replace("\n".join(map(visible, text.split("\n"))), *self.selection)

    def type_key(self, event: events.Key | events.Paste) -> None:
        """Take a key or a paste that came to another widget, but was meant for the editor."""
        if isinstance(event, events.Paste):
            self.post_message(events.Paste(event.text))
        else:
            self.post_message(events.Key(event.key, event.character))

    def on_text_area_changed(self) -> None:
        self.post_message(self.Typing())

    async def action_kill(self, action: str) -> None:
        """Delete by an action of the widget, and keep the text for `ctrl+y`."""
        before = self.text
        start = len(self.before_cursor)
        done = getattr(self, f"action_{action}")()
        if isawaitable(done):
            await done
        cut = len(before) - len(self.text)
        if cut > 0:
            at = min(start, len(self.before_cursor))
            self._killed = before[at : at + cut]

    def action_yank(self) -> None:
        if self._killed:
            self.insert(self._killed)

    def _recall(self, text: str | None) -> bool:
        if text is None:
            return False
        self.fill(text)
        return True
