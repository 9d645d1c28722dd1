"""Traces are off by default and switched on by settings.

Spans are sent in the background, and no collector delays anything.
"""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.suite.waiting import LIMIT_SECONDS, until
from tests.telemetry.collector import Collector
from tildone.app.settings import load
from tildone.app.settings_file import TelemetryConfig, table_fault
from tildone.app.traces import CONSOLE, MAX_CHARACTERS, SpanSink, TraceSettings, open_sink, trace_settings
from tildone.base import UsageError
from tildone.base.secrets import command_environment
from tildone.fleet.drivers.launch import AgentContext, agent_environment
from tildone.fleet.drivers.run import launch
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


def test_a_collector_that_is_gone_is_told_once_and_nothing_is_tried_again_after_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By itself, the SDK gives up after 30 seconds; here, after an hour."""
    with Collector() as gone:
        settings = TraceSettings(endpoint=f"{gone.url}/v1/traces")
    before, told = set(threading.enumerate()), list[str]()
    opened = open_sink(settings, {"OTEL_BSP_SCHEDULE_DELAY": ""}, told.append)
    assert opened
    for _ in range(3):
        opened.add([SPAN] * 600)
    opened.close()
    ended(before)
    assert [line.startswith("traces are not sent: ") for line in told] == [True]

    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "3600")
    monkeypatch.setattr("opentelemetry.sdk._shared_internal.BatchProcessor.shutdown.__defaults__", (3_600_000,))
    told.clear()
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


def test_spans_can_be_printed_and_without_the_package_the_person_is_told_how_to_install_it(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with sink(TraceSettings(CONSOLE)) as opened:
        opened.add([SPAN])

    printed = capfd.readouterr()
    assert printed.out == ""
    assert '"name": "a"' in printed.err

    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.sdk.trace.export", None)
    told: list[str] = []

    assert open_sink(TraceSettings(), {}, told.append) is None
    assert len(told) == 1
    assert told[0].startswith("traces are off: the package opentelemetry is missing: ")


ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
URL = "http://collector:4318"


def test_traces_are_off_by_default_and_on_by_the_environment_or_the_settings() -> None:
    off = [{}, {ENDPOINT: ""}, {"OTEL_TRACES_EXPORTER": "zipkin"}]
    off += [{ENDPOINT: URL} | more for more in ({"OTEL_SDK_DISABLED": "true"}, {"OTEL_TRACES_EXPORTER": "none"})]
    on = [{ENDPOINT: URL, "OTEL_SDK_DISABLED": "false"}, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": URL}]
    none = TelemetryConfig()

    assert [environ for environ in off if trace_settings(none, environ)] == []
    found = [trace_settings(none, environ) for environ in (*on, {"OTEL_TRACES_EXPORTER": "otlp"})]
    assert found == [TraceSettings()] * 3
    assert trace_settings(none, {"OTEL_TRACES_EXPORTER": "console"}) == TraceSettings("console")
    own = TelemetryConfig(f"{URL}/", content=True)
    assert trace_settings(own, {}) == TraceSettings(endpoint=f"{URL}/v1/traces", content=True)
    # The environment comes before the settings.
    assert trace_settings(own, {ENDPOINT: "http://other"}) == TraceSettings(content=True)
    assert trace_settings(own, {"OTEL_SDK_DISABLED": "TRUE"}) is None
    grpc = trace_settings(none, {ENDPOINT: URL, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})
    assert grpc == TraceSettings(protocol="grpc")


def test_the_table_of_settings_is_checked() -> None:
    assert table_fault("telemetry", {"endpoint": URL, "content": False}) == ""
    for table, fault in [
        ("on", "telemetry must be a table"),
        ({"endpoint": "collector:4318"}, "endpoint must be an address without a password"),
        ({"endpoint": "http://me:word@collector"}, "endpoint must be an address without a password"),
        ({"content": "yes"}, "content must be true or false"),
        ({"on": True}, "there is no setting 'on'; known are endpoint, content"),
    ]:
        assert fault in table_fault("telemetry", table)


def test_the_settings_are_those_of_the_person_not_those_of_a_repository(tmp_path: Path) -> None:
    config = tmp_path / "tildone" / "config.toml"
    config.parent.mkdir()
    (tmp_path / "tildone.toml").write_text('[telemetry]\nendpoint = "http://evil"\n', encoding="utf-8")
    environ = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    assert load({}, environ, str(tmp_path)).telemetry == ()

    config.write_text(f'[telemetry]\nendpoint = "{URL}"\n', encoding="utf-8")
    assert load({}, environ, str(tmp_path)).telemetry == (("endpoint", URL),)
    config.write_text("[telemetry]\nendpoint = 1\n", encoding="utf-8")
    with pytest.raises(UsageError, match="endpoint must be"):
        load({}, environ, str(tmp_path))


def test_the_headers_of_the_exporter_are_secret_from_agents_and_their_commands(tmp_path: Path) -> None:
    environ = {"OTEL_EXPORTER_OTLP_HEADERS": "authorization=x", ENDPOINT: URL, "TRACEPARENT": "00-1-1-01"}
    context = AgentContext(str(tmp_path), "s.db", "s", "", "", (), environ)

    assert "OTEL_EXPORTER_OTLP_HEADERS" not in agent_environment(context)
    assert agent_environment(context)["TRACEPARENT"] == "00-1-1-01"
    assert launch(context).environ["OTEL_EXPORTER_OTLP_HEADERS"] == "authorization=x"
    assert "OTEL_EXPORTER_OTLP_HEADERS" not in command_environment(environ)


def test_while_traces_are_off_nothing_of_opentelemetry_is_imported() -> None:
    program = """
import sys, tildone.run.metering, tildone.cli.fleet.work, tildone.cli.run.setup, tildone.fleet.worker
from tildone.run.metering import open_host_traces, open_run_traces
from tildone.app.settings import load
settings = load({}, {"HOME": "/"}, "/")
assert open_run_traces(settings, None, {}, print) is None
assert open_host_traces(settings, None, {}, print) is None
loaded = {name.split(".")[0] for name in sys.modules}
assert not loaded & {"opentelemetry", "google", "requests"}, loaded
"""
    environ = {name: text for name, text in os.environ.items() if not name.startswith("OTEL_")}
    subprocess.run([sys.executable, "-c", program], env=environ, check=True)
