"""An agent for tests of workers, run as a program: it works through its plan without a model.

For each task, it notes `begin` in the file `MARKS` (see `marks`), runs the shell command of its first argument, notes
`end`, completes the task, and notes `done`. The command gets the run, the number of the task and the epoch in `RUN`,
`TASK` and `EPOCH`. While the store does not answer, it waits for it.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from time import sleep
from typing import TypeVar

from tests.fleet.drills.marks import note, shift_clock
from tildone.app.opening import session_in, store_at
from tildone.base import RunFenced, StoreError
from tildone.log.session import Session
from tildone.plan.dialects import BY_HAND
from tildone.plan.events import Actor
from tildone.plan.model import Status, next_task
from tildone.plan.ops import Mark, Numbered
from tildone.plan.runs import LEASE_VARIABLE, fence_in

FENCED = 6
T = TypeVar("T")


def main() -> int:
    """Be the agent."""
    fence = fence_in(os.environ[LEASE_VARIABLE])
    store = patiently(lambda: store_at(os.environ["TILDONE_STORE"]))
    session = patiently(lambda: session_in(store, os.environ["TILDONE_SESSION"], BY_HAND))
    while found := patiently(lambda: next_task(session.plan)):
        number = found[1].number
        mark(session, number, Status.IN_PROGRESS)
        note("begin", fence, number)
        own = {"RUN": fence.run, "TASK": str(number), "EPOCH": str(fence.epoch)}
        done = subprocess.run(["sh", "-c", sys.argv[1]], env=os.environ | own, check=False)
        if done.returncode:
            return done.returncode
        note("end", fence, number)
        mark(session, number, Status.COMPLETED)
        note("done", fence, number)
    return 0


def mark(session: Session, number: int, status: Status) -> None:
    patiently(lambda: session.change([Mark(Numbered((number,)), status)], actor=Actor.AGENT))


def patiently(action: Callable[[], T]) -> T:
    """Repeat an action while the store fails."""
    while True:
        try:
            return action()
        except RunFenced:
            raise
        except StoreError:
            sleep(0.2)


if __name__ == "__main__":
    shift_clock()
    try:
        sys.exit(main())
    except RunFenced:
        sys.exit(FENCED)
