"""Agents of the drill of many hands: processes that work on the tasks of a shared plan until none is open.

The program starts one for each name on standard input, by a fork, and prints its process id; an empty line ends it once
all of them have ended, with their number of failures as exit code. Each agent writes a line to a file when it begins
and ends the work on a task: `begin TASK EPOCH AGENT TIME`, and `end`, or `refused` if the task has passed to another.

An agent that finds a file `stop-…` removes it, writes `stop`, and stops itself, after it has computed that a task is
done and before it appends that: so it goes on with what it knew. Its lease is shortened first. It writes `stale` if the
store then refuses the event.
"""

import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tildone.app.opening import open_agents, open_session, open_store, store_at
from tildone.app.settings import Settings
from tildone.base import HeadMoved
from tildone.base.ids import now
from tildone.log.session import Session
from tildone.log.store import Store
from tildone.plan.claims import Claim, ClaimFence, Fenced, next_free
from tildone.plan.dialects import dialect_named
from tildone.plan.events import Author, Event
from tildone.plan.model import Plan, Status, Task, conflicting, is_ready
from tildone.stores import parse_address
from tildone.stores.agents import Agent, AgentId, start_time

SESSION = "release"
BOOK = "book"
WORK_SECONDS = 0.004
WAIT_SECONDS = 0.1
STOPPED_LEASE_MS = 500


class Worker:
    """One agent, registered with its process; the book in the folder is that of all of them."""

    def __init__(self, address: str, agent: str, folder: str, claim_seconds: int) -> None:
        self.agent = agent
        self._folder = Path(folder)
        self._book = os.open(self._folder / BOOK, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        settings = Settings(
            parse_address(address), SESSION, folder, agents_dir=f"{folder}/agents", claim_seconds=claim_seconds
        )
        pid = os.getpid()
        record = Agent(AgentId.parse(agent), SESSION, pid=pid, last_active=now(), started=start_time(pid))
        open_agents(settings).save(record)
        self.store: Store = open_store(settings)
        self._append = self.store.records.append_fenced
        setattr(self.store.records, "append_fenced", self._append_or_stop)  # noqa: B010  a method cannot be assigned
        author = Author(agent=agent)
        self.session: Session = open_session(settings, dialect_named("brief"), self.store, lambda: author)

    def work(self) -> None:
        """Work until no task is open."""
        while any(task.status.is_open for task in self.session.plan.tasks):
            own = self._own()
            if own:
                self._finish(own)
            elif task := self._choice(self._seen_plan(), self.session.parts.taken()):
                self.session.call("todo", {"start": task.number})
            else:
                time.sleep(WAIT_SECONDS)

    def _seen_plan(self) -> Plan:
        """Return the plan as a model knows it: from the reply to a call."""
        self.session.call("todo", {})
        return self.session.last_state.plan

    def _own(self) -> Claim | None:
        return next((claim for claim in self.store.records.claims(SESSION) if claim.agent == self.agent), None)

    def _choice(self, plan: Plan, taken: frozenset[int]) -> Task | None:
        """Return a task that an agent left behind, or else the next one."""
        left = [task for task in plan.tasks if task.status is Status.IN_PROGRESS and task.number not in taken]
        free = [task for task in left if is_ready(plan, task) and not conflicting(plan, task, taken)]
        return free[0] if free else next_free(plan, taken)

    def _finish(self, claim: Claim) -> None:
        self._write("begin", claim, time.monotonic_ns())
        time.sleep(WORK_SECONDS)
        # With the call, others may start what had to wait for this task.
        ended = time.monotonic_ns()
        reply = self.session.call("todo", {"done": claim.task})
        self._write("refused" if "has passed to" in reply.text else "end", claim, ended)

    def _append_or_stop(self, session: str, event: Event, seen_by: str, fence: ClaimFence) -> Sequence[Claim]:
        stopped = self._stopped() if fence.changes - fence.starts else None
        try:
            return self._append(session, event, seen_by, fence)
        except (HeadMoved, Fenced):
            if stopped:
                self._write("stale", stopped, time.monotonic_ns())
            raise

    def _stopped(self) -> Claim | None:
        """Stop if that is asked for, until a signal to go on, and return the claim that the agent had."""
        requests, claim = list(self._folder.glob("stop-*")), self._own()
        with suppress(FileNotFoundError):
            if requests and claim:
                requests[0].unlink()
                self.store.records.renew(SESSION, self.agent, STOPPED_LEASE_MS)
                self._write("stop", claim, time.monotonic_ns())
                os.kill(os.getpid(), signal.SIGSTOP)
                return claim
        return None

    def _write(self, what: str, claim: Claim, at: int) -> None:
        os.write(self._book, f"{what} {claim.task} {claim.epoch} {self.agent} {at}\n".encode())


def main(address: str, folder: str, seconds: str) -> int:
    """Start agents until the input ends, and wait for them; one that was killed has not failed."""
    started: list[int] = []
    # Whatever opening a store imports, the agents need not import again.
    store_at(address).close()
    while (line := sys.stdin.readline()) != "\n":
        if not line:
            # Whoever runs the drill was killed.
            os.killpg(0, signal.SIGKILL)
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
