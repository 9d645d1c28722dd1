"""A person's changes from the screen: the same commands as `tildone todo`, applied to the newest plan.

Tasks are named by number. The plan may have changed since it was drawn: a task that was removed meanwhile is reported,
and so is a text that somebody else has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tildone.app.answering import answer_need
from tildone.app.check_states import owner_name
from tildone.app.opening import dialect_of_session, open_session
from tildone.app.steering import STEERED, steer_sessions
from tildone.commands import edits
from tildone.commands.answer import Answer, FailureReason, refusal
from tildone.commands.edits import Place
from tildone.config import Settings
from tildone.core.check import Check, Result
from tildone.core.ops import Insert
from tildone.core.plan import Plan, Status, Task
from tildone.core.reduce import Outcome, Step
from tildone.errors import TildoneError
from tildone.history.changes import changes
from tildone.history.sentences import change_sentences
from tildone.log.events import Directive
from tildone.log.needs import NeedAnswered
from tildone.log.store import Store
from tildone.overview.checks import SessionChecks, owner
from tildone.session import Session
from tildone.value import replace, value
from tildone.views.faults import describe_fault
from tildone.views.proofs import check_text

Edit = Callable[[Plan], Answer]

EFFECTS = {
    Directive.GO: "it is kept on its plan again",
    Directive.PAUSE: "it is not told to continue when it ends its turn",
    Directive.STOP: "it ends its turn before its next tool call",
}


@value
class Notice:
    """What a change came to.

    `theirs` is the text that a task has now, if somebody else has changed it meanwhile. `outputs` are the ends of the
    outputs of checks that were run and did not pass, by the numbers of tasks.
    """

    text: str
    failed: bool = False
    theirs: str | None = None
    outputs: tuple[tuple[int, str], ...] = ()


class Editor:
    """Changes sessions of a store."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings, self._store = settings, store
        self.checks = SessionChecks(settings)

    def apply(self, session: str, edit: Edit) -> Notice:
        """Apply a command to the newest plan of a session."""
        return _caught(lambda: _applied(self._session(session), edit))

    def done(self, session: str, number: int) -> Notice:
        """Mark a task as done. Its check is run first, and has to pass."""

        def complete() -> Notice:
            opened = self._session(session)
            answer = edits.close(opened.plan, [str(number)], Status.COMPLETED)
            if answer.failure:
                return Notice(" ".join(message.text for message in answer.messages), failed=True)
            outcome, proofs = self.checks.complete(
                opened,
                [number],
                lambda: opened.change(answer.steps or (), rules=answer.rules(opened.dialect.rules)),
            )
            if outcome.faults:
                return Notice("; ".join(map(describe_fault, outcome.faults)), failed=True)
            failed = {key: proof for key, proof in proofs.items() if proof.result is not Result.PASSED}
            if failed:
                first = next(iter(failed))
                outputs = tuple((key, proof.tail) for key, proof in failed.items())
                reason = f"{_capital(owner_name(first))} is not done: {failed[first].reason}"
                return Notice(reason, failed=True, outputs=outputs)
            task = _task(outcome.after, number)
            passed = f" ({check_text(task.check)} passed)" if task and task.check else ""
            return Notice(" ".join(message.text for message in answer.messages) + passed)

        return _caught(complete)

    def verify(self, session: str, number: int) -> Notice:
        """Run a check again."""
        name = owner_name(number)

        def verify() -> Notice:
            outcome, proof = self.checks.verify(self._session(session), number)
            if proof.result is Result.PASSED:
                return Notice(f"The check of {name} has passed.")
            before, after = _task(outcome.before, number), _task(outcome.after, number)
            reopened = before and after and not before.status.is_open and after.status.is_open
            return Notice(
                f"{_capital(name)}{' is open again' if reopened else ''}: {proof.reason}",
                failed=True,
                outputs=((number, proof.tail),),
            )

        return _caught(verify)

    def set_check(self, session: str, number: int, line: str, was: Check | None) -> Notice:
        """Set a check to a command line; an empty one removes it."""
        name = _capital(owner_name(number))

        def change() -> Notice:
            outcome, approved, warnings = self.checks.set_check(self._session(session), number, line, was)
            check = owner(outcome.after, number).check
            if check is None:
                return Notice(f"{name} has no check any more." if outcome.changed else "Nothing changed.")
            said = "is done when this passes" if approved else "has a check that a person has to approve"
            return Notice("; ".join((f"{name} {said}: {check_text(check)}", *warnings)))

        return _caught(change)

    def approve(self, session: str, check: Check) -> Notice:
        """Let a check be run, because the person has read it."""

        def approve() -> Notice:
            outcome, warnings = self.checks.approve(self._session(session), check)
            freed = [f"#{old.number}" for old, new in _pairs(outcome) if old.status is not new.status]
            go_on = f", so that {', '.join(freed)} can go on" if freed else ""
            return Notice("; ".join((f"Approved{go_on}: {check_text(check)}", *warnings)))

        return _caught(approve)

    def rename(self, session: str, number: int, was: str, text: str) -> Notice:
        """Change the text of a task, unless somebody else has changed it since it `was` read."""
        theirs: str | None = None

        def rename_if_same(plan: Plan) -> Answer:
            nonlocal theirs
            task = _task(plan, number)
            theirs = task.text if task and task.text not in (was, text) else None
            if theirs is not None:
                return refusal(FailureReason.REFUSED, f"#{number} was renamed meanwhile: {theirs}")
            return edits.rename(plan, [str(number)], text)

        notice = self.apply(session, rename_if_same)
        return replace(notice, theirs=theirs) if theirs is not None else notice

    def undo(self, session: str) -> Notice:
        """Undo the newest change."""
        return _caught(lambda: _moved("Undid", self._session(session).undo(), backwards=True))

    def redo(self, session: str) -> Notice:
        """Redo the change that was undone last."""
        return _caught(lambda: _moved("Redid", self._session(session).redo(), backwards=False))

    def steer(self, session: str, directive: Directive) -> Notice:
        """Pause, stop or resume the agent of a session."""

        def steer() -> Notice:
            if steer_sessions(self._settings, [self._session(session)], directive):
                return Notice(f"{_capital(STEERED[directive])}: {EFFECTS[directive]}.")
            return Notice(f"Nothing changed: it was {STEERED[directive]} already.")

        return _caught(steer)

    def answer(self, need: str, answer: str) -> Notice:
        """Answer an open question of an agent. If somebody else was faster, their answer counts."""

        def give() -> Notice:
            try:
                given = answer_need(self._settings, self._store, need, answer)
            except NeedAnswered as error:
                return Notice(f"{error.need.answered_by or 'Somebody'} was faster: {error.need.answer}", failed=True)
            return Notice(f"Answered: {given.answer}")

        return _caught(give)

    def _session(self, name: str) -> Session:
        settings = replace(self._settings, session=name)
        session = open_session(settings, dialect_of_session(settings, self._store), self._store)
        # Only what completes a task runs checks, and not while other changes wait.
        session.prover = None
        return session


