"""What tasks took: usage, durations, pace and estimates, and the figures of a store."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.history.histories import history
from tests.history.test_stats import histories
from tests.plans import COMPLETED, IN_PROGRESS, PENDING
from tests.plans import unnumbered_plan_of as plan_of
from tests.telemetry.prometheus import parse
from tildone.base import replace
from tildone.plan.events import (
    UNKNOWN,
    Actor,
    AgentUsage,
    Author,
    Bound,
    Directive,
    DirectiveSet,
    Event,
    Fact,
    Labelled,
    Ledger,
    Nudged,
    PlanChanged,
    StopFingerprint,
    Tripped,
)
from tildone.plan.history.blame import task_histories
from tildone.plan.history.changes import finished_durations, in_progress_since, match_plans
from tildone.plan.history.stats import (
    MAX_CHARACTERS,
    BoundedNames,
    FleetNow,
    Pace,
    PlanTally,
    counter_families,
    fleet_families,
    session_families,
    session_stats,
    stats_data,
)
from tildone.plan.history.stats_lines import duration_lines, stats_lines, usage_sentence
from tildone.plan.history.usage import TaskUsage, UsageCounter, plan_usage, spent_on
from tildone.plan.lists import WorkerInfo
from tildone.plan.model import Check, Phase, Plan, PlanProgress, Proof, Result, Status, Task, flat, numbered
from tildone.plan.runs import Lease, LeaseRequest, LeaseState, RunEnded, RunLost, RunReleased, RunTaken
from tildone.plan.text.charts import exposition
from tildone.plan.text.styles import display_width, markup, plain

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
    """What came before the first event, and between two tasks, is the plan's. Without a usage, only times are known."""
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

    branch = Branch()
    branch.mark(IN_PROGRESS, PENDING)
    branch.mark(COMPLETED, PENDING)

    assert branch.tasks() == [TaskUsage(MINUTE), TaskUsage()]
    assert [task.is_known for task in branch.tasks()] == [True, False]
    assert plan_usage(branch.events, 0).total == UNKNOWN


def test_what_a_task_took_is_told_while_it_is_counted() -> None:
    """Nothing is told of a task of which only times are known, nor of one that does not exist."""
    branch, counter = Branch(), UsageCounter()
    branch.mark(IN_PROGRESS, PENDING, cost=1)
    branch.mark(COMPLETED, IN_PROGRESS, cost=1.5)
    branch.add(Nudged(1, 1, StopFingerprint()), "claude:1", 1.5, Actor.TIMER)
    for event in branch.events:
        counter.add(event)

    assert counter.taken(1, 0) == TaskUsage(MINUTE, 0, AgentUsage(500, cost=0.5))
    assert counter.taken(2, 5 * MINUTE) == TaskUsage(4 * MINUTE, 1, AgentUsage(0, cost=0.0))
    assert counter.taken(3, 0) is None
    alone = UsageCounter()
    alone.add(branch.events[0])
    assert alone.taken(1, MINUTE) is None


def test_two_agents_on_one_plan_do_not_mix() -> None:
    """What several tasks took belongs to none; a task that a person started is the agent's."""
    branch = Branch()
    branch.mark(IN_PROGRESS, PENDING, cost=1)
    branch.mark(IN_PROGRESS, IN_PROGRESS, agent="codex:2", cost=10)
    branch.mark(COMPLETED, IN_PROGRESS, cost=1.5)
    branch.mark(COMPLETED, COMPLETED, agent="codex:2", cost=12)

    assert branch.costs() == [0.5, 2]

    branch = Branch()
    branch.mark(IN_PROGRESS, IN_PROGRESS, cost=1)
    branch.mark(COMPLETED, COMPLETED, cost=5)

    assert branch.costs() == [None, None]

    branch = Branch()
    branch.add(PlanChanged(plan(PENDING)), "claude:1", 1)
    branch.add(PlanChanged(plan(IN_PROGRESS)), actor=Actor.USER)
    branch.mark(COMPLETED, cost=3)

    assert branch.costs() == [2]

    branch = Branch()
    branch.mark(IN_PROGRESS, agent="tildone:1", cost=1)
    branch.mark(COMPLETED, agent="tildone:1", cost=2)

    found = plan_usage(branch.events, 0, {"tildone:1"})

    assert (found.total, found.tasks[1]) == (UNKNOWN, TaskUsage(MINUTE))


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
    assert [task.nudges for task in branch.tasks()] == [4]


