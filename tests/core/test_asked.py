"""No change of a model takes a check out of a plan that a person asked for."""

import pytest
from hypothesis import assume, given

from tests import plans
from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, PENDING, plan_of
from tildone.base import replace
from tildone.plan.asked import shed
from tildone.plan.faults import HasCheck, NoSuchNumber
from tildone.plan.guard import PLAN, ByModel, is_unproved, sets_checks
from tildone.plan.model import Check, Focus, Phase, Plan, Proof, Result, Rules, Task, flat, is_passed
from tildone.plan.ops import (
    Append,
    At,
    Everything,
    InPhase,
    Insert,
    Mark,
    Move,
    Named,
    Numbered,
    Op,
    Remove,
    Rename,
    SetCheck,
    Write,
)
from tildone.plan.reduce import Outcome, reduce

TESTS, LINT = Check(("pytest", "-q")), Check(("ruff", "check"))
ONE = Numbered((1,))
MODEL = ByModel()
PASSED = Proof(Result.PASSED, TESTS.command)
FAILED = Proof(Result.FAILED, TESTS.command)


def checked(*texts: str) -> Plan:
    """A plan whose first task has a check that a person asked for."""
    return reduce(plan_of(*texts), [SetCheck(ONE, TESTS)], Rules()).after


def by_model(plan: Plan, *steps: Op, model: ByModel = MODEL, rules: Rules = Rules()) -> Outcome:  # noqa: B008  frozen
    return reduce(plan, steps, rules, model=model)


def texts(plan: Plan) -> list[str]:
    return [task.text for task in plan.tasks]


def test_a_list_of_a_model_that_lacks_a_task_with_a_check_keeps_it_after_the_others() -> None:
    """So the tasks of the list are at the positions by which the model names them next."""
    outcome = by_model(checked("a", "b"), Write(flat(Task("c", COMPLETED), Task("d", COMPLETED)).phases))

    assert texts(outcome.after) == ["c", "d", "a"]
    assert (outcome.after.tasks[2].number, outcome.after.tasks[2].check) == (1, TESTS)
    assert (outcome.kept, outcome.faults) == ((1,), ())
    assert outcome.after.last_number == 4


def test_a_kept_task_is_in_its_phase_also_if_the_list_has_no_such_phase() -> None:
    before = Plan((Phase("A", (Task("a", number=1, check=TESTS),)), Phase("B", (Task("b", number=2, check=LINT),))), 2)

    after = by_model(before, Write((Phase("B", (Task("x"),)), Phase("C", (Task("y"),))))).after

    assert [(phase.name, [task.text for task in phase.tasks]) for phase in after.phases] == [
        ("B", ["x", "b"]),
        ("C", ["y"]),
        ("A", ["a"]),
    ]


@pytest.mark.parametrize("proof", [None, FAILED])
def test_a_task_is_kept_with_its_status_and_its_failed_proof(proof: Proof | None) -> None:
    failed = reduce(checked("a"), [Mark(ONE, COMPLETED)], Rules(), {} if proof is None else {1: proof}).after

    kept = by_model(failed, Write(())).after.tasks[0]

    assert (kept.status, kept.proof) == (IN_PROGRESS, proof)


def test_a_kept_task_in_progress_leaves_the_focus_to_the_list() -> None:
    before = reduce(checked("a"), [Mark(ONE, IN_PROGRESS)], Rules()).after

    after = by_model(before, Write(flat(Task("b", IN_PROGRESS)).phases), rules=Rules(focus=Focus.AT_MOST_ONE)).after

    assert [(task.text, task.status) for task in after.tasks] == [("b", IN_PROGRESS), ("a", PENDING)]


def test_a_task_with_a_check_that_a_list_calls_dropped_stays_open_in_its_place() -> None:
    outcome = by_model(checked("a", "b"), Write(flat(Task("a", ABANDONED), Task("b")).phases))

    assert [(task.text, task.status) for task in outcome.after.tasks] == [("a", PENDING), ("b", PENDING)]
    assert outcome.kept == (1,)


REFUSED: list[Op] = [
    Remove(ONE),
    Remove(Named("a")),
    Remove(At((0,))),
    Remove(Everything()),
    Remove(InPhase("")),
    Mark(ONE, ABANDONED),
    Mark(Everything(), ABANDONED),
    SetCheck(ONE, LINT),
    SetCheck(ONE, replace(TESTS, watches=("nothing",))),
    SetCheck(ONE, None),
    Write(flat(Task("a", check=LINT)).phases),
]


@pytest.mark.parametrize("step", REFUSED)
def test_only_a_person_removes_or_drops_such_a_task_or_changes_its_check(step: Op) -> None:
    plan = checked("a", "b")

    refused, allowed = by_model(plan, step), reduce(plan, [step], Rules())

    assert (refused.after, refused.faults, refused.kept) == (plan, (HasCheck(1, "a"),), ())
    assert allowed.changed
    assert allowed.faults == ()


