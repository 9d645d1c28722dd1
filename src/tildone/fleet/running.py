"""One run on a worker: its agent is started in a working tree, kept running, and followed to its end.

Theory of operation. An `Execution` has a thread of its own, in which it prepares the working tree, starts the agent
under a minder, and keeps checkpoints after each task that is done. The heartbeat of the worker calls `renewed` or
`lost` from another thread. What is asked of a run becomes an `Order`; of several, the strongest counts. At the end, the
lease is closed or given back. If it is no longer held, that has no effect, and nothing else is done either.
"""

from __future__ import annotations

import sys
from enum import IntEnum
from threading import Lock
from time import monotonic, sleep

from tildone.errors import RunFenced, StoreError, TildoneError
from tildone.fleet.drivers.launch import AgentContext
from tildone.fleet.endings import MAX_LINES, RunEnding, ending_of, is_done, with_output
from tildone.fleet.git import GitError
from tildone.fleet.minding import AgentCommand, AgentEnding, How, MindedAgent
from tildone.fleet.output_file import last_lines
from tildone.fleet.permissions import permitted, why_not_permitted
from tildone.fleet.processes import boot_seconds
from tildone.fleet.reports import run_report, write_report
from tildone.fleet.workspaces import Workspace, end_earlier_agents
from tildone.log.fleet.lease import Ask, LeaseState, Outcome
from tildone.log.state import latest_state
from tildone.typing import TYPE_CHECKING
from tildone.value import replace
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from tildone.fleet.site import Site
    from tildone.log.events import Event
    from tildone.log.fleet.facts import Kept
    from tildone.log.fleet.lease import Lease, RunFence
    from tildone.log.fleet.settings import FleetSettings
    from tildone.log.state import State

    T = TypeVar("T")

LOOK_SECONDS = 0.25
"""How often the plan is looked at for tasks that are done."""

RETRY_SECONDS = 0.5

RELEASE = "from tildone.fleet.releasing import main; main()"
"""The program with which a minder gives the lease back when the worker is gone."""


class Order(IntEnum):
    """What an execution is told. The ones before STOP are obeyed when the next task is done, the others at once."""

    GO = 0
    DRAIN = 1
    PAUSE = 2
    STOP = 3
    CANCEL = 4
    LOST = 5


_ORDERS = {Ask.NOTHING: Order.GO, Ask.DRAIN: Order.DRAIN, Ask.PAUSE: Order.PAUSE, Ask.CANCEL: Order.CANCEL}
_TOLD = {
    Order.DRAIN: RunEnding(None, "drained"),
    Order.STOP: RunEnding(None, "its worker was stopped"),
    Order.PAUSE: RunEnding(Outcome.PAUSED, "paused"),
    Order.CANCEL: RunEnding(Outcome.CANCELLED, "cancelled"),
}


