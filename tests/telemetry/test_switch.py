"""Traces are off by default; the standard variables and the person's settings switch them on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tildone.app.settings import load
from tildone.app.settings_file import TelemetryConfig, telemetry_fault
from tildone.app.traces import TraceSettings, trace_settings
from tildone.base.errors import UsageError
from tildone.base.secrets import command_environment
from tildone.fleet.drivers.launch import AgentContext, agent_environment
from tildone.fleet.drivers.run import launch

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
URL = "http://collector:4318"


def test_traces_are_off() -> None:
    off = [
        {},
        {ENDPOINT: ""},
        {ENDPOINT: URL, "OTEL_SDK_DISABLED": "true"},
        {ENDPOINT: URL, "OTEL_TRACES_EXPORTER": "none"},
        {"OTEL_TRACES_EXPORTER": "zipkin"},
    ]

    assert [environ for environ in off if trace_settings(TelemetryConfig(), environ)] == []


def test_traces_are_on() -> None:
    none = TelemetryConfig()

    assert trace_settings(none, {ENDPOINT: URL, "OTEL_SDK_DISABLED": "false"}) == TraceSettings()
    assert trace_settings(none, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": URL}) == TraceSettings()
    assert trace_settings(none, {"OTEL_TRACES_EXPORTER": "otlp"}) == TraceSettings()
    assert trace_settings(none, {"OTEL_TRACES_EXPORTER": "console"}) == TraceSettings("console")
    own = TelemetryConfig(f"{URL}/", content=True)
    assert trace_settings(own, {}) == TraceSettings(endpoint=f"{URL}/v1/traces", content=True)
    # The environment comes before the settings.
    assert trace_settings(own, {ENDPOINT: "http://other"}) == TraceSettings(content=True)
    assert trace_settings(own, {"OTEL_SDK_DISABLED": "TRUE"}) is None
    assert trace_settings(none, {ENDPOINT: URL, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}) == TraceSettings(
        protocol="grpc"
    )


def test_the_table_of_settings_is_checked() -> None:
    assert telemetry_fault({"endpoint": URL, "content": False}) == ""
    for table, fault in [
        ("on", "telemetry must be a table"),
        ({"endpoint": "collector:4318"}, "endpoint must be an address without a password"),
        ({"endpoint": "http://me:word@collector"}, "endpoint must be an address without a password"),
        ({"content": "yes"}, "content must be true or false"),
        ({"on": True}, "there is no setting 'on'; known are endpoint, content"),
    ]:
        assert fault in telemetry_fault(table)


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
    """Nor is what would use it."""
    program = """
import sys, tildone.run.traces, tildone.cli.fleet.work, tildone.cli.run.setup, tildone.fleet.worker
from tildone.telemetry.opening import open_host_traces, open_run_traces
from tildone.config import load
settings = load({}, {"HOME": "/"}, "/")
assert open_run_traces(settings, None, {}, print) is None
assert open_host_traces(settings, None, {}, print) is None
loaded = {name.split(".")[0] for name in sys.modules}
assert not loaded & {"opentelemetry", "google", "requests"}, loaded
assert "tildone.app.traces" not in sys.modules
"""
    environ = {name: text for name, text in os.environ.items() if not name.startswith("OTEL_")}
    subprocess.run([sys.executable, "-c", program], env=environ, check=True)
