"""Checks: what proves nothing, no task is completed unproved, and no model takes out what a person asked for."""

import shlex
from collections.abc import Mapping

import pytest
from hypothesis import assume, example, given

from tests import plans
from tests.plans import ABANDONED, BLOCKED, COMPLETED, IN_PROGRESS, PENDING, plan_of
from tildone.base import replace
from tildone.plan.faults import CheckOutside, Cycle, HasCheck, NoSuchNumber, TaskMissing, UselessCheck
from tildone.plan.guard import PLAN, ByModel, is_unproved, reopened, sets_checks
from tildone.plan.model import (
    Check,
    Focus,
    Phase,
    Plan,
    Proof,
    Result,
    Rules,
    Task,
    cycle_from,
    flat,
    has_checks,
    is_passed,
    is_ready,
    proves_nothing,
    waits_for,
)
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
    Order,
    Remove,
    Rename,
    SetCheck,
    Touch,
    Write,
)
from tildone.plan.rare_steps import shed
from tildone.plan.reduce import Outcome, Step, reduce

USELESS = (
    *("true", "/bin/true", "TRUE.exe", ":", "echo pytest", "env A=1 true", "env", "exit 0", "command true"),
    *("timeout 5 /usr/bin/true", "nice env A=1 :", "ls", "ls -la", "cat /dev/null", "python3 -c pass", "python -c"),
    *("test 1", "[ 1 ]", "test -n x", "test -z ''", "test a = a", "[ 1 -eq 1 ]", "sh -c ''", "sh -c", "sh -c 'exit 0'"),
    *("bash -ec 'echo tests pass && true; exit 0'", "bash -c '# pytest\n(true)'", "zsh -e -c 'sleep 1 | :'"),
    *("sh -c 'make || true'", "sh -c 'make; true'", "sh -c 'make; exit 0'", "sh -ec 'make || :'"),
    *("sh -c \"make && true || echo 'it failed; so what'\"", r"sh -c 'make > log 2>&1 || echo \; no'"),
    *("sh -c 'make &> log; echo ok # make'", "bash -c 'pytest -q 2>&1 | tail -5'", "bash -c 'pytest |& tee log'"),
    """sh -c "make\n[ 'a b' = \\"a b\\" ];\"""",
)


@pytest.mark.parametrize("command", [(), ("",), *(tuple(shlex.split(line)) for line in USELESS)])
def test_a_command_that_always_succeeds_proves_nothing(command: tuple[str, ...]) -> None:
    assert proves_nothing(command)
    outcome = reduce(plan_of("a"), [SetCheck(Numbered((1,)), Check(command))], Rules())
    assert (outcome.changed, outcome.faults) == (False, (UselessCheck(command),))


USEFUL = (
    *("pytest -q", "false", "env A=1 make", "sh test.sh", "sh -e test.sh -c", "bash -c 'echo running; pytest'"),
    *(r"'C:\tools\pytest.exe'", "timeout 5 make", "command -v node", "node --version", "test -f README", "test ''"),
    *("test -z x", "[ a = b ]", "test", "ls README", "cat README", "python -c 'import parser'", "python -m pytest"),
    *("sh -c 'test $DONE'", "sh -c '[ \"$(cat done)\" ]'", "sh -c \"test ''\"", "sh -c 'make || exit 1'"),
    *("sh -c 'make; exit'", "sh -c 'make || exit 1; true'", "sh -c 'if make; then true; else false; fi; true'"),
    *("sh -ec 'make; true'", "sh -c 'make && (cd x || true)'", "sh -c 'make && pytest | tail'"),
    *("sh -c 'true && make'", "sh -c 'make && echo passed'", "sh -c 'true || make; make'", "sh -c 'make &&'"),
    *("sh -c 'grep -q \"; echo done\" README'", """sh -c "grep -q ' || true' README\""""),
    *("bash -o pipefail -c 'make | tail'", "bash -c 'set -o pipefail; make | tail'"),
)


@pytest.mark.parametrize("command", [tuple(shlex.split(line)) for line in USEFUL])
def test_a_command_that_can_fail_is_a_check(command: tuple[str, ...]) -> None:
    assert not proves_nothing(command)


