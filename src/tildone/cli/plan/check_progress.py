"""Checks that a command line runs: which one is run, shown to the person at the terminal once it has taken a while."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from threading import Timer

from tildone.app.check_states import owner_name
from tildone.app.checks import SessionChecks
from tildone.cli.opening import settings_for
from tildone.cli.output.progress import ProgressLine
from tildone.cli.output.screen import on_terminal, put_notice
from tildone.typing import TYPE_CHECKING
from tildone.value import replace
from tildone.views.proofs import check_text
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tildone.cli.parsing.table import ParsedArgs
    from tildone.core.check import Check
    from tildone.session import Session

DELAY_SECONDS = 1.0
"""A check that ends sooner is not shown."""


class CheckProgress:
    """Shows the check that is run on standard error, if that is a terminal."""

    def __init__(self) -> None:
        self._line = ProgressLine()
        self._timer: Timer | None = None

    def clear(self) -> None:
        """Remove what is shown of the last check, which has ended."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
            self._timer = None
        self._line.clear()

    def started(self, number: int, check: Check) -> None:
        """Show a check after a while."""
        self.clear()
        if not on_terminal(sys.stderr):
            return
        limit = f"at most {check.seconds} s; Ctrl-C ends it"
        text = f"Checking {owner_name(number)}: $ {printable(check_text(check))} ({limit})"
        self._timer = Timer(DELAY_SECONDS, self._line.say, [text])
        self._timer.daemon = True
        self._timer.start()


@contextmanager
def session_checks(
    args: ParsedArgs, session: Session, progress: CheckProgress | None = None
) -> Iterator[SessionChecks]:
    """Yield the checks of a session. While it is entered, the one that is run is shown."""
    shown = progress or CheckProgress()
    try:
        yield SessionChecks(replace(settings_for(args), session=session.name), started=shown.started, unattended=True)
    finally:
        shown.clear()


def put_warnings(warnings: Iterable[str]) -> None:
    """Tell the person which of the checks that they have approved prove nothing."""
    for warning in warnings:
        put_notice(f"tildone: {printable(warning)}")
