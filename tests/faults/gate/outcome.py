"""How a simulated agent ended."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from unittest.mock import patch

from tests.faults.gate.actions import DIALECTS, REWRITES, ROOM, Action, Change
from tildone.log.session import Session
from tildone.plan.model import Plan
from tildone.plan.text.bounds import describe_bound

MAX_CONTINUATIONS = 4000
MAX_REQUESTS = 25_000
"""Beyond every bound: an agent that is continued so often is continued for ever."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How an agent ended: `count` is how often it was continued, in `tildone run` how many requests its model got.

    `why` says what ended it; `done` means that no task is open, and `bound` that a bound was reached. `was_held` means
    that it was told to go on. `notices` are what the person was told.
    """

    count: int
    why: str
    done: bool
    notices: tuple[str, ...] = ()
    bound: bool = False
    was_held: bool = False


def end_of(session: Session, count: int, notices: tuple[str, ...] = ()) -> Ended:
    """Return how an agent ended, according to the history of its session."""
    done = not any(task.status.is_open for task in session.plan.tasks)
    reached = session.state.tripped
    why = describe_bound(reached.bound, reached.limit) if reached else "its plan is done" if done else "it stopped"
    return Ended(count, why, done, notices, reached is not None, session.state.ledger.continued > 0)


NS_PER_HOUR = 3_600_000_000_000


@contextmanager
def running_ahead(hours: Callable[[], float]) -> Iterator[None]:
    """Let every clock of tildone in this process run ahead by so many hours."""
    real = time.time_ns

    def ahead() -> int:
        return real() + int(hours() * NS_PER_HOUR)

    # The fast path of hooks has a name of its own for it.
    with patch("time.time_ns", ahead), patch("tildone.agents.hooks.fast_path.time_ns", ahead):
        yield


class PlanView:
    """The plan of an agent, and the hours that it has spent. `room` is how many tasks its dialect allows."""

    def __init__(self, dialect: str, session: Session) -> None:
        self.dialect, self.session = dialect, session
        self.room, self.rewrites = ROOM[dialect], dialect in REWRITES
        self.hours = 0.0

    @property
    def plan(self) -> Plan:
        return self.session.plan

    def make(self, change: Change) -> Action:
        return DIALECTS[self.dialect](self.plan, change)

    def wait(self, hours: float) -> None:
        self.hours += hours
