"""Output: what is printed, how wide, and whether in colour. Every verb prints through this module."""

from __future__ import annotations

import os
import sys

from tildone.base import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

    from tildone.plan.text.styles import Span


MAX_COLUMNS_DIGITS = 6
UNLIMITED_COLUMNS = 1_000_000
"""The width of a line in an output that is not a terminal."""


def prepare() -> None:
    """Encode output as UTF-8, with unencodable characters escaped, so that printing never fails."""
    for stream in (sys.stdout, sys.stderr):
        # A test or a calling program may have replaced the stream.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def put(text: str) -> None:
    """Print a line of tildone's own text."""
    sys.stdout.write(f"{text}\n")


def put_notice(text: str) -> None:
    """Print a line on standard error, after what was printed on standard output: both may go to one place."""
    sys.stdout.flush()
    sys.stderr.write(f"{text}\n")


def put_caution(text: str) -> None:
    """Print what a person has to know before they permit a command, if there is anything."""
    if text:
        put(f"  {text}")


def put_raw(text: str) -> None:
    """Print text from elsewhere: made printable on a terminal, harmless for whoever reads a pipe."""
    # Not every verb prints such text.
    from tildone.plan.text.safe import printable_lines, safe_text

    put("\n".join(printable_lines(text)) if on_terminal() else safe_text(text))


def put_json(text: str) -> None:
    """Print JSON for a program: nothing is lost, and whoever else reads it finds no character as itself that hides."""
    # Not every verb prints JSON.
    from tildone.plan.text.safe import escape_json

    put(escape_json(text))


def put_spans(lines: Iterable[Iterable[Span]]) -> None:
    """Print styled lines, in colour if wanted, and made printable."""
    # Not every verb prints styled lines.
    from tildone.plan.text.safe import printable
    from tildone.plan.text.styles import ansi

    color = colored()
    for line in lines:
        put(ansi(line, color=color, safe=printable))


def on_terminal(stream: TextIO | None = None) -> bool:
    """Whether the stream, by default standard output, is a terminal."""
    return (stream or sys.stdout).isatty()


def colored(stream: TextIO | None = None) -> bool:
    """Whether to use colours: on a terminal that supports them, unless $NO_COLOR or $FORCE_COLOR decides."""
    environ = os.environ
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return environ["FORCE_COLOR"] != "0"
    if not on_terminal(stream) or environ.get("TERM") == "dumb":
        return False
    if sys.platform == "win32":
        # Running any command enables escape sequences in an old console.
        os.system("")  # noqa: S605, S607  there is no command in it
    return True


def columns(stream: TextIO | None = None) -> int | None:
    """The width of the terminal; None, for unlimited, if there is none."""
    if not on_terminal(stream):
        return None
    if given := _columns_given():
        return given
    try:
        return os.get_terminal_size((stream or sys.stdout).fileno()).columns or None
    except OSError:
        return None


def max_columns(stream: TextIO | None = None) -> int:
    """The width of the terminal; without one, more than any line has."""
    return columns(stream) or UNLIMITED_COLUMNS


def width_of_text() -> int | None:
    """The width for running text: that of the terminal or, in a pipe, $COLUMNS if it is set; None for no limit."""
    return columns() or _columns_given() or None


def _columns_given() -> int:
    """The value of $COLUMNS; 0 if it is not set, or is no width."""
    given = os.environ.get("COLUMNS", "")
    return int(given) if given.isdecimal() and len(given) <= MAX_COLUMNS_DIGITS else 0
