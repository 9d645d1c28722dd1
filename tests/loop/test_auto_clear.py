"""Finished tasks leave by themselves."""

from hypothesis import given
from hypothesis import strategies as st

from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, plans
from tildone.core.plan import Phase, Plan, Task
from tildone.core.query import TaskInPhase
from tildone.loop.auto_clear import ClearResult, Schedule, clear_due, next_due, schedule

WIRED, TESTED = Task("wire", COMPLETED), Task("test", ABANDONED)
ACTIVE = Task("write", IN_PROGRESS)


def one_phase(*tasks: Task) -> Plan:
    return Plan((Phase("A", tasks),))


def test_every_finished_task_waits_for_a_minute() -> None:
    waiting = schedule(one_phase(WIRED, ACTIVE, TESTED), Schedule(), now=7)

    assert waiting == Schedule(((("A", "wire"), 60_007), (("A", "test"), 60_007)))
    assert next_due(waiting) == 60_007


def test_a_plan_with_nothing_finished_has_no_moment() -> None:
    assert next_due(schedule(one_phase(ACTIVE), Schedule(), now=0)) is None


def test_a_negative_delay_clears_nothing() -> None:
    assert schedule(one_phase(WIRED), Schedule(), now=0, delay_ms=-1000) == Schedule()


def test_no_delay_means_this_moment() -> None:
    """The host's loop turns first: what is due is not cleared before somebody asks."""
    assert next_due(schedule(one_phase(WIRED), Schedule(), now=7, delay_ms=0)) == 7


def test_a_task_that_is_waiting_keeps_its_moment() -> None:
    """Also when it is dropped after it was done, or one more is finished."""
    first = schedule(one_phase(WIRED, ACTIVE), Schedule(), now=0, delay_ms=60)
    dropped = Task("wire", ABANDONED)

    second = schedule(one_phase(dropped, TESTED), first, now=50, delay_ms=60)

    assert second == Schedule(((("A", "wire"), 60), (("A", "test"), 110)))


def test_a_task_that_was_reopened_loses_its_moment() -> None:
    first = schedule(one_phase(WIRED), Schedule(), now=0, delay_ms=60)

    reopened = schedule(one_phase(Task("wire")), first, now=30, delay_ms=60)
    again = schedule(one_phase(WIRED), reopened, now=40, delay_ms=60)

    assert reopened == Schedule()
    assert again == Schedule(((("A", "wire"), 100),))


def test_only_tasks_whose_moment_has_come_go() -> None:
    plan = one_phase(WIRED, TESTED, ACTIVE)
    waiting = Schedule(((("A", "wire"), 60), (("A", "test"), 90)))

    early, late = clear_due(plan, waiting, now=59), clear_due(plan, waiting, now=60)

    assert early == ClearResult(plan, waiting)
    assert late == ClearResult(one_phase(TESTED, ACTIVE), Schedule(((("A", "test"), 90),)), (TaskInPhase("A", WIRED),))


def test_a_clearing_takes_empty_phases_with_it() -> None:
    """Those that it emptied, and those that were empty before."""
    plan = Plan((Phase("A", (WIRED,)), Phase("B"), Phase("C", (ACTIVE,))))
    waiting = schedule(plan, Schedule(), now=0)

    assert clear_due(plan, waiting, now=60_000).plan == Plan((Phase("C", (ACTIVE,)),))


def test_a_clearing_that_finds_nothing_leaves_empty_phases_alone() -> None:
    plan = Plan((Phase("A", (Task("wire"),)), Phase("B")))

    assert clear_due(plan, Schedule(((("A", "wire"), 60),)), now=60) == ClearResult(plan, Schedule())


def test_equal_tasks_of_one_phase_go_one_at_a_time() -> None:
    """The second waits until the plan is changed again, as in the original."""
    plan = one_phase(WIRED, WIRED, ACTIVE)
    waiting = schedule(plan, Schedule(), now=0)

    after = clear_due(plan, waiting, now=60_000)

    assert after == ClearResult(one_phase(WIRED, ACTIVE), Schedule(), (TaskInPhase("A", WIRED),))
    assert next_due(schedule(after.plan, after.schedule, now=70_000)) == 130_000


def test_an_open_task_shields_an_equal_finished_one_behind_it() -> None:
    plan = one_phase(Task("wire", IN_PROGRESS), WIRED)

    assert clear_due(plan, schedule(plan, Schedule(), now=0), now=60_000) == ClearResult(plan, Schedule())


def test_equal_tasks_of_two_phases_go_together() -> None:
    plan = Plan((Phase("A", (WIRED,)), Phase("B", (WIRED, ACTIVE))))

    after = clear_due(plan, schedule(plan, Schedule(), now=0), now=60_000)

    assert after.plan == Plan((Phase("B", (ACTIVE,)),))
    assert after.removed == (TaskInPhase("A", WIRED), TaskInPhase("B", WIRED))


@given(plans, st.integers(0, 100))
def test_no_open_task_is_ever_cleared(plan: Plan, delay_ms: int) -> None:
    """Whatever the plan, clearing ends, and what is left of it holds every open task in its order."""
    waiting = schedule(plan, Schedule(), now=0, delay_ms=delay_ms)

    after = clear_due(plan, waiting, now=delay_ms)

    assert after.schedule == Schedule()
    assert len(after.removed) + len(after.plan.tasks) == len(plan.tasks)
    assert [task for task in after.plan.tasks if task.status.is_open] == [
        task for task in plan.tasks if task.status.is_open
    ]
