"""`tildone fleet watch`: list the runs whenever something has changed."""

from __future__ import annotations

import os
import sys
import time

from tildone.cli import INTERRUPTED
from tildone.cli.fleet.ls import EMPTY, listed_data, listed_rows, more_text
from tildone.cli.fleet.opening import open_existing_fleet
from tildone.cli.output.data import put_data
from tildone.cli.output.screen import colored, columns, on_terminal, put_notice
from tildone.cli.parsing.table import ParsedArgs
from tildone.errors import StoreBusy, StoreUnreachable, UsageError
from tildone.ids import now
from tildone.kit.text import clip_text
from tildone.kit.theme import ansi
from tildone.typing import TYPE_CHECKING
from tildone.value import replace
from tildone.views.fleet import run_lines, state_counts
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from tildone.cli.fleet.opening import Fleet
    from tildone.cli.fleet.rows import Rows

REFRESH_SECONDS = 2.0
"""How often the list is read even if no run has changed: the plans may have."""

MAX_ROWS = 200
DEFAULT_LINES = 24
ENTER, LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
"""Begin and end the use of the alternate screen, without a cursor. The terminal shows what it did before, then."""

HOME, CLEAR_LINE, CLEAR_REST = "\x1b[H", "\x1b[K", "\x1b[J"


def run(args: ParsedArgs) -> int:
    """List the runs until Ctrl-C.

    Raises:
        UsageError: there is neither a terminal nor --json.
    """
    if not args.has("json") and not on_terminal():
        raise UsageError("watch needs a terminal; elsewhere use: tildone fleet watch --json, tildone fleet ls")
    fleet = open_existing_fleet(args)
    show = _Lines() if args.has("json") else _Screen(fleet)
    try:
        show.begin()
        while True:
            _follow(fleet, args, show)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        show.end()
        fleet.store.close()


def _follow(fleet: Fleet, args: ParsedArgs, show: _Lines | _Screen) -> None:
    """Show the list once, then wait until it may have changed. While the store does not answer, say so."""
    try:
        revision, left_out = fleet.leases.revision(), list[str]()
        rows, _ = listed_rows(fleet, args, left_out, show.most)
        show.put(rows, left_out)
        fleet.leases.wait(revision, REFRESH_SECONDS)
    except (StoreUnreachable, StoreBusy) as error:
        show.put_trouble(str(error))
        time.sleep(REFRESH_SECONDS)


class _Lines:
    """The list as JSON: one object on a line whenever it differs from the one before."""

    most: int | None = None

    def __init__(self) -> None:
        self._before: dict[str, object] = {}
        self._told = ""

    def begin(self) -> None:
        """Do nothing: lines need no preparation."""

    def end(self) -> None:
        """Do nothing, for the same reason."""

    def put(self, rows: Rows, left_out: list[str]) -> None:
        """Print the list if it has changed."""
        shown = listed_data(rows, left_out)
        if shown != self._before:
            put_data(**shown)
            sys.stdout.flush()
        self._before, self._told = shown, ""

    def put_trouble(self, text: str) -> None:
        """Say once why there is nothing new."""
        if text != self._told:
            put_notice(f"tildone: {printable(text)}; trying again")
        self._told = text


class _Screen:
    """The list on the alternate screen of a terminal: what fits, and how much does not."""

    most: int | None = MAX_ROWS

    def __init__(self, fleet: Fleet) -> None:
        self._store = printable(fleet.settings.store.redacted)
        self._lines = [f"{self._store} …"]

    def begin(self) -> None:
        """Begin with an empty screen."""
        sys.stdout.write(f"{ENTER}{HOME}{CLEAR_REST}")

    def end(self) -> None:
        """Show what the terminal showed before."""
        sys.stdout.write(LEAVE)
        sys.stdout.flush()

    def put(self, rows: Rows, left_out: list[str]) -> None:
        """Draw the list."""
        at, width = now(), columns() or 0
        counts = state_counts((*rows.shown, *rows.more), at)
        title = f"{counts}  (Ctrl-C to leave)" if counts else f"{self._store} {EMPTY}"
        lines = [ansi(line, color=colored(), safe=printable) for line in run_lines(rows.shown, at, width)]
        each = len(lines) // len(rows.shown) if rows.shown else 1
        fitting = max(1, (_terminal_lines() - 3 - len(left_out)) // each)
        hidden = replace(rows, shown=rows.shown[:fitting], more=(*rows.shown[fitting:], *rows.more))
        below = [more_text(hidden)] if hidden.more else []
        below += [f"left out: {printable(text)}" for text in left_out]
        self._lines = [clip_text(title, width), "", *lines[: fitting * each], *(clip_text(b, width) for b in below)]
        self._draw(self._lines)

    def put_trouble(self, text: str) -> None:
        """Say above the newest list why there is no newer one."""
        self._draw([clip_text(printable(f"{text}; trying again"), columns() or 0), *self._lines[1:]])

    def _draw(self, lines: list[str]) -> None:
        drawn = f"{CLEAR_LINE}\n".join(lines)
        sys.stdout.write(f"{HOME}{drawn}{CLEAR_LINE}{CLEAR_REST}")
        sys.stdout.flush()


def _terminal_lines() -> int:
    try:
        return os.get_terminal_size(sys.stdout.fileno()).lines or DEFAULT_LINES
    except OSError:
        return DEFAULT_LINES
