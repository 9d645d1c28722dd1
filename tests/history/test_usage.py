"""What each task took, derived from events."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.history.test_stats import histories
from tests.plans import COMPLETED, IN_PROGRESS, PENDING
from tildone.base import replace
from tildone.plan.events import (
    UNKNOWN,
    Actor,
    AgentUsage,
    Author,
    Directive,
    DirectiveSet,
    Event,
    Fact,
    Ledger,
    Nudged,
    PlanChanged,
    StopFingerprint,
)
from tildone.plan.history.stats import session_stats, stats_data
from tildone.plan.history.stats_lines import stats_lines, usage_sentence
from tildone.plan.history.usage import TaskUsage, plan_usage, spent_on
from tildone.plan.model import Plan, Status, Task, flat, numbered
from tildone.plan.text.styles import display_width, plain

MINUTE = 60_000


def plan(*statuses: Status) -> Plan:
    return numbered(flat(*(Task(text, status) for text, status in zip("abcdef", statuses, strict=False))))


class Branch:
    """Events, a minute apart."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, fact: Fact, agent: str = "", cost: float | None = None, actor: Actor = Actor.AGENT) -> None:
        usage = None if cost is None else AgentUsage(int(cost * 1000), cost=cost)
        parent = self.events[-1].id if self.events else None
        at = len(self.events) * MINUTE
        self.events.append(Event(f"e{at}", parent, at, actor, fact, Author("Ada", agent), usage))

    def mark(self, *statuses: Status, agent: str = "claude:1", cost: float | None = None) -> None:
        self.add(PlanChanged(plan(*statuses)), agent, cost)

    def tasks(self) -> list[TaskUsage]:
        found = plan_usage(self.events, self.events[-1].at)
        return [found.tasks[number] for number in sorted(found.tasks)]

    def costs(self) -> list[float | None]:
        return [task.usage.cost for task in self.tasks()]

    def spent(self, number: int, agent: str = "claude:1", cost: float | None = None) -> tuple[int, float | None]:
        used = None if cost is None else AgentUsage(cost=cost)
        ms, usage = spent_on(number, reversed(self.events), agent, used, len(self.events) * MINUTE)
        return ms // MINUTE, usage.cost


@pytest.mark.parametrize("columns", [40, 80])
def test_statistics_show_time_cost_tokens_and_nudges_of_a_task_however_narrow(columns: int) -> None:
    branch = Branch()
    branch.mark(IN_PROGRESS, PENDING, cost=0.1)
    branch.add(Nudged(1, 1, StopFingerprint()), "claude:1", 1.3, Actor.TIMER)
    branch.mark(COMPLETED, PENDING, cost=1.5)
    found = session_stats(branch.events, branch.events[-1].at, {})
    assert found is not None

    text = "\n".join(plain(line) for line in stats_lines("demo", found, str, columns))

    assert all(words in text.partition("Time in progress")[2] for words in ("  2m  ", "$1.40", "1.4k tok", "◆1"))
    assert max(display_width(line) for line in text.splitlines()) <= columns
    tasks = stats_data(found, str)["tasks"]
    assert isinstance(tasks, list)
    assert tasks[0]["cost"] == 1.4


@pytest.mark.parametrize(
    ("first", "sentence"),
    [
        (0.1, "$1.50 in the conversations of its agents, $0.10 of it while no single task was in progress."),
        (0.0, "$1.50 in the conversations of its agents."),
    ],
)
def test_the_cost_in_all_is_said_with_what_belongs_to_no_task(first: float, sentence: str) -> None:
    """Also if nothing is known of tokens."""
    branch = Branch()
    branch.mark(IN_PROGRESS, PENDING, cost=first)
    branch.mark(COMPLETED, PENDING, cost=1.5)
    found = session_stats(branch.events, branch.events[-1].at, {})
    assert found is not None

    assert usage_sentence(replace(found, tokens=None)) == sentence


