"""An agent for tests of workers, run as a program: it works through its plan without a model.

For each task, it notes `begin RUN TASK EPOCH` in the file `MARKS`, runs the shell command of its first argument, notes
`end …`, and completes the task. The command gets the number of the task in `TASK`.
"""

import os
import subprocess
import sys

from tildone.core.ops import Mark, Numbered
from tildone.core.plan import Status
from tildone.core.query import next_task
from tildone.dialects.by_hand import BY_HAND
from tildone.errors import RunFenced
from tildone.log.events import Actor
from tildone.log.fleet.lease import LEASE_VARIABLE, fence_in
from tildone.session import Session
from tildone.wiring import session_in, store_at

FENCED = 6


def main() -> int:
    """Be the agent."""
    session = session_in(store_at(os.environ["TILDONE_STORE"]), os.environ["TILDONE_SESSION"], BY_HAND)
    while found := next_task(session.plan):
        number = found[1].number
        mark(session, number, Status.IN_PROGRESS)
        note("begin", number)
        done = subprocess.run(["sh", "-c", sys.argv[1]], env=os.environ | {"TASK": str(number)}, check=False)
        if done.returncode:
            return done.returncode
        note("end", number)
        mark(session, number, Status.COMPLETED)
    return 0


def mark(session: Session, number: int, status: Status) -> None:
    session.change([Mark(Numbered((number,)), status)], actor=Actor.AGENT)


def note(what: str, number: int) -> None:
    fence = fence_in(os.environ[LEASE_VARIABLE])
    with open(os.environ["MARKS"], "a", encoding="utf-8") as file:
        file.write(f"{what} {fence.run} {number} {fence.epoch}\n")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RunFenced:
        sys.exit(FENCED)
