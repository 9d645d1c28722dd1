"""The last lines of a run at a terminal."""

from __future__ import annotations

from tildone.cli.run.event_renderer import EventRenderer
from tildone.cli.run.outcome import RunOutcome
from tildone.cli.run.setup import RunSetup
from tildone.host.meter import RunMeter
from tildone.kit.components import Text
from tildone.kit.theme import Role


def report_outcome(setup: RunSetup, renderer: EventRenderer, meter: RunMeter, outcome: RunOutcome) -> int:
    """Write the last lines of a run, and return its exit code."""
    if meter.worked_seconds:
        renderer.put(Text(meter.summary(), Role.DIM))
    if not outcome.reported:
        renderer.put(Text(f"✗ {outcome.reason}", Role.WARNING))
    for line in filter(None, (outcome.next_step, setup.report.log_hint())):
        renderer.put(Text(line, Role.DIM))
    return outcome.code
