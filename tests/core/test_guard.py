"""No task is completed whose check has not passed, whatever is asked for."""

from collections.abc import Mapping

import pytest
from hypothesis import example, given

from tests import plans
from tests.plans import BLOCKED, COMPLETED, IN_PROGRESS, PENDING, plan_of
from tildone.base import replace
from tildone.plan.guard import PLAN, is_unproved, reopened
from tildone.plan.model import Check, Phase, Plan, Proof, Result, Rules, Task, cycle_from, flat, has_checks, is_passed
from tildone.plan.ops import Append, Mark, Numbered, Op, Order, Remove, Rename, SetCheck, Write
from tildone.plan.reduce import Outcome, reduce

TESTS = Check(("pytest", "-q"))
LINT = Check(("ruff", "check"))
ONE = Numbered((1,))
DONE = Mark(ONE, COMPLETED)


def proof(result: Result, check: Check = TESTS) -> Proof:
    return Proof(result, check.command, "digest")


def checked(*texts: str) -> Plan:
    """A plan whose first task has a check."""
    return reduce(plan_of(*texts), [SetCheck(ONE, TESTS)], Rules()).after


def done(plan: Plan, proofs: Mapping[int, Proof]) -> Outcome:
    return reduce(plan, [DONE], Rules(), proofs)


@given(plans.batches, plans.rules)
def test_no_program_completes_a_task_whose_check_has_no_passing_proof(
    batches: list[tuple[list[Op], dict[int, Proof]]], rules: Rules
) -> None:
    """Nor do tasks ever wait for each other, and every check could fail."""
    plan = Plan()
    for steps, proofs in batches:
        outcome = reduce(plan, steps, rules, proofs)
        plan = outcome.after
        for task in plan.tasks:
            assert task.check is None or task.status is not COMPLETED or is_passed(task.check, task.proof)
            assert task.check is not None or task.proof is None
            assert task.check is None or task.check.command not in ((), ("true",))
            assert cycle_from(plan, task.number, task.after) == ()
        still_open = {task.number for task in plan.tasks if task.status.is_open}
        assert set(outcome.unproved) <= still_open


@pytest.mark.parametrize(
    ("result", "status"),
    [
        (None, IN_PROGRESS),
        (Result.PASSED, COMPLETED),
        (Result.FAILED, IN_PROGRESS),
        (Result.INCONCLUSIVE, BLOCKED),
        (Result.REFUSED, BLOCKED),
    ],
)
def test_the_result_of_its_check_decides_what_becomes_of_a_task_that_is_done(
    result: Result | None, status: object
) -> None:
    proofs = {} if result is None else {1: proof(result)}

    outcome = done(checked("a", "b"), proofs)

    assert outcome.after.tasks[0].status is status
    assert outcome.after.tasks[0].proof == proofs.get(1)
    assert outcome.unproved == (() if status is COMPLETED else (1,))


def test_the_proof_of_another_command_proves_nothing() -> None:
    outcome = done(checked("a"), {1: proof(Result.PASSED, LINT)})

    assert (outcome.after.tasks[0].status, outcome.after.tasks[0].proof) == (IN_PROGRESS, None)


def test_a_proved_task_stays_completed_through_other_changes() -> None:
    plan = done(checked("a", "b"), {1: proof(Result.PASSED)}).after

    after = reduce(plan, [Rename(ONE, "c"), Mark(Numbered((2,)), COMPLETED)], Rules()).after

    assert [task.status for task in after.tasks] == [COMPLETED, COMPLETED]


def test_editing_a_check_reopens_the_task_and_removing_it_does_not() -> None:
    plan = done(checked("a"), {1: proof(Result.PASSED)}).after

    edited = reduce(plan, [SetCheck(ONE, LINT)], Rules()).after.tasks[0]
    removed = reduce(plan, [SetCheck(ONE, None)], Rules()).after.tasks[0]

    assert (edited.status, edited.check, edited.proof) == (PENDING, LINT, None)
    assert (removed.status, removed.check, removed.proof) == (COMPLETED, None, None)


def test_an_edit_that_leaves_the_check_as_it_is_changes_nothing() -> None:
    plan = done(checked("a"), {1: proof(Result.PASSED)}).after

    assert not reduce(plan, [SetCheck(ONE, TESTS)], Rules()).changed


