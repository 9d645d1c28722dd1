"""Claims of tasks in a store, and a model of them, for tests."""

from collections.abc import Sequence
from itertools import count

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.stores.contract import planned
from tildone.log.store import Store
from tildone.plan.claims import Claim, Claimant, ClaimFence, Fenced

Tasks = frozenset[int]
LONG = 10_000_000
AGENTS = st.sampled_from(["a", "b", "c"])
TASKS = st.integers(1, 3)
SETS = st.frozensets(TASKS)
NUMBERS = count()


class Claiming(RuleBasedStateMachine):
    """A new session of a store, and a model of it: who holds each task, its last epoch, and who has lost which."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store, self.records, self.session = store, store.records, f"claims {next(NUMBERS)}"
        self.holder: dict[int, tuple[str, bool]] = {}
        """The agent that has a task and did not give it back, and whether its lease lasts."""
        self.epochs: dict[int, int] = {}
        self.newest: dict[int, tuple[str, str]] = {}
        """The agent that has or had a task, and the one before it."""
        self.lost: dict[str, set[int]] = {}
        self.events = 0

    def take(self, task: int, agent: str) -> None:
        """Model a claim of a task that nobody else holds."""
        before = self.holder.get(task)
        if before is None or before[0] != agent:
            self.epochs[task] = self.epochs.get(task, 0) + 1
            last, _ = self.newest.get(task, ("", ""))
            self.newest[task] = agent, last if last != agent else ""
            if before is not None:
                self.lost.setdefault(before[0], set()).add(task)
            self.lost.setdefault(agent, set()).discard(task)
        self.holder[task] = agent, True

    @rule(task=TASKS, agent=AGENTS)
    def claim(self, task: int, agent: str) -> None:
        owner, lasts = self.holder.get(task, ("", False))
        claim = self.records.claim(self.session, task, Claimant(agent), LONG)
        if lasts and owner != agent:
            assert claim.agent == owner
        else:
            self.take(task, agent)
            assert claim.agent == agent
        assert claim.epoch == self.epochs[task]

    @rule(agent=AGENTS)
    def lapse(self, agent: str) -> None:
        self.records.lapse(self.session, agent)
        self.holder |= {task: (owner, False) for task, (owner, _) in self.holder.items() if owner == agent}

    @rule(agent=AGENTS)
    def renew(self, agent: str) -> None:
        lost = self.records.renew(self.session, agent, LONG)
        assert {claim.task for claim in lost} == self.lost.get(agent, set())
        self.holder |= {task: (owner, True) for task, (owner, _) in self.holder.items() if owner == agent}

    @rule(agent=AGENTS, tasks=st.none() | SETS)
    def release(self, agent: str, tasks: frozenset[int] | None) -> None:
        self.records.release(self.session, agent, tasks)
        some = {1, 2, 3} if tasks is None else tasks
        self.holder = {
            task: (owner, lasts) for task, (owner, lasts) in self.holder.items() if owner != agent or task not in some
        }
        self.lost[agent] = self.lost.get(agent, set()) - some

    @rule(agent=AGENTS, changes=SETS, starts=SETS, stays=SETS, beside=SETS)
    def append(self, agent: str, changes: Tasks, starts: Tasks, stays: Tasks, beside: Tasks) -> None:
        head = self.store.session_head(self.session).head
        event = planned(str(self.events), head, "x")
        active = starts | stays
        fence = ClaimFence(Claimant(agent), LONG, changes | starts, starts, active, beside)
        self.events += 1
        held = {task for task, (owner, lasts) in self.holder.items() if lasts and owner != agent}
        lost, in_the_way = self.lost.get(agent, set()), held & (changes | starts | beside)
        refused: Fenced | None = None
        taken: Sequence[Claim] = ()
        try:
            taken = self.records.append_fenced(self.session, event, "", fence)
        except Fenced as fenced:
            refused = fenced
        assert (refused is not None) == bool(lost or in_the_way)
        if refused is not None:
            assert self.store.session_head(self.session).head == head
            assert {claim.task for claim in refused.lost} == lost
            assert {claim.task for claim in refused.held} == in_the_way
            return
        left = {task for task, (owner, _) in self.holder.items() if owner != agent}
        epochs = dict(self.epochs)
        for task in sorted(starts | ((changes | starts) & left)):
            self.take(task, agent)
        assert {claim.task: claim.epoch for claim in taken} == dict(self.epochs.items() - epochs.items())
        mine = {task for task, (owner, _) in self.holder.items() if owner == agent}
        self.holder |= dict.fromkeys(mine & active, (agent, True))
        self.holder = {task: held for task, held in self.holder.items() if task not in mine - active}

    @invariant()
    def every_task_has_at_most_one_holder(self) -> None:
        found = list(self.records.claims(self.session))
        assert {claim.task: (claim.agent, claim.is_held) for claim in found} == self.holder
        for claim in found:
            before = claim.before.agent if claim.before else ""
            assert (claim.epoch, (claim.agent, before)) == (self.epochs[claim.task], self.newest[claim.task])
