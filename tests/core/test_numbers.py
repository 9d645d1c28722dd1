"""Task numbers are assigned once and never change."""

import pytest
from hypothesis import given

from tests import plans
from tests.plans import BLOCKED, COMPLETED, IN_PROGRESS, PENDING
from tildone.plan import faults
from tildone.plan.model import Phase, Plan, Rules, Status, Task, flat, numbered, same_content, with_status
from tildone.plan.ops import Append, At, Mark, Move, Named, Note, Numbered, Remove, Rename, Write
from tildone.plan.reduce import Outcome, Step, reduce

FREE = Rules()
ABC = reduce(Plan(), [Append((Task("a"), Task("b"), Task("c")))], FREE).after


def numbers(plan: Plan) -> dict[str, int]:
    return {task.text: task.number for task in plan.tasks}


def texts_by_phase(plan: Plan) -> list[list[str]]:
    return [[task.text for task in phase.tasks] for phase in plan.phases]


def after(plan: Plan, *steps: Step) -> Plan:
    outcome = reduce(plan, steps, FREE)
    assert outcome.faults == ()
    return outcome.after


def test_tasks_are_numbered_from_one() -> None:
    assert numbers(ABC) == {"a": 1, "b": 2, "c": 3}
    assert ABC.last_number == 3


def test_a_plan_without_numbers_is_numbered_in_order() -> None:
    """Such plans come from older versions and from other programs. Numbering alone is no change."""
    plan = Plan((Phase("A", (Task("a"),)), Phase("B", (Task("b"),))))

    assert numbers(numbered(plan)) == {"a": 1, "b": 2}
    assert numbered(numbered(plan)) == numbered(plan)
    assert not reduce(plan, [], FREE).changed


def test_content_is_compared_without_numbers() -> None:
    assert same_content(ABC, flat(Task("a"), Task("b"), Task("c")))
    assert not same_content(ABC, flat(Task("a"), Task("b")))
    assert not same_content(ABC, Plan((Phase("A", ABC.tasks),)))


def test_a_number_is_never_reused() -> None:
    """Not even the number of a removed task."""
    shorter = after(ABC, Remove(Named("c")))
    longer = after(shorter, Append((Task("d"),)))

    assert numbers(longer) == {"a": 1, "b": 2, "d": 4}
    assert longer.last_number == 4


def test_a_rewritten_plan_keeps_the_numbers_of_unchanged_texts() -> None:
    """As after a manual edit: texts are matched in order, each number once."""
    doubled = after(ABC, Append((Task("a"),)))

    edited = after(doubled, Write((Phase("", (Task("c", COMPLETED), Task("a"), Task("a"), Task("a"), Task("new"))),)))

    assert [(task.text, task.number) for task in edited.tasks] == [("c", 3), ("a", 1), ("a", 4), ("a", 5), ("new", 6)]


def test_a_task_keeps_its_number_whatever_its_status() -> None:
    marked = after(
        ABC, Mark(Numbered((2,)), IN_PROGRESS), Note(Numbered((2,)), "why"), Mark(Numbered((2, 3)), COMPLETED)
    )

    assert marked.tasks == (Task("a", number=1), Task("b", COMPLETED, ("why",), 2), Task("c", COMPLETED, (), 3))


def test_unknown_numbers_are_refused() -> None:
    """All of them are reported at once; 0 is not a number of any task."""
    outcome = reduce(ABC, [Mark(Numbered((1, 0, 9)), COMPLETED)], FREE)

    assert outcome.faults == (faults.NoSuchNumber((0, 9)),)
    assert not outcome.changed


@pytest.mark.parametrize(
    ("target", "before", "expected"),
    [
        ((3,), (1,), ["c", "a", "b"]),
        ((1,), (3,), ["b", "a", "c"]),
        ((1,), None, ["b", "c", "a"]),
        ((3, 1), (2,), ["c", "a", "b"]),
        ((2,), (2,), ["a", "b", "c"]),
        ((1, 1), None, ["b", "c", "a"]),
    ],
)
def test_tasks_move_in_front_of_another_or_to_the_end(
    target: tuple[int, ...], before: tuple[int, ...] | None, expected: list[str]
) -> None:
    """They keep the order in which they are selected. A move of a task to itself changes nothing."""
    moved = after(ABC, Move(Numbered(target), Numbered(before) if before else None))

    assert texts_by_phase(moved) == [expected]
    assert numbers(moved) == numbers(ABC)


