"""The checks of the sessions of a store, as far as they can be run on this machine: run, set and approved.

A session whose name is a path belongs to the working tree there, which may be on another machine. A session with any
other name belongs to the project that the screen was started in. Checks are run one at a time, because they share
files. Whoever shows a plan marks a task with `begin` before its check is run, so that it is not run twice.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from time import monotonic
from weakref import WeakSet

from tildone.app import commands
from tildone.app.check_commands import Interrupted, warnings_about
from tildone.app.check_runner import CheckRunner
from tildone.app.check_states import CheckFacts, owner_name
from tildone.app.commands import Answer
from tildone.app.conflict import Conflict
from tildone.app.edits import Edited, edit
from tildone.app.opening import check_approvals, check_runner, dialect_of_session, open_session
from tildone.app.settings import Settings
from tildone.app.who import PersonAct, check_person, not_the_person
from tildone.base import NotFound, Refused, TildoneError, UsageError, replace, value
from tildone.log.session import Session
from tildone.log.store import Store
from tildone.plan.changing import stale_numbers
from tildone.plan.events import Actor, Event
from tildone.plan.guard import PLAN
from tildone.plan.model import Check, Plan, Proof, Result, Status, Task, has_checks, is_passed
from tildone.plan.ops import Mark, Numbered, SetCheck
from tildone.plan.reduce import Outcome, Step
from tildone.plan.text.proofs import check_text
from tildone.stores.assignment import parent_session

STALE_SECONDS = 3.0
"""For how long it is known which proofs of a plan are stale: finding out reads files."""

NOT_HERE = "the working tree of this plan is not on this machine"

Key = tuple[str, int]


class SessionChecks:
    """Runs the checks of sessions, sets and approves them.

    `clock` returns seconds, and `started` is called before each check is run. Where a person looks on, only what
    completes a task runs checks, and one that nobody has approved is refused: the person is asked first. `unattended`,
    as on a command line, a change runs all checks that it needs, and a refusal is recorded as their result.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Callable[[], float] = monotonic,
        *,
        started: Callable[[int, Check], None] = lambda _number, _check: None,
        unattended: bool = False,
    ) -> None:
        self._settings, self._clock = settings, clock
        self._started, self._is_unattended = started, unattended
        self._running: set[Key] = set()
        self._changing, self._one_at_a_time = Lock(), Lock()
        self._runners: WeakSet[CheckRunner] = WeakSet()
        self._is_stopped = False
        self._stale: dict[str, tuple[float, Plan, frozenset[int]]] = {}

    def stop(self) -> None:
        """End the check that is running, because the program ends. Its result is not recorded."""
        self._is_stopped = True
        for runner in tuple(self._runners):
            runner.interrupt()

    def working_tree(self, session: str) -> str:
        """Return the folder in which the checks of a session are run; empty if it is not on this machine."""
        name = parent_session(session) or session
        if not os.path.isabs(name) or name == self._settings.session:
            return self._settings.project
        return name if os.path.isdir(name) else ""

    def facts(self, session: str, plan: Plan) -> CheckFacts:
        """Return what is known here about the checks of a plan. It reads files, so it takes time."""
        checking, tree = self.checking(session), self.working_tree(session)
        if not tree or not has_checks(plan):
            return CheckFacts(checking=checking, is_here=bool(tree))
        runner = self._runner(tree)
        checks = {task.number: task.check for task in plan.tasks if task.check and not _is_proved(task)}
        if plan.check and not is_passed(plan.check, plan.proof):
            checks[PLAN] = plan.check
        proposed = frozenset(number for number, check in checks.items() if not runner.is_allowed(check))
        return CheckFacts(self._stale_in(session, plan, runner), proposed, checking, is_here=True)

    def checking(self, session: str) -> frozenset[int]:
        with self._changing:
            return frozenset(number for name, number in self._running if name == session)

    def begin(self, session: str, numbers: Iterable[int]) -> None:
        """Mark tasks whose checks are about to be run. Raises Conflict, and marks none, if one is marked already."""
        keys = {(session, number) for number in numbers}
        with self._changing:
            if running := keys & self._running:
                name = owner_name(min(number for _, number in running))
                raise Conflict(f"the check of {name} is running already", hint="Wait for its result.")
            self._running |= keys

    def end(self, session: str, numbers: Iterable[int]) -> None:
        with self._changing:
            self._running -= {(session, number) for number in numbers}

    def complete(
        self, session: Session, numbers: Iterable[int], change: Callable[[Session], Outcome], *, begun: bool = False
    ) -> tuple[Outcome, Mapping[int, Proof]]:
        """Make a change that completes tasks, for which checks are run. Return it, and the results by number.

        Raises:
            Conflict: the check of one of the tasks is being run, and not because of `begun`.
            Refused: a check of one of the tasks cannot be run here, or is not approved.
            Interrupted: the program ends.
        """
        wanted, plan = set(numbers), session.plan
        if not has_checks(plan) or not (wanted or self._is_unattended):
            return change(session), {}
        with self._running_for(session, wanted, begun=begun):
            named = [task.check for task in plan.tasks if task.number in wanted and task.check is not None]
            if named:
                self._allowed_runner(session, named)
            tree = self.working_tree(session.name)
            if not tree:
                return change(session), {}
            prover = _KeptResults(self._runner(tree, session))
            return change(session.using(parts=replace(session.parts, prover=lambda: prover))), prover.results

    def verify(
        self,
        session: Session,
        numbers: Iterable[int],
        each: Callable[[int, Proof], object] = lambda _number, _proof: None,
        *,
        begun: bool = False,
    ) -> tuple[Outcome, dict[int, Proof]]:
        """Run checks, each command once, and record the results; `each` is called with each one when it is there.

        A done task is open again if its check did not pass; one that was blocked for want of a result can be worked on
        again if there is one. PLAN is the plan itself.

        Raises:
            Conflict: one of the checks is being run, and not because of `begun`.
            Refused: there is no check, or it cannot be run here, or it is not approved.
            NotFound: there is no such task.
            Interrupted: the program ends.
        """
        plan, checks = session.plan, dict[int, Check]()
        for number in numbers:
            check = owner(plan, number).check
            if check is None:
                raise Refused(f"{owner_name(number)} has no check")
            checks[number] = check
        if not checks:
            return Outcome(plan, plan), {}
        runner = self._allowed_runner(session, checks.values())
        done, proofs = dict[Check, Proof](), dict[int, Proof]()
        with self._running_for(session, checks, begun=begun):
            for number, check in checks.items():
                proof = done.get(check) or runner.prove({number: check}).get(number)
                if proof is not None:
                    proofs[number] = done[check] = proof
                    each(number, proof)
        outcome = session.record_proofs(proofs) if proofs else Outcome(plan, plan)
        freed = tuple(task.number for task in plan.tasks if _is_freed(task, proofs))
        if freed:
            outcome = replace(session.change((Mark(Numbered(freed), Status.PENDING),)), before=outcome.before)
        return outcome, proofs

    def set_check(
        self, session: Session, number: int, check: Check | None, was: Check | None, *, approves: bool = True
    ) -> CheckSet:
        """Set a check, or remove it. PLAN is the plan itself, and `was` the check that the person saw.

        With `approves`, the person at this machine has typed the command, and it is approved, unless no person acts
        here.

        Raises:
            Refused: the command proves nothing, or only a person may remove a check.
            Conflict: somebody else has changed the check meanwhile.
            NotFound: there is no such task.
            TildoneError: the approval cannot be recorded.
        """
        nobody = not_the_person(self._settings)
        approves = approves and check is not None and not nobody and bool(self.working_tree(session.name))
        if check is None:
            check_person(self._settings, PersonAct.REMOVE_CHECK)

        def command(plan: Plan) -> Answer:
            found = owner(plan, number)
            if found.check not in (was, check):
                raise changed_meanwhile(session, number, found.check)
            task = found if isinstance(found, Task) else None
            if check is None:
                return commands.remove_check(plan, task)
            answer = commands.set_check(task, check)
            if approves and not answer.failure and not self._is_allowed(session, check):
                # Before the change, so that nobody sees a check that waits for the approval of the person who typed it.
                self._approve(session.name, check)
            return answer

        edited = edit(session, command, complete=self.complete if self._is_unattended else None)
        if check is None:
            return CheckSet(edited)
        warnings = tuple(warnings_about([check])) if approves else ()
        return CheckSet(edited, self._is_allowed(session, check), nobody, warnings)

    def approve(self, session: Session, checks: Sequence[Check]) -> tuple[Outcome, list[str]]:
        """Record that a person approves exactly these checks. Tasks that were blocked for want of it are pending again.

        Return the change, and what the person should know about the checks.

        Raises:
            NotThePerson: this is the shell of an agent, or a process of a run.
            Refused: the working tree is elsewhere.
            TildoneError: the approval cannot be recorded.
        """
        warnings = self.record_approvals(session, checks)
        allowed = self._runner(self.working_tree(session.name), session).is_allowed

        def steps(plan: Plan) -> list[Step]:
            waiting = tuple(task.number for task in plan.tasks if task.status is Status.BLOCKED and waits(task))
            found: list[Step] = [Mark(Numbered(waiting), Status.PENDING)] if waiting else []
            # It is forgotten that the check of the plan was refused.
            return [*found, SetCheck(None, None), SetCheck(None, plan.check)] if waits(plan) else found

        def waits(found: Task | Plan) -> bool:
            is_refused = found.proof is not None and found.proof.result is Result.REFUSED
            return is_refused and found.check is not None and allowed(found.check)

        outcome, _ = self.complete(session, (), lambda own: own.change(steps))
        return outcome, warnings

    def record_approvals(self, session: Session, checks: Iterable[Check]) -> list[str]:
        """Record that a person approves exactly these checks, and return what they should know about them.

        Raises:
            NotThePerson: this is the shell of an agent, or a process of a run.
            Refused: the working tree is elsewhere.
            TildoneError: it cannot be recorded.
        """
        check_person(self._settings, PersonAct.APPROVE)
        if not self.working_tree(session.name):
            raise Refused(NOT_HERE)
        for check in checks:
            self._approve(session.name, check)
        return warnings_about(checks)

    @contextmanager
    def _running_for(self, session: Session, numbers: Iterable[int], *, begun: bool) -> Iterator[None]:
        numbers = tuple(numbers)
        if not begun:
            self.begin(session.name, numbers)
        try:
            with self._one_at_a_time:
                yield
        finally:
            if not begun:
                self.end(session.name, numbers)

    def _approve(self, session: str, check: Check) -> None:
        try:
            check_approvals(replace(self._settings, project=self.working_tree(session))).approve(check)
        except OSError as error:
            raise TildoneError(f"the approval cannot be recorded: {error.strerror or error}") from error

    def _is_allowed(self, session: Session, check: Check) -> bool:
        tree = self.working_tree(session.name)
        return bool(tree) and self._runner(tree, session).is_allowed(check)

    def _allowed_runner(self, session: Session, checks: Iterable[Check]) -> CheckRunner:
        tree = self.working_tree(session.name)
        if not tree:
            raise Refused(f"the check cannot be run: {NOT_HERE}")
        runner = self._runner(tree, session)
        for check in () if self._is_unattended else checks:
            if not runner.is_allowed(check):
                raise Refused(f"a person has to approve the check first: {check_text(check)}")
        return runner

    def _runner(self, tree: str, session: Session | None = None) -> CheckRunner:
        if self._is_stopped:
            raise Interrupted("the program ends")
        by = str if session is None else lambda: session.author_of(Actor.USER).name
        runner = check_runner(replace(self._settings, project=tree), by)
        runner.started = self._started
        self._runners.add(runner)
        return runner

    def _stale_in(self, session: str, plan: Plan, runner: CheckRunner) -> frozenset[int]:
        known = self._stale.get(session)
        # A plan with other proofs is looked at again, however soon.
        if known and self._clock() - known[0] < STALE_SECONDS and _proofs(known[1]) == _proofs(plan):
            return known[2]
        found = stale_numbers(plan, lambda: runner)
        self._stale[session] = self._clock(), plan, found
        return found


