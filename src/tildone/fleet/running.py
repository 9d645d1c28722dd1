"""One run on a worker: its agent is started in a working tree, kept running, and followed to its end.

Theory of operation. An `Execution` has a thread of its own, in which it prepares the working tree, starts the agent
under a supervisor, and keeps checkpoints after each task that is done. The heartbeat of the worker calls `renewed` or
`lost` from another thread. What is asked of a run becomes a `RunOrder`; of several, the strongest counts. At the end,
the lease is closed or given back. If it is no longer held, that has no effect, and nothing else is done either.
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import inf
from threading import Lock
from time import monotonic, sleep
from typing import TypeVar

from tildone.app.transcripts import output_lines
from tildone.base import Refused, RunFenced, StoreError, TildoneError
from tildone.base.ids import CLOCK, local_time, now
from tildone.fleet import permissions
from tildone.fleet.drivers.launch import AgentContext, AgentLaunch
from tildone.fleet.git import GitError
from tildone.fleet.handover import (
    CANCELLED,
    ENDINGS,
    MAX_LINES,
    ORDERS,
    RunEnding,
    RunOrder,
    ending_of,
    is_done,
    out_of_order,
    prompt_for,
    with_last_messages,
)
from tildone.fleet.hands import LOOKS_AGAIN, OtherHands, Waker, closed_tasks, hand_ending, looks_of, other_hands, waits
from tildone.fleet.process_tree import boot_seconds
from tildone.fleet.results import Results, WorkSite
from tildone.fleet.supervision import AgentCommand, AgentEnding, How, SupervisedAgent
from tildone.fleet.workspaces import Workspace, end_earlier_agents, lost_tasks, subject_of
from tildone.plan.events import Event, State, latest_state
from tildone.plan.model import Plan, open_tasks
from tildone.plan.runs import (
    OTHERS_HAVE_IT,
    TRANSCRIPT_VARIABLE,
    Lease,
    LeaseRequest,
    LeaseState,
    RunFence,
    WorkOutcome,
)
from tildone.plan.text.proofs import check_text
from tildone.plan.text.runs import hand_name, short_reason
from tildone.plan.text.safe import printable, shown_text
from tildone.plan.text.state import run_word
from tildone.stores import parse_address

T = TypeVar("T")

RELEASE = "from tildone.fleet.releasing import main; main()"
"""The program with which a supervisor gives the lease back when the worker is gone."""

MAX_STARTS = 25
"""How often an agent that ends at its first stop is started under one lease."""


def agent_start(
    site: WorkSite, lease: Lease, files: Workspace, events: Sequence[Event], allow: tuple[str, ...]
) -> tuple[AgentCommand, AgentLaunch]:
    """Return the command of the agent of a lease, and how its driver starts it."""
    folder, work = files.worktree.folder, lease.work
    # A frozen agent could hold the lock of a file, but not that of a server.
    is_file = parse_address(site.address).path is not None
    prompt = with_last_messages(prompt_for(lease, events, files.worktree), files.messages_before)
    launch = site.agents[work.agent](
        AgentContext(folder, site.address, lease.session, prompt, work.model, allow, site.environ, site.options.ask)
    )
    command = AgentCommand(
        launch.arguments,
        folder,
        {**launch.environ, TRANSCRIPT_VARIABLE: files.transcript},
        str(lease.fence),
        files.output,
        release=(sys.executable, "-c", RELEASE, str(lease.fence)),
        grace=site.options.grace,
        max_frozen=site.leases.settings().lease / 1000 if is_file else inf,
    )
    return command, launch


def denied_text(denied: Sequence[permissions.Denial], plan: Plan) -> str:
    """Return why a run has failed to which a person has denied something, with the tasks that are not done."""
    said = [
        f"denied{f' by {each.by}' if each.by else ''}: {each.text}{f' ({each.why})' if each.why else ''}"
        for each in dict.fromkeys(denied)
    ]
    left = ", ".join(f"#{task.number} {shown_text(task.text)}" for _, task in open_tasks(plan)[:MAX_LINES])
    return "; ".join([*said, *([f"not done: {left}"] if left else [])])


LOOK_SECONDS = 0.25
"""How often the plan is looked at for tasks that are done."""

ASKED_SECONDS = 2.0
"""How often it is looked for questions that the person is to be told of."""

RETRY_SECONDS = 0.5


_STATES = {LeaseState.WAITING: run_word(LeaseState.WAITING.value), LeaseState.FAILED: "has failed"}


class Execution:
    """The work under one lease, from when it was taken until it ends."""

    def __init__(self, site: WorkSite, lease: Lease) -> None:
        self.lease = lease
        self._site = site
        self._files = Workspace(lease, site.options.home, site.redactor.text)
        self._results = Results(site, lease, self._files)
        self._waker = Waker(site.store, site.leases, lease)
        self._lock = Lock()
        self._agent: SupervisedAgent | None = None
        self._order, self._deadline = RunOrder.GO, 0.0
        self._done: frozenset[int] = frozenset()
        self._head: str | None = None
        self._wants_checkpoint = False
        self._answers: dict[str, str] = {}
        self._allow: tuple[str, ...] = ()

    @property
    def fence(self) -> RunFence:
        return self.lease.fence

    def renewed(self, deadline: float, ask: LeaseRequest = LeaseRequest.NOTHING) -> None:
        """Let the agent run until a new deadline, and pass on what a person asks."""
        with self._lock:
            self._deadline = max(deadline, self._deadline)
            if self._agent:
                self._agent.renew(deadline)
        self.obey(ORDERS[ask])

    def lost(self) -> None:
        self.obey(RunOrder.LOST)

    def obey(self, order: RunOrder) -> None:
        """Follow an order, unless a stronger one was given."""
        with self._lock:
            self._order = max(order, self._order)
            if self._agent and self._order >= RunOrder.STOP:
                self._agent.stop()

    def keep(self) -> None:
        self._wants_checkpoint = True

    def run(self) -> None:
        try:
            ending = self._work()
        except RunFenced:
            return
        except Refused as error:
            ending = RunEnding(WorkOutcome.REFUSED, f"{permissions.NOT_PERMITTED}: {error}")
        except GitError as error:
            ending = out_of_order(str(error), self._site.store.history(self.lease.session), self.lease)
        except (TildoneError, OSError) as error:
            ending = RunEnding(WorkOutcome.RETRY, str(error))
        if self._order is not RunOrder.LOST:
            self._end(ending)

    def _work(self) -> RunEnding:
        site, lease = self._site, self.lease
        settings, before = site.leases.settings(), boot_seconds()
        if not site.leases.renew([self.fence]):
            raise RunFenced(lease.run)
        self.renewed(settings.deadline_after(before))
        self._results.tell(f"begun, attempt {lease.attempt}")
        state = self._look()
        refusal = permissions.why_not_permitted(lease.work, site.agents, site.options.allow)
        if refusal:
            return RunEnding(WorkOutcome.REFUSED, refusal)
        events = list(site.store.events(lease.session))
        self._answers = permissions.answers_to(events, lease.run)
        approved = permissions.approved_patterns(self._answers, (*site.options.allow, *site.options.ask))
        self._allow = (*permissions.permitted(site.options.allow, lease.work.allow), *approved)
        refused = permissions.refused_commands(lease.work, state.plan, self._allow, self._answers)
        if refused and not self._may_ask(refused):
            return RunEnding(WorkOutcome.REFUSED, permissions.why_refused(refused))
        if refused and permissions.others_may_permit(lease, site.leases.workers(), now()):
            site.left.add(lease)
            return RunEnding(WorkOutcome.REFUSED, permissions.why_refused(refused))
        end_earlier_agents(lease, settings.margin / 1000)
        if self._prepared():
            # The worker before was lost between the last task and the end of the run.
            return RunEnding(WorkOutcome.DONE)
        # No agent is started, which may cost money, while other hands have all that can be done.
        waiting = waits(self._look().plan, self._others(), settings.lease)
        return waiting or self._ending(self._run_agents())

    def _prepared(self) -> bool:
        """Prepare the files, reopen tasks whose files are lost, and return whether the plan is done all the same."""
        site, lease = self._site, self.lease
        events, hands = list(site.store.events(lease.session)), len(site.leases.look(lease.run))
        self._files.prepare(events, hands)
        if not self._files.was_here and self._files.worktree.branch:
            lost = lost_tasks(events, lease, self._look().plan, hands)
            if lost:
                self._results.reopen(lost)
        self._waker.begin(self._look().plan, hands)
        unblocked = permissions.permitted_blocked(self._look().plan, self._allow)
        if unblocked:
            self._results.unblock(unblocked)
        return is_done(self._look().plan)

    def _run_agents(self) -> AgentEnding:
        """Run an agent to its end; one that stops early is run again while it makes progress."""
        starts = 0
        while True:
            events = self._persist(lambda: list(self._site.store.events(self.lease.session)))
            command, launch = agent_start(self._site, self.lease, self._files, events, self._allow)
            before = self._done
            ending, starts = self._follow(self._start(command)), starts + 1
            self._record(launch)
            state = self._persist(self._look)
            is_early = launch.stops_early and ending.how is How.EXIT and not ending.number and starts < MAX_STARTS
            may_go_on = is_early and bool(self._done - before) and self._order is RunOrder.GO
            if not may_go_on or is_done(state.plan) or self._hands()[self.lease.hand].questions:
                return ending

    def _record(self, launch: AgentLaunch) -> None:
        """Record what the agent that has ended was refused, and what it has used."""
        site, lease = self._site, self.lease
        report, event = launch.report(output_lines(self._files.output)), site.new_id()
        if report is None:
            return

        def record() -> None:
            for refused in report.refusals(lease, site.store.events(lease.session), site.redactor.text):
                site.leases.append(lease.fence, refused, site.new_id())
            site.leases.agent_ended(lease.fence, report.who, report.used, event)

        self._persist(record)

    def _start(self, command: AgentCommand) -> SupervisedAgent:
        with self._lock:
            self._agent = SupervisedAgent(command, self._deadline)
            if self._order >= RunOrder.STOP:
                self._agent.stop()
            return self._agent

    def _follow(self, agent: SupervisedAgent) -> AgentEnding:
        looked = 0.0
        while (ending := agent.wait(LOOK_SECONDS)) is None:
            try:
                if monotonic() - looked > ASKED_SECONDS:
                    self._site.notices.look(self.lease)
                    looked = monotonic()
                if self._site.store.session_head(self.lease.session).head != self._head:
                    self._progress(agent)
                if self._wants_checkpoint:
                    self._wants_checkpoint = False
                    self._results.checkpoint("a checkpoint of a run that goes on")
            except RunFenced:
                self.lost()
            except StoreError:
                # The agent goes on until its deadline.
                sleep(RETRY_SECONDS)
        return ending

    def _progress(self, agent: SupervisedAgent) -> None:
        before = self._done
        state = self._look()
        finished = self._done - before
        if not finished:
            return
        number = max(finished)
        [task] = (task for task in state.plan.tasks if task.number == number)
        self._results.checkpoint(subject_of(task), number)
        if RunOrder.GO < self._order < RunOrder.STOP:
            agent.stop()
        self._waker.look(state.plan, goes_on=True)

    def _look(self) -> State:
        """Return the state of the plan, and remember which of its tasks are closed."""
        state = latest_state(self._site.store.history(self.lease.session))
        self._head = state.head
        self._done = closed_tasks(state.plan)
        return state

    def _ending(self, agent: AgentEnding) -> RunEnding:
        if self._order is RunOrder.LOST:
            raise RunFenced(self.lease.run)
        state = self._persist(self._look)
        if is_done(state.plan) and self._order not in CANCELLED:
            return RunEnding(WorkOutcome.DONE)
        told = ENDINGS.get(self._order)
        if told and agent.how is How.STOPPED:
            return told
        waiting = permissions.waiting_checks(state.plan, self._allow, self._answers)
        askable = [check for check in waiting if self._may_ask([check_text(check)])]
        self._persist(lambda: self._results.ask_for(askable))
        newest_first = self._persist(lambda: list(self._site.store.history(self.lease.session)))
        if denied := permissions.denials(newest_first, self.lease.run):
            return RunEnding(WorkOutcome.FAILED, denied_text(denied, state.plan))
        ending = ending_of(agent, state, self._hands()[self.lease.hand], newest_first)
        if ending.outcome is WorkOutcome.FAILED and len(waiting) > len(askable):
            refused = [check_text(check) for check in waiting if check not in askable]
            return RunEnding(WorkOutcome.REFUSED, permissions.why_refused(refused))
        looks = looks_of(newest_first, self.lease, state.plan)
        return hand_ending(ending, state.plan, self._others(), self._site.leases.settings().lease, looks)

    def _others(self) -> OtherHands:
        claims = self._persist(lambda: self._site.store.records.claims(self.lease.session))
        return other_hands(self.lease, self._hands().values(), claims)

    def _may_ask(self, commands: Sequence[str]) -> bool:
        """Return whether the settings of the worker let persons be asked for these commands."""
        own = (*self._site.options.allow, *self._site.options.ask)
        return all(permissions.matches_any(command, own) for command in commands)

    def _hands(self) -> dict[int, Lease]:
        views = self._persist(lambda: self._site.leases.look(self.lease.run))
        return {view.lease.hand: view.lease for view in views}

    def _end(self, ending: RunEnding) -> None:
        """Keep or publish the files, then close the lease or give it back."""

        def closed() -> tuple[Lease | None, RunEnding]:
            found = self._results.with_results(ending)
            return self._closed(found), found

        try:
            after, ending = self._persist(closed)
        except RunFenced:
            return
        if self._waker.has_others:
            with suppress(StoreError):  # Without it, other hands look again later.
                self._waker.look(self._look().plan, goes_on=False)
        if after is None:
            return
        self._site.notices.ended(after, ending.why)
        if after.state is LeaseState.DONE:
            self._results.clear()
        more = ""
        if not after.state.is_active or self._results.is_in_conflict:
            more = self._results.report(after)
        elif after.is_queued and after.not_before and ending.why not in (OTHERS_HAVE_IT, LOOKS_AGAIN):
            tries = (
                f" ({after.fails + 1} of {self._site.options.retries + 1})" if after.fails > self.lease.fails else ""
            )
            more = f"; next try at {local_time(after.not_before, CLOCK)}{tries}"
        cause = printable(short_reason(ending.why))
        word = "is queued again" if after.is_queued else _STATES.get(after.state, f"is {after.state.value}")
        self._site.tell(f"run {hand_name(after)} {word}{f': {cause}' if cause else ''}{more}")

    def _closed(self, ending: RunEnding) -> Lease | None:
        leases = self._site.leases
        if ending.outcome is None:
            return leases.release(self.fence, ending.why, ending.delay)
        return leases.close(self.fence, ending.outcome, ending.why, self._results.published)

    def _persist(self, action: Callable[[], T]) -> T:
        """Repeat an action while the store fails, until the lease is lost or the worker has to end.

        Raises RunFenced if the lease is lost, StoreError if the store still fails, and the worker has been told to
        stop.
        """
        stopped_at = 0.0
        while True:
            try:
                return action()
            except RunFenced:
                raise
            except StoreError:
                if self._order is RunOrder.LOST:
                    raise RunFenced(self.lease.run) from None
                stopped_at = stopped_at or (monotonic() if self._order is RunOrder.STOP else 0.0)
                if stopped_at and monotonic() - stopped_at > self._site.options.grace:
                    raise
                sleep(RETRY_SECONDS)
