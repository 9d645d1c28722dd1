"""Spans are sent in the background: a collector that is gone, slow or strict delays and breaks nothing."""

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.suite.waiting import LIMIT_SECONDS, until
from tests.telemetry.collector import Collector
from tildone.app.traces import CONSOLE, MAX_CHARACTERS, SpanSink, TraceSettings, open_sink
from tildone.plan.history.spans import TraceSpan

SPAN = TraceSpan("a", 1, 2, 0, 1000, 2000, {"text": "x"})


@contextmanager
def sink(settings: TraceSettings) -> Iterator[SpanSink]:
    opened = open_sink(settings, os.environ, print)
    assert opened
    yield opened
    opened.close(60)


def ended(before: set[threading.Thread]) -> None:
    """Wait until the threads that were started since have ended: they would tell the next test of their failures."""
    threads = [thread for thread in threading.enumerate() if thread not in before]
    for thread in threads:
        thread.join(LIMIT_SECONDS)
    assert [thread.name for thread in threads if thread.is_alive()] == []


def test_what_a_collector_could_not_encode_is_made_valid() -> None:
    with Collector() as collector, sink(TraceSettings(endpoint=f"{collector.url}/v1/traces")) as opened:
        opened.add([TraceSpan("a", 1, 2, 3, 1, 2, {"text": "\ud800" + "y" * 2 * MAX_CHARACTERS, "list": ("a", "b")})])
        [span] = collector.receives("a")

    assert span.attributes == {"text": "?" + "y" * (MAX_CHARACTERS - 1), "list": ["a", "b"]}
    assert (span.trace, span.id, span.parent) == (f"{1:032x}", f"{2:016x}", f"{3:016x}")


def test_the_standard_variables_are_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    with Collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc")
        monkeypatch.setenv("OTEL_SERVICE_NAME", "night shift")
        with sink(TraceSettings()) as opened:
            opened.add([SPAN])
            [span] = collector.receives("a")
        monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
        with sink(TraceSettings()) as opened:
            opened.add([TraceSpan("b", 1, 2, 0, 1, 2, {})])

    assert collector.headers[0]["authorization"] == "Bearer abc"
    assert span.resource["service.name"] == "night shift"
    assert collector.named("b") == []


def test_a_collector_that_is_gone_is_told_once() -> None:
    with Collector() as gone:
        settings = TraceSettings(endpoint=f"{gone.url}/v1/traces")
    before, told = set(threading.enumerate()), list[str]()
    opened = open_sink(settings, {"OTEL_BSP_SCHEDULE_DELAY": ""}, told.append)
    assert opened
    for _ in range(3):
        opened.add([SPAN] * 600)
    opened.close()
    ended(before)

    assert len(told) == 1
    assert told[0].startswith("traces are not sent: ")


def test_nothing_is_tried_again_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """By itself, the SDK gives up after 30 seconds; here, after an hour."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "3600")
    monkeypatch.setattr("opentelemetry.sdk._shared_internal.BatchProcessor.shutdown.__defaults__", (3_600_000,))
    before, told = set(threading.enumerate()), list[str]()
    with Collector(busy_seconds=1800) as busy:
        opened = open_sink(TraceSettings(endpoint=f"{busy.url}/v1/traces"), {}, told.append)
        assert opened
        opened.add([SPAN])
        until(lambda: told)
        opened.close(0)

    ended(before)


def test_a_collector_that_does_not_answer_delays_the_end_for_a_limited_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request to it has a limit of 10 minutes here."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "600")
    before = set(threading.enumerate())
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings = TraceSettings(endpoint=f"http://127.0.0.1:{silent.getsockname()[1]}/v1/traces")
        opened = open_sink(settings, {}, print)
        assert opened
        opened.add([SPAN])
        began = time.monotonic()
        opened.close(0.2)

    assert time.monotonic() - began < 120
    ended(before)


def test_spans_can_be_printed_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    with sink(TraceSettings(CONSOLE)) as opened:
        opened.add([SPAN])

    printed = capfd.readouterr()
    assert printed.out == ""
    assert '"name": "a"' in printed.err


def test_without_the_package_the_person_is_told_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.sdk.trace.export", None)
    told: list[str] = []

    assert open_sink(TraceSettings(), {}, told.append) is None
    assert len(told) == 1
    assert told[0].startswith("traces are off: the package opentelemetry is missing: ")
