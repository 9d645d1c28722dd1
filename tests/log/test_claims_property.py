"""Whatever agents do with claims: a task has one holder, epochs only grow, nothing is appended under an old one."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.plans import plan_of
from tildone.plan.claims import Claimant, ClaimFence, Fenced
from tildone.plan.events import Actor, Event, PlanChanged
from tildone.stores.memory import MemoryStore

LONG = 10_000_000
AGENTS = st.sampled_from(["a", "b", "c"])
TASKS = st.integers(1, 3)
SETS = st.frozensets(TASKS)


class Claiming(RuleBasedStateMachine):
    """A store, and a model of it: who holds each task, the last epoch of each, and which agents have lost which."""

    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryStore()
        self.holder: dict[int, tuple[str, bool]] = {}
        """The agent that has a task and did not give it back, and whether its lease lasts."""
        self.epochs: dict[int, int] = {}
        self.lost: dict[str, set[int]] = {}
        self.events = 0

    def take(self, task: int, agent: str) -> None:
        """Model a claim of a task that nobody else holds."""
        before = self.holder.get(task)
        if before is None or before[0] != agent:
            self.epochs[task] = self.epochs.get(task, 0) + 1
            if before is not None:
                self.lost.setdefault(before[0], set()).add(task)
            self.lost.setdefault(agent, set()).discard(task)
        self.holder[task] = agent, True

    @rule(task=TASKS, agent=AGENTS)
    def claim(self, task: int, agent: str) -> None:
        owner, lasts = self.holder.get(task, ("", False))
        claim = self.store.records.claim("s", task, Claimant(agent), LONG)
        if lasts and owner != agent:
            assert claim.agent == owner
        else:
            self.take(task, agent)
            assert claim.agent == agent
        assert claim.epoch == self.epochs[task]

    @rule(agent=AGENTS)
    def lapse(self, agent: str) -> None:
        self.store.records.lapse("s", agent)
        self.holder |= {task: (owner, False) for task, (owner, _) in self.holder.items() if owner == agent}

    @rule(agent=AGENTS)
    def renew(self, agent: str) -> None:
        lost = self.store.records.renew("s", agent, LONG)
        assert {claim.task for claim in lost} == self.lost.get(agent, set())
        self.holder |= {task: (owner, True) for task, (owner, _) in self.holder.items() if owner == agent}

    @rule(agent=AGENTS, tasks=st.none() | SETS)
    def release(self, agent: str, tasks: frozenset[int] | None) -> None:
        self.store.records.release("s", agent, tasks)
        some = {1, 2, 3} if tasks is None else tasks
        self.holder = {
            task: (owner, lasts) for task, (owner, lasts) in self.holder.items() if owner != agent or task not in some
        }
        self.lost[agent] = self.lost.get(agent, set()) - some

    @rule(agent=AGENTS, changes=SETS, starts=SETS, beside=SETS)
    def append(self, agent: str, changes: frozenset[int], starts: frozenset[int], beside: frozenset[int]) -> None:
        head = self.store.session_head("s").head
        event = Event(str(self.events), head, 1, Actor.AGENT, PlanChanged(plan_of("x")))
        fence = ClaimFence(Claimant(agent), LONG, changes | starts, starts, starts, beside)
        self.events += 1
        held = {task for task, (owner, lasts) in self.holder.items() if lasts and owner != agent}
        is_refused = bool(self.lost.get(agent) or held & (changes | starts | beside))
        try:
            self.store.records.append_fenced("s", event, "", fence)
        except Fenced as fenced:
            assert is_refused
            assert self.store.session_head("s").head == head
            self.check_refusal(fenced, self.lost.get(agent, set()), held & (changes | starts | beside))
            return
        assert not is_refused
        left = {task for task, (owner, _) in self.holder.items() if owner != agent}
        for task in sorted(starts | ((changes | starts) & left)):
            self.take(task, agent)
        self.holder = {
            task: (owner, lasts) for task, (owner, lasts) in self.holder.items() if owner != agent or task in starts
        }

    def check_refusal(self, fenced: Fenced, lost: set[int], held: set[int]) -> None:
        assert {claim.task for claim in fenced.lost} == lost
        assert {claim.task for claim in fenced.held} == held

    @invariant()
    def every_task_has_at_most_one_holder(self) -> None:
        found = {claim.task: (claim.agent, claim.is_held) for claim in self.store.records.claims("s")}
        assert found == self.holder
        for claim in self.store.records.claims("s"):
            assert claim.epoch == self.epochs[claim.task]


TestClaiming = Claiming.TestCase
TestClaiming.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
