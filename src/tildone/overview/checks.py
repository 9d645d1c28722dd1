"""`SessionChecks`: the checks of the sessions of a store, as far as they can be run on this machine.

A session whose name is a path belongs to the working tree there, which may be on another machine. A session with any
other name belongs to the project that the screen was started in. Checks are run one at a time, because they share
files. Whoever shows a plan marks a task with `begin` before its check is run, so that it is not run twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from time import monotonic
from weakref import WeakSet

from tildone.agents.subagents import parent_session
from tildone.app.check_facts import CheckFacts
from tildone.app.check_states import owner_name
from tildone.app.opening import check_approvals, check_runner
from tildone.app.who import PersonAct, check_person, not_the_person
from tildone.checks.empty_folder import warnings_about
from tildone.checks.prover import CheckRunner
from tildone.checks.running import Interrupted
from tildone.config import Settings
from tildone.core.check import Check, Proof, Result, is_passed, proves_nothing
from tildone.core.guard import PLAN
from tildone.core.ops import Mark, Numbered, SetCheck
from tildone.core.plan import Plan, Status, Task
from tildone.core.query import has_checks
from tildone.core.reduce import Outcome, Step
from tildone.errors import NotFound, Refused, TildoneError
from tildone.log.events import Actor
from tildone.loop.proving import stale_numbers
from tildone.overview.words import words_of
from tildone.session import Session
from tildone.value import replace
from tildone.views.faults import describe_fault
from tildone.views.proofs import check_text

STALE_SECONDS = 3.0
"""For how long it is known which proofs of a plan are stale: finding out reads files."""

NOT_HERE = "the working tree of this plan is not on this machine"

Key = tuple[str, int]


class SessionChecks:
    """Runs the checks of sessions, sets and approves them. `clock` returns seconds."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = monotonic) -> None:
        self._settings, self._clock = settings, clock
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
        runner = self._runner(tree, str)
        checks = {task.number: task.check for task in plan.tasks if task.check and not _is_proved(task)}
        if plan.check and not is_passed(plan.check, plan.proof):
            checks[PLAN] = plan.check
        proposed = frozenset(number for number, check in checks.items() if not runner.is_allowed(check))
        return CheckFacts(self._stale_in(session, plan, runner), proposed, checking, is_here=True)

    def checking(self, session: str) -> frozenset[int]:
        """Return the numbers of the tasks whose checks are being run, or wait for it."""
        with self._changing:
            return frozenset(number for name, number in self._running if name == session)

    def begin(self, session: str, numbers: Iterable[int]) -> bool:
        """Mark tasks whose checks are about to be run. Return False, and mark none, if one is marked already."""
        keys = {(session, number) for number in numbers}
        with self._changing:
            if keys & self._running:
                return False
            self._running |= keys
            return True

    def end(self, session: str, numbers: Iterable[int]) -> None:
        """Take back the marks."""
        with self._changing:
            self._running -= {(session, number) for number in numbers}

    def complete(
        self, session: Session, numbers: Iterable[int], change: Callable[[], Outcome]
    ) -> tuple[Outcome, Mapping[int, Proof]]:
        """Make a change that completes tasks, for which checks are run. Return it, and the results by number.

        Raises:
            Refused: a check of one of the tasks cannot be run here, or is not approved.
            Interrupted: the program ends.
        """
        wanted = set(numbers)
        for task in session.plan.tasks:
            if task.number in wanted and task.check is not None:
                self._allowed_runner(session, task.check)
        tree = self.working_tree(session.name)
        if not tree:
            return change(), {}
        prover = _KeptResults(self._runner(tree, lambda: _person(session)))
        session.prover = lambda: prover
        with self._one_at_a_time:
            return change(), prover.results

    def verify(self, session: Session, number: int) -> tuple[Outcome, Proof]:
        """Run a check, and record the result. A done task is open again if it did not pass. PLAN is the plan itself.

        Raises:
            Refused: there is no check, or it cannot be run here, or it is not approved.
            NotFound: there is no such task.
            Interrupted: the program ends.
        """
        check = owner(session.plan, number).check
        if check is None:
            raise Refused(f"{owner_name(number)} has no check")
        runner = self._allowed_runner(session, check)
        with self._one_at_a_time:
            proofs = runner.prove({number: check})
        return session.record_proofs(proofs), proofs[number]

    def set_check(
        self, session: Session, number: int, line: str, was: Check | None, *, approves: bool = True
    ) -> tuple[Outcome, bool, list[str]]:
        """Set a check to a command as one types it in a shell; an empty line removes it. PLAN is the plan itself.

        `was` is the check that the person saw. With `approves`, the person at this machine has typed the command, and
        it is approved, unless no person acts here. Return the change, whether the check is approved, and what the
        person should know about it.

        Raises:
            UsageError: the line cannot be split into words.
            Refused: the command proves nothing, or somebody else has changed the check meanwhile.
            NotFound: there is no such task.
            TildoneError: the approval cannot be recorded.
        """
        command = words_of(line, "the command")
        check = replace(was or Check(()), command=command) if command else None
        # What will be refused is not approved.
        is_useful = check is not None and not proves_nothing(command)
        is_here = bool(self.working_tree(session.name))
        approves = approves and is_useful and is_here and not not_the_person(self._settings)
        if check is None:
            check_person(self._settings, PersonAct.REMOVE_CHECK)

        def steps(plan: Plan) -> tuple[Step, ...]:
            current = owner(plan, number).check
            if current not in (was, check):
                now = f": {check_text(current)}" if current else ""
                raise Refused(f"the check of {owner_name(number)} was changed meanwhile{now}")
            if check and approves:
                # Before the change, so that nobody sees a check that waits for the approval of the person who typed it.
                self._approve(session.name, check)
            return (SetCheck(None if number == PLAN else Numbered((number,)), check),)

        outcome = session.change(steps)
        if outcome.faults:
            raise Refused("; ".join(map(describe_fault, outcome.faults)))
        if check is None:
            return outcome, False, []
        return outcome, self._is_allowed(session.name, check), warnings_about([check]) if approves else []

    def approve(self, session: Session, check: Check) -> tuple[Outcome, list[str]]:
        """Record that a person approves exactly this check. Tasks that were blocked because of it are pending again.

        Return the change, and what the person should know about the check.

        Raises:
            Refused: this is the shell of an agent, or the working tree is elsewhere.
            TildoneError: the approval cannot be recorded.
        """
        check_person(self._settings, PersonAct.APPROVE)
        if not self.working_tree(session.name):
            raise Refused(NOT_HERE)
        self._approve(session.name, check)

        def steps(plan: Plan) -> list[Step]:
            waiting = [task.number for task in plan.tasks if _waits_for_approval(task, check)]
            return [Mark(Numbered(tuple(waiting)), Status.PENDING)] if waiting else []

        return session.change(steps), warnings_about([check])

    def _approve(self, session: str, check: Check) -> None:
        try:
            check_approvals(replace(self._settings, project=self.working_tree(session))).approve(check)
        except OSError as error:
            raise TildoneError(f"the approval cannot be recorded: {error.strerror or error}") from error

    def _is_allowed(self, session: str, check: Check) -> bool:
        tree = self.working_tree(session)
        return bool(tree) and self._runner(tree, str).is_allowed(check)

    def _allowed_runner(self, session: Session, check: Check) -> CheckRunner:
        tree = self.working_tree(session.name)
        if not tree:
            raise Refused(f"the check cannot be run: {NOT_HERE}")
        runner = self._runner(tree, lambda: _person(session))
        if not runner.is_allowed(check):
            raise Refused(f"a person has to approve the check first: {check_text(check)}")
        return runner

    def _runner(self, tree: str, by: Callable[[], str]) -> CheckRunner:
        if self._is_stopped:
            raise Interrupted("the program ends")
        runner = check_runner(replace(self._settings, project=tree), by)
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


