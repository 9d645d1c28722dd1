"""The mode for people: what happens, line by line, and at a terminal the plan and the typed line below it."""

from __future__ import annotations

import sys

from tildone.cli.run.event_renderer import EventRenderer
from tildone.cli.run.headless import run_headless
from tildone.cli.run.line_output import LineOutput
from tildone.cli.run.setup import RunOutcome, RunSetup
from tildone.cli.run.terminal.interactive import InteractiveRun
from tildone.cli.run.terminal.tty import is_interactive
from tildone.cli.run.terminal.ui import ROLES
from tildone.errors import UsageError
from tildone.host.host import Host
from tildone.host.ui import NoUI
from tildone.kit.components import Text
from tildone.kit.theme import Role


async def run(setup: RunSetup) -> int:
    """Do what is to be done, then say where to read about it."""
    if is_interactive():
        person = InteractiveRun(setup)
        verdict = await person.run()
        return farewell(setup, person.host, EventRenderer(person.host, LineOutput(sys.stdout)), verdict)
    if setup.prompt is None:
        raise UsageError("what is to be done? Nobody can type here: tildone run TASK, PLAN.md, or - for standard input")
    notices = Notices()
    host = setup.open(notices)
    renderer = notices.renderer = EventRenderer(host, LineOutput(sys.stdout))
    host.listen(renderer.render)
    return farewell(setup, host, renderer, await run_headless(setup, host))


class Notices(NoUI):
    """Nobody can answer, but messages are written."""

    renderer: EventRenderer | None = None

    def notify(self, message: str, kind: str = "info") -> None:
        """Write the message."""
        if self.renderer is not None:
            self.renderer.put(Text(message, ROLES.get(kind, Role.MUTED)))


def farewell(setup: RunSetup, host: Host, renderer: EventRenderer, verdict: RunOutcome) -> int:
    """The last lines of a run, and its exit code."""
    if not verdict.heard:
        renderer.put(Text(f"✗ {verdict.why}", Role.WARNING))
    hint = setup.hint(host)
    if hint:
        renderer.put(Text(hint, Role.DIM))
    return verdict.code
