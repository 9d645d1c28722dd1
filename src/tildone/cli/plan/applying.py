"""A person's command carried out: its changes made, its words printed, its trouble raised."""

from __future__ import annotations

from tildone.cli.output.screen import put
from tildone.commands.answer import Trouble
from tildone.core.plan import Status
from tildone.core.query import next_task, progress
from tildone.errors import NotFound, Refused, TildoneError, UsageError
from tildone.log.events import Actor
from tildone.typing import TYPE_CHECKING
from tildone.views.faults import sentence
from tildone.views.sanitize import printable, printable_lines

if TYPE_CHECKING:
    from tildone.commands.answer import Answer
    from tildone.core.plan import Plan
    from tildone.session import Session

ME = "tildone todo"

_ERRORS = {
    Trouble.MISUSED: UsageError,
    Trouble.UNMATCHED: NotFound,
    Trouble.NOTHING_THERE: Refused,
    Trouble.UNREADABLE: Refused,
    Trouble.OUTSIDE: TildoneError,
}


def carry_out(session: Session, answer: Answer, actor: Actor = Actor.USER) -> int:
    """Make the changes, say what was done and where the plan stands now.

    Raises:
        TildoneError: nothing came of it; the class says of what kind the trouble is.
    """
    raise_trouble(answer)
    if answer.steps is None:
        _say(answer)
        return 0
    outcome = session.change(answer.steps, actor, answer.rules(session.dialect.rules))
    if outcome.faults:
        raise Refused("; ".join(map(sentence, outcome.faults)))
    _say(answer)
    put(standing(outcome.after) if outcome.changed else "Nothing changed.")
    if outcome.changed and not outcome.after.tasks:
        put("To take that back: tildone undo")
    return 0


def raise_trouble(answer: Answer) -> None:
    """Raise what went wrong, if anything did."""
    if answer.trouble:
        text = "\n".join(message.text for message in answer.messages)
        # It follows the program's name and a colon.
        raise _ERRORS[answer.trouble](text[:1].lower() + text[1:])


def standing(plan: Plan) -> str:
    """How far the plan has come, and what is next."""
    far = progress(plan)
    if not far.total:
        return "The plan is empty now."
    upcoming = next_task(plan)
    if upcoming is None:
        return f"{far.closed} of {far.total} closed: nothing is left to do."
    task = upcoming[1]
    word = "In progress" if task.status is Status.IN_PROGRESS else "Next"
    return f"{far.closed} of {far.total} closed. {word}: {printable(task.text)}"


def _say(answer: Answer) -> None:
    for message in answer.messages:
        put("\n".join(printable_lines(message.text)))