class _KeptResults:
    """Runs checks by a runner, and keeps the results: what is recorded has no output."""

    def __init__(self, runner: CheckRunner) -> None:
        self._runner = runner
        self.results: dict[int, Proof] = {}
        self.stale, self.is_allowed = runner.stale, runner.is_allowed

    def prove(self, checks: Mapping[int, Check]) -> Mapping[int, Proof]:
        """Run these checks."""
        found = self._runner.prove(checks)
        self.results.update(found)
        return found


def owner(plan: Plan, number: int) -> Task | Plan:
    """Return the task with a number, or the plan itself for PLAN: what has the check.

    Raises:
        NotFound: there is no such task.
    """
    if number == PLAN:
        return plan
    found = next((task for task in plan.tasks if task.number == number), None)
    if found is None:
        raise NotFound(f"there is no task #{number}")
    return found


def _is_proved(task: Task) -> bool:
    return task.status is Status.COMPLETED and task.check is not None and is_passed(task.check, task.proof)


def _waits_for_approval(task: Task, check: Check) -> bool:
    if task.status is not Status.BLOCKED or task.check is None or task.proof is None:
        return False
    same = (task.check.command, task.check.folder) == (check.command, check.folder)
    return same and task.proof.result is Result.REFUSED


def _proofs(plan: Plan) -> list[tuple[int, Status, Check | None, Proof | None]]:
    own = [(PLAN, Status.COMPLETED, plan.check, plan.proof)]
    return own + [(task.number, task.status, task.check, task.proof) for task in plan.tasks if task.proof]


def _person(session: Session) -> str:
    return session.author_of(Actor.USER).name
