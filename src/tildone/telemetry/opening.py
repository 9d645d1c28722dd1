"""Opens traces from settings, for commands: nothing is imported and nothing is done while they are off."""

from __future__ import annotations

from tildone.config.telemetry import telemetry_config
from tildone.telemetry.switch import trace_settings
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tildone.config import Settings
    from tildone.history.spans import ShownText
    from tildone.log.store import Store
    from tildone.telemetry.exporting import SpanSink
    from tildone.telemetry.following import RunTraces
    from tildone.telemetry.host_traces import HostTraces

    Opened = tuple[SpanSink, ShownText] | None


def open_run_traces(
    settings: Settings, store: Store, environ: Mapping[str, str], tell: Callable[[str], None]
) -> RunTraces | None:
    """Return what tells of the runs of a worker; None if traces are off."""
    opened = _open(settings, environ, tell)
    if opened is None:
        return None
    # Late, because traces are off by default.
    from tildone.telemetry.following import RunTraces  # noqa: PLC0415  see above

    return RunTraces(store, *opened)


def open_host_traces(
    settings: Settings, store: Store, environ: Mapping[str, str], tell: Callable[[str], None]
) -> HostTraces | None:
    """Return what tells of the work of `tildone run`; None if traces are off.

    Raises:
        UsageError: the environment names a lease in another form.
    """
    opened = _open(settings, environ, tell)
    if opened is None:
        return None
    # Late, for the same reason.
    import os  # noqa: PLC0415  see above

    from tildone.ids import id_maker, now  # noqa: PLC0415  the same
    from tildone.telemetry.host_traces import HostTraces, trace_context  # noqa: PLC0415  the same

    sink, shown = opened
    new_id = id_maker(now, os.urandom)
    return HostTraces(store, settings.session, sink, trace_context(environ), now=now, new_id=new_id, shown=shown)


def _open(settings: Settings, environ: Mapping[str, str], tell: Callable[[str], None]) -> Opened:
    chosen = trace_settings(telemetry_config(dict(settings.telemetry)), environ)
    if chosen is None:
        return None
    # Late, for the same reason.
    from tildone.agents.secrets import Redactor  # noqa: PLC0415  see above
    from tildone.telemetry.exporting import open_sink  # noqa: PLC0415  the same

    sink = open_sink(chosen, environ, tell)
    return None if sink is None else (sink, Redactor(environ).text if chosen.content else None)
