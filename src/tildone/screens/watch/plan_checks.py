"""The checks of the plan that is shown. They run in a thread of their own, so nothing waits for them."""

from __future__ import annotations

from asyncio import get_running_loop
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from tildone.app.apply import Notice
from tildone.app.check_states import CheckFacts
from tildone.app.checks import SessionChecks
from tildone.base import replace
from tildone.plan.model import Plan


class PlanChecks:
    """What is known about checks on this machine, and the ends of the outputs of those that did not pass."""

    def __init__(self, checks: SessionChecks) -> None:
        self._checks = checks
        self._runs, self._looks = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self._known: tuple[str, CheckFacts] = ("", CheckFacts())
        self._is_looking = False
        self._outputs: dict[tuple[str, int], str] = {}

    def stop(self) -> None:
        """End a check that is running; its result is not recorded."""
        self._checks.stop()
        self._runs.shutdown(cancel_futures=True)
        self._looks.shutdown(cancel_futures=True)

    def facts(self, session: str) -> CheckFacts:
        """Return what is known about the checks of a session, if it was looked at last."""
        known = self._known[1] if self._known[0] == session else CheckFacts()
        return replace(known, checking=self._checks.checking(session))

    def outputs(self, session: str) -> tuple[tuple[int, str], ...]:
        return tuple((number, text) for (name, number), text in self._outputs.items() if name == session)

    async def look(self, session: str, plan: Plan) -> bool:
        """Find out which proofs are stale and which checks wait for a person; return whether something is new."""
        if self._is_looking:
            return False
        self._is_looking = True
        try:
            find = partial(self._checks.facts, session, plan)
            found = session, await get_running_loop().run_in_executor(self._looks, find)
        finally:
            self._is_looking = False
        before, self._known = self._known, found
        return before != found

    async def run(self, session: str, number: int, run: Callable[[], Notice]) -> Notice:
        try:
            notice = await get_running_loop().run_in_executor(self._runs, run)
        finally:
            self._checks.end(session, [number])
        self._outputs.pop((session, number), None)
        self._outputs.update({(session, each): output for each, output in notice.outputs if output})
        return notice

    def approved(self, session: str, number: int) -> None:
        """A check does not wait for a person any more."""
        known = self._known[1]
        self._known = session, replace(known, proposed=known.proposed - {number})
