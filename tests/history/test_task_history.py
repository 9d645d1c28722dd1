"""The entry of every task on a branch."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests import plans
from tests.history.histories import MINUTE, history
from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, plan_of
from tildone.core.ops import Op
from tildone.core.plan import Phase, Plan, Status, Task, flat
from tildone.core.reduce import reduce
from tildone.core.rules import Rules
from tildone.history.changes import ChangeKind
from tildone.history.task_history import TaskHistory, task_histories
from tildone.log.events import Actor, Event, Nudged, PlanChanged


def told(entry: TaskHistory) -> list[tuple[str, list[ChangeKind], int | None]]:
    return [(step.event.id, [change.kind for change in step.changes], step.duration) for step in entry.steps]


def test_a_life_is_all_that_happened_to_a_task() -> None:
    """And nothing that happened to others."""
    events = history(
        plan_of("a", "b"),
        flat(Task("a", IN_PROGRESS), Task("b")),
        flat(Task("a", IN_PROGRESS), Task("b"), Task("c")),
        flat(Task("a", COMPLETED, ("done well",)), Task("b"), Task("c")),
    )

    [entry, other, late] = task_histories(events)

    assert (entry.task, entry.phase, entry.position) == (Task("a", COMPLETED, ("done well",)), "", 0)
    assert told(entry) == [
        ("a", [ChangeKind.ADDED], None),
        ("b", [ChangeKind.STARTED], None),
        ("d", [ChangeKind.COMPLETED, ChangeKind.NOTED], 2 * MINUTE),
    ]
    assert told(other) == [("a", [ChangeKind.ADDED], None)]
    assert told(late) == [("c", [ChangeKind.ADDED], None)]


def test_a_task_is_followed_from_phase_to_phase() -> None:
    """And through a phase's change of name; its time in progress goes on."""
    events = history(
        Plan((Phase("Build", (Task("a", IN_PROGRESS), Task("b"))), Phase("Ship"))),
        Plan((Phase("Build", (Task("b"),)), Phase("Ship", (Task("a", IN_PROGRESS),)))),
        Plan((Phase("Make", (Task("b"),)), Phase("Ship", (Task("a", COMPLETED),)))),
    )

    [other, entry] = task_histories(events)

    assert [(entry.phase, entry.position), (other.phase, other.position)] == [("Ship", 1), ("Make", 0)]
    assert told(entry) == [
        ("a", [ChangeKind.ADDED, ChangeKind.STARTED], None),
        ("b", [ChangeKind.MOVED], None),
        ("c", [ChangeKind.COMPLETED], 2 * MINUTE),
    ]


def test_another_text_is_another_task() -> None:
    """The one left, the other came."""
    [new, old] = task_histories(history(plan_of("Parse"), plan_of("Parse it")))

    assert told(new) == [("b", [ChangeKind.ADDED], None)]
    assert told(old) == [("a", [ChangeKind.ADDED], None), ("b", [ChangeKind.REMOVED], None)]
    assert (new.position, old.position) == (0, None)


def test_what_left_the_plan_comes_last_and_the_newest_of_it_first() -> None:
    """With the time it was in progress when it left."""
    found = task_histories(
        history(
            flat(Task("a", IN_PROGRESS), Task("b"), Task("c")),
            plan_of("b", "c"),
            plan_of("c"),
        )
    )

    assert [entry.task.text for entry in found] == ["c", "b", "a"]
    assert found[2].steps[-1].duration == MINUTE
    assert found[2].time_in_progress(99 * MINUTE) == MINUTE


def test_two_tasks_of_one_text_have_lives_of_their_own() -> None:
    """The first of them is the first, the second the second."""
    found = task_histories(history(plan_of("a", "a"), flat(Task("a"), Task("a", COMPLETED))))

    assert [len(entry.steps) for entry in found] == [1, 2]


def test_the_time_in_progress_is_the_sum_of_its_stretches() -> None:
    """One that still goes on counts until now, unless a clock was set back."""
    events = history(
        flat(Task("a", IN_PROGRESS)), plan_of("a"), plan_of("a", "b"), flat(Task("a", IN_PROGRESS), Task("b"))
    )

    [entry, never] = task_histories(events)

    assert entry.time_in_progress(10 * MINUTE) == MINUTE + 7 * MINUTE
    assert entry.time_in_progress(0) == MINUTE
    assert never.time_in_progress(10 * MINUTE) is None


def test_a_task_lasts_from_when_it_was_added_to_when_it_was_closed_last() -> None:
    """One that was opened again is not closed; dropping it closes it, too."""
    events = history(
        plan_of("a", "b", "c"),
        flat(Task("a", COMPLETED), Task("b", COMPLETED), Task("c")),
        flat(Task("a"), Task("b", COMPLETED), Task("c", ABANDONED)),
        flat(Task("a", COMPLETED), Task("b", COMPLETED, ("still",)), Task("c", ABANDONED)),
    )

    again, once, dropped = task_histories(events)

    assert [entry.lifetime for entry in (again, once, dropped)] == [3 * MINUTE, MINUTE, 2 * MINUTE]
    assert [entry.closed and entry.closed.event.id for entry in (again, once, dropped)] == ["d", "b", "c"]
    assert task_histories(events[:3])[0].closed is None
    assert task_histories(events[:3])[0].lifetime is None
    assert again.status_change is again.closed


def test_a_clock_that_went_back_leaves_nothing_to_tell() -> None:
    """Neither of a task that was closed, nor of one that left while it was in progress."""
    events = [
        Event("a", None, 9, Actor.USER, PlanChanged(flat(Task("a", IN_PROGRESS), Task("b")))),
        Event("b", "a", 5, Actor.USER, PlanChanged(flat(Task("b", COMPLETED)))),
    ]

    closed, left = task_histories(events)

    assert closed.lifetime is None
    assert left.time_in_progress(99) is None


def test_what_is_no_change_of_the_plan_is_nobodys_life() -> None:
    """A branch without a plan has no lives."""
    assert task_histories([Event("a", None, 1, Actor.TIMER, Nudged(1, 1))]) == []
    assert task_histories(history(plan_of("a")))[0].status_change is None


@settings(max_examples=60, derandomize=True)
@given(st.lists(plans.ops, max_size=8))
def test_the_lives_on_a_branch_make_up_its_plan(program: list[Op]) -> None:
    """Every task of it is one entry, in order; each began by being added, and knows whether it was closed."""
    states = [Plan()]
    for op in program:
        states.append(reduce(states[-1], [op], Rules()).after)

    found = task_histories(history(*states))

    here = [entry for entry in found if entry.position is not None]
    assert [entry.task for entry in here] == list(states[-1].tasks)
    assert [entry.position for entry in here] == list(range(len(here)))
    assert found == here + [entry for entry in found if entry.position is None]
    for entry in found:
        assert entry.steps[0].changes[0].kind is ChangeKind.ADDED
        assert (entry.closed is None) is entry.task.status.is_open
        assert (entry.since is not None) is (entry.position is not None and entry.task.status is Status.IN_PROGRESS)
