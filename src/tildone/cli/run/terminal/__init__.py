"""The terminal mode: prints events line by line; an interactive terminal also shows the plan and an input line."""

from __future__ import annotations

import sys

from tildone.cli.run.event_renderer import EventRenderer
from tildone.cli.run.headless import run_headless
from tildone.cli.run.line_output import LineOutput
from tildone.cli.run.setup import RunSetup
from tildone.cli.run.terminal.interactive import InteractiveRun
from tildone.cli.run.terminal.report import report_outcome
from tildone.cli.run.terminal.tty import is_interactive
from tildone.cli.run.terminal.ui import ROLES
from tildone.host.meter import RunMeter
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
