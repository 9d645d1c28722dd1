"""Counts of what happens: tasks, checks, runs, tokens and cost, from the events of a plan, one after the other."""

from __future__ import annotations

from tildone.core.numbers import numbered
from tildone.log.events import Nudged, PlanChanged, Tripped
from tildone.log.fleet.facts import RunEnded, RunLost, RunReleased, RunTaken
from tildone.log.fleet.lease import LeaseState
from tildone.log.usage import UNKNOWN, since
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

    from tildone.core.plan import Plan, Task
    from tildone.log.events import Author, Event
    from tildone.log.usage import AgentUsage

    Key = tuple[str, tuple[str, ...]]
    """What is counted, and the values of its labels."""

TASKS, CHECKS, NUDGES, STOPS = "tasks", "checks", "nudges", "stops"
TAKEN, LOST, TAKEOVERS, FAILED, ENDED = "taken", "lost", "takeovers", "failed", "ended"
TOKENS, COST = "tokens", "cost"


OTHER = "other"
MAX_CHARACTERS = 100


class BoundedNames:
    """Gives the first `limit` names as they are, and `other` for all that follow. Long names are cut."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: set[str] = set()

    def of(self, name: str) -> str:
        name = name[:MAX_CHARACTERS]
        if name in self._known or len(self._known) < self._limit:
            self._known.add(name)
            return name
        return OTHER


class PlanTally:
    """Counts the events of a plan into `counts`. `plan` and `used` are the state before the first of them.

    `names` bound the names of agents, and those of models.
    """

    def __init__(
        self,
        counts: MutableMapping[Key, float],
        plan: Plan,
        used: Mapping[str, AgentUsage],
        names: tuple[BoundedNames, BoundedNames],
    ) -> None:
        self._counts = counts
        self._agents, self._models = names
        self._plan = numbered(plan)
        self._used = dict(used)
        self._lost: set[tuple[str, int]] = set()
        self._fails: dict[tuple[str, int], int] = {}

    def add(self, event: Event) -> None:
        if event.usage is not None and event.author.agent:
            self._use(event.author, event.usage)
        match event.fact:
            case PlanChanged(plan=plan):
                self._change(numbered(plan))
            case Nudged():
                self._count(NUDGES, ())
            case Tripped(bound=bound):
                self._count(STOPS, (str(bound.value),))
            case RunTaken(run=run, hand=hand):
                self._count(TAKEN, ())
                if (run, hand) in self._lost:
                    self._lost.remove((run, hand))
                    self._count(TAKEOVERS, ())
            case RunLost(run=run, hand=hand):
                self._count(LOST, ())
                self._lost.add((run, hand))
            case RunReleased(run=run, hand=hand, fails=fails):
                self._fail((run, hand), fails)
            case RunEnded(run=run, hand=hand, state=state, fails=fails):
                self._count(ENDED, (str(state.value),))
                # An agent that ended with open tasks has failed, too, and is not tried again.
                self._fail((run, hand), fails, ended=state is LeaseState.FAILED and (run, hand) not in self._lost)
            case _:
                pass

    def _fail(self, hand: tuple[str, int], fails: int, *, ended: bool = False) -> None:
        if ended or fails > self._fails.get(hand, 0):
            self._count(FAILED, ())
        self._fails[hand] = fails

    def _change(self, plan: Plan) -> None:
        before = {task.number: task for task in self._plan.tasks}
        for task in plan.tasks:
            self._compare(before.get(task.number), task)
        if plan.proof and (self._plan.proof is None or plan.proof.at != self._plan.proof.at):
            self._count(CHECKS, (str(plan.proof.result.value),))
        self._plan = plan

    def _compare(self, before: Task | None, task: Task) -> None:
        # Tasks that are closed when they are added were done elsewhere.
        if before is not None and before.status.is_open and not task.status.is_open:
            self._count(TASKS, (str(task.status.value),))
        proof, known = task.proof, before.proof if before else None
        if before is not None and proof and (known is None or proof.at != known.at):
            self._count(CHECKS, (str(proof.result.value),))

    def _use(self, author: Author, used: AgentUsage) -> None:
        """Count what an agent has used since its last event: usage is cumulative."""
        spent = since(self._used.get(author.agent, UNKNOWN), used)
        self._used[author.agent] = used
        agent, model = self._agents.of(author.agent.partition(":")[0]), self._models.of(author.model)
        amounts = {"input": spent.tokens_in, "output": spent.tokens_out}
        for kind, tokens in amounts.items():
            if tokens:
                self._count(TOKENS, (agent, model, kind), tokens)
        if spent.cost:
            self._count(COST, (agent, model), spent.cost)

    def _count(self, counted: str, labels: tuple[str, ...], amount: float = 1) -> None:
        key = counted, labels
        self._counts[key] = self._counts.get(key, 0) + amount
