"""Tasks with checks that an agent has set aside, and how a person ends that."""

from collections.abc import Iterator, Sequence

import pytest

from tildone.plan.events import Actor, Author, Directive, DirectiveSet, Event, Fact, PlanChanged
from tildone.plan.history import stats as held_up
from tildone.plan.history.stats import describe_held_up, held_up_by_agents
from tildone.plan.model import Check, Plan, Proof, Result, Status, Task, flat

CHECK = Check(("make", "test"))
REFUSED = Proof(Result.REFUSED, CHECK.command)
PENDING, BLOCKED, ACTIVE = Status.PENDING, Status.BLOCKED, Status.IN_PROGRESS

Step = tuple[str, Fact]


def task(number: int, status: Status = PENDING, *, after: tuple[int, ...] = (), notes: tuple[str, ...] = ()) -> Task:
    return Task(f"t{number}", status, notes, number, check=CHECK if number == 1 else None, after=after)


def changed(*tasks: Task) -> PlanChanged:
    return PlanChanged(flat(*tasks))


def events(steps: Sequence[Step]) -> list[Event]:
    """The events that these make, the newest first: by a person, an agent, in its shell, or by its timer."""
    authors = {
        "person": (Actor.USER, Author("Ada")),
        "agent": (Actor.AGENT, Author("Ada", "claude:s1")),
        "shell": (Actor.USER, Author("Ada", "claude:s1")),
        "timer": (Actor.TIMER, Author()),
    }
    made = [
        Event(str(at), str(at - 1) if at else None, at, authors[who][0], fact, authors[who][1])
        for at, (who, fact) in enumerate(steps)
    ]
    return made[::-1]


def found(*steps: Step) -> list[int]:
    made = events(steps)
    plan = next(event.fact.plan for event in made if isinstance(event.fact, PlanChanged))
    return [each.number for each in held_up_by_agents(plan, lambda: made)]


START = ("person", changed(task(1), task(2)))
BEHIND = changed(task(1, after=(2,)), task(2, BLOCKED))

CASES: dict[str, tuple[list[Step], list[int]]] = {
    "nothing is blocked": ([START], []),
    "blocked by an agent": ([START, ("agent", changed(task(1, BLOCKED), task(2)))], [1]),
    "blocked in the shell of an agent": ([START, ("shell", changed(task(1, BLOCKED), task(2)))], [1]),
    "blocked by a timer": ([START, ("timer", changed(task(1, BLOCKED), task(2)))], [1]),
    "blocked by the person": ([START, ("person", changed(task(1, BLOCKED), task(2)))], []),
    "written as blocked by an agent": ([("agent", changed(task(1, BLOCKED)))], [1]),
    "written as blocked by the person": ([("person", changed(task(1, BLOCKED)))], []),
    "later, the agent works on": (
        [START, ("agent", changed(task(1, BLOCKED), task(2))), ("agent", changed(task(1, BLOCKED), task(2, ACTIVE)))],
        [1],
    ),
    "later, the person changes another task": (
        [START, ("agent", changed(task(1, BLOCKED), task(2))), ("person", changed(task(1, BLOCKED), task(2, ACTIVE)))],
        [1],
    ),
    "later, the person leaves a note": (
        [
            START,
            ("agent", changed(task(1, BLOCKED), task(2))),
            ("person", changed(task(1, BLOCKED, notes=("yes, wait",)), task(2))),
        ],
        [],
    ),
    "later, the person resumes": (
        [START, ("agent", changed(task(1, BLOCKED), task(2))), ("person", DirectiveSet(Directive.GO))],
        [1],
    ),
    "a task without a check is blocked": ([START, ("agent", changed(task(1), task(2, BLOCKED)))], []),
    "ordered after a blocked one": ([START, ("agent", changed(task(1), task(2, BLOCKED))), ("agent", BEHIND)], [1]),
    "the one that it waits for is blocked": (
        [START, ("person", changed(task(1, after=(2,)), task(2))), ("agent", BEHIND)],
        [1],
    ),
    "the person blocks the one that it waits for": (
        [START, ("agent", changed(task(1, after=(2,)), task(2))), ("person", BEHIND)],
        [],
    ),
    "ordered after one that waits for a blocked one": (
        [START, ("agent", changed(task(1, after=(2, 3)), task(2, after=(3,)), task(3, BLOCKED)))],
        [1],
    ),
    "in progress all the same": ([START, ("agent", changed(task(1, ACTIVE, after=(2,)), task(2, BLOCKED)))], []),
    "it waits for one that can be done": ([START, ("agent", changed(task(1, after=(2,)), task(2)))], []),
}


@pytest.mark.parametrize("case", CASES)
def test_the_newest_change_of_what_holds_a_task_up_decides(case: str) -> None:
    steps, numbers = CASES[case]

    assert found(*steps) == numbers


def test_a_task_that_its_check_has_blocked_is_not_set_aside() -> None:
    """What it waits for is that the person approves the check, or runs it."""
    blocked = Task("t1", BLOCKED, number=1, check=CHECK, proof=REFUSED)

    assert found(START, ("agent", changed(blocked))) == []


def test_the_history_is_read_only_if_needed_and_not_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who set a task aside before the events that are read was an agent, as far as is known."""
    monkeypatch.setattr(held_up, "MAX_EVENTS_READ", 2)
    by_person = changed(task(1, BLOCKED), task(2))
    steps = [("person", by_person), ("agent", changed(task(1, BLOCKED), task(2, ACTIVE))), ("agent", by_person)]

    def unread() -> Iterator[Event]:
        raise AssertionError

    assert held_up_by_agents(flat(task(1)), unread) == []
    assert found(*steps) == [1]
    assert held_up_by_agents(by_person.plan, list) == [by_person.plan.tasks[0]]


def test_a_person_is_told_the_number_and_the_check() -> None:
    assert describe_held_up([task(1), task(2)]) == "the agent set aside #1 (check: make test)"
    assert describe_held_up(()) == ""


def test_snapshots_without_numbers_are_numbered_as_everywhere() -> None:
    old = Plan(flat(Task("t1", BLOCKED, check=CHECK)).phases)

    assert found(("person", PlanChanged(old)), ("agent", changed(task(1, BLOCKED)))) == []