def test_a_task_moves_into_the_phase_of_its_destination() -> None:
    plan = Plan((Phase("A", (Task("a"), Task("b"))), Phase("B", (Task("c"), Task("d")))))

    assert texts_by_phase(after(plan, Move(At((0,)), Named("d")))) == [["b"], ["c", "a", "d"]]
    assert texts_by_phase(after(plan, Move(At((3,)), At((0,))))) == [["d", "a", "b"], ["c"]]
    assert texts_by_phase(after(plan, Move(At((0,))))) == [["b"], ["c", "d", "a"]]


def test_tasks_move_to_the_end_of_a_phase() -> None:
    """A phase that is missing is created. The last task of a phase stays where it is."""
    plan = Plan((Phase("A", (Task("a"), Task("b"))), Phase("B", (Task("c"),))))

    assert texts_by_phase(after(plan, Move(At((0,)), phase="A"))) == [["b", "a"], ["c"]]
    assert texts_by_phase(after(plan, Move(At((2,)), phase="A"))) == [["a", "b", "c"], []]
    assert texts_by_phase(after(plan, Move(At((1,)), phase="A"))) == [["a", "b"], ["c"]]
    assert [phase.name for phase in after(plan, Move(At((0,)), phase="C")).phases] == ["A", "B", "C"]


def test_a_renamed_task_keeps_its_number_status_and_notes() -> None:
    plan = after(ABC, Mark(Numbered((2,)), BLOCKED), Note(Numbered((2,)), "why"))

    renamed = after(plan, Rename(Numbered((2,)), "b, but better"))

    assert renamed.tasks == (Task("a", number=1), Task("b, but better", BLOCKED, ("why",), 2), Task("c", number=3))
    assert renamed.last_number == 3


def test_a_rename_is_refused_if_the_rules_forbid_the_text() -> None:
    """A rename to the same text changes nothing and is not refused."""
    unique = Rules(unique_texts=True, max_text=5)

    assert reduce(ABC, [Rename(Numbered((2,)), "a")], unique).faults == (faults.DuplicateTask("a"),)
    assert reduce(ABC, [Rename(Numbered((2,)), "a" * 6)], unique).faults == (faults.TextTooLong(0, 5),)
    assert reduce(ABC, [Rename(Numbered((9,)), "x")], unique).faults == (faults.NoSuchNumber((9,)),)
    assert reduce(ABC, [Rename(Numbered((2,)), "b")], unique) == Outcome(ABC, ABC)
    assert numbers(after(ABC, Rename(Numbered((2,)), "a"))) == {"a": 2, "c": 3}


def test_a_move_of_or_to_a_missing_task_is_refused() -> None:
    for step in (Move(Numbered((9,))), Move(Numbered((1,)), Numbered((9,))), Move(Named("x"))):
        assert reduce(ABC, [step], FREE).after == ABC
        assert len(reduce(ABC, [step], FREE).faults) == 1
    assert reduce(Plan(), [Move(Numbered(()))], FREE).after == Plan()


@pytest.mark.parametrize(("status", "clears"), [(COMPLETED, True), (PENDING, False), (BLOCKED, False)])
def test_clear_finished_clears_a_plan_without_open_tasks(status: Status, clears: bool) -> None:  # noqa: FBT001  a parameter of the test
    """Numbers continue."""
    plan = after(ABC, Mark(Numbered((1, 2)), COMPLETED), Mark(Numbered((3,)), status))

    cleared = after(plan, Append((Task("d"),), clear_finished=True))
    added = after(plan, Append((Task("d"),)))

    assert numbers(cleared) == ({"d": 4} if clears else numbers(added))
    assert numbers(added) == {"a": 1, "b": 2, "c": 3, "d": 4}


@given(plans.plans, plans.steps)
def test_numbers_stay_unique_and_stable_under_any_steps(plan: Plan, steps: list[Step]) -> None:
    """No number exceeds `last_number`."""
    first = reduce(plan, [], FREE).after
    later = reduce(first, steps, Rules(atomic=False)).after

    given_numbers = [task.number for task in later.tasks]
    assert len(set(given_numbers)) == len(given_numbers)
    assert all(0 < number <= later.last_number for number in given_numbers)
    assert later.last_number >= first.last_number
    if not any(isinstance(step, Rename) for step in steps):
        by_number = {task.number: task.text for task in first.tasks}
        assert all(by_number[task.number] == task.text for task in later.tasks if task.number in by_number)


def test_a_flat_plan_of_numbered_tasks_is_still_flat() -> None:
    assert Plan(flat(*ABC.tasks).phases, 3) == ABC


def test_tasks_get_another_status_by_their_numbers() -> None:
    plan = after(ABC, Remove(Numbered((1,))))

    changed = with_status(plan, {2}, Status.BLOCKED)

    assert [(task.number, task.status) for task in changed.tasks] == [(2, BLOCKED), (3, PENDING)]