def test_a_nudge_without_a_task_to_work_on_is_that_of_none() -> None:
    branch = Branch()
    branch.mark(COMPLETED)
    branch.add(Nudged(1, 1), "claude:1")

    assert [task.nudges for task in branch.tasks()] == [0]


def test_a_conversation_that_is_counted_from_0_again_adds_up() -> None:
    branch = Branch()
    branch.mark(IN_PROGRESS, cost=4)
    branch.add(Nudged(1, 1), "claude:1", 0.5)

    assert branch.costs() == [0.5]
    assert plan_usage(branch.events, 0).total.cost == 4.5


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


def test_what_the_task_in_progress_has_taken_is_counted_since_its_last_start() -> None:
    """Changes of other tasks, and nudges before the start, are no start."""
    branch = Branch()
    branch.mark(PENDING, cost=1)
    branch.mark(IN_PROGRESS, cost=2)
    branch.add(Nudged(1, 1), "claude:1", 3)

    assert branch.spent(1, cost=3.5) == (2, 1.5)
    assert branch.spent(1) == (2, 1)

    branch = Branch()
    branch.mark(IN_PROGRESS, PENDING, cost=1)
    branch.mark(PENDING, PENDING, cost=2)
    branch.add(Nudged(1, 1), "claude:1", 2.5)
    branch.mark(IN_PROGRESS, PENDING, cost=3)
    branch.mark(IN_PROGRESS, COMPLETED, cost=4)

    assert branch.spent(1, cost=5) == (2, 2)

    branch = Branch()
    branch.mark(PENDING, cost=1)
    branch.add(Nudged(1, 1), "claude:1", 1.5)
    branch.add(Nudged(1, 1), "codex:1", 7)
    branch.add(PlanChanged(plan(IN_PROGRESS)), actor=Actor.USER)

    assert branch.spent(1, cost=2) == (1, 0.5)


def test_only_a_person_who_speaks_starts_it_again() -> None:
    """An agent that moves the head, and a timer, are no persons who speak."""
    branch = Branch()
    branch.mark(IN_PROGRESS, cost=1)
    branch.add(Nudged(1, 1), "claude:1", 4)
    branch.add(DirectiveSet(Directive.GO), actor=Actor.USER)

    assert branch.spent(1, cost=4.5) == (1, 0.5)

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


CHECK = Check(("make",))


Counts = dict[tuple[str, tuple[str, ...]], float]


def counted(*facts: Fact) -> Counts:
    counts: Counts = {}
    tally = PlanTally(counts, Plan(), {}, (BoundedNames(9), BoundedNames(9)))
    for number, fact in enumerate(facts):
        tally.add(Event(f"e{number}", None, number, Actor.AGENT, fact))
    return counts


def plan_with(*tasks: Task) -> Plan:
    return Plan((Phase("", tuple(replace(task, number=number) for number, task in enumerate(tasks, 1))),))


def test_tasks_and_checks_are_counted_when_they_change() -> None:
    failed, passed = (Proof(result, CHECK.command, at=at) for at, result in ((5, Result.FAILED), (9, Result.PASSED)))
    opened = plan_with(Task("one", check=CHECK), Task("two"))
    tried = plan_with(Task("one", check=CHECK, proof=failed), Task("two", Status.ABANDONED))
    done = plan_with(Task("one", Status.COMPLETED, check=CHECK, proof=passed), Task("two", Status.ABANDONED))
    proved = replace(done, check=CHECK, proof=replace(passed, at=12))
    imported = plan_with(*done.tasks, Task("three", Status.COMPLETED, check=CHECK, proof=passed))

    counts = counted(*map(PlanChanged, (opened, tried, done, done, proved, proved, replace(imported, check=CHECK))))

    assert counts == {
        ("tasks", ("completed",)): 1,
        ("tasks", ("abandoned",)): 1,
        ("checks", ("failed",)): 1,
        ("checks", ("passed",)): 2,
    }


