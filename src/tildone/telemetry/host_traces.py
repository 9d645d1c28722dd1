"""The traces of `tildone run`: the plan, its tasks, and the requests to models.

In a fleet, the worker tells of tasks. The ids of their spans follow from the log, so this process knows to which task
a request belongs without asking, and tells of requests only.
"""

from __future__ import annotations

from itertools import islice

from tildone.errors import TildoneError
from tildone.history.run_spans import attempt_key
from tildone.history.spans import SpanPlace, TraceSpan, place_in, span_id, trace_id
from tildone.history.task_spans import TaskSpans
from tildone.log.events import PlanChanged
from tildone.log.fleet.facts import RunTaken
from tildone.log.fleet.lease import LEASE_VARIABLE, RunFence, fence_in
from tildone.log.state import latest_state
from tildone.telemetry.model_calls import ModelCalls
from tildone.telemetry.reading import MAX_EVENTS, NewEvents
from tildone.telemetry.switch import TRACEPARENT
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tildone.history.spans import ShownText
    from tildone.host.host import Host
    from tildone.log.events import Event
    from tildone.log.store import Store
    from tildone.telemetry.exporting import SpanSink

PLAN = "tildone.plan"


@value
class TraceContext:
    """What made this process: a span of another one, and the lease of a worker; each may be missing."""

    outer: SpanPlace | None = None
    lease: RunFence | None = None

    @property
    def is_attempt(self) -> bool:
        """Whether a worker that traces has started this process, and tells of the plan and its tasks."""
        return self.outer is not None and self.lease is not None


def trace_context(environ: Mapping[str, str]) -> TraceContext:
    """Return what the environment says.

    Raises:
        UsageError: the lease has another form.
    """
    lease = environ.get(LEASE_VARIABLE)
    return TraceContext(place_in(environ.get(TRACEPARENT, "")), fence_in(lease) if lease else None)


class HostTraces:
    """Tells of the work of hosts on one plan: a host, and those of its subagents.

    `new_id` returns an unused id. `shown` makes texts fit to be sent; without it, none is.
    """

    def __init__(  # noqa: PLR0913  each is another source
        self,
        store: Store,
        session: str,
        sink: SpanSink,
        context: TraceContext,
        *,
        now: Callable[[], int],
        new_id: Callable[[], str],
        shown: ShownText = None,
    ) -> None:
        self._sink, self._now, self._shown, self._context = sink, now, shown, context
        self._began = now()
        outer = context.outer
        trace = outer.trace if outer else trace_id("plan", new_id())
        self._place = outer if outer and context.is_attempt else SpanPlace(trace, span_id(trace, PLAN, new_id()))
        self._plan = FollowedPlan(store, session, self._place, context.lease, self._began, shown)

    def follow(self, host: Host) -> None:
        """Tell of the requests of a host from now on."""
        host.listen(ModelCalls(host, self._current, self._now, self._sink, self._shown).feed)

    def close(self) -> None:
        """Tell what is left: the tasks in progress, and the plan. Then send it, for a limited time."""
        self._current()
        if not self._context.is_attempt:
            end, outer = self._now(), self._context.outer
            own = TraceSpan(
                PLAN, self._place.trace, self._place.parent, outer.parent if outer else 0, self._began, end, {}
            )
            self._sink.add([*self._plan.tasks.close(end), own])
        self._sink.close()

    def _current(self) -> SpanPlace:
        """Tell of the tasks that have ended, and return where a request belongs that begins now."""
        spans = self._plan.read()
        if not self._context.is_attempt:
            self._sink.add(spans)
        return self._plan.tasks.current


class FollowedPlan:
    """The tasks of a plan from now on or, under a lease, from when it was taken."""

    def __init__(
        self, store: Store, session: str, place: SpanPlace, lease: RunFence | None, now: int, shown: ShownText
    ) -> None:
        later, before = _since_take(store, session, lease)
        taken = before[0] if lease and before else None
        at = taken.at if taken else now
        key = attempt_key(lease.hand, lease.epoch) if lease and taken else str(now)
        self.tasks = TaskSpans(place, latest_state(before).plan, at, key, shown)
        for event in reversed(later):
            self.tasks.add(event)
        head = next((event.id for event in (*later, *before)), None)
        self._events = NewEvents(store, session, head)

    def read(self) -> list[TraceSpan]:
        """Return the spans of the tasks that have ended since the last time; none if the store cannot be read now."""
        try:
            return [span for event in self._events.read() for span in self.tasks.add(event)]
        except TildoneError:
            return []


def _since_take(store: Store, session: str, lease: RunFence | None) -> tuple[list[Event], list[Event]]:
    """Return the events after a lease was taken, and those from then back to a plan, each the newest first.

    Without a lease, or if it was taken too long ago, the first list is empty.
    """
    later: list[Event] = []
    before: list[Event] = []
    try:
        for event in islice(store.history(session), MAX_EVENTS):
            is_take = lease is None or _is_take(event, lease)
            (before if before or is_take else later).append(event)
            if before and isinstance(event.fact, PlanChanged):
                break
    except TildoneError:
        # Then nothing is known of the tasks before.
        return [], []
    return (later, before) if before else ([], later)


def _is_take(event: Event, lease: RunFence) -> bool:
    fact = event.fact
    return isinstance(fact, RunTaken) and RunFence(fact.run, fact.hand, fact.epoch) == lease
