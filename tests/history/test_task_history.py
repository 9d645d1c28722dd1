"""The history of every task on a branch."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests import plans
from tests.history.histories import MINUTE, history
from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS
from tests.plans import unnumbered_plan_of as plan_of
from tildone.plan.events import Actor, Event, Nudged, PlanChanged
from tildone.plan.history.blame import TaskHistory, task_histories
from tildone.plan.history.changes import ChangeKind
from tildone.plan.model import Phase, Plan, Rules, Status, Task, assign_numbers, flat
from tildone.plan.ops import Op
from tildone.plan.reduce import reduce


def steps_of(entry: TaskHistory) -> list[tuple[str, list[ChangeKind], int | None]]:
    return [(step.event.id, [change.kind for change in step.changes], step.duration) for step in entry.steps]


def test_a_task_history_has_all_changes_of_the_task() -> None:
    """And none of others."""
    events = history(
        plan_of("a", "b"),
        flat(Task("a", IN_PROGRESS), Task("b")),
        flat(Task("a", IN_PROGRESS), Task("b"), Task("c")),
        flat(Task("a", COMPLETED, ("done well",)), Task("b"), Task("c")),
    )

    [entry, other, late] = task_histories(events)

    assert (entry.task, entry.phase, entry.position) == (Task("a", COMPLETED, ("done well",), 1), "", 0)
    assert steps_of(entry) == [
        ("a", [ChangeKind.ADDED], None),
        ("b", [ChangeKind.STARTED], None),
        ("d", [ChangeKind.COMPLETED, ChangeKind.NOTED], 2 * MINUTE),
    ]
    assert steps_of(other) == [("a", [ChangeKind.ADDED], None)]
    assert steps_of(late) == [("c", [ChangeKind.ADDED], None)]


def test_a_task_is_followed_from_phase_to_phase() -> None:
    """Also when a phase is renamed; the time in progress continues."""
    events = history(
        Plan((Phase("Build", (Task("a", IN_PROGRESS), Task("b"))), Phase("Ship"))),
        Plan((Phase("Build", (Task("b"),)), Phase("Ship", (Task("a", IN_PROGRESS),)))),
        Plan((Phase("Make", (Task("b"),)), Phase("Ship", (Task("a", COMPLETED),)))),
    )

    [other, entry] = task_histories(events)

    assert [(entry.phase, entry.position), (other.phase, other.position)] == [("Ship", 1), ("Make", 0)]
    assert steps_of(entry) == [
        ("a", [ChangeKind.ADDED, ChangeKind.STARTED], None),
        ("b", [ChangeKind.MOVED], None),
        ("c", [ChangeKind.COMPLETED], 2 * MINUTE),
    ]


def test_another_text_is_another_task() -> None:
    """One is removed, the other added."""
    [new, old] = task_histories(history(plan_of("Parse"), plan_of("Parse it")))

    assert steps_of(new) == [("b", [ChangeKind.ADDED], None)]
    assert steps_of(old) == [("a", [ChangeKind.ADDED], None), ("b", [ChangeKind.REMOVED], None)]
    assert (new.position, old.position) == (0, None)


def test_removed_tasks_come_last_the_latest_first() -> None:
    """With the time in progress when they were removed."""
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


def test_tasks_with_equal_texts_have_separate_histories() -> None:
    """They are matched in order."""
    found = task_histories(history(plan_of("a", "a"), flat(Task("a"), Task("a", COMPLETED))))

    assert [len(entry.steps) for entry in found] == [1, 2]


def test_the_time_in_progress_is_the_sum_of_its_periods() -> None:
    """A period that has not ended counts until now, unless the clock was set back."""
    events = history(
        flat(Task("a", IN_PROGRESS)), plan_of("a"), plan_of("a", "b"), flat(Task("a", IN_PROGRESS), Task("b"))
    )

    [entry, never] = task_histories(events)

    assert entry.time_in_progress(10 * MINUTE) == MINUTE + 7 * MINUTE
    assert entry.time_in_progress(0) == MINUTE
    assert never.time_in_progress(10 * MINUTE) is None


def test_the_lifetime_is_from_added_to_last_closed() -> None:
    """A reopened task has none; dropping closes a task too."""
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


def test_durations_are_unknown_if_the_clock_was_set_back() -> None:
    """Both of closed and of removed tasks."""
    events = [
        Event("a", None, 9, Actor.USER, PlanChanged(flat(Task("a", IN_PROGRESS), Task("b")))),
        Event("b", "a", 5, Actor.USER, PlanChanged(flat(Task("b", COMPLETED)))),
    ]

    closed, left = task_histories(events)

    assert closed.lifetime is None
    assert left.time_in_progress(99) is None


def test_a_renamed_task_keeps_its_history() -> None:
    """A number belongs to one task, whatever its text."""
    before, after = flat(Task("Parse", number=1), Task("b", number=2)), flat(Task("P", number=1), Task("b", number=2))

    [parse, other] = task_histories(history(before, after))

    assert steps_of(parse) == [("a", [ChangeKind.ADDED], None), ("b", [ChangeKind.RENAMED], None)]
    assert steps_of(other) == [("a", [ChangeKind.ADDED], None)]


def test_other_events_have_no_task_history() -> None:
    """A branch without a plan has none."""
    assert task_histories([Event("a", None, 1, Actor.TIMER, Nudged(1, 1))]) == []
    assert task_histories(history(plan_of("a")))[0].status_change is None


@settings(max_examples=60, derandomize=True)
@given(st.lists(plans.ops, max_size=8))
def test_the_task_histories_of_a_branch_match_its_plan(program: list[Op]) -> None:
    """In the order of the plan; each begins with its addition, and has a closing step if and only if it is closed."""
    states = [Plan()]
    for op in program:
        states.append(reduce(states[-1], [op], Rules()).after)

    found = task_histories(history(*states))

    here = [entry for entry in found if entry.position is not None]
    assert [entry.task for entry in here] == list(assign_numbers(states[-1], states[-1]).tasks)
    assert [entry.position for entry in here] == list(range(len(here)))
    assert found == here + [entry for entry in found if entry.position is None]
    for entry in found:
        assert entry.steps[0].changes[0].kind is ChangeKind.ADDED
        assert (entry.closed is None) is entry.task.status.is_open
        assert (entry.since is not None) is (entry.position is not None and entry.task.status is Status.IN_PROGRESS)
