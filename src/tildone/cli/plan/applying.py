"""Applies the answer of a `/todo` command to the session: makes its changes, prints its messages, raises its errors."""

from __future__ import annotations

from tildone.cli.output.screen import put
from tildone.cli.output.summary import plan_summary
from tildone.cli.parsing.table import ParsedArgs, command
from tildone.commands.answer import FailureReason
from tildone.errors import NotFound, Refused, TildoneError, UsageError
from tildone.log.events import Actor
from tildone.typing import TYPE_CHECKING
from tildone.views.faults import describe_fault
from tildone.views.sanitize import printable_lines

if TYPE_CHECKING:
    from tildone.commands.answer import Answer
    from tildone.session import Session

COMMAND = "tildone todo"
"""How hints name the command."""

_ERRORS = {
    FailureReason.USAGE: UsageError,
    FailureReason.UNMATCHED: NotFound,
    FailureReason.NO_PLAN: Refused,
    FailureReason.UNREADABLE: Refused,
    FailureReason.REQUEST_FAILED: TildoneError,
}


def apply_answer(session: Session, answer: Answer, actor: Actor = Actor.USER) -> int:
    """Make the changes; print what was done and the state of the plan.

    Raises:
        TildoneError: nothing was changed; the class tells the kind of error.
    """
    _raise_error(answer)
    if answer.steps is None:
        _print_messages(answer)
        return 0
    outcome = session.change(answer.steps, actor, answer.rules(session.dialect.rules))
    if outcome.faults:
        raise Refused("; ".join(map(describe_fault, outcome.faults)))
    _print_messages(answer)
    put(plan_summary(outcome.after) if outcome.changed else "Nothing changed.")
    if outcome.changed and not outcome.after.tasks:
        put("To undo this: tildone undo")
    return 0


def query(args: ParsedArgs) -> str:
    """The text that names a task or a phase; empty if everything is meant.

    Raises:
        UsageError: the argument is empty, as an unset variable of a script would be.
    """
    text = " ".join(args.positional)
    if args.positional and not text.strip():
        raise UsageError(f"{command(args.path)} was given an empty argument")
    return text


def _raise_error(answer: Answer) -> None:
    if answer.failure:
        text = "\n".join(message.text for message in answer.messages)
        # It follows the program's name and a colon.
        raise _ERRORS[answer.failure](text[:1].lower() + text[1:])


def _print_messages(answer: Answer) -> None:
    for message in answer.messages:
        put("\n".join(printable_lines(message.text)))
