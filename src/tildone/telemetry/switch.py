"""Whether traces are sent, and where: decided by the standard variables of OpenTelemetry and by `[telemetry]`.

This module is cheap to import. What it decides is carried out by `exporting`, which is imported only if traces are on.
"""

from __future__ import annotations

from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tildone.config.telemetry import TelemetryConfig

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
