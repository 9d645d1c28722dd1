"""Which check is run, shown to the person at the terminal once it has taken a while."""

from __future__ import annotations

import sys

from tildone.checks.prover import CheckRunner
from tildone.cli.output.progress import ProgressLine
from tildone.cli.output.screen import on_terminal
from tildone.core.guard import PLAN
from tildone.typing import TYPE_CHECKING
from tildone.views.proofs import check_text
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from threading import Timer
    from types import TracebackType
    from typing import Self

    from tildone.core.check import Check
    from tildone.loop.proving import Prover
    from tildone.session import Session

DELAY_SECONDS = 1.0
"""A check that ends sooner is not shown."""


class CheckProgress:
    """While it is entered, checks that the session runs are shown on standard error, if that is a terminal."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._prover = session.prover
        self._line = ProgressLine()
        self._timer: Timer | None = None

    def __enter__(self) -> Self:
        if self._prover is not None:
            self._session.prover = self._observed
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._session.prover = self._prover
        self.clear()

    def clear(self) -> None:
        """Remove what is shown of the last check, which has ended."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
            self._timer = None
        self._line.clear()

    def _observed(self) -> Prover:
        assert self._prover is not None, "see __enter__"  # noqa: S101  for the type checker
        runner = self._prover()
        if isinstance(runner, CheckRunner):
            runner.started = self._started
        return runner

    def _started(self, number: int, check: Check) -> None:
        self.clear()
        if not on_terminal(sys.stderr):
            return
        # Late, because only a person at a terminal needs a thread.
        from threading import Timer  # noqa: PLC0415  see above

        what = "the plan" if number == PLAN else f"#{number}"
        text = f"Checking {what}: $ {printable(check_text(check))} (at most {check.seconds} s; Ctrl-C ends it)"
        self._timer = Timer(DELAY_SECONDS, self._line.say, [text])
        self._timer.daemon = True
        self._timer.start()