@value
class CheckSet:
    """What setting a check came to. Unless it is `approved`, it is only proposed: because of `nobody`, if a text."""

    edited: Edited
    approved: bool = False
    nobody: str = ""
    warnings: tuple[str, ...] = ()


class _KeptResults:
    """Runs checks by a runner, and keeps the results: what is recorded has no output."""

    def __init__(self, runner: CheckRunner) -> None:
        self._runner = runner
        self.results: dict[int, Proof] = {}
        self.stale, self.is_allowed = runner.stale, runner.is_allowed

    def prove(self, checks: Mapping[int, Check]) -> Mapping[int, Proof]:
        found = self._runner.prove(checks)
        self.results.update(found)
        return found


def open_on_screen(
    settings: Settings, store: Store, name: str, person: str = "", newest_first: Iterable[Event] | None = None
) -> Session:
    """Return a session whose changes are by a person; without a name, by the one who acts here.

    Its changes run no checks: only `SessionChecks` does, when the person completes tasks. `newest_first` are its events
    as far as its dialect needs them, if they were read already.
    """
    settings = replace(settings, session=name, user=person or settings.user)
    session = open_session(settings, dialect_of_session(settings, store, newest_first), store)
    return session.using(parts=replace(session.parts, prover=None))


def changed_meanwhile(session: Session, number: int, now: Check | None) -> Conflict:
    """Return the refusal of a request about a check that is another one by now."""
    text = f": {check_text(now)}" if now else ""
    text = f"the check of {owner_name(number)} was changed meanwhile{text}"
    return Conflict(text, hint="Look at it again.", check=now, state=session.state)


