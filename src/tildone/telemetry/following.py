"""Tells of the runs of a worker, from the logs of their plans, whatever agents work on them.

Theory of operation. A thread looks at the logs of the runs that the worker has, and makes spans of what is new there.
Neither the agents nor the worker wait for it. Spans have ids that follow from the log, so several processes may tell of
one run: each worker tells of the attempts that it ended. An attempt that was lost is told by the worker that takes the
run next, or by the one that ended the run for want of a next one. What a worker had told before it was lost is then
told twice, with the same ids: a trace is delivered at least once, as by OTLP itself.

If several hands work on a plan, the lowest one that is held tells of the tasks.
"""

from __future__ import annotations

from threading import Condition, Thread

from tildone.core.plan import Plan
from tildone.errors import TildoneError
from tildone.history.run_spans import LOST, RunTimeline, attempt_place, attempt_tasks, ended_attempt_spans
from tildone.log.events import PlanChanged
from tildone.telemetry.exporting import FLUSH_SECONDS
from tildone.telemetry.reading import NewEvents
from tildone.telemetry.switch import TRACEPARENT
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.history.run_spans import Attempt
    from tildone.history.spans import ShownText, TraceSpan
    from tildone.history.task_spans import TaskSpans
    from tildone.log.events import Event
    from tildone.log.fleet.lease import Lease, RunFence
    from tildone.log.store import Store
    from tildone.telemetry.exporting import SpanSink

LOOK_SECONDS = 1.0


class RunTraces:
    """Tells of the runs of a worker. `shown` makes texts of plans fit to be sent; without it, none is."""

    def __init__(self, store: Store, sink: SpanSink, shown: ShownText = None) -> None:
        self._store, self._sink, self._shown = store, sink, shown
        self._changed = Condition()
        self._followed: dict[RunFence, FollowedRun] = {}
        self._ended: set[RunFence] = set()
        self._over: list[Lease] = []
        self._closed = False
        self._thread = Thread(target=self._run, name="traces", daemon=True)
        self._thread.start()

    def begin(self, lease: Lease) -> dict[str, str]:
        """Follow a run that the worker has taken, and return what its agent gets in its environment."""
        with self._changed:
            self._followed[lease.fence] = FollowedRun(self._store, lease, self._shown)
            self._changed.notify_all()
        return {TRACEPARENT: attempt_place(lease.session, lease.fence).traceparent}

    def end(self, lease: Lease) -> None:
        """Tell how an attempt of the worker ended, and follow it no longer."""
        with self._changed:
            self._ended.add(lease.fence)
            self._changed.notify_all()

    def over(self, lease: Lease) -> None:
        """Tell of a run that has ended while no worker had it."""
        with self._changed:
            self._over.append(lease)
            self._changed.notify_all()

    def close(self, seconds: float = FLUSH_SECONDS) -> None:
        """Tell what is left, for a limited time."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(seconds)
        self._sink.close(seconds)

    def _run(self) -> None:
        while True:
            with self._changed:
                # Nothing is looked at while the worker has no runs.
                self._changed.wait_for(self._is_needed)
                self._changed.wait_for(self._is_urgent, LOOK_SECONDS)
                closed, followed = self._closed, dict(self._followed)
                ended, over = set(self._ended), self._over
                self._over = []
            for fence, run in followed.items():
                self._look(run, fence, is_last=fence in ended)
            for lease in over:
                self._tell_over(lease)
            if closed:
                return

    def _is_needed(self) -> bool:
        return bool(self._closed or self._followed or self._over)

    def _is_urgent(self) -> bool:
        return bool(self._closed or self._ended or self._over)

    def _look(self, run: FollowedRun, fence: RunFence, *, is_last: bool) -> None:
        try:
            self._sink.add(run.look(is_last=is_last))
        except TildoneError:
            # The store cannot be read now. The end of a run is told later, unless the worker ends, too.
            if not is_last or not self._closed:
                return
        if is_last:
            with self._changed:
                self._followed.pop(fence, None)
                self._ended.discard(fence)

    def _tell_over(self, lease: Lease) -> None:
        try:
            self._sink.add(spans_of_end(self._store, lease, self._shown))
        except TildoneError:
            return


class FollowedRun:
    """An attempt of a run that this worker has."""

    def __init__(self, store: Store, lease: Lease, shown: ShownText) -> None:
        self._fence, self._shown = lease.fence, shown
        self._events = NewEvents(store, lease.session)
        self._timeline = RunTimeline(lease.session, lease.run)
        self._tasks: TaskSpans | None = None
        self._plan = Plan()

    def look(self, *, is_last: bool) -> list[TraceSpan]:
        """Return the spans that ended since the last look."""
        spans: list[TraceSpan] = []
        events = self._events.read()
        for event in events:
            if isinstance(event.fact, PlanChanged):
                spans += self._change(event)
                self._plan = event.fact.plan
                continue
            self._timeline.add(event)
            attempt = self._timeline.attempt(self._fence)
            if attempt and attempt.id == event.id:
                spans += self._begin(attempt, events)
        return [*spans, *self._end()] if is_last else spans

    def _change(self, event: Event) -> list[TraceSpan]:
        spans = self._tasks.add(event) if self._tasks else []
        return spans if self._timeline.lowest_held in (None, self._fence.hand) else []

    def _begin(self, attempt: Attempt, events: Sequence[Event]) -> list[TraceSpan]:
        """Return the wait before this attempt, and the attempt before it if that was lost."""
        timeline = self._timeline
        self._tasks = attempt_tasks(timeline, attempt, self._plan, self._shown)
        earlier = timeline.attempts(self._fence.hand)[-2:-1]
        lost = [each for each in earlier if each.outcome == LOST]
        spans = [span for each in lost for span in ended_attempt_spans(timeline, each, events, self._shown)]
        return [*spans, timeline.queue_span(attempt)]

    def _end(self) -> list[TraceSpan]:
        timeline = self._timeline
        attempt = timeline.attempt(self._fence)
        if attempt is None or attempt.ended is None or attempt.outcome == LOST:
            # Another worker tells of it.
            return []
        interrupted = self._tasks.close(attempt.ended.at) if self._tasks and timeline.hands == 1 else []
        found = [timeline.attempt_span(attempt, self._shown), timeline.run_span(self._shown)]
        return [*interrupted, *(span for span in found if span)]


def spans_of_end(store: Store, lease: Lease, shown: ShownText) -> list[TraceSpan]:
    """Return the spans of a run that has ended while no worker had it: the run, and its last attempt if that was lost.

    Raises:
        StoreError: the store cannot be read.
    """
    events = list(store.events(lease.session))
    timeline = RunTimeline(lease.session, lease.run, events)
    lost = [each for each in timeline.attempts(lease.hand)[-1:] if each.outcome == LOST]
    spans = [span for each in lost for span in ended_attempt_spans(timeline, each, events, shown)]
    own = timeline.run_span(shown)
    return [*spans, *([own] if own else [])]
