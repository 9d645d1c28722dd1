"""Agents of the test of many hands: processes that work on the tasks of a shared plan until none is open.

The program starts one for each name on standard input, by a fork, and prints its process id; an empty line ends it once
all of them have ended, with their number of failures as exit code. Each agent writes a line to a file when it begins
and ends the work on a task: `begin TASK EPOCH AGENT TIME`, and `end`, or `refused` if the task has passed to another.
"""

import os
import sys
import time
import traceback
from pathlib import Path

from tildone.config import Settings
from tildone.core.plan import Plan, Status, Task
from tildone.core.query import is_ready
from tildone.core.touches import conflicting
from tildone.dialects import dialect_named
from tildone.log.address import parse_address
from tildone.log.events import Author
from tildone.log.store import Store
from tildone.loop.claiming import next_free
from tildone.session import Session
from tildone.wiring import open_session, open_store

SESSION = "release"
WORK_SECONDS = 0.004


class Worker:
    """One agent; `book` is the file of all of them."""

    def __init__(self, address: str, agent: str, folder: str, claim_seconds: int) -> None:
        self.agent = agent
        self._book = os.open(Path(folder) / "book", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        settings = Settings(
            parse_address(address), SESSION, folder, agents_dir=f"{folder}/agents", claim_seconds=claim_seconds
        )
        self.store: Store = open_store(settings)
        author = Author(agent=agent)
        self.session: Session = open_session(settings, dialect_named("brief"), self.store, lambda: author)

    def work(self) -> None:
        """Work until no task is open."""
        while any(task.status.is_open for task in self.session.plan.tasks):
            own = self._own()
            if own:
                self._finish(*own)
            elif task := self._choice(self._seen_plan(), self.session.taken()):
                self.session.call("todo", {"start": task.number})
            else:
                time.sleep(0.05)

    def _seen_plan(self) -> Plan:
        """Return the plan as a model knows it: from the reply to a call."""
        self.session.call("todo", {})
        return self.session.last_state.plan

    def _own(self) -> tuple[int, int] | None:
        claims = [claim for claim in self.store.claims(SESSION) if claim.agent == self.agent]
        return (claims[0].task, claims[0].epoch) if claims else None

    def _choice(self, plan: Plan, taken: frozenset[int]) -> Task | None:
        """Return a task that an agent left behind, or else the next one."""
        left = [task for task in plan.tasks if task.status is Status.IN_PROGRESS and task.number not in taken]
        free = [task for task in left if is_ready(plan, task) and not conflicting(plan, task, taken)]
        return free[0] if free else next_free(plan, taken)

    def _finish(self, number: int, epoch: int) -> None:
        self._write("begin", number, epoch, time.monotonic_ns())
        time.sleep(WORK_SECONDS)
        # With the call, others may start what had to wait for this task.
        ended = time.monotonic_ns()
        self.session.call("todo", {"done": number})
        self._write("refused" if "has passed to" in self.session.news_of_claims else "end", number, epoch, ended)

    def _write(self, what: str, number: int, epoch: int, at: int) -> None:
        os.write(self._book, f"{what} {number} {epoch} {self.agent} {at}\n".encode())


def main(address: str, folder: str, seconds: str) -> int:
    """Start agents until the input ends, and wait for them; one that was killed has not failed."""
    started = []
    for line in iter(sys.stdin.readline, "\n"):
        pid = os.fork()
        if not pid:
            try:
                Worker(address, line.strip(), folder, int(seconds)).work()
            except BaseException:  # noqa: BLE001  whatever it is, the child must not return
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        started.append(pid)
        print(pid, flush=True)
    ended = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in started]
    return sum(code > 0 for code in ended)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
