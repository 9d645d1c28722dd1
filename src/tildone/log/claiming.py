"""Changes of an agent that shares its plan: what it starts, it claims, and what others hold, it leaves alone.

Theory of operation. What a call names is looked at first: a task in progress that another agent holds is refused,
before its check is run. Starting one that nobody holds leaves no event, so it is claimed here.

The change is then computed as if the agent were alone, and appended with a fence. If the store refuses the event,
because others were faster, the error says which tasks are with others. The change is then computed again without what
it does to these, and without claims of agents whose processes have ended; so each round is refused for another reason,
or not at all.

What an agent asked for and cannot have is a fault, and under atomic rules nothing of such a call is done. A list that a
model keeps as a whole names the tasks of others, too: they stay as they are, and the model is told so.
"""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, replace
from tildone.plan.claims import (
    Claim,
    Claimant,
    ClaimFence,
    Fenced,
    OnTasks,
    Settled,
    fence_of,
    is_start,
    named_active,
    settled,
)
from tildone.plan.faults import NotYours
from tildone.plan.gate import MS_PER_MINUTE
from tildone.plan.model import Plan, Status, conflicting, numbered

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Protocol

    from tildone.log.store import Store
    from tildone.plan.events import Event, Fact, State
    from tildone.plan.reduce import Outcome, Step

    class Claims(Protocol):
        """What a session needs to know to claim tasks for an agent."""

        lease: int

        def claimant(self, agent: str) -> Claimant:
            """Return an agent as a claimant, with its process, its working tree and its branch."""

        def is_gone(self, claim: Claim, agent: str) -> bool:
            """Return whether the holder of a claim has ended, or is an earlier name of this agent."""

        def changed(self, agent: str) -> None:
            """Called when an agent may have got claims, which have to be renewed."""

        def renew(self, store: Store, session: str, agent: str) -> None:
            """Renew the claims of an agent, if it may have some and it is time."""

        def release(self, store: Store, session: str, agent: str) -> None:
            """Give back the tasks of an agent, if it may have some."""

    Settle = Callable[[Plan, Plan], Plan]
    Change = Callable[[State, Settle], tuple[Outcome, Fact | None]]

MAX_ROUNDS = 100
"""How often a change is computed again because of the tasks of others. There are never so many agents."""


