"""Finished tasks are removed after a delay."""

from hypothesis import given
from hypothesis import strategies as st

from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, plans
from tildone.base import replace
from tildone.plan.changing import ClearResult, Schedule, clear_due, next_due, schedule, without_unproved
from tildone.plan.guard import PLAN
from tildone.plan.model import Check, Phase, Plan, Proof, Result, Task, TaskInPhase

WIRED, TESTED = Task("wire", COMPLETED), Task("test", ABANDONED)
ACTIVE = Task("write", IN_PROGRESS)


def one_phase(*tasks: Task) -> Plan:
    return Plan((Phase("A", tasks),))


def test_every_finished_task_is_due_after_a_minute() -> None:
    scheduled = schedule(one_phase(WIRED, ACTIVE, TESTED), Schedule(), now=7)

    assert scheduled == Schedule(((("A", "wire"), 60_007), (("A", "test"), 60_007)))
    assert next_due(scheduled) == 60_007


def test_without_finished_tasks_nothing_is_due() -> None:
    assert next_due(schedule(one_phase(ACTIVE), Schedule(), now=0)) is None


def test_a_negative_delay_clears_nothing() -> None:
    assert schedule(one_phase(WIRED), Schedule(), now=0, delay_ms=-1000) == Schedule()


def test_without_a_delay_tasks_are_due_now() -> None:
    """They are cleared when the host next calls `clear_due`."""
    assert next_due(schedule(one_phase(WIRED), Schedule(), now=7, delay_ms=0)) == 7


def test_a_scheduled_task_keeps_its_due_time() -> None:
    """Even if it is abandoned after it was completed, or another task is finished."""
    first = schedule(one_phase(WIRED, ACTIVE), Schedule(), now=0, delay_ms=60)
    dropped = Task("wire", ABANDONED)

    second = schedule(one_phase(dropped, TESTED), first, now=50, delay_ms=60)

    assert second == Schedule(((("A", "wire"), 60), (("A", "test"), 110)))


def test_a_reopened_task_loses_its_due_time() -> None:
    first = schedule(one_phase(WIRED), Schedule(), now=0, delay_ms=60)

    reopened = schedule(one_phase(Task("wire")), first, now=30, delay_ms=60)
    again = schedule(one_phase(WIRED), reopened, now=40, delay_ms=60)

    assert reopened == Schedule()
    assert again == Schedule(((("A", "wire"), 100),))


def test_only_due_tasks_are_cleared() -> None:
    plan = one_phase(WIRED, TESTED, ACTIVE)
    scheduled = Schedule(((("A", "wire"), 60), (("A", "test"), 90)))

    early, late = clear_due(plan, scheduled, now=59), clear_due(plan, scheduled, now=60)

    assert early == ClearResult(plan, scheduled)
    assert late == ClearResult(one_phase(TESTED, ACTIVE), Schedule(((("A", "test"), 90),)), (TaskInPhase("A", WIRED),))


def test_clearing_removes_empty_phases() -> None:
    """Those that it emptied, and those that were empty before."""
    plan = Plan((Phase("A", (WIRED,)), Phase("B"), Phase("C", (ACTIVE,))))
    scheduled = schedule(plan, Schedule(), now=0)

    assert clear_due(plan, scheduled, now=60_000).plan == Plan((Phase("C", (ACTIVE,)),))


def test_clearing_nothing_keeps_empty_phases() -> None:
    plan = Plan((Phase("A", (Task("wire"),)), Phase("B")))

    assert clear_due(plan, Schedule(((("A", "wire"), 60),)), now=60) == ClearResult(plan, Schedule())


def test_equal_tasks_of_one_phase_are_cleared_one_at_a_time() -> None:
    """The second is scheduled when the plan changes again, as in the original."""
    plan = one_phase(WIRED, WIRED, ACTIVE)
    scheduled = schedule(plan, Schedule(), now=0)

    after = clear_due(plan, scheduled, now=60_000)

    assert after == ClearResult(one_phase(WIRED, ACTIVE), Schedule(), (TaskInPhase("A", WIRED),))
    assert next_due(schedule(after.plan, after.schedule, now=70_000)) == 130_000


def test_a_finished_task_after_an_equal_open_one_is_not_cleared() -> None:
    plan = one_phase(Task("wire", IN_PROGRESS), WIRED)

    assert clear_due(plan, schedule(plan, Schedule(), now=0), now=60_000) == ClearResult(plan, Schedule())


def test_equal_tasks_of_two_phases_are_cleared_together() -> None:
    plan = Plan((Phase("A", (WIRED,)), Phase("B", (WIRED, ACTIVE))))

    after = clear_due(plan, schedule(plan, Schedule(), now=0), now=60_000)

    assert after.plan == Plan((Phase("B", (ACTIVE,)),))
    assert after.removed == (TaskInPhase("A", WIRED), TaskInPhase("B", WIRED))


@given(plans, st.integers(0, 100))
def test_no_open_task_is_ever_cleared(plan: Plan, delay_ms: int) -> None:
    """Open tasks keep their order."""
    scheduled = schedule(plan, Schedule(), now=0, delay_ms=delay_ms)

    after = clear_due(plan, scheduled, now=delay_ms)

    assert after.schedule == Schedule()
    assert len(after.removed) + len(after.plan.tasks) == len(plan.tasks)
    assert [task for task in after.plan.tasks if task.status.is_open] == [
        task for task in plan.tasks if task.status.is_open
    ]


def test_tasks_whose_checks_have_to_pass_again_are_not_cleared() -> None:
    """Nor is any task if the check of the plan has to pass: an empty plan holds nobody."""
    check, proof = Check(("make",)), Proof(Result.PASSED, ("make",))
    proved = Task("wire", COMPLETED, number=1, check=check, proof=proof)
    plan = one_phase(proved, Task("test", COMPLETED, number=2))
    due = schedule(plan, Schedule(), now=0, delay_ms=0)

    def left(plan: Plan, *stale: int) -> list[str]:
        return [task.text for task in clear_due(plan, without_unproved(due, plan, frozenset(stale)), 0).plan.tasks]

    assert (left(plan), left(plan, 1)) == ([], ["wire"])
    assert left(replace(plan, check=check)) == ["wire", "test"]
    assert left(replace(plan, check=check, proof=proof)) == []
    assert left(replace(plan, check=check, proof=proof), PLAN) == ["wire", "test"]


def test_a_task_whose_check_has_failed_is_open_and_not_scheduled() -> None:
    failed = Task("wire", IN_PROGRESS, check=Check(("make",)), proof=Proof(Result.FAILED, ("make",)))

    assert schedule(one_phase(failed), Schedule(), now=0) == Schedule()