class Execution:
    """The work under one lease, from when it was taken until it ends."""

    def __init__(self, site: Site, lease: Lease) -> None:
        self.lease = lease
        self._site = site
        self._files = Workspace(lease, site.home)
        self._lock = Lock()
        self._agent: MindedAgent | None = None
        self._order, self._deadline = Order.GO, 0.0
        self._done: frozenset[int] = frozenset()
        self._head: str | None = None
        self._wants_checkpoint = False

    @property
    def fence(self) -> RunFence:
        """The fence of the lease."""
        return self.lease.fence

    def renewed(self, deadline: float, ask: Ask = Ask.NOTHING) -> None:
        """Let the agent run until a new deadline, and pass on what a person asks."""
        with self._lock:
            self._deadline = max(deadline, self._deadline)
            if self._agent:
                self._agent.renew(deadline)
        self.obey(_ORDERS[ask])

    def lost(self) -> None:
        """End the agent: the lease has passed to another worker."""
        self.obey(Order.LOST)

    def obey(self, order: Order) -> None:
        """Follow an order, unless a stronger one was given."""
        with self._lock:
            self._order = max(order, self._order)
            if self._agent and self._order >= Order.STOP:
                self._agent.stop()

    def keep(self) -> None:
        """Keep a checkpoint soon."""
        self._wants_checkpoint = True

    def run(self) -> None:
        """Do the work, and close the lease or give it back."""
        try:
            ending = self._work()
        except RunFenced:
            return
        except (TildoneError, OSError) as error:
            ending = RunEnding(Outcome.RETRY, str(error))
        if self._order is not Order.LOST:
            self._end(ending)

    def _work(self) -> RunEnding:
        site, lease = self._site, self.lease
        settings, before = site.leases.settings(), boot_seconds()
        if not site.leases.renew([self.fence]):
            raise RunFenced(lease.run)
        self.renewed(deadline_after(before, settings))
        state = self._look()
        refusal = why_not_permitted(lease.work, state.plan, site.agents, site.allow)
        if refusal:
            return RunEnding(None, refusal, settings.lease)
        end_earlier_agents(lease, settings.margin / 1000)
        events = list(site.store.events(lease.session))
        self._files.prepare(events)
        if is_done(state.plan):
            # The worker before was lost between the last task and the end of the run.
            return RunEnding(Outcome.DONE)
        return self._ending(self._follow(self._start(events)))

    def _start(self, events: list[Event]) -> MindedAgent:
        site, work = self._site, self.lease.work
        [view] = [view for view in site.leases.look(self.lease.run) if view.lease.hand == self.lease.hand]
        folder = self._files.worktree.folder
        prompt = site.prompt_for(view, events, self._files.worktree)
        allow = permitted(site.allow, work.allow)
        launch = site.agents[work.agent](
            AgentContext(folder, site.address, self.lease.session, prompt, work.model, allow, site.environ)
        )
        command = AgentCommand(
            launch.arguments,
            folder,
            launch.environ,
            str(self.fence),
            self._files.output,
            release=(sys.executable, "-c", RELEASE, str(self.fence)),
            grace=site.grace,
        )
        with self._lock:
            self._agent = MindedAgent(command, self._deadline)
            if self._order >= Order.STOP:
                self._agent.stop()
            return self._agent

    def _follow(self, agent: MindedAgent) -> AgentEnding:
        """Keep checkpoints until the agent has ended, and return how."""
        while (ending := agent.wait(LOOK_SECONDS)) is None:
            try:
                if self._site.store.session_head(self.lease.session).head != self._head:
                    self._progress(agent)
                if self._wants_checkpoint:
                    self._wants_checkpoint = False
                    self._checkpoint("a checkpoint of a run that goes on")
            except RunFenced:
                self.lost()
            except StoreError:
                # The agent goes on until its deadline.
                sleep(RETRY_SECONDS)
        return ending

    def _progress(self, agent: MindedAgent) -> None:
        before = self._done
        self._look()
        finished = self._done - before
        if not finished:
            return
        self._checkpoint(f"a checkpoint after task {max(finished)}", max(finished))
        if self._order in (Order.DRAIN, Order.PAUSE):
            agent.stop()

    def _look(self) -> State:
        """Return the state of the plan, and remember which of its tasks are closed."""
        state = latest_state(self._site.store.history(self.lease.session))
        self._head = state.head
        self._done = frozenset(task.number for task in state.plan.tasks if not task.status.is_open)
        return state

    def _checkpoint(self, message: str, task: int = 0) -> None:
        """Keep the files, and record it if the lease is still held. A failure is told: the agent can go on."""
        try:
            kept: Kept | None = self._files.checkpoint(task, message)
        except (GitError, OSError) as error:
            self._site.tell(f"run {self.lease.run}: no checkpoint was kept: {printable(str(error))}")
            return
        if kept:
            self._site.leases.append(self.fence, kept, self._site.new_id())

    def _ending(self, agent: AgentEnding) -> RunEnding:
        """Return how the run ends after its agent has ended."""
        if self._order is Order.LOST:
            raise RunFenced(self.lease.run)
        state = self._persist(self._look)
        if is_done(state.plan) and self._order is not Order.CANCEL:
            return RunEnding(Outcome.DONE)
        told = _TOLD.get(self._order)
        if told and agent.how is How.TOLD:
            return told
        hands = {view.lease.hand: view.lease for view in self._persist(lambda: self._site.leases.look(self.lease.run))}
        newest_first = self._persist(lambda: list(self._site.store.history(self.lease.session)))
        ending = ending_of(agent, state, hands[self.lease.hand], newest_first)
        others = [lease for hand, lease in hands.items() if hand != self.lease.hand and lease.state is LeaseState.OPEN]
        if ending.outcome is Outcome.FAILED and others:
            return RunEnding(None, "other hands have the rest", self._site.leases.settings().lease)
        return ending

    def _end(self, ending: RunEnding) -> None:
        """Keep or publish the files, then close the lease or give it back."""
        try:
            after = self._persist(lambda: self._closed(self._with_results(ending)))
        except RunFenced:
            return
        if after is not None and not after.state.is_living:
            self._report(after)

    def _with_results(self, ending: RunEnding) -> RunEnding:
        """Publish what the run has made, or keep it for the next agent, and add the agent's output to a failure."""
        if self._files.worktree.folder and ending.outcome is Outcome.DONE:
            try:
                self._files.publish(self._report_text(replace(self.lease, state=LeaseState.DONE)))
            except (GitError, OSError) as error:
                return RunEnding(Outcome.RETRY, f"the branch was not published: {error}")
        elif self._files.worktree.folder:
            self._checkpoint("the end of an attempt")
        if ending.outcome not in (Outcome.RETRY, Outcome.FAILED):
            return ending
        why = with_output(ending.why, last_lines(self._files.output, MAX_LINES))
        return replace(ending, why=self._site.redactor.text(why))

    def _closed(self, ending: RunEnding) -> Lease | None:
        leases = self._site.leases
        if ending.outcome is None:
            return leases.release(self.fence, ending.why, ending.delay)
        return leases.close(self.fence, ending.outcome, ending.why)

    def _report(self, after: Lease) -> None:
        try:
            path = write_report(self._site.home, self._files.name, self._report_text(after))
        except (StoreError, OSError) as error:
            self._site.tell(f"run {after.run}: no report was written: {printable(str(error))}")
            return
        self._site.tell(f"run {after.run} is {after.state.value}; its report is {printable(path)}")

    def _report_text(self, lease: Lease) -> str:
        store, session = self._site.store, self.lease.session
        state = latest_state(store.history(session))
        return self._site.redactor.text(run_report(lease, state.plan, list(store.events(session)), state.head))

    def _persist(self, action: Callable[[], T]) -> T:
        """Repeat an action while the store fails, until the lease is lost or the worker has to end.

        Raises:
            RunFenced: the lease is lost.
            StoreError: the store still fails, and the worker has been told to stop.
        """
        stopped_at = 0.0
        while True:
            try:
                return action()
            except RunFenced:
                raise
            except StoreError:
                if self._order is Order.LOST:
                    raise RunFenced(self.lease.run) from None
                stopped_at = stopped_at or (monotonic() if self._order is Order.STOP else 0.0)
                if stopped_at and monotonic() - stopped_at > self._site.grace:
                    raise
                sleep(RETRY_SECONDS)


def deadline_after(before: float, settings: FleetSettings) -> float:
    """Return until when an agent may run, in `boot_seconds`, if its lease was renewed after the time `before`."""
    return before + (settings.lease - settings.margin) / 1000
