"""Editing a plan: a command is made into steps on the newest plan, and applied under the rules of the session.

What `Edited` tells is what any surface shows of a change. A refusal is an error of the tree in `tildone.base`,
from which the command line derives its exit code, the board its status and a screen its notice.
"""

from __future__ import annotations

from tildone.app import commands
from tildone.app.commands import Answer, FailureReason
from tildone.app.conflict import Conflict
from tildone.base import TYPE_CHECKING, NotFound, Refused, TildoneError, UsageError, value
from tildone.plan.events import Actor
from tildone.plan.model import Plan, Status, Task
from tildone.plan.ops import Insert, Mark, Numbered
from tildone.plan.rare_steps import written
from tildone.plan.reduce import reduce
from tildone.plan.text.faults import describe_fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tildone.log.session import Session
    from tildone.plan.model import Proof, Rules
    from tildone.plan.reduce import Outcome, Step

    Command = Callable[[Plan], Answer]
    Complete = Callable[[Session, Iterable[int], Callable[[Session], Outcome]], tuple[Outcome, Mapping[int, Proof]]]

ERRORS: dict[FailureReason, type[TildoneError]] = {
    FailureReason.USAGE: UsageError,
    FailureReason.UNMATCHED: NotFound,
    FailureReason.REFUSED: Refused,
    FailureReason.NO_PLAN: Refused,
    FailureReason.UNREADABLE: Refused,
    FailureReason.REQUEST_FAILED: TildoneError,
}


@value
class Edited:
    """What a command came to.

    `texts` are its messages. `changes` says whether it was to change the plan at all, `marks_done` whether it was to
    complete tasks. `proofs` are the results of the checks that were run for it, by the numbers of tasks, and `news` is
    what an agent is told of tasks that others have.
    """

    outcome: Outcome
    texts: tuple[str, ...] = ()
    changes: bool = True
    marks_done: bool = False
    proofs: Mapping[int, Proof] = {}
    news: str = ""

    @property
    def text(self) -> str:
        """What was done, in one line."""
        if self.changes and not self.outcome.changed:
            return "Nothing changed."
        return " ".join(self.texts) or commands.added(self.outcome.before, self.outcome.after)


def edit(
    session: Session,
    command: Command | Answer,
    *,
    actor: Actor = Actor.USER,
    complete: Complete | None = None,
) -> Edited:
    """Make the change of a command.

    A command is asked again for the newest plan if somebody else has changed that meanwhile; an answer stays as it is.
    With `complete`, that of `SessionChecks`, the checks of the tasks that it completes are run first. Raises
    TildoneError after which nothing has changed.
    """
    answer = accepted(command(session.plan) if callable(command) else command)
    newest = answer

    def steps(plan: Plan) -> Sequence[Step]:
        nonlocal newest
        newest = accepted(command(plan)) if callable(command) else command
        return newest.steps or ()

    def change(session: Session) -> Outcome:
        own = steps if callable(command) and answer.steps else answer.steps or ()
        return session.change(own, actor, answer.rules(session.dialect.rules))

    proofs: Mapping[int, Proof] = {}
    completed = completing(answer.steps or ())
    if complete is None:
        outcome = change(session)
    else:
        outcome, proofs = complete(session, completed, change)
    refuse_faults(outcome)
    texts = tuple(message.text for message in newest.messages)
    return Edited(outcome, texts, newest.steps is not None, bool(completed), proofs, session.news_of_claims)


def replace_plan(
    session: Session, wanted: Plan | Callable[[Plan], Plan], rules: Rules | None = None, *, dry_run: bool = False
) -> Outcome:
    """Make a plan from elsewhere that of a session, in place of the present one, on which it may depend.

    Raises Refused if the rules do not allow it; nothing was changed.
    """

    def steps(plan: Plan) -> Sequence[Step]:
        return written(wanted(plan) if callable(wanted) else wanted)

    if dry_run:
        outcome = reduce(session.plan, steps(session.plan), rules or session.dialect.rules)
    else:
        outcome = session.change(steps, Actor.IMPORT, rules)
    refuse_faults(outcome)
    return outcome


def accepted(answer: Answer) -> Answer:
    """Return an answer that is no failure. Raises TildoneError if it is one; the class tells the kind."""
    if answer.failure is not None:
        raise error_of(answer)
    return answer


def error_of(answer: Answer) -> TildoneError:
    """Return the error that an answer with a failure stands for; its class tells the kind."""
    text = "\n".join(message.text for message in answer.messages)
    # It follows the program's name and a colon, or is made a sentence.
    return ERRORS[answer.failure or FailureReason.USAGE](text[:1].lower() + text[1:])


def refuse_faults(outcome: Outcome) -> None:
    """Check that the rules of the plan allowed the change. Raises Refused if they did not."""
    if outcome.faults:
        raise Refused("; ".join(map(describe_fault, outcome.faults)))


def completing(steps: Iterable[Step]) -> tuple[int, ...]:
    marks = (step for step in steps if isinstance(step, Mark) and step.status is Status.COMPLETED)
    return tuple(number for step in marks if isinstance(step.target, Numbered) for number in step.target.numbers)


def sentence(words: object) -> str:
    """Return an error, or what a sentence begins with, with a capital letter."""
    text = str(words)
    return text[:1].upper() + text[1:]


def renamed(number: int, was: str, text: str) -> Command:
    """Return the command that changes the text of a task, unless somebody else has changed it since it `was` read."""

    def rename(plan: Plan) -> Answer:
        task = task_of(plan, number)
        if task and task.text not in (was, text):
            raise Conflict(f"#{number} was renamed meanwhile: {task.text}", theirs=task.text)
        return commands.rename(plan, [str(number)], text)

    return rename


def added_after(number: int | None, text: str, phase: str | None) -> Command:
    """Return the command that adds a task after another one of a phase, or at the end of the phase."""

    def add(plan: Plan) -> Answer:
        after = next((each for each in plan.phases for task in each.tasks if task.number == number), None)
        place = next((index for index, task in enumerate(plan.tasks) if task.number == number), -1)
        if after is None or after.tasks[-1].number == number or not text.strip():
            return commands.add(plan, [text], after.name if after else phase)
        return Answer(steps=(Insert((Task(text),), place + 1),), enforces_rules=False)

    return add


def moved_by(number: int, rows: int) -> Command:
    """Return the command that moves a task down by one row, or up if `rows` is negative, also into the next phase."""

    def move(plan: Plan) -> Answer:
        tasks = [(phase.name, task.number) for phase in plan.phases for task in phase.tasks]
        place = next((index for index, (_, each) in enumerate(tasks) if each == number), None)
        if place is None:
            return commands.move(plan, [str(number)], commands.Place.LAST)
        if not 0 <= place + rows < len(tasks):
            return commands.unchanged(f"#{number} is the {'first' if rows < 0 else 'last'} task")
        phase, other = tasks[place + rows]
        to = commands.Place.BEFORE if (rows < 0) is (phase == tasks[place][0]) else commands.Place.AFTER
        return commands.move(plan, [str(number)], to, str(other))

    return move


def toggled(number: int, *, close: Command) -> Command:

    def toggle(plan: Plan) -> Answer:
        task = task_of(plan, number)
        return commands.reopen(plan, [str(number)]) if task and not task.status.is_open else close(plan)

    return toggle


def task_of(plan: Plan, number: int) -> Task | None:
    return next((task for task in plan.tasks if task.number == number), None)
