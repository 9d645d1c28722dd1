"""`tildone run` in full screen, and what is left on the normal screen afterwards."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

from tildone.base import replace
from tildone.cli.output import columns, put_spans
from tildone.cli.run.headless import closing
from tildone.cli.run.lines import EventRenderer, LineOutput, RunOutcome
from tildone.cli.run.setup import RunSetup
from tildone.cli.run.terminal import can_be_drawn_on, report_outcome
from tildone.cli.table import ParsedArgs
from tildone.plan.text.lists import plan_lines
from tildone.plan.text.styles import Role
from tildone.run.host import Host
from tildone.run.kit.components import Markdown
from tildone.run.messages import last_answer, text_of
from tildone.run.metering import RunMeter
from tildone.run.tools.commands import on_signals


def is_possible(args: ParsedArgs, setup: RunSetup) -> bool:
    """Return whether the run can be shown in full screen, and nothing asks for lines."""
    wanted = setup.mode == "terminal" and not args.has("plain") and not setup.settings.accessible
    return wanted and can_be_drawn_on() and find_spec("textual") is not None


async def run(setup: RunSetup) -> int:
    """Run the agent in full screen until the person leaves, or until it is over if they can only watch."""
    # Optional extra, and slow to import.
    from tildone.screens.run.app import RunApp  # noqa: PLC0415  see above
    from tildone.screens.widgets.keys import theme_for  # noqa: PLC0415  see above

    if not setup.can_ask:
        # Nothing slow has to be loaded, and what cannot start is said without a screen.
        setup.prepare()
        if setup.prompt is None:
            return setup.nothing_to_do()
    meter = RunMeter()
    notices: list[str] = []
    setup.notify = notices.append
    app = RunApp(
        setup,
        meter,
        theme=theme_for(os.environ, setup.settings.theme),
        patience=setup.patience,
        notices=notices,
    )
    with on_signals(lambda number: app.leave(128 + number)):
        await app.run_async()
    host, failure = app.conversation.host, app.conversation.failure
    if host is not None:
        async with closing(host):
            outcome = _outcome(setup, host, app.code)
        if failure is None and app.return_code in (None, 0):
            return _report(setup, host, meter, outcome)
    if failure is not None:
        raise failure
    return app.return_code or app.code


def _outcome(setup: RunSetup, host: Host, code: int) -> RunOutcome:
    if code:
        return setup.report.interrupted(host, code)
    spoken = bool(host.transcript.messages())
    next_step = setup.report.next_step(host) if spoken and setup.can_ask else ""
    if host.is_running or setup.prompt is None:
        return RunOutcome(0, next_step=next_step)
    outcome = setup.report.outcome(host)
    return replace(outcome, next_step=outcome.next_step or next_step)


def _report(setup: RunSetup, host: Host, meter: RunMeter, outcome: RunOutcome) -> int:
    """Leave the last answer, the plan and the next steps on the normal screen."""
    renderer = EventRenderer(host, LineOutput(sys.stdout))
    last = last_answer(host.transcript.messages())
    if last is not None and (text := text_of(last).strip()):
        renderer.put(Markdown(text, Role.TEXT))
    if setup.plan.tasks:
        put_spans([(), *plan_lines(setup.plan, columns()), ()])
    return report_outcome(setup, renderer, meter, outcome)
