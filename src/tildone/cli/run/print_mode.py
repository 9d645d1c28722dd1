"""The mode for scripts: the last answer on standard output, and nothing else there."""

from __future__ import annotations

import sys

from tildone.cli.output.screen import put_raw
from tildone.cli.run.event_renderer import EventRenderer
from tildone.cli.run.headless import run_headless
from tildone.cli.run.line_output import LineOutput
from tildone.cli.run.setup import RunSetup
from tildone.host.events import MessageUpdate
from tildone.host.messages import last_answer, text_of


async def run(stage: RunSetup) -> int:
    """Do what is to be done; somebody who watches standard error sees how it goes.

    Raises:
        TildoneError: it was not done.
    """
    host = stage.open()
    if sys.stderr.isatty():
        renderer = EventRenderer(host, LineOutput(sys.stderr))
        # What the model says is left out: the last of it is the answer, and that is printed.
        host.listen(lambda event: renderer.render(event) if not isinstance(event, MessageUpdate) else None)
    verdict = await run_headless(stage, host)
    answer = last_answer(host.transcript.messages())
    if answer is not None and text_of(answer):
        put_raw(text_of(answer))
    return verdict.exit()
