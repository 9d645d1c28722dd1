"""The working tree of a hand, as its shell agent sees it: before a task, what other hands have done comes in."""

from __future__ import annotations

import time

from tildone.core.plan import Status
from tildone.errors import TildoneError
from tildone.fleet.git import Git, GitError
from tildone.fleet.losses import covered
from tildone.fleet.publishing import bring_in, settled
from tildone.log.events import PlanChanged
from tildone.log.fleet.facts import Kept
from tildone.log.fleet.names import is_commit
from tildone.typing import TYPE_CHECKING
from tildone.value import replace, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tildone.core.plan import Task
    from tildone.log.events import Event

WAIT_SECONDS = 30.0
"""How long a task waits for the files of those that it comes after, which their worker merges when they are done."""

LOOK_SECONDS = 0.2


@value
class _Completion:
    """A task that a hand has completed with the event at a position, and the first checkpoint with its files."""

    hand: int
    at: int
    commit: str = ""


class FilesMissing(TildoneError):
    """The files of a task that comes before another one are not there."""


class HandTree:
    """The working tree in a folder. `name` is the agent of this hand, and `events` returns the events of the plan."""

    def __init__(self, folder: str, run: str, name: str, events: Callable[[], Iterable[Event]]) -> None:
        self._git, self._branch = Git(folder), f"tildone/{run}"
        self._run, self._name, self._events = run, name, events

    def begin(self, task: Task) -> str:
        """Bring in what other hands have done, if the task comes after theirs with it; return what went wrong.

        Raises:
            FilesMissing: the files of a task before it are not there. Their hand keeps them, or does the task again.
        """
        until = time.monotonic() + WAIT_SECONDS
        try:
            while True:
                if not bring_in(self._git, self._branch):
                    return f"what other hands have done conflicts with this working tree; {self._branch} has it"
                missing = [each for each in self._needed(task.after) if not self._has(each)]
                if not missing:
                    return ""
                if time.monotonic() > until:
                    raise FilesMissing(f"the files of tasks before it are not in {self._branch} yet")
                time.sleep(LOOK_SECONDS)
        except GitError as error:
            return str(error)

    def finish(self, task: Task) -> str:
        """Commit the files after a task; return what went wrong."""
        try:
            settled(self._git, f"task {task.number}")
        except GitError as error:
            return str(error)
        return ""

    def _needed(self, tasks: Sequence[int]) -> list[str]:
        """Return the checkpoints that other hands have kept after these tasks; empty texts for those to come."""
        found: dict[int, _Completion] = {}
        positions: dict[str, int] = {}
        done: set[int] = set()
        for at, event in enumerate(self._events() if tasks else ()):
            positions[event.id] = at
            fact = event.fact
            if isinstance(fact, PlanChanged):
                now = {task.number for task in fact.plan.tasks if task.status is Status.COMPLETED}
                hand = self._other_hand(event.author.agent)
                found |= {number: _Completion(hand, at) for number in (now - done) & set(tasks) if hand is not None}
                done = now
            elif isinstance(fact, Kept) and fact.run == self._run:
                until = covered(fact, at, positions)
                for number, each in found.items():
                    if each.hand == fact.hand and each.at <= until and not each.commit:
                        found[number] = replace(each, commit=fact.commit)
        return [each.commit for number, each in found.items() if number in done]

    def _other_hand(self, agent: str) -> int | None:
        """Return the hand of another shell agent of this run."""
        prefix, _, hand = agent.rpartition("/")
        is_other = agent != self._name and prefix == self._name.rpartition("/")[0]
        return int(hand) if is_other and hand.isdecimal() else None

    def _has(self, commit: str) -> bool:
        return is_commit(commit) and self._git.asks("merge-base", "--is-ancestor", commit, "HEAD") is not None
