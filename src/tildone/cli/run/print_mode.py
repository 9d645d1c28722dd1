"""The mode for scripts: the last answer on standard output, and nothing else there."""

from __future__ import annotations

import sys

from tildone.cli.output.screen import put_raw
from tildone.cli.run.event_renderer import EventRenderer
from tildone.cli.run.headless import run_headless
from tildone.cli.run.line_output import LineOutput
from tildone.cli.run.setup import RunSetup
from tildone.host.host import Host
from tildone.host.messages import text_of


async def run(stage: RunSetup) -> int:
    """Do what is to be done; somebody who watches standard error sees how it goes.

    Raises:
        TildoneError: it was not done.
    """
    host = stage.open()
    if sys.stderr.isatty():
        story = EventRenderer(host, LineOutput(sys.stderr))
        # What the model says is left out: the last of it is the answer, and that is printed.
        host.listen(lambda event: story.hear(event) if event["type"] != "message_update" else None)
    verdict = await run_headless(stage, host)
    answer = last_answer(host)
    if answer:
        put_raw(answer)
    return verdict.exit()


def last_answer(host: Host) -> str:
    """The words that the model ended with."""
    said = [text_of(message) for message in host.transcript.messages() if message["role"] == "assistant"]
    return said[-1] if said else ""