def test_a_proof_is_of_one_command_and_of_files() -> None:
    """Only a person can help with an inconclusive or refused check."""
    check = Check(("make", "test"))

    assert is_passed(check, Proof(Result.PASSED, check.command))
    assert not is_passed(check, Proof(Result.PASSED, ("make",)))
    assert not is_passed(check, Proof(Result.FAILED, check.command))
    assert not is_passed(check, None)

    one = Proof(Result.PASSED, ("make",), "d", "e", 0, "", 12, 34, "ada", "out", "tail")

    assert one == Proof(Result.PASSED, ("make",), "d", "e", 0)
    assert one != Proof(Result.PASSED, ("make",), "f", "e", 0)
    assert [result for result in Result if result.blocks] == [Result.INCONCLUSIVE, Result.REFUSED]


@pytest.mark.parametrize("folder", ["/elsewhere", "..", "a/../../b", "~/x", "C:\\x", "a\\..\\..\\b"])
def test_a_check_stays_in_the_working_tree(folder: str) -> None:
    outcome = reduce(plan_of("a"), [SetCheck(Numbered((1,)), Check(("make",), folder))], Rules())

    assert (outcome.changed, outcome.faults) == (False, (CheckOutside(folder),))


def test_a_written_plan_with_a_useless_check_is_refused() -> None:
    """Also if it is among valid tasks, and rules are not atomic."""
    useless = Check(("true",))
    plan = plan_of("a")

    outcome = reduce(plan, [Append((Task("b"), Task("c", check=useless)))], Rules(atomic=False))

    assert (outcome.after, outcome.faults) == (plan, (UselessCheck(("true",)),))


def test_order_and_files_are_replaced_and_a_task_waits_for_open_tasks_that_exist() -> None:
    plan = plan_of("a", "b", "c")
    steps: list[Step] = [Order(Numbered((3,)), (1, 2)), Order(Numbered((3,)), (2,)), Touch(Everything(), ("src/*",))]

    after = reduce(plan, steps, Rules()).after

    assert [task.after for task in after.tasks] == [(), (), (2,)]
    assert {task.touches for task in after.tasks} == {("src/*",)}

    waiting = reduce(plan, [Order(Numbered((3,)), (1, 2)), Mark(Numbered((1,)), COMPLETED)], Rules()).after

    assert waits_for(waiting, waiting.tasks[2]) == (2,)
    assert [is_ready(waiting, task) for task in waiting.tasks] == [False, True, False]
    assert waiting.tasks[2].status is PENDING


def test_an_order_without_end_or_of_unknown_tasks_is_refused() -> None:
    """A cycle beside the task is found, and shared ends are none."""
    plan = reduce(plan_of("a", "b", "c"), [Order(Numbered((2,)), (1,)), Order(Numbered((3,)), (2,))], Rules()).after

    assert reduce(plan, [Order(Numbered((1,)), (3,))], Rules()).faults == (Cycle((1, 3, 2)),)
    assert reduce(plan, [Order(Numbered((1,)), (1,))], Rules()).faults == (Cycle((1,)),)
    assert reduce(plan, [Order(Numbered((1,)), (3, 9))], Rules()).faults == (NoSuchNumber((9,)),)
    assert reduce(plan, [Order(Named("z"), (3,))], Rules()).faults == (TaskMissing("z", empty=False),)
    written = (Phase("", (Task("x", after=(2,)), Task("y", after=(1,)))),)
    assert reduce(plan, [Write(written)], Rules()).faults == (Cycle((4, 5)),)

    plan = reduce(
        plan_of("a", "b", "c", "d"),
        [Order(Numbered((2,)), (1,)), Order(Numbered((3,)), (1,)), Order(Numbered((4,)), (2, 3))],
        Rules(),
    ).after

    assert cycle_from(plan, 4, (2, 3)) == ()
    assert cycle_from(plan, 1, (4,)) == (1, 4, 2)


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


def test_a_proved_task_stays_completed_until_its_check_fails() -> None:
    """The proof of another command proves nothing; a removed task leaves its check to nobody."""
    outcome = done(checked("a"), {1: proof(Result.PASSED, LINT)})

    assert (outcome.after.tasks[0].status, outcome.after.tasks[0].proof) == (IN_PROGRESS, None)

    plan = done(checked("a", "b"), {1: proof(Result.PASSED)}).after

    after = reduce(plan, [Rename(ONE, "c"), Mark(Numbered((2,)), COMPLETED)], Rules()).after

    assert [task.status for task in after.tasks] == [COMPLETED, COMPLETED]

    plan = done(checked("a"), {1: proof(Result.PASSED)}).after

    outcome = reduce(plan, [], Rules(), {1: proof(Result.FAILED)})

    assert (outcome.after.tasks[0].status, outcome.unproved) == (IN_PROGRESS, (1,))

    after = reduce(checked("a"), [Remove(ONE), Append((Task("a", COMPLETED),))], Rules()).after

    assert (after.tasks[0].number, after.tasks[0].check) == (2, None)


