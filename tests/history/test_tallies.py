"""What happens is counted from the events of a plan."""

from tildone.base import replace
from tildone.plan.events import Actor, AgentUsage, Author, Bound, Event, Fact, Labelled, Nudged, PlanChanged, Tripped
from tildone.plan.history.stats import MAX_CHARACTERS, BoundedNames, PlanTally
from tildone.plan.model import Check, Phase, Plan, Proof, Result, Status, Task
from tildone.plan.runs import LeaseState, RunEnded, RunLost, RunReleased, RunTaken

CHECK = Check(("make",))


Counts = dict[tuple[str, tuple[str, ...]], float]


def counted(*facts: Fact) -> Counts:
    counts: Counts = {}
    tally = PlanTally(counts, Plan(), {}, (BoundedNames(9), BoundedNames(9)))
    for number, fact in enumerate(facts):
        tally.add(Event(f"e{number}", None, number, Actor.AGENT, fact))
    return counts


def plan(*tasks: Task) -> Plan:
    return Plan((Phase("", tuple(replace(task, number=number) for number, task in enumerate(tasks, 1))),))


def test_tasks_and_checks_are_counted_when_they_change() -> None:
    failed, passed = (Proof(result, CHECK.command, at=at) for at, result in ((5, Result.FAILED), (9, Result.PASSED)))
    opened = plan(Task("one", check=CHECK), Task("two"))
    tried = plan(Task("one", check=CHECK, proof=failed), Task("two", Status.ABANDONED))
    done = plan(Task("one", Status.COMPLETED, check=CHECK, proof=passed), Task("two", Status.ABANDONED))
    proved = replace(done, check=CHECK, proof=replace(passed, at=12))
    imported = plan(*done.tasks, Task("three", Status.COMPLETED, check=CHECK, proof=passed))

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
