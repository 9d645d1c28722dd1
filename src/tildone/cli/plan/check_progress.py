"""What is shown of checks: the one that is run now, why others did not pass, and the next command to type."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Timer

from tildone.app.check_states import owner_name
from tildone.app.checks import SessionChecks
from tildone.app.commands import label, listed
from tildone.app.edits import Edited
from tildone.base import Refused, replace
from tildone.cli.opening import (
    command_hint,
    settings_for,
)
from tildone.cli.output import on_terminal, put, put_notice
from tildone.cli.output.titles import ProgressLine
from tildone.cli.table import ParsedArgs
from tildone.log.session import Session
from tildone.plan.guard import PLAN, is_unproved
from tildone.plan.model import Check, Proof, Result, Status
from tildone.plan.text.proofs import MAX_LINES, check_text
from tildone.plan.text.safe import printable, printable_lines

DELAY_SECONDS = 1.0
"""A check that ends sooner is not shown."""


class CheckProgress:
    """Shows the check that is run on standard error, if that is a terminal."""

    def __init__(self) -> None:
        self._line = ProgressLine()
        self._timer: Timer | None = None

    def clear(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
            self._timer = None
        self._line.clear()

    def started(self, number: int, check: Check) -> None:
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


NOT_PASSED = Refused.exit_code
"""The exit code if a check did not pass."""


def report_unproved(args: ParsedArgs, edited: Edited) -> int:
    """Say why tasks, or the plan, are not done after a change that was to complete them. Return the exit code."""
    outcome = edited.outcome
    if outcome.unproved and not args.has("json"):
        before = {task.number: task.status for task in outcome.before.tasks}
        done = [
            task
            for task in outcome.after.tasks
            if task.status is Status.COMPLETED and before.get(task.number) is not Status.COMPLETED
        ]
        if done:
            put(f"Done: {printable(listed(done))}")
    for task in outcome.after.tasks:
        if task.number in outcome.unproved:
            _put_unproved(args, task.number, label(task), task.proof)
    if is_unproved(outcome.after):
        _put_unproved(args, PLAN, "the plan", outcome.after.proof)
        return NOT_PASSED
    return NOT_PASSED if outcome.unproved else 0


def output_lines(args: ParsedArgs, number: int, proof: Proof) -> list[str]:
    """Return the end of the output of a check, where the whole output is if this is not all, and what can be done."""
    lines = [f"    {line}" for line in printable_lines(proof.tail)] if proof.tail else []
    if proof.output and (proof.tail.startswith("…") or len(lines) >= MAX_LINES):
        lines.append(f"  The whole output: {printable(proof.output)}")
    target = "--plan" if number == PLAN else str(number)
    if proof.result is Result.REFUSED:
        lines.append(f"  To see and approve it: {command_hint(args, f'approve {target}')}")
    elif proof.result is Result.INCONCLUSIVE:
        again, longer = command_hint(args, f"verify {target}"), command_hint(args, f"todo check {target} --seconds N")
        lines.append(f"  To run it again: {again}; with more time: {longer}")
    return lines


def _put_unproved(args: ParsedArgs, number: int, name: str, proof: Proof | None) -> None:
    reason = "its check was not run" if proof is None else proof.reason or proof.result.value
    lines = [f"tildone: {printable(name)} is not done: {printable(reason)}"]
    if proof is not None:
        lines += output_lines(args, number, proof)
    put_notice("\n".join(lines))
