"""Checks, and which commands prove nothing."""

import pytest

from tests.plans import COMPLETED, PENDING, plan_of
from tildone.plan.faults import CheckOutside, Cycle, NoSuchNumber, TaskMissing, UselessCheck
from tildone.plan.model import (
    Check,
    Phase,
    Proof,
    Result,
    Rules,
    Task,
    cycle_from,
    is_passed,
    is_ready,
    proves_nothing,
    waits_for,
)
from tildone.plan.ops import Append, Everything, Mark, Named, Numbered, Order, SetCheck, Touch, Write
from tildone.plan.reduce import Step, reduce


@pytest.mark.parametrize(
    "command",
    [
        (),
        ("",),
        ("true",),
        ("/bin/true",),
        ("TRUE.exe",),
        (":",),
        ("echo", "pytest"),
        ("env", "A=1", "true"),
        ("env",),
        ("sh", "-c", ""),
        ("sh", "-c"),
        ("bash", "-ec", "echo tests pass && true; exit 0"),
        ("bash", "-c", "# pytest\n(true)"),
        ("zsh", "-e", "-c", "sleep 1 | :"),
        ("exit", "0"),
        ("command", "true"),
        ("timeout", "5", "/usr/bin/true"),
        ("nice", "env", "A=1", ":"),
        ("test", "1"),
        ("[", "1", "]"),
        ("test", "-n", "x"),
        ("test", "-z", ""),
        ("test", "a", "=", "a"),
        ("[", "1", "-eq", "1", "]"),
        ("ls",),
        ("ls", "-la"),
        ("cat", "/dev/null"),
        ("python3", "-c", "pass"),
        ("python", "-c"),
        ("sh", "-c", "exit 0"),
        ("sh", "-c", "make || true"),
        ("sh", "-c", "make; true"),
        ("sh", "-c", "make; exit 0"),
        ("sh", "-ec", "make || :"),
        ("sh", "-c", "make && true || echo 'it failed; so what'"),
        ("sh", "-c", "make > log 2>&1 || echo \\; no"),
        ("sh", "-c", "make &> log; echo ok # make"),
        ("bash", "-c", "pytest -q 2>&1 | tail -5"),
        ("bash", "-c", "pytest |& tee log"),
        ("sh", "-c", "make\n[ 'a b' = \"a b\" ];"),
    ],
)
def test_a_command_that_always_succeeds_proves_nothing(command: tuple[str, ...]) -> None:
    assert proves_nothing(command)
    outcome = reduce(plan_of("a"), [SetCheck(Numbered((1,)), Check(command))], Rules())
    assert (outcome.changed, outcome.faults) == (False, (UselessCheck(command),))


@pytest.mark.parametrize(
    "command",
    [
        ("pytest", "-q"),
        ("false",),
        ("env", "A=1", "make"),
        ("sh", "test.sh"),
        ("sh", "-e", "test.sh", "-c"),
        ("bash", "-c", "echo running; pytest"),
        (r"C:\tools\pytest.exe",),
        ("timeout", "5", "make"),
        ("command", "-v", "node"),
        ("node", "--version"),
        ("test", "-f", "README"),
        ("test", ""),
        ("test", "-z", "x"),
        ("[", "a", "=", "b", "]"),
        ("test",),
        ("ls", "README"),
        ("cat", "README"),
        ("python", "-c", "import parser"),
        ("python", "-m", "pytest"),
        ("sh", "-c", "test $DONE"),
        ("sh", "-c", '[ "$(cat done)" ]'),
        ("sh", "-c", "test ''"),
        ("sh", "-c", "make || exit 1"),
        ("sh", "-c", "make; exit"),
        ("sh", "-c", "make || exit 1; true"),
        ("sh", "-c", "if make; then true; else false; fi; true"),
        ("sh", "-ec", "make; true"),
        ("sh", "-c", "make && (cd x || true)"),
        ("sh", "-c", "make && pytest | tail"),
        ("sh", "-c", "true && make"),
        ("sh", "-c", "make && echo passed"),
        ("sh", "-c", "true || make; make"),
        ("sh", "-c", 'grep -q "; echo done" README'),
        ("sh", "-c", "grep -q ' || true' README"),
        ("sh", "-c", "make &&"),
        ("bash", "-o", "pipefail", "-c", "make | tail"),
        ("bash", "-c", "set -o pipefail; make | tail"),
    ],
)
def test_a_command_that_can_fail_is_a_check(command: tuple[str, ...]) -> None:
    assert not proves_nothing(command)


def test_only_a_passing_proof_of_the_same_command_passes() -> None:
    check = Check(("make", "test"))

    assert is_passed(check, Proof(Result.PASSED, check.command))
    assert not is_passed(check, Proof(Result.PASSED, ("make",)))
    assert not is_passed(check, Proof(Result.FAILED, check.command))
    assert not is_passed(check, None)


def test_proofs_are_equal_if_they_say_the_same_of_the_same_files() -> None:
    one = Proof(Result.PASSED, ("make",), "d", "e", 0, "", 12, 34, "ada", "out", "tail")

    assert one == Proof(Result.PASSED, ("make",), "d", "e", 0)
    assert one != Proof(Result.PASSED, ("make",), "f", "e", 0)


def test_only_a_person_can_help_with_an_inconclusive_or_refused_check() -> None:
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


def test_the_order_and_the_files_of_tasks_are_replaced() -> None:
    plan = plan_of("a", "b", "c")
    steps: list[Step] = [Order(Numbered((3,)), (1, 2)), Order(Numbered((3,)), (2,)), Touch(Everything(), ("src/*",))]

    after = reduce(plan, steps, Rules()).after

    assert [task.after for task in after.tasks] == [(), (), (2,)]
    assert {task.touches for task in after.tasks} == {("src/*",)}


def test_a_task_waits_for_open_tasks_that_exist() -> None:
    plan = reduce(plan_of("a", "b", "c"), [Order(Numbered((3,)), (1, 2)), Mark(Numbered((1,)), COMPLETED)], Rules())
    first, second, third = plan.after.tasks

    assert waits_for(plan.after, third) == (2,)
    assert [is_ready(plan.after, task) for task in (first, second, third)] == [False, True, False]
    assert third.status is PENDING


def test_an_order_without_end_or_of_unknown_tasks_is_refused() -> None:
    plan = reduce(plan_of("a", "b", "c"), [Order(Numbered((2,)), (1,)), Order(Numbered((3,)), (2,))], Rules()).after

    assert reduce(plan, [Order(Numbered((1,)), (3,))], Rules()).faults == (Cycle((1, 3, 2)),)
    assert reduce(plan, [Order(Numbered((1,)), (1,))], Rules()).faults == (Cycle((1,)),)
    assert reduce(plan, [Order(Numbered((1,)), (3, 9))], Rules()).faults == (NoSuchNumber((9,)),)
    assert reduce(plan, [Order(Named("z"), (3,))], Rules()).faults == (TaskMissing("z", empty=False),)
    written = (Phase("", (Task("x", after=(2,)), Task("y", after=(1,)))),)
    assert reduce(plan, [Write(written)], Rules()).faults == (Cycle((4, 5)),)


def test_a_cycle_beside_the_task_is_found_and_shared_ends_are_none() -> None:
    plan = reduce(
        plan_of("a", "b", "c", "d"),
        [Order(Numbered((2,)), (1,)), Order(Numbered((3,)), (1,)), Order(Numbered((4,)), (2, 3))],
        Rules(),
    ).after

    assert cycle_from(plan, 4, (2, 3)) == ()
    assert cycle_from(plan, 1, (4,)) == (1, 4, 2)
