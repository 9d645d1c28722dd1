"""The shell agent: works through a plan whose tasks carry commands, without a model.

The command of a task is its check: marking the task as done runs it. A task without a check may have commands in its
text or notes, as for `tildone run`; they run first. The agent ends with the first command that does not succeed.
"""

from __future__ import annotations

from tildone.checks.prover import MAX_SECONDS
from tildone.core.check import Check, Result
from tildone.core.command_line import split_command
from tildone.core.guard import is_unproved
from tildone.core.ops import Mark, Numbered
from tildone.core.plan import Status
from tildone.core.query import is_ready
from tildone.host.shell_model.script import commands_of, title_of
from tildone.log.events import Actor
from tildone.typing import TYPE_CHECKING
from tildone.views.faults import describe_fault
from tildone.views.proofs import results
from tildone.views.sanitize import printable_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tildone.core.check import Proof
    from tildone.core.plan import Plan, Task
    from tildone.core.reduce import Outcome
    from tildone.session import Session

DONE, FAILED = 0, 1
"""The exit codes: nothing is left to do here, or something failed or waits for a person."""


class ShellAgent:
    """Works on the plan of a session; `say` prints a line about what it does."""

    def __init__(self, session: Session, say: Callable[[str], object]) -> None:
        self._session = session
        self._say = say

    def work(self) -> int:
        """Do one task after the other, and return the exit code.

        Raises:
            RunFenced: the run has passed to another worker.
        """
        while (task := self._next()) is not None:
            if not self._do(task):
                return FAILED
        plan = self._session.plan
        if not self._left(plan) and is_unproved(plan) and plan.check is not None:
            plan = self._session.record_proofs(self._prove(0, plan.check), Actor.AGENT).after
        for left in self._left(plan):
            self._tell(f"open: {title_of(left)}")
        return FAILED if self._left(plan) or is_unproved(plan) else DONE

    def _next(self) -> Task | None:
        """Return the task to do now: one that was begun, else the first that is ready and that no other agent has."""
        plan, taken = self._session.plan, self._session.taken()
        ready = [task for task in plan.tasks if task.number not in taken and is_ready(plan, task)]
        begun = (task for task in ready if task.status is Status.IN_PROGRESS)
        return next(begun, None) or next(iter(ready), None)

    def _left(self, plan: Plan) -> list[Task]:
        """Return the open tasks that no other agent has."""
        taken = self._session.taken()
        return [task for task in plan.tasks if task.status.is_open and task.number not in taken]

    def _do(self, task: Task) -> bool:
        """Do a task. Return whether it is done, or another agent has taken it."""
        started = self._mark(task, Status.IN_PROGRESS)
        if task.number in self._session.taken():
            # Another agent was faster.
            return True
        if started.faults:
            self._tell(f"not started, because {describe_fault(started.faults[0])}: {title_of(task)}")
            return False
        self._tell(f"started: {title_of(task)}")
        if task.check is None and not self._run(task):
            return False
        outcome = self._mark(task, Status.COMPLETED)
        is_done = any(each.number == task.number and not each.status.is_open for each in outcome.after.tasks)
        for line in results(outcome, numbered=True):
            self._tell(line)
        self._tell(f"{'done' if is_done else 'not done'}: {title_of(task)}")
        return is_done

    def _run(self, task: Task) -> bool:
        """Run the commands in the text of a task. Return whether all of them succeeded."""
        commands = commands_of(task)
        if not commands:
            self._tell(f"not done, because it has neither a check nor a command: {title_of(task)}")
        return bool(commands) and all(self._succeeds(task, command) for command in commands)

    def _succeeds(self, task: Task, command: str) -> bool:
        [proof] = self._prove(task.number, _as_check(command)).values()
        return proof.result is Result.PASSED

    def _prove(self, number: int, check: Check) -> Mapping[int, Proof]:
        prover = self._session.prover
        if prover is None:
            raise AssertionError("a session of a shell agent runs checks")
        proofs = prover().prove({number: check})
        for proof in proofs.values():
            if proof.result is not Result.PASSED:
                self._tell(f"{proof.reason}\n{proof.tail}".strip())
        return proofs

    def _mark(self, task: Task, status: Status) -> Outcome:
        return self._session.change([Mark(Numbered((task.number,)), status)], Actor.AGENT)

    def _tell(self, text: str) -> None:
        for line in printable_lines(text):
            self._say(line)


def _as_check(command: str) -> Check:
    """Return a command as a check. One that needs a shell is given to one."""
    try:
        words = split_command(command)
    except ValueError:
        words = ("sh", "-c", command)
    return Check(words, seconds=int(MAX_SECONDS))
