"""How much of a plan fits into a text: the limits are exact, and what is missing is said."""

from collections.abc import Callable

import pytest

from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, PENDING
from tildone.plan.model import Phase, Plan, Status, Task, flat
from tildone.plan.text.safe import MAX_TEXT, MIN_TEXT, Part, bounded_lines, bounded_list, bounded_plan, clipped

CUT = "… long texts are cut, except of tasks in progress"


def entry(task: Task) -> tuple[Task, Callable[[int], str]]:
    return task, lambda size: clipped(task.text, size)


def listed(tasks: list[Task], max_characters: int) -> list[str]:
    return bounded_list([entry(task) for task in tasks], max_characters)


def test_lines_that_just_fit_are_kept() -> None:
    """Each takes one character more for its end; the others are counted."""
    assert bounded_lines(["aa", "bb"], 6) == ["aa", "bb"]
    assert bounded_lines(["aa", "bb"], 5) == ["aa", "… and 1 more line"]
    assert bounded_lines(["aa", "bb", "cc"], 3) == ["aa", "… and 2 more lines"]


def test_a_list_that_just_fits_is_whole() -> None:
    tasks = [Task("x" * 100), Task("y" * 200)]

    assert listed(tasks, 302) == ["x" * 100, "y" * 200]


def test_a_list_that_does_not_fit_has_texts_that_are_as_long_as_possible() -> None:
    """Shorter ones stay whole."""
    tasks = [Task("x" * 100), Task("y" * 200)]

    assert listed(tasks, 301) == ["x" * 100, "y" * 198 + "…", CUT]
    assert listed(tasks, 202) == ["x" * 100, "y" * 99 + "…", CUT]
    assert listed(tasks, 201) == ["x" * 98 + "…", "y" * 98 + "…", CUT]


def test_no_text_is_longer_than_the_longest_one() -> None:
    """That is no reason to say that texts were cut to make room."""
    assert listed([Task("x" * (MAX_TEXT + 1))], 100_000) == ["x" * (MAX_TEXT - 1) + "…"]


def test_a_character_that_is_shown_as_its_code_point_needs_more_room() -> None:
    assert listed([Task("\u202e" * 10)], 101) == ["\u202e" * 10]
    assert listed([Task("\u202e" * 10)], 100) == ["… and 1 more task, listed as others are closed"]


@pytest.mark.parametrize("status", list(Status))
def test_the_text_of_a_task_in_progress_is_whole(status: Status) -> None:
    lines = listed([Task("x" * 300, status), Task("y" * 300)], 500)

    assert ("x" * 300 in lines) is (status is IN_PROGRESS)
    assert lines[-1] == CUT


def test_if_tasks_in_progress_leave_no_room_their_texts_are_cut_too() -> None:
    """Every task keeps its line before a text is whole."""
    lines = listed([Task("x" * 300, IN_PROGRESS), Task("y" * 300)], 2 * MIN_TEXT + 2)

    assert lines == ["x" * (MIN_TEXT - 1) + "…", "y" * (MIN_TEXT - 1) + "…", "… long texts are cut"]


def test_tasks_are_left_out_if_their_shortest_lines_do_not_fit() -> None:
    """Closed ones first, those in progress last; the order stays."""
    tasks = [Task(f"{status.value} {'x' * 100}", status) for status in (COMPLETED, PENDING, IN_PROGRESS, ABANDONED)]
    closed, pending, active, _ = (clipped(task.text, MIN_TEXT) for task in tasks)
    whole = tasks[2].text

    assert listed(tasks, 4 * (MIN_TEXT + 1)) == [closed, pending, active, clipped(tasks[3].text, MIN_TEXT), CUT[:20]]
    assert listed(tasks, len(whole) + 2 * MIN_TEXT + 3) == [closed, pending, whole, CUT, "… and 1 more task"]
    assert listed(tasks, len(whole) + 2 * MIN_TEXT + 2) == [pending, whole, CUT, "… and 2 more tasks"]
    assert listed(tasks, len(whole) + 1) == [whole, "… and 3 more tasks, listed as others are closed"]
    assert listed(tasks, 1) == ["… and 4 more tasks, listed as others are closed"]


def test_an_empty_list_is_empty() -> None:
    assert listed([], 0) == []


def test_a_plan_that_fits_is_the_same() -> None:
    plan = Plan((Phase("A", (Task("a", notes=("n" * 5_000,)),)), Phase("B")))

    assert bounded_plan(plan, 10_000) == Part(plan, (), 0)


def test_a_plan_that_does_not_fit_keeps_its_phases_and_the_newest_notes() -> None:
    """Phases without a task that is told are left out."""
    notes = ("old" * 500, "x" * 1_500, "new")
    plan = Plan((Phase("A", (Task("a" * 900, IN_PROGRESS, notes),)), Phase("B", (Task("b" * 900),)), Phase("C")))

    part = bounded_plan(plan, 3_200)

    active, pending = part.plan.phases
    assert active == Phase("A", (Task("a" * 900, IN_PROGRESS, notes[1:]),))
    assert (pending.name, pending.tasks[0].text[-3:]) == ("B", "bb…")
    assert (part.omissions, part.omitted) == ((CUT,), 0)


def test_a_plan_whose_texts_may_not_be_cut_is_told_in_part() -> None:
    part = bounded_plan(flat(Task("a" * 900), Task("b" * 900)), 1_000, MAX_TEXT)

    assert part == Part(flat(Task("a" * 900)), ("… and 1 more task, listed as others are closed",), 1)
