"""The shape of a session."""

from tests.plans import plan_of
from tildone.plan.events import Actor, Event, Fact, Labelled, PlanChanged, branch, by_id, labels, leaves

SHAPE = {"a": None, "b": "a", "c": "b", "d": "b", "e": "d"}
EVENTS = [Event(name, parent, 0, Actor.USER, PlanChanged(plan_of())) for name, parent in SHAPE.items()]
TREE = by_id(EVENTS)


def ids(events: list[Event]) -> str:
    return "".join(event.id for event in events)


def test_a_branch_is_the_path_from_the_root() -> None:
    """Oldest first; without a head it is empty."""
    assert ids(branch(TREE, "e")) == "abde"
    assert branch(TREE, None) == []


def test_leaves_are_the_events_without_children() -> None:
    assert leaves(EVENTS) == ["c", "e"]


def test_the_newest_label_of_an_event_counts() -> None:
    """An empty label removes it, whether or not there was one."""
    named: list[Fact] = [
        Labelled("a", "first"),
        Labelled("b", "gone"),
        Labelled("a", "start"),
        Labelled("b", ""),
        Labelled("c", ""),
        PlanChanged(plan_of()),
    ]

    assert labels(Event(str(i), None, i, Actor.USER, fact) for i, fact in enumerate(named)) == {"a": "start"}
