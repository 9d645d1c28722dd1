"""Calls whose tasks have checks: the checks run in a thread, while the host goes on.

Theory of operation. A session runs the checks that a call needs before it changes anything. Here it is given a prover
that runs nothing: it has the proofs, or raises `ChecksNeeded`. The call is tried, the checks that it lacks are awaited,
and it is tried again. Nothing is written before all of them are there. An abort ends the process group of the check
that runs, and the call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from tildone.core.check import Check, Proof
from tildone.core.query import has_checks
from tildone.kit.signal import Aborted, AbortSignal
from tildone.session import Session

if TYPE_CHECKING:
    from tildone.loop.proving import Prover

T = TypeVar("T")


class ChecksNeeded(BaseException):
    """Checks have to be run first. It is no error, so that nobody who reports errors catches it."""

    def __init__(self, checks: Mapping[int, Check]) -> None:
        super().__init__("checks have to be run first")
        self.checks = checks


class KnownProofs:
    """A prover that runs no checks: it knows their proofs, or asks for them."""

    def __init__(self, prover: Prover) -> None:
        self.prover = prover
        self._known: dict[Check, Proof] = {}

    def prove(self, checks: Mapping[int, Check]) -> Mapping[int, Proof]:
        """Return the proofs of checks.

        Raises:
            ChecksNeeded: some of them have not been run.
        """
        missing = {number: check for number, check in checks.items() if check not in self._known}
        if missing:
            raise ChecksNeeded(missing)
        return {number: self._known[check] for number, check in checks.items()}

    def stale(self, proofs: Mapping[int, tuple[Check, Proof]]) -> frozenset[int]:
        """Return for which of these proofs the watched files have changed since."""
        return self.prover.stale(proofs)

    def is_allowed(self, check: Check) -> bool:
        """Return whether a person has approved the check, so that it may be run."""
        return self.prover.is_allowed(check)

    async def run(self, checks: Mapping[int, Check], signal: AbortSignal) -> None:
        """Run checks in a thread.

        Raises:
            Aborted: the operation was aborted; nothing of it runs on.
        """
        # Late, because most plans have no checks.
        from tildone.checks.running import Interrupted  # noqa: PLC0415  see above

        interrupt: Callable[[], None] = getattr(self.prover, "interrupt", lambda: None)
        unsubscribe = signal.on_abort(interrupt)
        try:
            proofs = await asyncio.to_thread(self.prover.prove, checks)
        except Interrupted as error:
            raise Aborted(signal.reason or str(error)) from error
        finally:
            unsubscribe()
            # The thread goes on if only this task was cancelled.
            interrupt()
        self._known.update((checks[number], proof) for number, proof in proofs.items())


async def with_checks(session: Session, call: Callable[[], T], signal: AbortSignal) -> T:
    """Return the result of a call on a session whose checks are run in a thread.

    Raises:
        Aborted: the operation was aborted while a check ran; nothing has changed.
    """
    prover = session.prover
    if prover is None or not has_checks(session.plan):
        return call()
    known = KnownProofs(prover())
    while True:
        # Only during the call: others may use the session meanwhile.
        session.prover = lambda: known
        try:
            return call()
        except ChecksNeeded as needed:
            missing = needed.checks
        finally:
            session.prover = prover
        await known.run(missing, signal)
