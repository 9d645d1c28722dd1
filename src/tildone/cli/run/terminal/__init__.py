"""The terminal mode: prints events line by line; an interactive terminal also shows the plan and an input line."""

from __future__ import annotations

import sys

from tildone.cli.run.event_renderer import EventRenderer
from tildone.cli.run.headless import run_headless
from tildone.cli.run.line_output import LineOutput
from tildone.cli.run.meter import RunMeter
from tildone.cli.run.outcome import RunOutcome
from tildone.cli.run.setup import RunSetup
from tildone.cli.run.terminal.interactive import InteractiveRun
from tildone.cli.run.terminal.tty import is_interactive
from tildone.cli.run.terminal.ui import ROLES
from tildone.host.ui import NoUI
from tildone.kit.components import Text
from tildone.kit.theme import Role


async def run(setup: RunSetup) -> int:
    """Run the agent, then print its outcome and the command that shows its history."""
    if setup.prompt is None and not (is_interactive() and setup.can_ask):
        return setup.nothing_to_do()
    meter = RunMeter()
    if is_interactive():
        interactive = InteractiveRun(setup, meter)
        outcome = await interactive.run()
        renderer = EventRenderer(interactive.host, LineOutput(sys.stdout))
        return report_outcome(setup, renderer, meter, outcome)
    notices = Notices()
    host = setup.open(notices)
    renderer = notices.renderer = EventRenderer(host, LineOutput(sys.stdout))
    host.listen(meter.feed)
    host.listen(renderer.render)
    return report_outcome(setup, renderer, meter, await run_headless(setup, host))


class Notices(NoUI):
    """A UI that writes messages and declines every question."""

    renderer: EventRenderer | None = None

    def notify(self, message: str, kind: str = "info") -> None:
        """Write the message."""
        if self.renderer is not None:
            self.renderer.put(Text(message, ROLES.get(kind, Role.MUTED)))


def report_outcome(setup: RunSetup, renderer: EventRenderer, meter: RunMeter, outcome: RunOutcome) -> int:
    """Write the last lines of a run, and return its exit code."""
    if meter.worked_seconds:
        renderer.put(Text(meter.summary(), Role.DIM))
    if not outcome.reported:
        renderer.put(Text(f"✗ {outcome.reason}", Role.WARNING))
    for line in filter(None, (outcome.next_step, setup.report.log_hint())):
        renderer.put(Text(line, Role.DIM))
    return outcome.code