def test_the_other_steps_of_a_batch_that_is_not_atomic_are_applied() -> None:
    steps = (Remove(ONE), Mark(Numbered((2,)), COMPLETED), Remove(Numbered((9,))))

    outcome = by_model(checked("a", "b"), *steps, rules=Rules(atomic=False))

    assert [task.status for task in outcome.after.tasks] == [PENDING, COMPLETED]
    assert outcome.faults == (HasCheck(1, "a"), NoSuchNumber((9,)))


def test_a_refused_list_leaves_no_task_to_be_proved() -> None:
    written = Write(flat(Task("a", COMPLETED, check=LINT)).phases)

    outcome = by_model(checked("a"), written, rules=Rules(atomic=False))

    assert (outcome.changed, outcome.unproved) == (False, ())


def test_a_proved_task_can_go_unless_its_proof_is_stale() -> None:
    done = reduce(checked("a", "b"), [Mark(ONE, COMPLETED)], Rules(), {1: PASSED}).after
    stale = ByModel(stale=lambda: frozenset({1}))

    assert texts(by_model(done, Remove(ONE)).after) == ["b"]
    assert texts(by_model(done, Write(flat(Task("c")).phases)).after) == ["c"]
    assert by_model(done, Remove(ONE), model=stale).faults == (HasCheck(1, "a"),)
    assert texts(by_model(done, Write(flat(Task("c")).phases), model=stale).after) == ["c", "a"]


def test_new_tasks_clear_a_finished_plan_but_for_stale_tasks() -> None:
    done = reduce(checked("a", "b"), [Mark(Everything(), COMPLETED)], Rules(), {1: PASSED}).after
    step = Append((Task("c"),), clear_finished=True)

    stale = by_model(done, step, model=ByModel(stale=lambda: frozenset({1})))

    assert texts(by_model(done, step).after) == ["c"]
    assert (texts(stale.after), stale.kept) == (["c", "a"], (1,))


def test_files_are_looked_at_only_if_a_proved_task_is_about_to_go() -> None:
    def unexpected() -> frozenset[int]:
        raise AssertionError

    done = reduce(checked("a", "b"), [Mark(ONE, COMPLETED)], Rules(), {1: PASSED}).after

    steps = (Mark(Numbered((2,)), COMPLETED), Remove(Numbered((2,))), Append((Task("c"),)), Rename(ONE, "d"))

    assert by_model(done, *steps, model=ByModel(stale=unexpected)).faults == ()


def test_a_task_that_a_person_dropped_can_go() -> None:
    dropped = reduce(checked("a", "b"), [Mark(ONE, ABANDONED)], Rules()).after

    assert texts(by_model(dropped, Remove(ONE)).after) == ["b"]


def test_a_check_that_a_model_wrote_is_its_own_until_a_person_approves_it() -> None:
    proposed = by_model(plan_of("a", "b"), SetCheck(ONE, LINT)).after
    approving = ByModel(lambda check: check == LINT)

    assert proposed.tasks[0].check == LINT
    assert proposed.tasks[0].check.by_model
    for step in REFUSED[:-1]:
        assert by_model(proposed, step).faults == ()
    assert by_model(proposed, Remove(ONE), model=approving).faults == (HasCheck(1, "a"),)
    assert by_model(proposed, SetCheck(ONE, TESTS), model=approving).faults == (HasCheck(1, "a"),)


@pytest.mark.parametrize("step", [SetCheck(ONE, TESTS), Write(flat(Task("a", check=TESTS), Task("b")).phases)])
def test_whoever_repeats_a_check_does_not_become_its_author(step: Op) -> None:
    """A model cannot make a person's check its own, and a person who saves a plan has not written what is in it."""
    asked, proposed = checked("a", "b"), by_model(plan_of("a", "b"), SetCheck(ONE, TESTS)).after

    again, saved = by_model(asked, step).after.tasks[0].check, reduce(proposed, [step], Rules()).after.tasks[0].check

    assert again is not None
    assert saved is not None
    assert (again.by_model, saved.by_model) == (False, True)


@pytest.mark.parametrize("step", [Append((Task("c", check=LINT),)), Write(flat(Task("c", check=LINT)).phases)])
def test_the_checks_of_tasks_that_a_model_adds_are_its_own(step: Op) -> None:
    added = by_model(plan_of("a"), step).after.tasks[-1].check

    assert added is not None
    assert added.by_model


def test_rewording_and_moving_a_task_keep_its_check() -> None:
    after = by_model(checked("a", "b"), Rename(ONE, "other words"), Move(ONE)).after

    assert [(task.text, task.check) for task in after.tasks] == [("b", None), ("other words", TESTS)]


