"""Calls whose tasks have checks: the checks run in a thread, while the host goes on.

The person is asked first, as for other commands, whether a check that was only proposed may run, if there is a UI.

Theory of operation. A session runs the checks that a call needs before it changes anything. Here it is given a prover
that runs nothing: it has the proofs, or raises `ChecksNeeded`. The call is tried, the checks that it lacks are awaited,
and it is tried again. Nothing is written before all of them are there. An abort ends the process group of the check
that runs, and the call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from tildone.app.check_commands import Interrupted
from tildone.app.check_runner import CheckRunner
from tildone.app.trust import Consent
from tildone.base import TYPE_CHECKING, replace
from tildone.log.session import Session
from tildone.plan.dialects import Reply
from tildone.plan.guard import PLAN
from tildone.plan.model import Check, Proof, has_checks
from tildone.plan.text.proofs import check_text
from tildone.plan.text.safe import printable, printable_lines, safe_text
from tildone.run.extension import PermissionAnswer, PermissionReply, PermissionRequest
from tildone.run.host import ExtensionContext
from tildone.run.kit.definition import Aborted, AbortSignal
from tildone.run.tools.permissions import ask_person, unless_aborted

if TYPE_CHECKING:
    from tildone.plan.changing import Prover


class ChecksNeeded(BaseException):
    """Checks have to be run first. It is no error, so that nobody who reports errors catches it."""

    def __init__(self, checks: Mapping[int, Check]) -> None:
        super().__init__("checks have to be run first")
        self.checks = checks


class KnownProofs:
    """A prover that runs no checks: it knows their proofs, or asks for them."""

    def __init__(self, prover: Prover) -> None:
        self.prover = prover
        self.reasons: list[str] = []
        """Why the person did not let checks run, as far as they said."""
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
        return self.prover.is_allowed(check)

    async def ask(self, checks: Mapping[int, Check], ctx: ExtensionContext, signal: AbortSignal) -> None:
        """Ask the person, if there is one, about the checks that nobody has approved, one after the other.

        Raises:
            Aborted: the operation was aborted before the person answered.
        """
        if isinstance(self.prover, CheckRunner) and self.prover.nobody():
            return
        consents: dict[Check, Consent] = {}
        for number, check in checks.items():
            if check in consents or self.is_allowed(check):
                continue
            reply = await unless_aborted(ask_person(ctx, approval_request(number, check)), signal)
            consents[check] = _consent(reply)
            self.reasons += [reply.reason] if reply is not None and reply.reason else []
        if consents and isinstance(self.prover, CheckRunner):
            self.prover.ask = lambda _number, check: consents.get(check, Consent.NO)

    async def run(self, checks: Mapping[int, Check], signal: AbortSignal) -> None:
        """Run checks in a thread.

        Raises:
            Aborted: the operation was aborted; nothing of it runs on.
        """
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


async def with_checks(
    session: Session, call: Callable[[Session], Reply], ctx: ExtensionContext, signal: AbortSignal
) -> Reply:
    """Return the reply to a call on a session whose checks are run in a thread.

    Raises:
        Aborted: the operation was aborted while a check ran; nothing has changed.
    """
    prover = session.parts.prover
    if prover is None or not has_checks(session.plan):
        return call(session)
    known = KnownProofs(prover())
    own = session.using(parts=replace(session.parts, prover=lambda: known))
    while True:
        try:
            return _with_reasons(call(own), known.reasons)
        except ChecksNeeded as needed:
            missing = needed.checks
        await known.ask(missing, ctx, signal)
        await known.run(missing, signal)


def approval_request(number: int, check: Check) -> PermissionRequest:
    """Return the question whether a check that was only proposed may run. Always means every time, in every agent."""
    whose = "the plan" if number == PLAN else f"task {number}"
    folder = f" in the folder {printable(check.folder)}" if check.folder else ""
    return PermissionRequest(
        f"Run this command{folder} as the check of {whose}?",
        tuple(printable_lines(check_text(check))),
        always="exactly this check",
        scope="in this project",
    )


def _consent(reply: PermissionReply | None) -> Consent:

    match reply.answer if reply is not None else PermissionAnswer.NO:
        case PermissionAnswer.ONCE:
            return Consent.ONCE
        case PermissionAnswer.ALWAYS:
            return Consent.ALWAYS
        case _:
            return Consent.NO


def _with_reasons(reply: Reply, reasons: list[str]) -> Reply:
    lines = [f"The person did not allow it. Their reason: {safe_text(reason)}" for reason in reasons]
    return replace(reply, text="\n".join([reply.text, *lines])) if lines else reply