def words_of(line: str, what: str) -> tuple[str, ...]:
    """Return the words of a line, as a shell would split them; nothing in them is interpreted. `what` names the line.

    Raises UsageError if a quotation is not closed.
    """
    try:
        return tuple(shlex.split(line))
    except ValueError as error:
        raise UsageError(f"{what} cannot be split into words: {str(error).lower()}") from error


def typed_check(line: str, was: Check | None) -> Check | None:
    """Return the check that a person types as in a shell, with the details of the one before; None for an empty line.

    Raises UsageError if the line cannot be split into words.
    """
    command = words_of(line, "the command")
    return replace(was or Check(()), command=command) if command else None


def owner(plan: Plan, number: int) -> Task | Plan:
    """Return the task with a number, or the plan itself for PLAN: what has the check.

    Raises NotFound if there is no such task.
    """
    if number == PLAN:
        return plan
    found = next((task for task in plan.tasks if task.number == number), None)
    if found is None:
        raise NotFound(f"there is no task #{number}")
    return found


def _is_proved(task: Task) -> bool:
    return task.status is Status.COMPLETED and task.check is not None and is_passed(task.check, task.proof)


def _is_freed(task: Task, proofs: Mapping[int, Proof]) -> bool:
    """Whether a task was blocked for want of a result of its check, and has one now."""
    if task.status is not Status.BLOCKED or task.proof is None or task.number not in proofs:
        return False
    return task.proof.result.blocks and not proofs[task.number].result.blocks


def _proofs(plan: Plan) -> list[tuple[int, Status, Check | None, Proof | None]]:
    own = [(PLAN, Status.COMPLETED, plan.check, plan.proof)]
    return own + [(task.number, task.status, task.check, task.proof) for task in plan.tasks if task.proof]
