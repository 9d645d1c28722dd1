"""How a simulated agent ended."""

from dataclasses import dataclass

from tildone.session import Session
from tildone.views.bounds import describe_bound

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
