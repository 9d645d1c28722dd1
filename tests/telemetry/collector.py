"""A collector: a server on loopback that receives traces by OTLP over HTTP, and decodes them."""

import gzip
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.suite.waiting import until

CLIENT = Span.SpanKind.SPAN_KIND_CLIENT


@dataclass(frozen=True, slots=True)
class ReceivedSpan:
    """A span as it arrived. Times are in milliseconds; ids are hexadecimal, and `parent` is empty for a root."""

    name: str
    trace: str
    id: str
    parent: str
    start: float
    end: float
    attributes: dict[str, Any]
    error: str
    kind: int
    resource: dict[str, Any]


class Collector:
    """The server, which runs inside a `with` statement. With `busy_seconds`, it asks to be tried again after them."""

    def __init__(self, busy_seconds: int = 0) -> None:
        self.busy_seconds = busy_seconds
        self.spans: list[ReceivedSpan] = []
        self.headers: list[dict[str, str]] = []
        self._server = _Server(self)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def environ(self) -> dict[str, str]:
        """The variables that send traces here."""
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.url, "OTEL_BSP_SCHEDULE_DELAY": "50", "NO_PROXY": "127.0.0.1"}

    def named(self, name: str) -> list[ReceivedSpan]:
        """The spans of a name, each id once, in the order of their beginnings."""
        found = {span.id: span for span in self.spans if span.name == name}
        return sorted(found.values(), key=lambda span: span.start)

    def receives(self, name: str, count: int = 1) -> list[ReceivedSpan]:
        """Wait until spans of a name have arrived, and return them."""
        until(lambda: len(self.named(name)) >= count)
        return self.named(name)

    def add(self, request: ExportTraceServiceRequest) -> None:
        for group in request.resource_spans:
            resource = _values(group.resource.attributes)
            for scope in group.scope_spans:
                self.spans += [_received(span, resource) for span in scope.spans]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, collector: Collector) -> None:
        super().__init__(("127.0.0.1", 0), _Receiving)
        self.collector = collector


class _Receiving(BaseHTTPRequestHandler):
    server: _Server

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def do_POST(self) -> None:
        """Take a batch."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        ok = self.path == "/v1/traces" and self.headers["Content-Type"] == "application/x-protobuf"
        if ok:
            self.server.collector.headers.append(dict(self.headers))
            self.server.collector.add(ExportTraceServiceRequest.FromString(body))
        busy_seconds = self.server.collector.busy_seconds
        self.send_response((503 if busy_seconds else 200) if ok else 404)
        if busy_seconds:
            self.send_header("Retry-After", str(busy_seconds))
        self.send_header("Content-Length", "0")
        self.end_headers()


def _received(span: Span, resource: dict[str, Any]) -> ReceivedSpan:
    trace, own, parent = (number.hex() for number in (span.trace_id, span.span_id, span.parent_span_id))
    start, end = span.start_time_unix_nano / 1e6, span.end_time_unix_nano / 1e6
    error = span.status.message if span.status.code == span.status.STATUS_CODE_ERROR else ""
    attributes = _values(span.attributes)
    return ReceivedSpan(span.name, trace, own, parent, start, end, attributes, error, span.kind, resource)


def _values(attributes: Any) -> dict[str, Any]:
    pairs: list[KeyValue] = list(attributes)
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(found: AnyValue) -> Any:
    kind = str(found.WhichOneof("value"))
    if kind == "array_value":
        return [_value(each) for each in found.array_value.values]
    assert kind in ("string_value", "int_value", "double_value", "bool_value")
    return getattr(found, kind)
