"""The checks that the calls of one caller run: each in the thread of its call, and ended from others."""

from __future__ import annotations

import threading

from tildone.mcp.elicitation import approval_form, is_approved
from tildone.typing import TYPE_CHECKING
from tildone.wiring import check_runner

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from tildone.checks.prover import CheckRunner
    from tildone.config import Settings
    from tildone.core.check import Check

    Elicit = Callable[[Mapping[str, Any]], Mapping[str, Any] | None]
    """Shows the person a form in the client, and returns the result; None if there is none."""


class CallChecks:
    """The checks of one caller. `hand_over` is called in the thread of a call before it begins to take long."""

    def __init__(self, hand_over: Callable[[], None]) -> None:
        self._hand_over = hand_over
        self._local = threading.local()
        self._runners: dict[int, list[CheckRunner]] = {}
        self._declined: set[Check] = set()

    @property
    def elicit(self) -> Elicit | None:
        """How the person is asked in the call of this thread; None if the client shows no forms."""
        found: Elicit | None = getattr(self._local, "elicit", None)
        return found

    @elicit.setter
    def elicit(self, elicit: Elicit | None) -> None:
        self._local.elicit = elicit

    def runner(self, settings: Settings, by: str) -> CheckRunner:
        """Return what runs the checks of the call of this thread."""
        runner = check_runner(settings, lambda: by)
        runner.started = lambda _number, _check: self._hand_over()
        runner.ask = self._ask
        self._runners.setdefault(threading.get_ident(), []).append(runner)
        return runner

    def end(self) -> None:
        """Forget the checks of this thread, whose call has ended."""
        self._runners.pop(threading.get_ident(), None)

    def interrupt(self, thread: int | None = None) -> None:
        """End the checks that one thread runs now, or all."""
        for ident, runners in tuple(self._runners.items()):
            for runner in runners if thread in (None, ident) else ():
                runner.interrupt()

    def _ask(self, number: int, check: Check) -> bool:
        """Ask the person whether a check may be run. What they declined is not asked again."""
        if self.elicit is None or check in self._declined:
            return False
        self._hand_over()
        result = self.elicit(approval_form(number, check))
        if is_approved(result):
            return True
        if result is not None:
            self._declined.add(check)
        return False
