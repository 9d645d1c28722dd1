"""The terminal mode: prints what happens, line by line. Where input and output are a terminal, the person is asked."""

from __future__ import annotations

import os
import sys

from tildone.cli.run.headless import run_headless
from tildone.cli.run.lines import EventRenderer, LineOutput, RunOutcome
from tildone.cli.run.plain import PlainRun
from tildone.cli.run.plain_ui import ROLES
from tildone.cli.run.setup import RunSetup
from tildone.plan.text.styles import Role
from tildone.run.extension import NoUI
from tildone.run.kit.components import Text
from tildone.run.metering import RunMeter


async def run(setup: RunSetup) -> int:
    """Run the agent, then print its outcome and the command that shows its history."""
    if setup.prompt is None and not (is_interactive() and setup.can_ask):
        return setup.nothing_to_do()
    meter = RunMeter()
    if is_interactive():
        plain = PlainRun(setup, meter)
        outcome = await plain.run()
        return report_outcome(setup, plain.renderer, meter, outcome)
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
        if self.renderer is not None:
            self.renderer.put(Text(message, ROLES.get(kind, Role.MUTED)))


def is_interactive() -> bool:
    """Return whether a person can be asked: input and output are a terminal."""
    if sys.platform == "win32":  # asyncio cannot wait for its console
        return False
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def can_be_drawn_on() -> bool:
    """Return whether the terminal can show a full screen."""
    return is_interactive() and os.environ.get("TERM") != "dumb"


def report_outcome(setup: RunSetup, renderer: EventRenderer, meter: RunMeter, outcome: RunOutcome) -> int:
    if meter.worked_seconds:
        renderer.put(Text(meter.summary(), Role.DIM))
    if not outcome.reported:
        renderer.put(Text(f"✗ {outcome.reason}", Role.WARNING))
    for line in filter(None, (outcome.next_step, setup.report.log_hint())):
        renderer.put(Text(line, Role.DIM))
    return outcome.code