def test_a_list_that_names_no_checks_keeps_them_and_one_with_another_check_reopens_the_task() -> None:
    """Models send lists of texts and statuses."""
    before = done(checked("a"), {1: proof(Result.PASSED)}).after

    same = reduce(before, [Write(flat(Task("a", COMPLETED), Task("b")).phases)], Rules()).after
    other = reduce(before, [Write(flat(Task("a", COMPLETED, check=LINT)).phases)], Rules()).after

    assert (same.tasks[0].check, same.tasks[0].status) == (TESTS, COMPLETED)
    assert (other.tasks[0].check, other.tasks[0].status, other.tasks[0].proof) == (LINT, PENDING, None)


def test_a_check_that_fails_when_it_is_run_again_reopens_its_task() -> None:
    """`tildone verify` records results without any other change."""
    plan = done(checked("a"), {1: proof(Result.PASSED)}).after

    outcome = reduce(plan, [], Rules(), {1: proof(Result.FAILED)})

    assert (outcome.after.tasks[0].status, outcome.unproved) == (IN_PROGRESS, (1,))


@pytest.mark.parametrize(
    ("result", "status"), [(Result.PASSED, IN_PROGRESS), (Result.FAILED, IN_PROGRESS), (Result.REFUSED, BLOCKED)]
)
def test_a_task_that_was_blocked_for_its_check_goes_on_once_the_check_has_a_result(
    result: Result, status: object
) -> None:
    """A person approved it, or mended what kept it from being run. A task that somebody blocked stays so."""
    blocked = done(checked("a"), {1: proof(Result.INCONCLUSIVE)}).after
    by_hand = reduce(checked("a"), [Mark(ONE, BLOCKED)], Rules()).after

    assert reduce(blocked, [], Rules(), {1: proof(result)}).after.tasks[0].status is status
    assert reduce(by_hand, [], Rules(), {1: proof(result)}).after.tasks[0].status is BLOCKED


def test_a_removed_task_leaves_its_check_to_nobody() -> None:
    after = reduce(checked("a"), [Remove(ONE), Append((Task("a", COMPLETED),))], Rules()).after

    assert (after.tasks[0].number, after.tasks[0].check) == (2, None)


def test_the_check_of_a_plan_is_kept_by_every_change_and_holds_its_end() -> None:
    plan = reduce(plan_of("a"), [SetCheck(None, TESTS)], Rules()).after
    closed = reduce(plan, [Write(flat(Task("a", COMPLETED)).phases)], Rules()).after

    proved = reduce(closed, [], Rules(), {PLAN: proof(Result.PASSED)}).after

    assert (closed.check, is_unproved(plan), is_unproved(closed), is_unproved(proved)) == (TESTS, False, True, False)
    assert is_unproved(replace(closed, check=LINT, proof=proved.proof))
    assert not is_unproved(Plan(check=TESTS))
    assert reduce(closed, [], Rules(), {PLAN: proof(Result.PASSED, LINT)}).after.proof is None
    assert reduce(proved, [SetCheck(None, LINT)], Rules()).after.proof is None
    assert not reduce(proved, [SetCheck(None, TESTS)], Rules()).changed


def test_stale_tasks_are_reopened_without_their_proofs() -> None:
    plan = replace(done(checked("a", "b"), {1: proof(Result.PASSED)}).after, check=LINT, proof=proof(Result.PASSED))

    task, other = reopened(plan, frozenset({1})).tasks

    assert (task.status, task.proof, other) == (IN_PROGRESS, None, plan.tasks[1])
    assert reopened(plan, frozenset({1})).proof == plan.proof
    assert reopened(plan, frozenset({PLAN})).proof is None
    assert reopened(plan, frozenset()) is plan


def test_a_plan_has_checks_if_it_or_a_task_has_one() -> None:
    assert has_checks(checked("a"))
    assert has_checks(Plan(check=TESTS))
    assert not has_checks(plan_of("a"))


def test_tasks_without_a_number_come_after_positions_of_their_plan() -> None:
    """The numbers of a written list are assigned when it is applied."""
    plan = reduce(plan_of("x", "b"), [Remove(ONE)], Rules()).after
    written = (Phase("", (Task("a", after=(2, 9)), Task("b"))),)

    after = reduce(plan, [Write(written)], Rules()).after

    assert [(task.number, task.after) for task in after.tasks] == [(3, (2,)), (2, ())]


@example(steps=[Order(Numbered((2,)), (1,)), Write((Phase("", (Task("a", number=1, after=(2,)), Task("b"))),))])
@given(plans.batches.map(lambda batches: [step for steps, _ in batches for step in steps]))
def test_a_written_list_cannot_close_a_circle_with_the_order_that_is_kept(steps: list[Op]) -> None:
    plan = reduce(plan_of("a", "b"), steps, Rules(atomic=False)).after

    assert all(cycle_from(plan, task.number, task.after) == () for task in plan.tasks)