def test_another_check_reopens_a_task_and_the_same_or_none_does_not() -> None:
    """Models send lists of texts and statuses, which keep the checks that they do not name."""
    plan = done(checked("a"), {1: proof(Result.PASSED)}).after

    edited = reduce(plan, [SetCheck(ONE, LINT)], Rules()).after.tasks[0]
    removed = reduce(plan, [SetCheck(ONE, None)], Rules()).after.tasks[0]

    assert (edited.status, edited.check, edited.proof) == (PENDING, LINT, None)
    assert (removed.status, removed.check, removed.proof) == (COMPLETED, None, None)

    plan = done(checked("a"), {1: proof(Result.PASSED)}).after

    assert not reduce(plan, [SetCheck(ONE, TESTS)], Rules()).changed

    before = done(checked("a"), {1: proof(Result.PASSED)}).after

    same = reduce(before, [Write(flat(Task("a", COMPLETED), Task("b")).phases)], Rules()).after
    other = reduce(before, [Write(flat(Task("a", COMPLETED, check=LINT)).phases)], Rules()).after

    assert (same.tasks[0].check, same.tasks[0].status) == (TESTS, COMPLETED)
    assert (other.tasks[0].check, other.tasks[0].status, other.tasks[0].proof) == (LINT, PENDING, None)


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
    assert has_checks(checked("a"))
    assert has_checks(Plan(check=TESTS))
    assert not has_checks(plan_of("a"))


def test_stale_tasks_are_reopened_without_their_proofs() -> None:
    plan = replace(done(checked("a", "b"), {1: proof(Result.PASSED)}).after, check=LINT, proof=proof(Result.PASSED))

    task, other = reopened(plan, frozenset({1})).tasks

    assert (task.status, task.proof, other) == (IN_PROGRESS, None, plan.tasks[1])
    assert reopened(plan, frozenset({1})).proof == plan.proof
    assert reopened(plan, frozenset({PLAN})).proof is None
    assert reopened(plan, frozenset()) is plan


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


ASKED_TESTS, ASKED_LINT = Check(("pytest", "-q")), Check(("ruff", "check"))
MODEL = ByModel()
PASSED = Proof(Result.PASSED, ASKED_TESTS.command)
FAILED = Proof(Result.FAILED, ASKED_TESTS.command)


def asked_for(*texts: str) -> Plan:
    """A plan whose first task has a check that a person asked for."""
    return reduce(plan_of(*texts), [SetCheck(ONE, ASKED_TESTS)], Rules()).after


def by_model(plan: Plan, *steps: Op, model: ByModel = MODEL, rules: Rules = Rules()) -> Outcome:  # noqa: B008  frozen
    return reduce(plan, steps, rules, model=model)


def texts(plan: Plan) -> list[str]:
    return [task.text for task in plan.tasks]


def test_a_list_of_a_model_that_lacks_a_task_with_a_check_keeps_it_after_the_others_of_its_phase() -> None:
    """So the tasks of the list are at the positions by which the model names them next."""
    outcome = by_model(asked_for("a", "b"), Write(flat(Task("c", COMPLETED), Task("d", COMPLETED)).phases))

    assert texts(outcome.after) == ["c", "d", "a"]
    assert (outcome.after.tasks[2].number, outcome.after.tasks[2].check) == (1, ASKED_TESTS)
    assert (outcome.kept, outcome.faults) == ((1,), ())
    assert outcome.after.last_number == 4

    before = Plan(
        (Phase("A", (Task("a", number=1, check=ASKED_TESTS),)), Phase("B", (Task("b", number=2, check=ASKED_LINT),))), 2
    )

    after = by_model(before, Write((Phase("B", (Task("x"),)), Phase("C", (Task("y"),))))).after

    assert [(phase.name, [task.text for task in phase.tasks]) for phase in after.phases] == [
        ("B", ["x", "b"]),
        ("C", ["y"]),
        ("A", ["a"]),
    ]

    outcome = by_model(asked_for("a", "b"), Write(flat(Task("a", ABANDONED), Task("b")).phases))

    assert [(task.text, task.status) for task in outcome.after.tasks] == [("a", PENDING), ("b", PENDING)]
    assert outcome.kept == (1,)

    before = reduce(asked_for("a"), [Mark(ONE, IN_PROGRESS)], Rules()).after

    after = by_model(before, Write(flat(Task("b", IN_PROGRESS)).phases), rules=Rules(focus=Focus.AT_MOST_ONE)).after

    assert [(task.text, task.status) for task in after.tasks] == [("b", IN_PROGRESS), ("a", PENDING)]


