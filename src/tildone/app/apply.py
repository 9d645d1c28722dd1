"""A person's changes from the screen: the use cases, on the newest plan of a session, each with a notice.

Tasks are named by number. The plan may have changed since it was drawn: a task that was removed meanwhile is reported,
and so is a text that somebody else has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tildone.app import commands, moves
from tildone.app.answering import answer_need
from tildone.app.check_states import CheckFacts, owner_name
from tildone.app.checks import SessionChecks, open_on_screen, owner, typed_check
from tildone.app.conflict import Conflict
from tildone.app.edits import edit, renamed, sentence, task_of
from tildone.app.glance import TaskGlance, task_glance
from tildone.app.settings import Settings
from tildone.app.who import STEERED, steer_sessions
from tildone.base import TYPE_CHECKING, NotFound, TildoneError, value
from tildone.base.ids import now
from tildone.log.needs import NeedAnswered
from tildone.log.session import Session
from tildone.log.store import Store
from tildone.plan.events import Directive
from tildone.plan.model import Check, Result, Status
from tildone.plan.text.proofs import check_text

if TYPE_CHECKING:
    from tildone.app.edits import Command


EFFECTS = {
    Directive.GO: "it is kept on its plan again",
    Directive.PAUSE: "it is not told to go on when it ends its turn",
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
    """Changes sessions of a store. Whoever runs a check has marked it with `checks.begin`."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings, self._store = settings, store
        self.checks = SessionChecks(settings)

    def apply(self, session: str, command: Command) -> Notice:
        return _caught(lambda: Notice(edit(self._session(session), command).text))

    def glance(self, session: str, number: int, facts: CheckFacts) -> TaskGlance:
        """Return a task at a glance; `facts` are what is known of its check.

        Raises TildoneError if the task is not there any more, or the store cannot be read.
        """
        found = task_glance(self._settings, self._store, session, number, now=now(), facts=facts)
        if found is None:
            raise NotFound(f"there is no task #{number} any more")
        return found

    def done(self, session: str, number: int) -> Notice:
        """Mark a task as done. Its check is run first, and has to pass."""

        def complete() -> Notice:
            edited = edit(
                self._session(session),
                lambda plan: commands.close(plan, [str(number)], Status.COMPLETED),
                complete=partial(self.checks.complete, begun=True),
            )
            failed = {key: proof for key, proof in edited.proofs.items() if proof.result is not Result.PASSED}
            if failed:
                first = next(iter(failed))
                outputs = tuple((key, proof.tail) for key, proof in failed.items())
                reason = f"{sentence(owner_name(first))} is not done: {failed[first].reason}"
                return Notice(reason, failed=True, outputs=outputs)
            task = task_of(edited.outcome.after, number)
            passed = f" ({check_text(task.check)} passed)" if task and task.check else ""
            return Notice(" ".join(edited.texts) + passed)

        return _caught(complete)

    def verify(self, session: str, number: int) -> Notice:
        name = owner_name(number)

        def verify() -> Notice:
            outcome, proofs = self.checks.verify(self._session(session), [number], begun=True)
            proof = proofs[number]
            if proof.result is Result.PASSED:
                return Notice(f"The check of {name} has passed.")
            before, after = task_of(outcome.before, number), task_of(outcome.after, number)
            reopened = before and after and not before.status.is_open and after.status.is_open
            return Notice(
                f"{sentence(name)}{' is open again' if reopened else ''}: {proof.reason}",
                failed=True,
                outputs=((number, proof.tail),),
            )

        return _caught(verify)

    def set_check(self, session: str, number: int, line: str, was: Check | None) -> Notice:
        """Set a check to a command line; an empty one removes it."""
        name = sentence(owner_name(number))

        def change() -> Notice:
            found = self.checks.set_check(self._session(session), number, typed_check(line, was), was)
            outcome = found.edited.outcome
            check = owner(outcome.after, number).check
            if check is None:
                return Notice(f"{name} has no check any more." if outcome.changed else "Nothing changed.")
            said = "is done when this passes" if found.approved else "has a check that a person has to approve"
            return Notice("; ".join((f"{name} {said}: {check_text(check)}", *found.warnings)))

        return _caught(change)

    def approve(self, session: str, check: Check) -> Notice:

        def approve() -> Notice:
            outcome, warnings = self.checks.approve(self._session(session), [check])
            was = {task.number: task.status for task in outcome.before.tasks}
            freed = [f"#{task.number}" for task in outcome.after.tasks if was.get(task.number) is not task.status]
            go_on = f", so that {', '.join(freed)} can go on" if freed else ""
            return Notice("; ".join((f"Approved{go_on}: {check_text(check)}", *warnings)))

        return _caught(approve)

    def rename(self, session: str, number: int, was: str, text: str) -> Notice:
        """Change the text of a task, unless somebody else has changed it since it `was` read."""
        return self.apply(session, renamed(number, was, text))

    def undo(self, session: str) -> Notice:
        return _caught(lambda: _moved("Undid", moves.undo(self._session(session))))

    def redo(self, session: str) -> Notice:
        return _caught(lambda: _moved("Redid", moves.redo(self._session(session))))

    def steer(self, session: str, directive: Directive) -> Notice:

        def steer() -> Notice:
            if steer_sessions(self._settings, [self._session(session)], directive):
                return Notice(f"{sentence(STEERED[directive])}: {EFFECTS[directive]}.")
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
        return open_on_screen(self._settings, self._store, name)


def _moved(done: str, moved: moves.Moved) -> Notice:
    return Notice(f"{done}: {'; '.join(moved.sentences()) or 'nothing visible'}")


def _caught(change: Callable[[], Notice]) -> Notice:
    try:
        return change()
    except Conflict as error:
        theirs = error.facts.get("theirs")
        return Notice(sentence(error), failed=True, theirs=theirs if isinstance(theirs, str) else None)
    except TildoneError as error:
        return Notice(sentence(error), failed=True)