def test_nudges_stops_and_runs_are_counted() -> None:
    counts = counted(
        Nudged(1, 1),
        Tripped(Bound.NUDGES, 3),
        Labelled("e0", "label"),
        RunTaken("r", 0, 1, "w/1/a/1"),
        RunLost("r", 0, 2, "gone"),
        RunTaken("r", 0, 3, "w/2/b/1"),
        RunReleased("r", 0, 4, LeaseState.OPEN, "failed", fails=1),
        RunTaken("r", 0, 5, "w/2/b/2"),
        RunReleased("r", 0, 6, LeaseState.OPEN, "drained", fails=1),
        RunTaken("r", 0, 7, "w/2/b/3"),
        RunEnded("r", 0, 8, LeaseState.FAILED, "open tasks", fails=1),
        RunTaken("q", 0, 1, "w/2/b/4"),
        RunEnded("q", 0, 2, LeaseState.DONE),
        RunTaken("p", 0, 1, "w/2/b/5"),
        RunLost("p", 0, 2, "gone"),
        RunEnded("p", 0, 2, LeaseState.FAILED, "lost too often"),
    )

    assert counts == {
        ("nudges", ()): 1,
        ("stops", ("nudges",)): 1,
        ("taken", ()): 6,
        ("lost", ()): 2,
        ("takeovers", ()): 1,
        ("failed", ()): 2,
        ("ended", ("failed",)): 2,
        ("ended", ("done",)): 1,
    }


def test_usage_is_counted_as_the_difference_to_the_last_one_of_the_agent() -> None:
    counts: Counts = {}
    tally = PlanTally(counts, Plan(), {"claude:1": AgentUsage(100, 10, 1.0)}, (BoundedNames(9), BoundedNames(9)))
    author = Author("Ada", "claude:1", "opus")
    for usage in (AgentUsage(150, 10, 1.5), None, AgentUsage(175, 12, 1.75), AgentUsage(cost=1.75)):
        tally.add(Event("e", None, 1, Actor.AGENT, Nudged(1, 1), author, usage))
    tally.add(Event("e", None, 1, Actor.AGENT, Nudged(1, 1), Author(), AgentUsage(5, 5)))

    assert counts == {
        ("nudges", ()): 5,
        ("tokens", ("claude", "opus", "input")): 75,
        ("tokens", ("claude", "opus", "output")): 2,
        ("cost", ("claude", "opus")): 0.75,
    }


def test_the_number_of_names_is_bounded() -> None:
    names = BoundedNames(2)

    assert [names.of(name) for name in ("a", "b" * 999, "c", "a")] == ["a", "b" * MAX_CHARACTERS, "other", "a"]


NOW = 100_000


def labelled(name: str, *values: tuple[str, float]) -> dict[tuple[tuple[str, str], ...], float]:
    return {((name, value),): amount for value, amount in values}


def test_the_gauges_of_a_fleet() -> None:
    leases = [
        Lease("a", 0, "s", owner="w/1/x/1", since=1),
        Lease("b", 0, "s", since=70_000),
        Lease("c", 0, "s", since=10_000, not_before=90_000),
        Lease("d", 0, "s", since=1, not_before=NOW + 1),
        Lease("e", 0, "s", state=LeaseState.WAITING, questions=("q1", "q2")),
        Lease("f", 0, "s", state=LeaseState.PAUSED),
    ]
    workers = [
        WorkerInfo("w/1/x", slots=4, seen=99_000),
        WorkerInfo("w/2/x", slots=2, seen=99_000, request=LeaseRequest.DRAIN),
        WorkerInfo("w/3/x", slots=8, seen=1_000),
    ]

    found = parse(exposition(fleet_families(FleetNow(leases, workers, NOW, 30_000, 4096))))

    assert found["tildone_runs"].samples == labelled(
        "state", ("queued", 2), ("delayed", 1), ("running", 1), ("waiting", 1), ("paused", 1)
    )
    assert found["tildone_workers"].samples == labelled("state", ("up", 1), ("draining", 1), ("silent", 1))
    plain = {name: figures.samples.get(()) for name, figures in found.items()}
    assert plain["tildone_slots"] == 6
    assert plain["tildone_slots_used"] == 1
    assert plain["tildone_queue_oldest_seconds"] == 30
    assert plain["tildone_store_bytes"] == 4096