def added_after(number: int | None, text: str, phase: str | None) -> Edit:
    """Return the command that adds a task after another one of a phase, or at the end of the phase."""

    def add(plan: Plan) -> Answer:
        after = next((each for each in plan.phases for task in each.tasks if task.number == number), None)
        place = next((index for index, task in enumerate(plan.tasks) if task.number == number), -1)
        if after is None or after.tasks[-1].number == number or not text.strip():
            return edits.add(plan, [text], after.name if after else phase)
        return Answer(steps=(Insert((Task(text),), place + 1),), enforces_rules=False)

    return add


def moved_by(number: int, rows: int) -> Edit:
    """Return the command that moves a task down by one row, or up if `rows` is negative, also into the next phase."""

    def move(plan: Plan) -> Answer:
        tasks = [(phase.name, task.number) for phase in plan.phases for task in phase.tasks]
        place = next((index for index, (_, each) in enumerate(tasks) if each == number), None)
        if place is None:
            return edits.move(plan, [str(number)], Place.LAST)
        if not 0 <= place + rows < len(tasks):
            return edits.unchanged(f"#{number} is the {'first' if rows < 0 else 'last'} task")
        phase, other = tasks[place + rows]
        same_phase = phase == tasks[place][0]
        return edits.move(plan, [str(number)], Place.BEFORE if (rows < 0) is same_phase else Place.AFTER, str(other))

    return move


def toggled(number: int, *, close: Callable[[Plan], Answer]) -> Edit:
    """Return the command that closes an open task, and reopens a closed one."""

    def toggle(plan: Plan) -> Answer:
        task = _task(plan, number)
        return edits.reopen(plan, [str(number)]) if task and not task.status.is_open else close(plan)

    return toggle


def _pairs(outcome: Outcome) -> list[tuple[Task, Task]]:
    """The tasks that a change left in the plan, before and after it."""
    after = {task.number: task for task in outcome.after.tasks}
    return [(task, after[task.number]) for task in outcome.before.tasks if task.number in after]


def _task(plan: Plan, number: int) -> Task | None:
    return next((task for task in plan.tasks if task.number == number), None)


def _applied(session: Session, edit: Edit) -> Notice:
    answer = edit(session.plan)

    def steps(plan: Plan) -> Sequence[Step]:
        # Called again with the newest plan if somebody else has changed it meanwhile.
        nonlocal answer
        answer = edit(plan)
        return answer.steps or ()

    outcome = session.change(steps, rules=answer.rules(session.dialect.rules))
    text = " ".join(message.text for message in answer.messages)
    if answer.failure:
        return Notice(text, failed=True)
    if outcome.faults:
        return Notice(_capital("; ".join(map(describe_fault, outcome.faults))), failed=True)
    if not outcome.changed:
        return Notice(text if answer.steps is None else "Nothing changed.")
    return Notice(text or edits.added(outcome.before, outcome.after))


def _moved(done: str, outcome: Outcome, *, backwards: bool) -> Notice:
    before, after = (outcome.after, outcome.before) if backwards else (outcome.before, outcome.after)
    return Notice(f"{done}: {'; '.join(change_sentences(changes(before, after))) or 'nothing visible'}")


def _caught(change: Callable[[], Notice]) -> Notice:
    try:
        return change()
    except TildoneError as error:
        return Notice(_capital(str(error)), failed=True)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