def test_a_task_took_what_was_used_while_it_was_in_progress() -> None:
    """What came before the first event, and between two tasks, belongs to the plan alone."""
    branch = Branch()
    branch.mark(IN_PROGRESS, PENDING, cost=1)
    branch.mark(COMPLETED, PENDING, cost=1.5)
    branch.mark(COMPLETED, IN_PROGRESS, cost=1.75)
    branch.mark(COMPLETED, COMPLETED, cost=3.75)

    assert branch.tasks() == [
        TaskUsage(MINUTE, 0, AgentUsage(500, cost=0.5)),
        TaskUsage(MINUTE, 0, AgentUsage(2000, cost=2.0)),
    ]
    assert plan_usage(branch.events, 0).total == AgentUsage(3750, cost=3.75)


def test_without_a_usage_only_the_times_are_known() -> None:
    branch = Branch()
    branch.mark(IN_PROGRESS, PENDING)
    branch.mark(COMPLETED, PENDING)

    assert branch.tasks() == [TaskUsage(MINUTE), TaskUsage()]
    assert [task.is_known for task in branch.tasks()] == [True, False]
    assert plan_usage(branch.events, 0).total == UNKNOWN


def test_two_agents_on_one_plan_do_not_mix() -> None:
    branch = Branch()
    branch.mark(IN_PROGRESS, PENDING, cost=1)
    branch.mark(IN_PROGRESS, IN_PROGRESS, agent="codex:2", cost=10)
    branch.mark(COMPLETED, IN_PROGRESS, cost=1.5)
    branch.mark(COMPLETED, COMPLETED, agent="codex:2", cost=12)

    assert branch.costs() == [0.5, 2]


def test_what_several_tasks_took_belongs_to_none_of_them() -> None:
    branch = Branch()
    branch.mark(IN_PROGRESS, IN_PROGRESS, cost=1)
    branch.mark(COMPLETED, COMPLETED, cost=5)

    assert branch.costs() == [None, None]


def test_a_task_that_a_person_started_is_the_agents() -> None:
    branch = Branch()
    branch.add(PlanChanged(plan(PENDING)), "claude:1", 1)
    branch.add(PlanChanged(plan(IN_PROGRESS)), actor=Actor.USER)
    branch.mark(COMPLETED, cost=3)

    assert branch.costs() == [2]


def test_a_task_that_an_agent_left_belongs_to_the_next_one() -> None:
    """Unless the first one writes again."""
    branch = Branch()
    branch.mark(IN_PROGRESS, cost=1)
    branch.add(Nudged(1, 1), "claude:2", 0.25)
    branch.add(Nudged(2, 2), "claude:2", 0.5)
    assert branch.costs() == [0.25]

    branch.add(Nudged(3, 3), "claude:1", 1)
    branch.add(Nudged(4, 4), "claude:2", 0.75)

    assert branch.costs() == [0.25]


def test_a_conversation_that_is_counted_from_0_again_adds_up() -> None:
    branch = Branch()
    branch.mark(IN_PROGRESS, cost=4)
    branch.add(Nudged(1, 1), "claude:1", 0.5)

    assert branch.costs() == [0.5]
    assert plan_usage(branch.events, 0).total.cost == 4.5


def test_agents_apart_are_left_out() -> None:
    branch = Branch()
    branch.mark(IN_PROGRESS, agent="tildone:1", cost=1)
    branch.mark(COMPLETED, agent="tildone:1", cost=2)

    found = plan_usage(branch.events, 0, {"tildone:1"})

    assert (found.total, found.tasks[1]) == (UNKNOWN, TaskUsage(MINUTE))


