"""The changes of a plan that are news to an agent."""

from tildone.plan.events import Actor, Author, Event, Nudged, PlanChanged
from tildone.plan.history.changes import ChangeKind, changes_by_others
from tildone.plan.model import Plan, Status, Task, flat, numbered

CLAUDE = Author("Ada", "claude:s1")
SEEN = numbered(flat(Task("Parse"), Task("Wire")))


def steps(*plans: tuple[Author, Plan]) -> list[Event]:
    """The events of these changes after `SEEN`, newest first; an author without an agent is a person."""
    events = [Event("e0", None, 0, Actor.USER, PlanChanged(SEEN))]
    for author, plan in plans:
        actor = Actor.AGENT if author.agent else Actor.USER
        events.append(Event(f"e{len(events)}", events[-1].id, 0, actor, PlanChanged(plan), author))
    return events[::-1]


def with_status(plan: Plan, number: int, status: Status) -> Plan:
    return flat(
        *(Task(task.text, status if task.number == number else task.status, (), task.number) for task in plan.tasks)
    )


def kinds(plan: Plan, events: list[Event], since: str = "e0") -> list[tuple[ChangeKind, str]]:
    found = changes_by_others(SEEN, plan, events, since, CLAUDE)
    return [(change.kind, change.subject) for change in found]


def test_own_changes_are_left_out_and_those_of_others_are_not() -> None:
    own = with_status(SEEN, 1, Status.COMPLETED)
    both = numbered(flat(*own.tasks, Task("Measure")))

    assert kinds(own, steps((CLAUDE, own))) == []
    assert kinds(both, steps((CLAUDE, own), (Author("Ada"), both))) == [(ChangeKind.ADDED, "Measure")]
    assert kinds(both, steps((Author("Ada"), own), (CLAUDE, both))) == [(ChangeKind.COMPLETED, "Parse")]


def test_another_agent_of_the_same_person_is_another() -> None:
    done = with_status(SEEN, 2, Status.COMPLETED)

    assert kinds(done, steps((Author("Ada", "codex:s1"), done))) == [(ChangeKind.COMPLETED, "Wire")]


def test_events_that_change_no_plan_do_not_matter() -> None:
    done = with_status(SEEN, 2, Status.COMPLETED)
    events = steps((CLAUDE, done))
    nudge = Event("n1", events[0].id, 0, Actor.TIMER, Nudged(1, 1), CLAUDE)

    assert kinds(done, [nudge, *events]) == []


def test_everything_is_told_if_the_seen_event_is_not_among_the_events() -> None:
    """As after an undo, or after more events than are read."""
    done = with_status(SEEN, 2, Status.COMPLETED)

    assert kinds(done, steps((CLAUDE, done)), since="elsewhere") == [(ChangeKind.COMPLETED, "Wire")]
