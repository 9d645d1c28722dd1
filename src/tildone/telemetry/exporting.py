"""Sends spans to a collector, in the background.

Nothing waits for a collector: spans go to a bounded queue, which a thread of OpenTelemetry's SDK empties. While no
collector answers, the newest spans are kept, the others are dropped, and the person is told once. At the end of the
process, what is queued is sent for a limited time.

OpenTelemetry is imported by `open_sink` only: it takes longer to import than most commands take to run.
"""

from __future__ import annotations

import sys
from threading import Thread

from tildone.telemetry.switch import CONSOLE, GRPC
from tildone.typing import TYPE_CHECKING
from tildone.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from tildone.history.spans import Attribute, TraceSpan
    from tildone.telemetry.switch import TraceSettings

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
    """Takes spans. `exporter`, `processor`, `sampler` and `resource` are parts of OpenTelemetry's SDK."""

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
    """Return what sends spans. If that is not possible, the person is told why, and it is None.

    `tell` is given a line for the person. It may be called from another thread.
    """
    if settings.protocol == GRPC:
        tell("traces are off: they are sent by HTTP only; set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf")
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415  optional
        from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource  # noqa: PLC0415  the same
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415  the same
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter  # noqa: PLC0415  the same
    except ModuleNotFoundError as error:
        # Late, because only a missing package needs it.
        from tildone.distribution import install_extra  # noqa: PLC0415  see above

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
    # Late, because it is slow to import, and needed by OpenTelemetry only.
    import logging  # noqa: PLC0415  see above

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
