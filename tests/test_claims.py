"""A task in progress belongs to the agent that started it."""

import itertools

from tests.plans import plan_of
from tildone.core.plan import Plan, Status, Task, flat
from tildone.log.events import Actor, Author, Event, Nudged, PlanChanged
from tildone.wiring.claims import started_by


def events(*plans: tuple[str, Plan]) -> list[Event]:
    """Return the events of these changes, each by an agent, newest first."""
    ids = itertools.count()
    made = [Event(f"e{next(ids)}", None, 0, Actor.AGENT, PlanChanged(plan), Author(agent=by)) for by, plan in plans]
    return made[::-1]


def plan(*statuses: Status) -> Plan:
    return flat(*(Task(f"t{number}", status, number=number) for number, status in enumerate(statuses, 1)))


def test_the_newest_start_counts() -> None:
    pending, active = Status.PENDING, Status.IN_PROGRESS
    history = events(
        ("a", plan(pending, pending)),
        ("a", plan(active, pending)),
        ("a", plan(pending, pending)),
        ("b", plan(active, pending)),
        ("c", plan(active, active)),
    )
    nudge = Event("n", None, 0, Actor.TIMER, Nudged(1, 1), Author(agent="x"))

    assert started_by([nudge, *history]) == {1: "b", 2: "c"}


def test_a_task_that_was_in_progress_from_the_start_belongs_to_whoever_wrote_it() -> None:
    assert started_by(events(("a", plan(Status.IN_PROGRESS)))) == {1: "a"}


def test_without_tasks_in_progress_there_is_nothing_to_own() -> None:
    assert started_by(events(("a", plan_of("x")))) == {}
    assert started_by([]) == {}
