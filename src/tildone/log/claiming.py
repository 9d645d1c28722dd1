"""Changes of an agent that shares its plan: what it starts, it claims, and what others hold, it leaves alone.

Theory of operation. A change is computed as if the agent were alone, and appended with a fence. That costs nothing more
than an append, so agents that share their plan with nobody need not know it. If the store refuses the event, the error
says which tasks are with others. The change is then computed again without what it does to these, and without claims of
agents whose processes have ended; so each round is refused for another reason, or not at all.

Starting a task that is in progress already leaves no event. It is claimed before the change, if nobody holds it.
"""

from __future__ import annotations

from tildone.base import TYPE_CHECKING
from tildone.plan.claims import Claim, Claimant, ClaimFence, Fenced, Settled, fence_of, is_start, settled, started_again
from tildone.plan.model import Plan, Status, conflicting, numbered

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
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
    """One change of an agent. Afterwards, `lines` returns what the agent is told of the tasks of others."""

    def __init__(
        self,
        store: Store,
        session: str,
        agent: str,
        claims: Claims,
        taken: Callable[[], frozenset[int]],
        known: Plan | None = None,
    ) -> None:
        self._store = store
        self._session = session
        self._agent = agent
        self._claims = claims
        self._taken = taken
        self._known = known
        self._claimant = claims.claimant(agent)
        self._others: dict[int, Claim] = {}
        self._lost: dict[int, Claim] = {}
        self._new: dict[int, Claim] = {}
        self._wanted: dict[int, int] = {}
        self._result: Settled | None = None
        self._fence: ClaimFence | None = None

    def start_again(self, read: Callable[[], Plan], steps: Sequence[Step] | Callable[[Plan], Sequence[Step]]) -> None:
        """Claim the tasks in progress that steps are to start, if nobody holds them. `read` returns the plan."""
        if not callable(steps) and not any(map(is_start, steps)):
            return
        plan = numbered(read())
        for number in sorted(started_again(plan, steps(plan) if callable(steps) else steps)):
            claim = self._claim(number)
            if claim.agent != self._agent and self._claims.is_gone(claim, self._agent):
                self._store.records.lapse(self._session, claim.agent)
                claim = self._claim(number)
            if claim.agent != self._agent:
                self._others[number] = claim
                self._wanted[number] = 0
            else:
                self._check_claimed(number, read)

    def record(
        self, write: Callable[[Settle, Callable[[str, Event, str], object]], Outcome], *, offers: bool
    ) -> Outcome:
        """Call `write` with what settles and appends the change, until it is not refused, and return its result."""

        def settle(before: Plan, after: Plan) -> Plan:
            self._result = settled(
                before, after, self._others, self._taken, self._wanted, known=self._known, offers=offers
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

    def lines(self, plan: Plan, *, with_numbers: bool) -> list[str]:
        """Return what the agent is told: which tasks others have, and where they left off with those it takes over."""
        result = self._result or Settled(plan)
        if not (self._lost or self._new or result.refused or result.conflicts or result.closed):
            return []
        from tildone.plan.text.claims import ClaimNews, claim_lines, successor_lines

        lost = tuple(self._lost.values())
        news = ClaimNews(self._others, lost, result.refused, result.conflicts, result.instead, result.closed)
        told = claim_lines(plan, news, numbered=with_numbers)
        return told + successor_lines(plan, self._new.values(), numbered=with_numbers)

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

    def _learn(self, fenced: Fenced) -> None:
        """Note which tasks are with others. What the agent has lost is settled here, because it is told now."""
        for claim in fenced.held:
            if self._claims.is_gone(claim, self._agent):
                self._store.records.lapse(self._session, claim.agent)
            else:
                self._others[claim.task] = claim
        if fenced.lost:
            lost = {claim.task: claim for claim in fenced.lost}
            self._lost |= lost
            self._others |= lost
            self._store.records.release(self._session, self._agent, frozenset(lost))
