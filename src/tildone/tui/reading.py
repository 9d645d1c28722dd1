"""Reads one session in detail: its plan, the times of its tasks, and its newest events."""

from __future__ import annotations

from collections.abc import Callable

from tildone.core.plan import Plan
from tildone.history.task_history import task_histories
from tildone.history.timeline import TimelineRow, newest_events, timeline
from tildone.history.usage import TaskUsage, plan_usage
from tildone.log.claims import Claim
from tildone.log.state import State, latest_state
from tildone.log.store import Store
from tildone.loop.decision import Patience
from tildone.value import replace, value
from tildone.views.amounts import usage_text

MAX_EVENTS_READ = 50
MAX_EVENTS_SHOWN = 12


@value
class TaskTime:
    """For how many milliseconds a task was in progress, until `since`, when it was started again, if it is.

    `used` is a text with what else it took, if that is known. `claim` says which agent works on it; what was left of
    the lease when it was read is not kept.
    """

    spent: int = 0
    since: int | None = None
    used: str = ""
    claim: Claim | None = None


@value
class SessionDetail:
    """One session: its state, the times of its tasks by number, and its newest events."""

    name: str
    state: State = State()
    times: tuple[tuple[int, TaskTime], ...] = ()
    events: tuple[TimelineRow, ...] = ()

    @property
    def plan(self) -> Plan:
        return self.state.plan


class DetailReader:
    """Reads sessions of a store; `when` formats the time of an event."""

    def __init__(self, store: Store, *, when: Callable[[int], str], patience: Patience) -> None:
        self.patience = patience
        self._store, self._when = store, when

    def read(self, name: str) -> SessionDetail:
        """Read a session; one that does not exist is empty.

        Raises:
            TildoneError: the store or the session cannot be read.
        """
        state = latest_state(self._store.history(name))
        events = newest_events(self._store.history(name, state.head), MAX_EVENTS_READ) if state.head else []
        used = plan_usage(events, 0).tasks
        claims = {claim.task: replace(claim, remaining=0) for claim in self._store.records.claims(name)}
        times = {
            entry.task.number: TaskTime(
                entry.time_in_progress(entry.since or 0) or 0,
                entry.since,
                _used(used.get(entry.task.number)),
                claims.get(entry.task.number),
            )
            for entry in task_histories(events)
            if entry.position is not None
        }
        rows = timeline(events, state.head, self._when, self.patience.nudges)[-MAX_EVENTS_SHOWN:]
        return SessionDetail(name, state, tuple(times.items()), tuple(reversed(rows)))


def _used(task: TaskUsage | None) -> str:
    return usage_text(tokens=task.usage.tokens, cost=task.usage.cost, nudges=task.nudges) if task else ""