def test_nudges_belong_to_the_task_to_work_on() -> None:
    """The agent's own task in progress, or else the next one; those of subagents belong to none."""
    branch = Branch()
    branch.add(PlanChanged(plan(PENDING, PENDING)))
    branch.add(Nudged(1, 1), "claude:1", actor=Actor.TIMER)
    branch.mark(PENDING, IN_PROGRESS)
    branch.add(Nudged(1, 1), "claude:1", actor=Actor.TIMER)
    branch.add(Nudged(2, 2), "claude:1", actor=Actor.TIMER)
    branch.add(Nudged(2, 2, of_subagent=True), "claude:1", actor=Actor.TIMER)
    branch.mark(COMPLETED, COMPLETED)
    branch.add(Nudged(1, 1), "claude:1", actor=Actor.TIMER)
    branch.add(DirectiveSet(Directive.GO), actor=Actor.USER)

    assert [task.nudges for task in branch.tasks()] == [1, 2]


def test_a_removed_task_keeps_what_it_took() -> None:
    branch = Branch()
    branch.mark(IN_PROGRESS, PENDING, cost=1)
    branch.add(PlanChanged(Plan(last_number=2)), "claude:1", 2)

    assert branch.tasks() == [TaskUsage(MINUTE, 0, AgentUsage(1000, cost=1)), TaskUsage()]


@given(histories, st.integers(0, 10**12))
def test_the_tasks_together_took_no_longer_than_there_were_tasks_at_work(events: list[Event], now: int) -> None:
    found = plan_usage(events, now)

    assert all(task.worked is None or task.worked >= 0 for task in found.tasks.values())
    assert found.total == UNKNOWN


def test_what_the_task_in_progress_has_taken_so_far() -> None:
    branch = Branch()
    branch.mark(PENDING, cost=1)
    branch.mark(IN_PROGRESS, cost=2)
    branch.add(Nudged(1, 1), "claude:1", 3)

    assert branch.spent(1, cost=3.5) == (2, 1.5)
    assert branch.spent(1) == (2, 1)


def test_it_is_counted_since_the_last_start() -> None:
    """Changes of other tasks, and nudges before the start, are no start."""
    branch = Branch()
    branch.mark(IN_PROGRESS, PENDING, cost=1)
    branch.mark(PENDING, PENDING, cost=2)
    branch.add(Nudged(1, 1), "claude:1", 2.5)
    branch.mark(IN_PROGRESS, PENDING, cost=3)
    branch.mark(IN_PROGRESS, COMPLETED, cost=4)

    assert branch.spent(1, cost=5) == (2, 2)


def test_if_a_person_started_it_the_last_known_usage_counts() -> None:
    branch = Branch()
    branch.mark(PENDING, cost=1)
    branch.add(Nudged(1, 1), "claude:1", 1.5)
    branch.add(Nudged(1, 1), "codex:1", 7)
    branch.add(PlanChanged(plan(IN_PROGRESS)), actor=Actor.USER)

    assert branch.spent(1, cost=2) == (1, 0.5)


def test_a_person_who_speaks_starts_it_again() -> None:
    branch = Branch()
    branch.mark(IN_PROGRESS, cost=1)
    branch.add(Nudged(1, 1), "claude:1", 4)
    branch.add(DirectiveSet(Directive.GO), actor=Actor.USER)

    assert branch.spent(1, cost=4.5) == (1, 0.5)


def test_counts_that_are_kept_are_no_start() -> None:
    """An agent that moves the head, and a timer, are no persons who speak."""
    branch = Branch()
    branch.mark(IN_PROGRESS, cost=1)
    branch.add(DirectiveSet(Directive.GO, ledger=Ledger(continued=1)), actor=Actor.USER)
    branch.add(DirectiveSet(Directive.GO, drift=1), actor=Actor.USER)
    branch.add(DirectiveSet(Directive.GO), actor=Actor.TIMER)

    assert branch.spent(1, cost=4.5) == (4, 3.5)


def test_what_is_not_in_progress_or_not_known_has_taken_nothing() -> None:
    branch = Branch()
    branch.mark(COMPLETED, IN_PROGRESS)

    assert branch.spent(1, cost=5) == (0, None)
    assert branch.spent(2, cost=5) == (1, None)
    assert spent_on(1, [], "", None, 5) == (0, UNKNOWN)
    assert plan_usage([], 0).tasks == {}
