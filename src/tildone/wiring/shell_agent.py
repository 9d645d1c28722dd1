"""The process of the shell agent: `python -m tildone.wiring.shell_agent`.

The environment names the store and the plan.
"""

from __future__ import annotations

import os
import sys

from tildone.agents.identity import AgentId
from tildone.config import load
from tildone.dialects.by_hand import BY_HAND
from tildone.errors import TildoneError
from tildone.fleet.shell_agent import ShellAgent
from tildone.log.events import Author
from tildone.value import replace
from tildone.views.sanitize import printable
from tildone.wiring import open_session, open_store

AGENT = "shell"
CLAIM_SECONDS = 86_400
"""For how long it claims a task. Whoever goes on with the run is the same agent, and need not wait for it."""


def main() -> int:
    """Work through the plan, and return the exit code."""
    try:
        settings = replace(load({}, os.environ, os.getcwd()), claim_seconds=CLAIM_SECONDS)
        author = Author(agent=str(_identity()))
        session = open_session(settings, BY_HAND, open_store(settings), lambda: author)
        return ShellAgent(session, _print).work()
    except TildoneError as error:
        sys.stderr.write(f"tildone: {printable(str(error))}\n")
        return error.exit_code


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _identity() -> AgentId:
    """Return who this agent is: the hand of its run, whichever worker has it; else this process."""
    run, _, _epoch = os.environ.get("TILDONE_LEASE", "").rpartition("/")
    return AgentId(AGENT, conversation=run) if run else AgentId(AGENT, pid=os.getpid())


if __name__ == "__main__":
    sys.exit(main())
