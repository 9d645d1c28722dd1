"""The shell agent: works through a plan whose tasks carry commands, without a model.

The command of a task is its check: marking the task as done runs it. A task without a check may have commands in its
text or notes, as for `tildone run`; they run first. The agent ends with the first command that does not succeed. For a
command that is not permitted, it asks a person, and goes on with the tasks that do not come after it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence

from tildone.app.opening import check_approvals, open_session, open_store, run_leases
from tildone.app.settings import Settings, load
from tildone.app.trust import Approvals
from tildone.base import TYPE_CHECKING, TildoneError, replace, value
from tildone.base.ids import id_maker, now
from tildone.fleet.hands import FilesMissing, HandTree
from tildone.fleet.permissions import CHECK, COMMAND, RunAsker, answers_to, as_check, checks_of
from tildone.log.session import Session
from tildone.log.store import Store
from tildone.plan.dialects import BY_HAND
from tildone.plan.events import Actor, Author
from tildone.plan.faults import NotYours
from tildone.plan.guard import is_unproved
from tildone.plan.model import Check, Plan, Proof, Result, Status, Task, conflicting, held_back, is_ready
from tildone.plan.ops import Mark, Note, Numbered
from tildone.plan.reduce import Outcome
from tildone.plan.runs import LEASE_VARIABLE, RunFence, fence_in
from tildone.plan.text.faults import describe_fault
from tildone.plan.text.proofs import check_text, results
from tildone.plan.text.safe import printable, printable_lines
from tildone.run.shell_model import commands_of, title_of
from tildone.stores.agents import AgentId

if TYPE_CHECKING:
    from tildone.plan.changing import Prover


DONE, FAILED = 0, 1
"""The exit codes: nothing more can be done here now, or something has failed."""


@value
class Approver:
    """What a shell agent has to do with persons: which commands are permitted, whom to ask, and what was answered."""

    approvals: Approvals
    asker: RunAsker
    answers: Mapping[str, str]


class ShellAgent:
    """Works on the plan of a session; `say` prints a line about what it does.

    What waits for a person holds what comes after it in its phase, unless that says itself what it comes after. Without
    an `approver`, nobody is asked. With several hands, `tree` is the working tree of this one.
    """

    def __init__(
        self,
        session: Session,
        say: Callable[[str], object],
        approver: Approver | None = None,
        tree: HandTree | None = None,
    ) -> None:
        self._session, self._say, self._approver, self._tree = session, say, approver, tree
        self._refused: set[int] = set()
        self._later: set[int] = set()
        self._has_done = False

    def work(self) -> int:
        """Do one task after the other, and return the exit code.

        Raises RunFenced if the run has passed to another worker.
        """
        while (task := self._next(taken := self._session.parts.taken())) is not None:
            if self._is_permitted(task.number, *checks_of(task)) and not self._do(task):
                return FAILED
        plan = self._session.plan
        needs_check = is_unproved(plan) or (self._has_done and not any(task.status.is_open for task in plan.tasks))
        if plan.check is not None and needs_check and self._is_permitted(0, plan.check):
            plan = self._session.record_proofs(self._prove(0, plan.check), Actor.AGENT).after
        for left in left_in(plan, taken):
            self._tell(f"open: {title_of(left)}")
        if self._refused or self._later or taken:
            # It goes on when a person has answered, or when others have done what it waits for.
            return DONE
        return FAILED if left_in(plan, taken) or is_unproved(plan) else DONE

    def _next(self, taken: Collection[int]) -> Task | None:
        """Return the task to do now: one that was begun, else the first that is ready and that no other agent has.

        Tasks that may change the same files as a task of another agent come later.
        """
        plan = self._session.plan
        not_now = {*taken, *self._refused, *self._later, *held_back(plan, self._refused)}
        free = [task for task in plan.tasks if task.number not in not_now and is_ready(plan, task)]
        ready = [task for task in free if not conflicting(plan, task, taken)]
        begun = (task for task in ready if task.status is Status.IN_PROGRESS)
        return next(begun, None) or next(iter(ready), None)

    def _is_permitted(self, number: int, *checks: Check) -> bool:
        """Return whether commands may be run. If not, a person is asked, or has answered."""
        approver = self._approver
        if approver is None:
            return True
        refused = [check_text(check) for check in checks if not approver.approvals.is_allowed(check)]
        for command in refused:
            self._refused.add(number)
            tasks = [task for task in self._session.plan.tasks if number in (task.number, 0)]
            if command in approver.answers:
                self._tell(f"denied by a person: {command}")
                # It also shows that the answer was seen.
                note = f"denied by a person: {command} ({approver.answers[command]})"
                self._session.change([Note(Numbered((tasks[-1].number,)), note)], Actor.AGENT)
            else:
                self._tell(f"waits for a person to approve: {command}")
                is_check = not number or any(task.check is not None for task in tasks)
                approver.asker.ask(CHECK if is_check else COMMAND, command)
        return not refused

    def _do(self, task: Task) -> bool:
        """Do a task. Return whether it is done, or cannot be started because of another agent or a person."""
        if not self._has_files(task):
            return True
        started = self._start(task)
        now = _current(started.after, task)
        is_anothers = any(isinstance(fault, NotYours) for fault in started.faults)
        if is_anothers or task.number in self._session.parts.taken() or now is None or not now.status.is_open:
            # Another agent was faster, with it or with the files that it may change, or a person has closed it.
            return True
        if started.faults:
            self._tell(f"not started, because {describe_fault(started.faults[0])}: {title_of(task)}")
            return False
        if now.status is not Status.IN_PROGRESS:
            # One before it was reopened.
            return True
        self._tell(f"started: {title_of(task)}")
        if task.check is None and not self._run(task):
            return False
        outcome = self._complete(task)
        after = _current(outcome.after, task)
        is_done = after is not None and not after.status.is_open
        for line in results(outcome, numbered=True):
            self._tell(line)
        self._tell(f"{'done' if is_done else 'not done'}: {title_of(task)}")
        self._has_done = self._has_done or is_done
        if self._tree is not None and is_done:
            self._tell_problem(self._tree.finish(task))
        return is_done

    def _run(self, task: Task) -> bool:
        """Run the commands in the text of a task. Return whether all of them succeeded."""
        commands = commands_of(task)
        if not commands:
            self._tell(f"not done, because it has neither a check nor a command: {title_of(task)}")
        proofs = (self._prove(task.number, as_check(command))[task.number] for command in commands)
        return bool(commands) and all(proof.result is Result.PASSED for proof in proofs)

    def _prove(self, number: int, check: Check) -> Mapping[int, Proof]:
        proofs = self._runner().prove({number: check})
        for proof in proofs.values():
            if proof.result is not Result.PASSED:
                self._tell(f"{proof.reason}\n{proof.tail}".strip())
        return proofs

    def _runner(self) -> Prover:
        if self._session.parts.prover is None:
            raise AssertionError("a session of a shell agent runs checks")
        return self._session.parts.prover()

    def _has_files(self, task: Task) -> bool:
        """Bring in what other hands have done, and return whether a task has the files of those before it."""
        try:
            self._tell_problem(self._tree.begin(task) if self._tree is not None else "")
        except FilesMissing as error:
            self._later.add(task.number)
            self._tell(f"not started, because {error}: {title_of(task)}")
            return False
        return True

    def _start(self, task: Task) -> Outcome:
        """Start a task that is still ready when the change is made: one that others have closed stays closed."""

        def start(plan: Plan) -> Sequence[Mark]:
            now = _current(plan, task)
            is_still_ready = now is not None and is_ready(plan, now)
            return (Mark(Numbered((task.number,)), Status.IN_PROGRESS),) if is_still_ready else ()

        return self._session.change(start, Actor.AGENT)

    def _complete(self, task: Task) -> Outcome:
        """Mark a task as done. Its check is run, even if it has passed before: it is the work."""
        proofs = self._runner().prove({task.number: task.check}) if task.check is not None else {}
        done = [Mark(Numbered((task.number,)), Status.COMPLETED)]
        return self._session.change(done, Actor.AGENT, proofs=proofs)

    def _tell_problem(self, text: str) -> None:
        if text:
            self._tell(f"problem: {text}")

    def _tell(self, text: str) -> None:
        for line in printable_lines(text):
            self._say(line)


def left_in(plan: Plan, taken: Collection[int]) -> list[Task]:
    return [task for task in plan.tasks if task.status.is_open and task.number not in taken]


def _current(plan: Plan, task: Task) -> Task | None:
    return next((each for each in plan.tasks if each.number == task.number), None)


AGENT = "shell"
CLAIM_SECONDS = 86_400
"""For how long it claims a task. Whoever goes on with the run is the same agent, and need not wait for it."""


def main() -> int:
    try:
        settings = replace(load({}, os.environ, os.getcwd()), claim_seconds=CLAIM_SECONDS)
        lease = os.environ.get(LEASE_VARIABLE, "")
        # The hand of a run is the same agent, whichever worker has it.
        run = lease.rpartition("/")[0]
        author = Author(agent=str(AgentId(AGENT, conversation=run) if run else AgentId(AGENT, pid=os.getpid())))
        store = open_store(settings)
        session = open_session(settings, BY_HAND, store, lambda: author)
        if not lease:
            return ShellAgent(session, _print).work()
        return _of_run(session, store, fence_in(lease), settings, author.agent).work()
    except TildoneError as error:
        sys.stderr.write(f"tildone: {printable(str(error))}\n")
        return error.exit_code


def _of_run(session: Session, store: Store, held: RunFence, settings: Settings, name: str) -> ShellAgent:
    leases = run_leases(store, Author(agent=name))
    hands = leases.look(held.run)
    asker = RunAsker(leases, held, id_maker(now, os.urandom), [view.lease for view in hands])
    approver = Approver(check_approvals(settings), asker, answers_to(store.events(settings.session), held.run))
    is_shared = len(hands) > 1 and os.path.exists(".git")
    events = lambda: store.events(settings.session)  # noqa: E731  short
    return ShellAgent(session, _print, approver, HandTree(os.getcwd(), held.run, name, events) if is_shared else None)


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
