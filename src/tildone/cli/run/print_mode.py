"""The print mode: only the last answer goes to standard output."""

from __future__ import annotations

import sys

from tildone.cli.output.screen import put_raw
from tildone.cli.run.event_renderer import EventRenderer
from tildone.cli.run.headless import run_headless
from tildone.cli.run.line_output import LineOutput
from tildone.cli.run.outcome import report_on_stderr
from tildone.cli.run.setup import RunSetup
from tildone.host.events import MessageUpdate
from tildone.host.messages import last_answer, text_of


async def run(setup: RunSetup) -> int:
    """Run the agent and print its last answer; progress goes to standard error if that is a terminal."""
    if setup.prompt is None:
        return setup.nothing_to_do()
    host = setup.open()
    if sys.stderr.isatty():
        renderer = EventRenderer(host, LineOutput(sys.stderr))
        # Streamed text is left out: the last answer is printed anyway.
        host.listen(lambda event: renderer.render(event) if not isinstance(event, MessageUpdate) else None)
    outcome = await run_headless(setup, host)
    answer = last_answer(host.transcript.messages())
    if answer is not None and text_of(answer):
        put_raw(text_of(answer))
    return report_on_stderr(outcome)