@pytest.mark.parametrize("proof", [None, FAILED])
def test_a_task_is_kept_with_its_status_and_its_failed_proof(proof: Proof | None) -> None:
    failed = reduce(asked_for("a"), [Mark(ONE, COMPLETED)], Rules(), {} if proof is None else {1: proof}).after

    kept = by_model(failed, Write(())).after.tasks[0]

    assert (kept.status, kept.proof) == (IN_PROGRESS, proof)


REFUSED: list[Op] = [
    Remove(ONE),
    Remove(Named("a")),
    Remove(At((0,))),
    Remove(Everything()),
    Remove(InPhase("")),
    Mark(ONE, ABANDONED),
    Mark(Everything(), ABANDONED),
    SetCheck(ONE, ASKED_LINT),
    SetCheck(ONE, replace(ASKED_TESTS, watches=("nothing",))),
    SetCheck(ONE, None),
    Write(flat(Task("a", check=ASKED_LINT)).phases),
]


@pytest.mark.parametrize("step", REFUSED)
def test_only_a_person_removes_or_drops_such_a_task_or_changes_its_check(step: Op) -> None:
    plan = asked_for("a", "b")

    refused, allowed = by_model(plan, step), reduce(plan, [step], Rules())

    assert (refused.after, refused.faults, refused.kept) == (plan, (HasCheck(1, "a"),), ())
    assert allowed.changed
    assert allowed.faults == ()


def test_a_refused_step_spares_the_others_if_rules_are_not_atomic() -> None:
    """And leaves no task to be proved."""
    steps = (Remove(ONE), Mark(Numbered((2,)), COMPLETED), Remove(Numbered((9,))))

    outcome = by_model(asked_for("a", "b"), *steps, rules=Rules(atomic=False))

    assert [task.status for task in outcome.after.tasks] == [PENDING, COMPLETED]
    assert outcome.faults == (HasCheck(1, "a"), NoSuchNumber((9,)))

    written = Write(flat(Task("a", COMPLETED, check=ASKED_LINT)).phases)

    outcome = by_model(asked_for("a"), written, rules=Rules(atomic=False))

    assert (outcome.changed, outcome.unproved) == (False, ())


def test_a_proved_task_can_go_unless_its_proof_is_stale() -> None:
    """So can one that a person dropped."""
    done = reduce(asked_for("a", "b"), [Mark(ONE, COMPLETED)], Rules(), {1: PASSED}).after
    stale = ByModel(stale=lambda: frozenset({1}))

    assert texts(by_model(done, Remove(ONE)).after) == ["b"]
    assert texts(by_model(done, Write(flat(Task("c")).phases)).after) == ["c"]
    assert by_model(done, Remove(ONE), model=stale).faults == (HasCheck(1, "a"),)
    assert texts(by_model(done, Write(flat(Task("c")).phases), model=stale).after) == ["c", "a"]

    done = reduce(asked_for("a", "b"), [Mark(Everything(), COMPLETED)], Rules(), {1: PASSED}).after
    step = Append((Task("c"),), clear_finished=True)

    kept = by_model(done, step, model=stale)

    assert texts(by_model(done, step).after) == ["c"]
    assert (texts(kept.after), kept.kept) == (["c", "a"], (1,))

    dropped = reduce(asked_for("a", "b"), [Mark(ONE, ABANDONED)], Rules()).after

    assert texts(by_model(dropped, Remove(ONE)).after) == ["b"]


def test_files_are_looked_at_only_if_a_proved_task_is_about_to_go() -> None:
    def unexpected() -> frozenset[int]:
        raise AssertionError

    done = reduce(asked_for("a", "b"), [Mark(ONE, COMPLETED)], Rules(), {1: PASSED}).after

    steps = (Mark(Numbered((2,)), COMPLETED), Remove(Numbered((2,))), Append((Task("c"),)), Rename(ONE, "d"))

    assert by_model(done, *steps, model=ByModel(stale=unexpected)).faults == ()


