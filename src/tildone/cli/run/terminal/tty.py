"""The mode of the terminal: unbuffered input without echo, restored at the end and while an editor runs."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tildone.cli.run.terminal.keys import PASTE_OFF, PASTE_ON
from tildone.files.editor import edit_text, editor_command


def is_interactive() -> bool:
    """Return whether input and output are a terminal that can be drawn on."""
    if sys.platform == "win32" or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


class Tty:
    """The terminal of standard input."""

    def __init__(self) -> None:
        self.fd = sys.stdin.fileno()
        self.in_editor = False
        self._original: list[Any] = []

    @contextmanager
    def cbreak(self) -> Iterator[Tty]:
        """Switch the terminal to unbuffered input, and restore its mode at the end."""
        # Not available on every system; `is_interactive` has checked.
        import termios  # noqa: PLC0415  see above

        self._original = termios.tcgetattr(self.fd)
        self.enter()
        try:
            yield self
        finally:
            self.restore()

    def enter(self) -> None:
        """Switch off line buffering, echo and further keys of the system; Ctrl-C and Ctrl-Z still send signals."""
        import termios  # noqa: PLC0415  see `entered`

        ours = list(self._original)
        ours[3] &= ~(termios.ICANON | termios.ECHO | termios.IEXTEN)
        self._set(ours, PASTE_ON)

    def restore(self) -> None:
        """Restore the original mode."""
        self._set(self._original, PASTE_OFF)

    def _set(self, modes: list[Any], paste: str) -> None:
        import termios  # noqa: PLC0415  see `entered`

        with suppress(termios.error, OSError):  # the terminal is gone
            termios.tcsetattr(self.fd, termios.TCSADRAIN, modes)
            sys.stdout.write(paste)
            sys.stdout.flush()

    async def edit(self, text: str) -> str | None:
        """Let the person edit the text in $VISUAL or $EDITOR; return None if there is no editor or it failed."""
        if not editor_command():
            return None
        self.in_editor = True
        self.restore()
        try:
            return await asyncio.to_thread(edit_text, text)
        finally:
            self.in_editor = False
            self.enter()
