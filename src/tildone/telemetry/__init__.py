"""Telemetry: traces of runs, tasks and model calls (extra `otel`), and the figures behind the board's `/metrics`."""
