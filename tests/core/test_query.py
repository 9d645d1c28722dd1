"""Queries on a plan."""

from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, plan_of
from tildone.plan.model import (
    Phase,
    Plan,
    PlanProgress,
    Task,
    TaskInPhase,
    flat,
    newly_completed,
    next_task,
    open_tasks,
    progress,
    tasks_with_phase,
)

MIXED = flat(Task("a", COMPLETED), Task("b"), Task("c", IN_PROGRESS), Task("d", ABANDONED))


def test_progress_counts_abandoned_tasks_as_closed() -> None:
    assert progress(MIXED) == PlanProgress(2, 4)


def test_a_plan_is_finished_when_it_has_tasks_and_none_is_open() -> None:
    """An empty plan is not finished."""
    assert not progress(Plan()).finished
    assert not progress(MIXED).finished
    assert progress(flat(Task("a", ABANDONED))).finished


def test_open_tasks_keep_their_positions() -> None:
    """Positions count over the whole plan."""
    assert open_tasks(MIXED) == [(1, Task("b")), (2, Task("c", IN_PROGRESS))]


def test_the_next_task_is_the_one_in_progress_or_else_the_first_pending() -> None:
    """There is none if no task is open."""
    assert next_task(MIXED) == (2, Task("c", IN_PROGRESS))
    assert next_task(plan_of("a", "b")) == (0, Task("a", number=1))
    assert next_task(flat(Task("a", COMPLETED))) is None


def test_tasks_with_phase_returns_every_task_with_its_phase() -> None:
    """In the order of the plan."""
    plan = Plan((Phase("A", (Task("a"),)), Phase("B"), Phase("C", (Task("c"),))))

    assert tasks_with_phase(plan) == [TaskInPhase("A", Task("a")), TaskInPhase("C", Task("c"))]


def test_newly_completed_tasks_existed_before_and_were_not_completed() -> None:
    """Tasks that are added as completed do not count."""
    before = flat(Task("a"), Task("b", COMPLETED), Task("c", ABANDONED))
    after = flat(*(Task(text, COMPLETED) for text in "abcd"))

    assert [found.task.text for found in newly_completed(before, after)] == ["a", "c"]
