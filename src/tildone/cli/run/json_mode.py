"""The JSON mode: the header of the conversation, then every event, one JSON object per line."""

from __future__ import annotations

import json
import os
import sys

from tildone.cli.run.headless import run_headless
from tildone.cli.run.outcome import report_on_stderr
from tildone.cli.run.setup import RunSetup
from tildone.host.event_codec import encode_event
from tildone.host.wire import JsonObject
from tildone.wiring.unattended import unattended_ui


async def run(setup: RunSetup) -> int:
    """Run the agent and print its events."""
    if setup.prompt is None:
        return setup.nothing_to_do()
    host = setup.open(unattended_ui(os.environ))
    _put(host.transcript.header)
    host.listen(lambda event: _put(encode_event(event)))
    return report_on_stderr(await run_headless(setup, host))


def _put(record: JsonObject) -> None:
    sys.stdout.write(f"{json.dumps(record)}\n")
    sys.stdout.flush()
