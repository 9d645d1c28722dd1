"""Keys that arrive together: on a slow line, before a screen is there, or without the marks of pasted text.

The keys of one read of the terminal are a *burst* if there are several. What was meant for a field that the first of
them opens goes to that field. Nothing that acts on an agent happens by a letter in a burst: it may be part of a word.
"""

import os
import selectors
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator

from textual._xterm_parser import XTermParser
from textual.app import App
from textual.driver import Driver
from textual.events import Event, Key
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

POLL_SECONDS, READ_BYTES = 0.1, 4096
"""How often it is looked whether the screen ends, and an unfinished key is one of its own; how much is read at once."""

_MARK, _MEANT_FOR = "_tildone_burst", "_tildone_meant_for"


def is_in_burst(event: Event) -> bool:
    return getattr(event, _MARK, False)


class TerminalParser(XTermParser):
    """Textual's parser, which takes Escape and Enter that are sent together for Enter: it is Enter with Alt."""

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[Key]:  # noqa: FBT001, FBT002  Textual's
        if alt and sequence == "\r":
            return (Key("alt+enter", None),)
        return super()._sequence_to_key_events(sequence, alt)


def keys_of_one_read(parser: XTermParser, text: str) -> Iterator[Message]:
    """Yield the messages that a parser makes of a text that was read at once; several keys are marked as a burst."""
    found = list(parser.feed(text))
    keys = [each for each in found if isinstance(each, Key)]
    for key in keys if len(keys) > 1 else ():
        setattr(key, _MARK, True)
    yield from found


def marking_bursts(driver: type[Driver]) -> type[Driver]:
    """Return a driver that marks bursts. Those that read no terminal, or that of Windows, have none."""

    class BurstDriver(driver):  # type: ignore[valid-type, misc]  # a base class that the platform decides
        def run_input_thread(self) -> None:
            """Read the terminal until the screen ends, as Textual's own driver does."""
            parser, decode = TerminalParser(self._debug), getincrementaldecoder("utf-8")(errors="replace").decode
            with selectors.SelectSelector() as selector:
                selector.register(self.fileno, selectors.EVENT_READ)
                while not self.exit_event.is_set():
                    if selector.select(POLL_SECONDS) and (text := decode(os.read(self.fileno, READ_BYTES))):
                        for message in keys_of_one_read(parser, text):
                            self.process_message(message)
                    for message in parser.tick():
                        self.process_message(message)

    return BurstDriver


def _had_by(event: Key) -> Widget | None:
    """Return the widget that had the focus when a key was pressed."""
    widget: Widget | None = getattr(event, _MEANT_FOR, None)
    return widget


class BurstApp(App[None]):
    """An application whose keys reach the field that they were typed for, however fast they came."""

    is_bursting = False
    """Whether the key that is being handled came with others."""

    def get_driver_class(self) -> type[Driver]:
        return marking_bursts(super().get_driver_class())

    async def on_event(self, event: Event) -> None:
        """Handle an event. A key that another pane had before a field was opened goes to the field."""
        if not isinstance(event, Key):
            await super().on_event(event)
            return
        if event.is_forwarded and isinstance(self.focused, Input) and _had_by(event) is not self.focused:
            # It has come back from a pane that did not take it.
            event = Key(event.key, event.character)
        if not event.is_forwarded:
            setattr(event, _MEANT_FOR, self.focused)
        self.is_bursting = is_in_burst(event)
        try:
            await super().on_event(event)
        finally:
            self.is_bursting = False