def test_counters_without_labels_are_there_from_the_beginning() -> None:
    """As are all gauges of an empty fleet."""
    found = parse(exposition(fleet_families(FleetNow([], [], NOW, 1, 0))))

    assert {amount for figures in found.values() for amount in figures.samples.values()} == {0}

    found = parse(exposition(counter_families({("cost", ("claude", "opus")): 0.5, ("ended", ("done",)): 2})))

    assert found["tildone_takeovers_total"].samples == {(): 0}
    assert found["tildone_checks_total"].samples == {}
    assert found["tildone_runs_ended_total"].samples == labelled("state", ("done", 2))
    assert found["tildone_cost_usd_total"].samples == {(("agent", "claude"), ("model", "opus")): 0.5}
    found = parse(exposition(session_families({"done": 2, "idle": 0}, 4)))

    assert found["tildone_sessions"].samples == labelled("state", ("done", 2), ("idle", 0))
    assert found["tildone_questions"].samples == {(): 4}


HALF = PlanProgress(5, 8)


def pace_of(*closures: int, start: int = 0) -> Pace:
    pace = Pace()
    pace.began(start)
    for at in closures:
        pace.began(at)
        pace.closed(at)
    return pace


def test_the_estimate_is_the_open_tasks_at_the_pace_of_the_last_five_closures() -> None:
    """Of earlier ones, only the time of the last counts."""
    assert pace_of(10, 20, 30, 40, 50).estimate(HALF).remaining == 30
    assert pace_of(10, 20, 30, 40, 50).estimate(HALF).reason == ""
    assert pace_of(7, 1000, 1010, 1020, 1030, 1040, 1050).estimate(HALF).remaining == 30


@pytest.mark.parametrize(
    ("closures", "counts", "reason"),
    [
        ((1, 2, 3, 4), HALF, "no estimate: fewer than 5 tasks were closed"),
        ((1, 2, 3, 4, 5), PlanProgress(8, 8), "all tasks are closed"),
        ((1, 2, 3, 4, 5), PlanProgress(0, 0), "the plan is empty"),
        ((0, 0, 0, 0, 0), HALF, "no estimate: the last 5 tasks were closed at once"),
    ],
)
def test_without_an_estimate_there_is_a_reason(closures: tuple[int, ...], counts: PlanProgress, reason: str) -> None:
    estimate = pace_of(*closures).estimate(counts)

    assert (estimate.remaining, estimate.reason) == (None, reason)


def test_there_is_no_estimate_while_nudges_lead_to_nothing() -> None:
    """The newest one may still lead to progress, unless the agent was let go."""
    pace = pace_of(1, 2, 3, 4, 5)
    for _ in range(7):
        pace.nudged()
    pace.changed(is_progress=False)

    assert pace.estimate(HALF).reason == "no estimate: told to go on 7 times without progress"

    pace = pace_of(1, 2, 3, 4, 5)
    pace.nudged()
    pace.let_go()

    assert pace.estimate(HALF).reason == "no estimate: told to go on once without progress"

    pace = pace_of(1, 2, 3, 4, 5)
    pace.changed(is_progress=True)
    pace.let_go()
    pace.nudged()

    assert pace.estimate(HALF).remaining == 3