def test_a_model_neither_changes_the_check_of_a_plan_nor_empties_the_plan() -> None:
    plan = reduce(plan_of("a"), [SetCheck(None, TESTS)], Rules()).after
    proved = reduce(plan, [], Rules(), {PLAN: PASSED}).after
    empty = replace(plan, phases=())

    for step in (Write(()), Remove(Everything()), SetCheck(None, LINT), SetCheck(None, None)):
        assert by_model(plan, step).faults == (HasCheck(PLAN),)
    assert by_model(proved, Write(())).after.tasks == ()
    assert by_model(proved, Write(()), model=ByModel(stale=lambda: {PLAN})).faults == (HasCheck(PLAN),)
    assert by_model(plan, Write(flat(Task("b")).phases)).after.check == TESTS
    assert by_model(empty, Write(())).faults == ()
    assert by_model(plan_of("a"), SetCheck(None, LINT), SetCheck(None, TESTS)).after.check == TESTS


def test_an_earlier_plan_sheds_what_was_asked_for_since() -> None:
    """As if a model undid the change of a person."""
    plan = reduce(checked("a", "b"), [SetCheck(None, LINT)], Rules()).after

    assert shed(plan, plan_of("a", "b"), MODEL) == (HasCheck(1, "a"), HasCheck(PLAN))
    assert shed(plan, replace(plan, phases=()), MODEL) == (HasCheck(1, "a"), HasCheck(PLAN))
    assert shed(plan, reduce(plan, [Rename(ONE, "c")], Rules()).after, MODEL) == ()


CHECKED = Task("c", check=LINT)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (SetCheck(None, None), True),
        (Write(flat(CHECKED).phases), True),
        (Write(flat(Task("c")).phases), False),
        (Append((Task("c"), CHECKED)), True),
        (Append((Task("c"),)), False),
        (Insert((CHECKED,), 0), True),
        (Remove(Everything()), False),
    ],
)
def test_steps_with_checks_are_told_from_the_others(step: Op, *, expected: bool) -> None:
    """Only for them has a session to know whether a model acts, if the plan has no checks."""
    assert sets_checks(step) is expected


@given(plans.steps, plans.numbered_plans, plans.rules)
def test_nothing_changes_for_plans_without_checks(steps: list[Op], plan: Plan, rules: Rules) -> None:
    assert by_model(plan, *steps, rules=rules) == reduce(plan, steps, rules)


@given(plans.batches, plans.batches, plans.rules)
def test_no_program_of_a_model_ends_a_plan_without_the_proofs_that_a_person_asked_for(
    asked_for: list[tuple[list[Op], dict[int, Proof]]],
    batches: list[tuple[list[Op], dict[int, Proof]]],
    rules: Rules,
) -> None:
    """Each such check stays in the plan until it has passed; also that of the plan."""
    plan = reduce(plan_of("a", "b", "c"), [SetCheck(ONE, TESTS)], Rules()).after
    for steps, proofs in asked_for:
        plan = reduce(plan, steps, rules, proofs).after
    assume(_has_unique_numbers(plan))
    asked = {task.number: task.check for task in plan.tasks if task.check and task.status is not ABANDONED}
    passed = {number for number, task in _by_number(plan).items() if number in asked and _is_proved(task)}
    check, has_tasks = plan.check, bool(plan.tasks)

    for steps, proofs in batches:
        plan = by_model_with(plan, steps, rules, proofs)
        assume(_has_unique_numbers(plan))
        passed |= {n for n, check in asked.items() if n in proofs and is_passed(check, proofs[n])}
        left = {task.number: task for task in plan.tasks if task.status is not ABANDONED}
        assert asked.keys() - left.keys() <= passed
        assert all(left[number].check == asked[number] for number in asked.keys() & left.keys() - passed)
        assert plan.check == check or check is None
        is_open = any(task.status.is_open for task in plan.tasks) or is_unproved(plan)
        assert is_open or asked.keys() <= passed
        if check is not None and has_tasks:
            assert plan.tasks or is_passed(check, plan.proof)


def by_model_with(plan: Plan, steps: list[Op], rules: Rules, proofs: dict[int, Proof]) -> Plan:
    return reduce(plan, steps, rules, proofs, MODEL).after


def _has_unique_numbers(plan: Plan) -> bool:
    """Return whether the generated steps have named no number twice, as no dialect does."""
    return len(_by_number(plan)) == len(plan.tasks)


def _by_number(plan: Plan) -> dict[int, Task]:
    return {task.number: task for task in plan.tasks}


def _is_proved(task: Task) -> bool:
    return task.check is not None and is_passed(task.check, task.proof)
