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
    """Whether input and output are a terminal that can be drawn on."""
    if sys.platform == "win32" or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


class Tty:
    """The terminal of standard input."""

    def __init__(self) -> None:
        self.fd = sys.stdin.fileno()
        self.lent = False
        self._usual: list[Any] = []

    @contextmanager
    def entered(self) -> Iterator[Tty]:
        """Change the mode of the terminal, and restore it at the end."""
        # Not available on every system; `is_interactive` has checked.
        import termios  # noqa: PLC0415  see above

        self._usual = termios.tcgetattr(self.fd)
        self.take()
        try:
            yield self
        finally:
            self.give_back()

    def take(self) -> None:
        """Switch off line buffering and echo; Ctrl-C and Ctrl-Z still send signals."""
        import termios  # noqa: PLC0415  see `entered`

        ours = list(self._usual)
        ours[3] &= ~(termios.ICANON | termios.ECHO)
        self._set(ours, PASTE_ON)

    def give_back(self) -> None:
        """Restore the mode."""
        self._set(self._usual, PASTE_OFF)

    def _set(self, modes: list[Any], paste: str) -> None:
        import termios  # noqa: PLC0415  see `entered`

        with suppress(termios.error, OSError):  # the terminal is gone
            termios.tcsetattr(self.fd, termios.TCSADRAIN, modes)
            sys.stdout.write(paste)
            sys.stdout.flush()

    async def edited(self, text: str) -> str | None:
        """The text after the person has edited it in $VISUAL or $EDITOR; None without an editor, or if it failed."""
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
        if not editor:
            return None
        self.lent = True
        self.give_back()
        try:
            return await asyncio.to_thread(_edited, editor, text)
        finally:
            self.lent = False
            self.take()


def _edited(editor: str, text: str) -> str | None:
    # Late: few runs open an editor.
    import shlex  # noqa: PLC0415  see above

    handle, path = tempfile.mkstemp(prefix="tildone-", suffix=".todo.md")
    try:
        with open(handle, "wb") as file:
            file.write(text.encode())
        code = subprocess.run([*shlex.split(editor), path], check=False).returncode  # noqa: S603  the person's own choice
        with open(path, "rb") as file:
            return None if code else file.read().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None
    finally:
        os.remove(path)