def test_each_of_the_last_three_nudges_must_have_led_to_progress() -> None:
    pace = pace_of(1, 2, 3, 4, 5)
    pace.nudged()
    pace.nudged()
    pace.changed(is_progress=True)
    assert pace.estimate(HALF).reason == "no estimate: 1 of the last 3 times told to go on, no progress"
    for _ in range(2):
        pace.nudged()
        pace.changed(is_progress=True)

    assert pace.estimate(HALF).remaining == 3


def test_a_task_is_in_progress_since_it_was_started() -> None:
    """Moves do not matter. A start before the first event is unknown until the task is started again."""
    before = Plan((Phase("A", (Task("a", IN_PROGRESS), Task("b"))), Phase("B")))
    after = Plan((Phase("A", (Task("b", IN_PROGRESS),)), Phase("B", (Task("c", IN_PROGRESS), Task("a", IN_PROGRESS)))))

    assert in_progress_since(match_plans(before, after), {(0, 0): 5}, 9) == {(0, 0): 9, (1, 0): 9, (1, 1): 5}

    begun = flat(Task("a", IN_PROGRESS))

    assert in_progress_since(match_plans(begun, begun), {}, 9) == {}
    assert finished_durations(match_plans(begun, flat(Task("a"))), {}, 9) == {}

    begun = flat(Task("a", IN_PROGRESS))

    assert finished_durations(match_plans(begun, begun), {(0, 0): 5}, 9) == {}
    assert finished_durations(match_plans(begun, Plan()), {(0, 0): 5}, 9) == {}


@pytest.mark.parametrize("status", [PENDING, COMPLETED, Status.ABANDONED, Status.BLOCKED])
def test_a_duration_ends_with_any_other_status(status: Status) -> None:
    """If the clock was set back, the duration is unknown."""
    match = match_plans(flat(Task("a", IN_PROGRESS)), flat(Task("a", status)))

    assert finished_durations(match, {(0, 0): 5}, 9) == {(0, 0): 4}
    assert finished_durations(match, {(0, 0): 5}, 5) == {(0, 0): 0}
    assert finished_durations(match, {(0, 0): 5}, 4) == {}
    assert in_progress_since(match, {(0, 0): 5}, 9) == {}


FOUND = task_histories(
    history(
        plan_of("Parse", "Wire", "Old"),
        flat(Task("Parse", IN_PROGRESS), Task("Wire"), Task("Old")),
        flat(Task("Parse", COMPLETED), Task("Wire", IN_PROGRESS), Task("Ship")),
    )
)


def test_each_task_is_listed_with_its_durations_and_who_closed_it() -> None:
    """A task in progress counts until now; on a narrow terminal, they are below the task."""
    assert [plain(line) for line in duration_lines(FOUND, 130 * MINUTE)] == [
        "worked on  in all  closed by  task",
        "       1m      2m  agent      ✓ #1 Parse",
        "    2h 8m       –  –          ● #2 Wire",
        "        –       –  –          – #3 Ship",
        "",
        "No longer in the plan:",
        "        –       –  –          – Old",
    ]
    assert markup(duration_lines(FOUND, 130 * MINUTE)[1]).endswith("<dim><strikethrough>Parse</strikethrough></dim>")
    assert [plain(line) for line in duration_lines(FOUND, 130 * MINUTE, 40)] == [
        "✓ #1 Parse",
        "  worked on 1m, 2m in all, by agent",
        "● #2 Wire",
        "  worked on 2h 8m",
        "– #3 Ship",
        "  not worked on yet",
        "",
        "No longer in the plan:",
        "– Old",
        "  not worked on yet",
    ]


def test_no_line_is_wider_than_the_terminal() -> None:
    found = task_histories(history(flat(Task("日本語 " * 30, COMPLETED), Task("line\nbreak\x1b[2J" * 20))))

    for columns in range(100):
        lines = [plain(line) for line in duration_lines(found, 0, columns)]
        assert all(display_width(line) <= columns for line in lines)
        assert not any("\n" in line or "\x1b" in line for line in lines)
