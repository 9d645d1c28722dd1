"""The one way out: what is printed, how wide it may be, and whether in colour."""

from __future__ import annotations

import os
import sys
import time

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

    from tildone.kit.theme import Span


def prepare() -> None:
    """Make printing safe: UTF-8 wherever it goes, and no text that could not be printed at all."""
    for stream in (sys.stdout, sys.stderr):
        # A test, or a program that calls us, may have put something else in its place.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def put(text: str) -> None:
    """Print a text of ours, and end the line."""
    sys.stdout.write(f"{text}\n")


def put_raw(text: str) -> None:
    """Print text that others wrote: exact into a pipe or a file, harmless on a terminal."""
    if on_terminal():
        # Late, because a pipe does not need it.
        from tildone.views.sanitize import printable_lines  # noqa: PLC0415  see above

        text = "\n".join(printable_lines(text))
    put(text)


def put_spans(lines: Iterable[Iterable[Span]]) -> None:
    """Print styled lines: in colour if wanted, and harmless either way."""
    # Late, because not every verb draws.
    from tildone.kit.theme import ansi  # noqa: PLC0415  see above
    from tildone.views.sanitize import printable  # noqa: PLC0415  see above

    color = colored()
    for line in lines:
        put(ansi(line, color=color, safe=printable))


def on_terminal(stream: TextIO | None = None) -> bool:
    """Whether a person reads along, on standard output if nothing else is meant."""
    return (stream or sys.stdout).isatty()


def colored(stream: TextIO | None = None) -> bool:
    """Whether to use colours: on a terminal that knows them, unless the person says otherwise."""
    environ = os.environ
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return environ["FORCE_COLOR"] != "0"
    if not on_terminal(stream) or environ.get("TERM") == "dumb":
        return False
    if sys.platform == "win32":
        # Running anything makes an old console understand escape sequences.
        os.system("")  # noqa: S605, S607  there is no command in it
    return True


def columns(stream: TextIO | None = None) -> int | None:
    """How wide a line may be: as wide as the terminal, and without one as wide as it likes."""
    if not on_terminal(stream):
        return None
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and int(said):
        return int(said)
    try:
        return os.get_terminal_size((stream or sys.stdout).fileno()).columns or None
    except OSError:
        return None


def moment(at: int) -> str:
    """A moment in milliseconds, as the person's own clock showed it."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at / 1000))
