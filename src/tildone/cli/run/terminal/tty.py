"""The mode of the terminal: unbuffered input without echo, restored at the end and while an editor runs."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tildone.cli.run.terminal.keys import PASTE_OFF, PASTE_ON


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
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
        if not editor:
            return None
        self.in_editor = True
        self.restore()
        try:
            return await asyncio.to_thread(_edit_text, editor, text)
        finally:
            self.in_editor = False
            self.enter()


def _edit_text(editor: str, text: str) -> str | None:
    # Late: few runs open an editor.
    import shlex  # noqa: PLC0415  see above

    handle, path = tempfile.mkstemp(prefix="tildone-", suffix=".todo.md")
    try:
        with open(handle, "wb") as file:
            file.write(text.encode())
        code = subprocess.run([*shlex.split(editor), path], check=False).returncode  # noqa: S603  the person chose the editor
        with open(path, "rb") as file:
            return None if code else file.read().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None
    finally:
        os.remove(path)
