"""Traces by OpenTelemetry: where spans are sent, and what tells of the runs of a worker, from the logs of their plans.

Theory of operation. A thread looks at the logs of the runs that the worker has, and makes spans of what is new there.
Neither the agents nor the worker wait for it. Spans have ids that follow from the log, so several processes may tell of
one run: each worker tells of the attempts that it ended. An attempt that was lost is told by the worker that takes the
run next, or by the one that ended the run for want of a next one. What a worker had told before it was lost is then
told twice, with the same ids: a trace is delivered at least once, as by OTLP itself.

If several hands work on a plan, the lowest one that is held tells of the tasks.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from threading import Condition, Thread
from typing import Any

from tildone.app.settings_file import TelemetryConfig
from tildone.base import TildoneError, value
from tildone.base.distribution import install_extra
from tildone.log.store import Store
from tildone.plan.events import Event, PlanChanged
from tildone.plan.history.spans import (
    LOST,
    Attempt,
    Attribute,
    RunTimeline,
    ShownText,
    TaskSpans,
    TraceSpan,
    attempt_place,
    attempt_tasks,
    ended_attempt_spans,
)
from tildone.plan.model import Plan
from tildone.plan.runs import Lease, RunFence
from tildone.version import __version__

MAX_EVENTS = 1000
"""How many events back what is new is looked for, if the log was moved to another branch."""


class NewEvents:
    """The events of a session that were not read before, the oldest first.

    The first time, they are all events, in the order they were written; with `head`, those that follow it.
    """

    def __init__(self, store: Store, session: str, head: str | None = None) -> None:
        self._store, self._session = store, session
        self._head = head
        self._seen = {head} if head else set()

    def read(self) -> list[Event]:
        """Return what is new. Raises StoreError if the store cannot be read."""
        head = self._store.session_head(self._session).head
        if head == self._head:
            return []
        if not self._seen:
            found = list(self._store.events(self._session))
        else:
            found = []
            for event in islice(self._store.history(self._session, head), MAX_EVENTS):
                if event.id in self._seen:
                    break
                found.append(event)
            found.reverse()
        self._seen |= {event.id for event in found}
        self._head = head
        return found


TRACEPARENT = "TRACEPARENT"
"""The environment variable with the trace and the span that a process works for (W3C Trace Context)."""

DISABLED, EXPORTER = "OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER"
ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
OTLP, CONSOLE = "otlp", "console"
GRPC = "grpc"
TRACES_PATH = "/v1/traces"


@value
class TraceSettings:
    """How traces are sent: to a collector (`otlp`) or to standard error (`console`).

    `endpoint` is the whole address; if it is empty, the variables of OpenTelemetry have it. With `content`, the texts
    of tasks, prompts and answers are sent, too. `protocol` is what the environment asks for.
    """

    exporter: str = OTLP
    endpoint: str = ""
    content: bool = False
    protocol: str = ""


def trace_settings(config: TelemetryConfig, environ: Mapping[str, str]) -> TraceSettings | None:
    """Return how traces are sent; None if they are off, as they are by default."""
    if environ.get(DISABLED, "").strip().lower() == "true":
        return None
    exporter = environ.get(EXPORTER, "").partition(",")[0].strip().lower()
    if exporter not in ("", OTLP, CONSOLE):
        # `none`, or one that needs another package.
        return None
    named = any(environ.get(name, "").strip() for name in ENDPOINTS)
    if not exporter and not named and not config.endpoint:
        return None
    endpoint = "" if named or not config.endpoint else config.endpoint.rstrip("/") + TRACES_PATH
    protocol = next((environ[name] for name in PROTOCOLS if environ.get(name)), "")
    return TraceSettings(exporter or OTLP, endpoint, config.content, protocol.strip().lower())


FLUSH_SECONDS = 3.0
"""How long the end of a process may be delayed by spans that are not sent yet."""

END_SECONDS = 0.5
"""How long it may take to give up what is not sent by then."""

DELAY_VARIABLE, DELAY_MS = "OTEL_BSP_SCHEDULE_DELAY", 1000
"""How long spans are collected before they are sent, unless the variable says it. Soon: a worker may be killed."""

MAX_CHARACTERS = 8_000
"""Of a text in a span. Longer ones are cut."""

SCOPE = "tildone"
NANOSECONDS_PER_MS = 1_000_000
UNKNOWN_SERVICE = "unknown_service"


class SpanSink:
    """Sends spans to a collector, in the background: bounded, by a thread of OpenTelemetry's SDK.

    While no collector answers, the newest spans are kept, the others are dropped, and the person is told once. At the
    end of the process, what is queued is sent for a limited time. The four arguments are parts of the SDK, which
    `open_sink` alone imports: that takes longer than most commands take to run.
    """

    def __init__(self, exporter: Any, processor: Any, sampler: Any, resource: Any) -> None:
        # Optional, and loaded already by whoever opens a sink.
        from opentelemetry import trace  # noqa: PLC0415  see above
        from opentelemetry.sdk.trace import ReadableSpan  # noqa: PLC0415  the same
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope  # noqa: PLC0415  the same

        self._exporter, self._processor, self._sampler, self._resource = exporter, processor, sampler, resource
        self._trace, self._make = trace, ReadableSpan
        self._scope = InstrumentationScope(SCOPE, __version__)

    def add(self, spans: Iterable[TraceSpan]) -> None:
        """Send spans, sooner or later. It never waits, and never fails."""
        for span in spans:
            if self._sampler.should_sample(None, span.trace, span.name).decision.is_sampled():
                self._processor.on_end(self._readable(span))

    def close(self, seconds: float = FLUSH_SECONDS) -> None:
        """Send what is left, for a limited time."""
        # The SDK's own limit does not hold while a request is being made.
        ending = Thread(target=self._processor.shutdown, name="traces", daemon=True)
        ending.start()
        ending.join(seconds)
        if ending.is_alive():
            # Otherwise, it would be tried again and again in the background.
            self._exporter.shutdown()
            ending.join(END_SECONDS)

    def _readable(self, span: TraceSpan) -> Any:
        trace = self._trace
        status = trace.Status(trace.StatusCode.ERROR, span.error) if span.error else trace.Status()
        return self._make(
            span.name,
            context=self._context(span.trace, span.id),
            parent=self._context(span.trace, span.parent) if span.parent else None,
            resource=self._resource,
            attributes={name: _clean(attribute) for name, attribute in span.attributes.items()},
            kind=trace.SpanKind.CLIENT if span.is_client else trace.SpanKind.INTERNAL,
            status=status,
            start_time=span.start * NANOSECONDS_PER_MS,
            end_time=span.end * NANOSECONDS_PER_MS,
            instrumentation_scope=self._scope,
        )

    def _context(self, trace: int, span: int) -> Any:
        sampled = self._trace.TraceFlags(self._trace.TraceFlags.SAMPLED)
        return self._trace.SpanContext(trace, span, is_remote=False, trace_flags=sampled)


def open_sink(settings: TraceSettings, environ: Mapping[str, str], tell: Callable[[str], None]) -> SpanSink | None:
    """Return what sends spans, else None, after `tell` was given the reason, perhaps from another thread."""
    if settings.protocol == GRPC:
        tell("traces are off: they are sent by HTTP only; set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf")
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415  optional
        from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource  # noqa: PLC0415  the same
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415  the same
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter  # noqa: PLC0415  the same
    except ModuleNotFoundError as error:
        tell(f"traces are off: the package {(error.name or '').partition('.')[0]} is missing: {install_extra('otel')}")
        return None
    _tell_once_of_failures(tell)
    resource = Resource.create()
    if str(resource.attributes.get(SERVICE_NAME, UNKNOWN_SERVICE)).startswith(UNKNOWN_SERVICE):
        resource = resource.merge(Resource({SERVICE_NAME: SCOPE, SERVICE_VERSION: __version__}))
    is_console = settings.exporter == CONSOLE
    exporter = ConsoleSpanExporter(out=sys.stderr) if is_console else OTLPSpanExporter(settings.endpoint or None)
    delay = None if environ.get(DELAY_VARIABLE) else DELAY_MS
    # It reads the sampler from the environment. It is not made the provider of the process: others may use one.
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    processor = BatchSpanProcessor(exporter, schedule_delay_millis=delay)
    return SpanSink(exporter, processor, provider.sampler, resource)


def _tell_once_of_failures(tell: Callable[[str], None]) -> None:
    """Tell the person about the first problem that OpenTelemetry logs, and about no other."""

    class TellOnce(logging.Handler):
        told = False

        def emit(self, record: logging.LogRecord) -> None:
            if not self.told:
                self.told = True
                tell(f"traces are not sent: {record.getMessage()}")

    logger = logging.getLogger("opentelemetry")
    logger.propagate = False
    logger.handlers = [TellOnce(logging.WARNING)]


def _clean(attribute: Attribute) -> Attribute:
    """Return a value that can be encoded: lone surrogates would make the whole batch fail."""
    if not isinstance(attribute, str):
        return attribute
    return attribute[:MAX_CHARACTERS].encode("utf-8", "replace").decode()


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
                self._changed.wait_for(lambda: self._closed or self._followed or self._over)
                self._changed.wait_for(lambda: self._closed or self._ended or self._over, LOOK_SECONDS)
                closed, followed = self._closed, dict(self._followed)
                ended, over = set(self._ended), self._over
                self._over = []
            for fence, run in followed.items():
                self._look(run, fence, is_last=fence in ended)
            for lease in over:
                with suppress(TildoneError):
                    self._sink.add(spans_of_end(self._store, lease, self._shown))
            if closed:
                return

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

    Raises StoreError if the store cannot be read.
    """
    events = list(store.events(lease.session))
    timeline = RunTimeline(lease.session, lease.run, events)
    lost = [each for each in timeline.attempts(lease.hand)[-1:] if each.outcome == LOST]
    spans = [span for each in lost for span in ended_attempt_spans(timeline, each, events, shown)]
    own = timeline.run_span(shown)
    return [*spans, *([own] if own else [])]
