"""What is said of checks that did not pass: what failed, the end of the output, and the next command to type."""

from __future__ import annotations

from tildone.cli.output.screen import put, put_notice
from tildone.cli.plan.hints import command_hint
from tildone.commands.targets import label, listed
from tildone.core.check import Result
from tildone.core.guard import PLAN, is_unproved
from tildone.core.plan import Status
from tildone.errors import Refused
from tildone.typing import TYPE_CHECKING
from tildone.views.proofs import MAX_LINES
from tildone.views.sanitize import printable, printable_lines

if TYPE_CHECKING:
    from tildone.app.edits import Edited
    from tildone.cli.parsing.table import ParsedArgs
    from tildone.core.check import Proof

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
            _report(args, task.number, label(task), task.proof)
    if is_unproved(outcome.after):
        _report(args, PLAN, "the plan", outcome.after.proof)
        return NOT_PASSED
    return NOT_PASSED if outcome.unproved else 0


def output_lines(proof: Proof) -> list[str]:
    """Return the end of the output of a check, indented, and where the whole output is if this is not all."""
    lines = [f"    {line}" for line in printable_lines(proof.tail)] if proof.tail else []
    is_cut = proof.tail.startswith("…") or len(lines) >= MAX_LINES
    return [*lines, f"  The whole output: {printable(proof.output)}"] if proof.output and is_cut else lines


def next_step(args: ParsedArgs, number: int, proof: Proof | None) -> str:
    """Return what a person can do about a check that did not pass; empty if it has failed."""
    target = "--plan" if number == PLAN else str(number)
    if proof is None or proof.result in (Result.FAILED, Result.PASSED):
        return ""
    if proof.result is Result.REFUSED:
        return f"To see and approve it: {command_hint(args, f'approve {target}')}"
    again = command_hint(args, f"verify {target}")
    return f"To run it again: {again}; with more time: {command_hint(args, f'todo check {target} --seconds N')}"


def _report(args: ParsedArgs, number: int, name: str, proof: Proof | None) -> None:
    reason = "its check was not run" if proof is None else proof.reason or proof.result.value
    lines = [f"tildone: {printable(name)} is not done: {printable(reason)}"]
    if proof is not None:
        lines += output_lines(proof)
    hint = next_step(args, number, proof)
    for line in [*lines, *([f"  {hint}"] if hint else [])]:
        put_notice(line)
