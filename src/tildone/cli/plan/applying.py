"""Applies the answer of a command to the session: makes its changes, prints its messages, raises its errors."""

from __future__ import annotations

import sys

from tildone.cli.opening import shows_positions
from tildone.cli.output.prompts import confirm
from tildone.cli.output.screen import on_terminal, put, put_notice
from tildone.cli.output.summary import plan_summary
from tildone.cli.parsing.table import ParsedArgs, command
from tildone.cli.plan.hints import command_hint, error_of
from tildone.commands.edits import took_away
from tildone.core.ops import Mark
from tildone.core.plan import Status
from tildone.core.query import has_checks
from tildone.errors import Refused, UsageError
from tildone.log.events import Actor
from tildone.typing import TYPE_CHECKING
from tildone.views.faults import describe_fault
from tildone.views.sanitize import printable_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from tildone.commands.answer import Answer
    from tildone.core.plan import Plan
    from tildone.core.reduce import Outcome, Step
    from tildone.session import Session


def apply_answer(
    args: ParsedArgs,
    session: Session,
    answer: Answer,
    actor: Actor = Actor.USER,
    describe: Callable[[Plan, Plan], str] | None = None,
) -> int:
    """Make the changes; print what was done and the state of the plan, or the plan as JSON.

    `describe` returns the message about a change from the plan before and after it, if the answer has none.

    Raises:
        TildoneError: nothing was changed; the class tells the kind of error.
    """
    if answer.failure:
        raise error_of(answer)
    outcome = _apply(session, answer, actor)
    marks_done = any(map(_completes, answer.steps or ()))
    code = _report_checks(args, outcome) if marks_done or outcome.unproved else 0
    if args.has("json"):
        _print_json(args, session, outcome)
        return code
    for message in () if marks_done and outcome.unproved else answer.messages:
        put("\n".join(printable_lines(message.text)))
    if answer.steps is None:
        return code
    if not outcome.changed:
        put("Nothing changed.")
        return code
    if describe:
        put("\n".join(printable_lines(describe(outcome.before, outcome.after))))
    put(plan_summary(outcome.after))
    if took_away(outcome.before, outcome.after):
        put(f"To undo: {command_hint(args, 'undo')}")
    return code


def words(args: ParsedArgs) -> tuple[str, ...]:
    """The words that name tasks or a phase.

    Raises:
        UsageError: an argument is empty, as an unset variable of a script would be.
    """
    if not all(word.strip() for word in args.positional):
        raise UsageError(f"{command(args.path)} was given an empty argument")
    return args.positional


def confirmed(args: ParsedArgs, question: str) -> bool:
    """Whether a change of all tasks is wanted: with --all, or if the person at the terminal says so.

    Raises:
        UsageError: there is no terminal to ask at.
    """
    if args.has("all"):
        return True
    name = command(args.path)
    if args.has("json") or not sys.stdin.isatty() or not on_terminal(sys.stderr):
        raise UsageError(f"which task? {name} TASK; for all tasks: {name} --all")
    return confirm(question)


def _apply(session: Session, answer: Answer, actor: Actor) -> Outcome:
    def change() -> Outcome:
        return session.change(answer.steps or (), actor, answer.rules(session.dialect.rules))

    if has_checks(session.last_state.plan):
        # Late, because most plans have no checks.
        from tildone.cli.plan.check_progress import CheckProgress  # noqa: PLC0415  see above

        with CheckProgress(session):
            outcome = change()
    else:
        outcome = change()
    if outcome.faults:
        raise Refused("; ".join(map(describe_fault, outcome.faults)))
    if session.news_of_claims and not outcome.changed:
        raise Refused(session.news_of_claims)
    if session.news_of_claims:
        put_notice(session.news_of_claims)
    return outcome


def _report_checks(args: ParsedArgs, outcome: Outcome) -> int:
    """Say which checks kept tasks, or the plan, from being done, and return the exit code."""
    if not has_checks(outcome.after):
        return 0
    # Late, because most plans have no checks.
    from tildone.cli.plan.check_report import report_unproved  # noqa: PLC0415  see above

    return report_unproved(args, outcome)


def _completes(step: Step) -> bool:
    return isinstance(step, Mark) and step.status is Status.COMPLETED


def _print_json(args: ParsedArgs, session: Session, outcome: Outcome) -> None:
    # Only --json needs them.
    from tildone.app.check_facts import check_facts  # noqa: PLC0415  see above
    from tildone.app.look import change_data  # noqa: PLC0415  see above
    from tildone.cli.output.data import put_data  # noqa: PLC0415  see above

    positions = shows_positions(args, session)
    put_data(**change_data(outcome, session.name, positions=positions, checks=check_facts(session, outcome.after)))