class ClaimedChange:
    """One change of an agent. It is a `list` that is kept as a whole, or else a call, which may be `atomic`."""

    def __init__(  # noqa: PLR0913  of one caller
        self,
        store: Store,
        session: str,
        agent: str,
        claims: Claims,
        taken: Callable[[], frozenset[int]],
        known: Plan | None = None,
        *,
        is_list: bool = False,
        atomic: bool = True,
    ) -> None:
        self._store = store
        self._session = session
        self._agent = agent
        self._claims = claims
        self._taken = taken
        self._known = known
        self._is_list = is_list
        self._atomic = atomic and not is_list
        self._claimant = claims.claimant(agent)
        self._others: dict[int, Claim] = {}
        self._lost: dict[int, Claim] = {}
        self._new: dict[int, Claim] = {}
        self._wanted: dict[int, int] = {}
        self._result: Settled | None = None
        self._fence: ClaimFence | None = None

    def look(self, read: Callable[[], Plan], steps: Sequence[Step] | Callable[[Plan], Sequence[Step]]) -> bool:
        """Return whether nothing of a call will be done, because it names tasks of others. `read` returns the plan."""
        if self._is_list or not (callable(steps) or any(isinstance(step, OnTasks) for step in steps)):
            return False
        plan = numbered(read())
        named = frozenset().union(*named_active(plan, steps(plan) if callable(steps) else steps))
        for claim in self._store.records.claims(self._session) if named else ():
            is_held = claim.task in named and claim.is_held and claim.agent != self._agent
            if is_held and not self._claims.is_gone(claim, self._agent):
                self._refuse(claim)
        return self._atomic and bool(self._wanted)

    def start_again(self, read: Callable[[], Plan], steps: Sequence[Step] | Callable[[Plan], Sequence[Step]]) -> None:
        """Claim the tasks in progress that steps are to start, if nobody holds them. `read` returns the plan."""
        if not callable(steps) and not any(map(is_start, steps)):
            return
        plan = numbered(read())
        starts, _ = named_active(plan, steps(plan) if callable(steps) else steps)
        for number in sorted(starts - self._others.keys()):
            claim = self._claim(number)
            if claim.agent != self._agent and self._claims.is_gone(claim, self._agent):
                self._store.records.lapse(self._session, claim.agent)
                claim = self._claim(number)
            if claim.agent != self._agent:
                self._refuse(claim)
            else:
                self._check_claimed(number, read)

    def record(self, write: Callable[[Settle, Callable[[str, Event, str], object]], Outcome]) -> Outcome:
        """Call `write` with what settles and appends the change, until it is not refused, and return its result."""

        def settle(before: Plan, after: Plan) -> Plan:
            self._result = settled(
                before, after, self._others, self._taken, self._wanted, known=self._known, atomic=self._atomic
            )
            self._fence = fence_of(before, self._result.plan, self._claimant, self._claims.lease)
            return self._result.plan

        for _ in range(MAX_ROUNDS):
            try:
                outcome = write(settle, self._append)
            except Fenced as fenced:
                self._learn(fenced)
                continue
            if self._new:
                self._claims.changed(self._agent)
            return outcome
        raise AssertionError("a change was refused too often")

    def told(self, outcome: Outcome, *, with_numbers: bool) -> tuple[Outcome, list[str]]:
        """Return the outcome with the faults of a call, and the lines that the agent is told of the tasks of others."""
        result = self._result or Settled(outcome.after)
        if not (self._lost or self._new) and result.is_whole:
            return outcome, []
        from tildone.plan.text.claims import fault_line, free_line, successor_lines

        tasks = {task.number: task for task in (*outcome.after.tasks, *outcome.before.tasks)}

        def fault(number: int, rival: int = 0) -> NotYours:
            shown, text = number if with_numbers else 0, tasks[number].text
            if rival:
                return NotYours(shown, text, beside=tasks[rival])
            claim = self._others.get(number)
            if claim is None:
                return NotYours(shown, text)
            return NotYours(shown, text, claim.agent, -(-claim.remaining // MS_PER_MINUTE), number in self._lost)

        pairs = [*((number, 0) for number in result.refused), *result.conflicts, *((n, 0) for n in result.closed)]
        faults = [fault(number, rival) for number, rival in pairs]
        more = [fault(number) for number in self._lost if number in tasks and number not in result.refused]
        lines = [fault_line(each) for each in (*(faults if self._is_list else ()), *more)]
        if faults:
            taken = frozenset(self._others) | self._taken()
            lines += free_line(outcome.after, taken, pairs[0][0], numbered=with_numbers)
        if not self._is_list:
            outcome = replace(outcome, faults=(*outcome.faults, *faults))
        return outcome, lines + successor_lines(outcome.after, self._new.values(), numbered=with_numbers)

    def _append(self, session: str, event: Event, seen_by: str) -> None:
        if self._fence is None:
            raise AssertionError("a change is settled before it is appended")
        taken = self._store.records.append_fenced(session, event, seen_by, self._fence)
        self._new |= {claim.task: claim for claim in taken}

    def _check_claimed(self, number: int, read: Callable[[], Plan]) -> None:
        """Give a task back that was just claimed if it was closed meanwhile, or shares files with a task of others.

        The plan is read after the claim: whoever starts such a task later is refused because of the claim.
        """
        plan = numbered(read())
        active = [task for task in plan.tasks if task.number == number and task.status is Status.IN_PROGRESS]
        rivals = [rival for task in active if task.touches for rival in conflicting(plan, task, self._taken())]
        if rivals:
            self._wanted[number] = rivals[0]
        if rivals or not active:
            self._store.records.release(self._session, self._agent, frozenset({number}))
            self._new.pop(number, None)

    def _claim(self, number: int) -> Claim:
        claim = self._store.records.claim(self._session, number, self._claimant, self._claims.lease)
        if claim.agent == self._agent:
            self._new[number] = claim
        return claim

    def _refuse(self, claim: Claim) -> None:
        """Note that another agent has a task that the call names."""
        self._others[claim.task], self._wanted[claim.task] = claim, 0
        if claim.before is not None and claim.before.agent == self._agent:
            self._lose({claim.task: claim})

    def _learn(self, fenced: Fenced) -> None:
        """Note which tasks are with others."""
        for claim in fenced.held:
            if self._claims.is_gone(claim, self._agent):
                self._store.records.lapse(self._session, claim.agent)
            else:
                self._others[claim.task] = claim
        if fenced.lost:
            self._lose({claim.task: claim for claim in fenced.lost})

    def _lose(self, lost: Mapping[int, Claim]) -> None:
        """Note which tasks have passed from this agent to others. That is settled here, because it is told now."""
        self._lost |= lost
        self._others |= lost
        self._store.records.release(self._session, self._agent, frozenset(lost))
