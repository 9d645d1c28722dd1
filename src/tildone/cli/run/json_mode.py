"""The mode for programs: the header of the session, then every event, one JSON object a line."""

from __future__ import annotations

import json
import sys

from tildone.cli.run.headless import run_headless
from tildone.cli.run.setup import RunSetup
from tildone.host.dispatcher import Event


async def run(stage: RunSetup) -> int:
    """Do what is to be done, and tell every step of it."""
    host = stage.open()
    _put(host.transcript.header)
    host.listen(_put)
    return (await run_headless(stage, host)).exit()


def _put(record: Event) -> None:
    sys.stdout.write(f"{json.dumps(record)}\n")
    sys.stdout.flush()