def test_a_check_that_a_model_wrote_is_its_own_until_a_person_approves_it() -> None:
    proposed = by_model(plan_of("a", "b"), SetCheck(ONE, ASKED_LINT)).after
    approving = ByModel(lambda check: check == ASKED_LINT)

    assert proposed.tasks[0].check == ASKED_LINT
    assert proposed.tasks[0].check.by_model
    for step in REFUSED[:-1]:
        assert by_model(proposed, step).faults == ()
    assert by_model(proposed, Remove(ONE), model=approving).faults == (HasCheck(1, "a"),)
    assert by_model(proposed, SetCheck(ONE, ASKED_TESTS), model=approving).faults == (HasCheck(1, "a"),)


@pytest.mark.parametrize(
    "step", [SetCheck(ONE, ASKED_TESTS), Write(flat(Task("a", check=ASKED_TESTS), Task("b")).phases)]
)
def test_whoever_repeats_a_check_does_not_become_its_author(step: Op) -> None:
    """A model cannot make a person's check its own, and a person who saves a plan has not written what is in it."""
    asked, proposed = asked_for("a", "b"), by_model(plan_of("a", "b"), SetCheck(ONE, ASKED_TESTS)).after

    again, saved = by_model(asked, step).after.tasks[0].check, reduce(proposed, [step], Rules()).after.tasks[0].check

    assert again is not None
    assert saved is not None
    assert (again.by_model, saved.by_model) == (False, True)


@pytest.mark.parametrize(
    "step", [Append((Task("c", check=ASKED_LINT),)), Write(flat(Task("c", check=ASKED_LINT)).phases)]
)
def test_the_checks_of_tasks_that_a_model_adds_are_its_own(step: Op) -> None:
    added = by_model(plan_of("a"), step).after.tasks[-1].check

    assert added is not None
    assert added.by_model


def test_rewording_and_moving_a_task_keep_its_check() -> None:
    after = by_model(asked_for("a", "b"), Rename(ONE, "other words"), Move(ONE)).after

    assert [(task.text, task.check) for task in after.tasks] == [("b", None), ("other words", ASKED_TESTS)]


def test_a_model_neither_changes_the_check_of_a_plan_nor_empties_the_plan() -> None:
    plan = reduce(plan_of("a"), [SetCheck(None, ASKED_TESTS)], Rules()).after
    proved = reduce(plan, [], Rules(), {PLAN: PASSED}).after
    empty = replace(plan, phases=())

    for step in (Write(()), Remove(Everything()), SetCheck(None, ASKED_LINT), SetCheck(None, None)):
        assert by_model(plan, step).faults == (HasCheck(PLAN),)
    assert by_model(proved, Write(())).after.tasks == ()
    assert by_model(proved, Write(()), model=ByModel(stale=lambda: {PLAN})).faults == (HasCheck(PLAN),)
    assert by_model(plan, Write(flat(Task("b")).phases)).after.check == ASKED_TESTS
    assert by_model(empty, Write(())).faults == ()
    assert by_model(plan_of("a"), SetCheck(None, ASKED_LINT), SetCheck(None, ASKED_TESTS)).after.check == ASKED_TESTS


def test_an_earlier_plan_sheds_what_was_asked_for_since() -> None:
    """As if a model undid the change of a person."""
    plan = reduce(asked_for("a", "b"), [SetCheck(None, ASKED_LINT)], Rules()).after

    assert shed(plan, plan_of("a", "b"), MODEL) == (HasCheck(1, "a"), HasCheck(PLAN))
    assert shed(plan, replace(plan, phases=()), MODEL) == (HasCheck(1, "a"), HasCheck(PLAN))
    assert shed(plan, reduce(plan, [Rename(ONE, "c")], Rules()).after, MODEL) == ()


CHECKED = Task("c", check=ASKED_LINT)


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
    asked_for: list[tuple[list[Op], dict[int, Proof]]], batches: list[tuple[list[Op], dict[int, Proof]]], rules: Rules
) -> None:
    """Each such check stays in the plan until it has passed; also that of the plan."""
    plan = reduce(plan_of("a", "b", "c"), [SetCheck(ONE, ASKED_TESTS)], Rules()).after
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
