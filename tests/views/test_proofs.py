"""Checks and proofs as text."""

import pytest

from tests.plans import COMPLETED, IN_PROGRESS, plan_of
from tildone.base import replace
from tildone.plan.model import Check, Plan, Proof, Result, Rules, Task, flat
from tildone.plan.ops import Mark, Numbered, Order, SetCheck
from tildone.plan.reduce import Outcome, reduce
from tildone.plan.text.proofs import (
    MAX_LINES,
    check_caution,
    check_text,
    output_end,
    proof_words,
    with_results,
    with_unproved,
)

TESTS = Check(("pytest", "-q"))


def proof(result: Result, reason: str = "", tail: str = "", output: str = "") -> Proof:
    return Proof(result, TESTS.command, reason=reason, tail=tail, output=output)


def tried(found: Proof | None) -> Outcome:
    plan = reduce(plan_of("parser", "docs"), [SetCheck(Numbered((1,)), TESTS)], Rules()).after
    return reduce(plan, [Mark(Numbered((1,)), COMPLETED)], Rules(), {} if found is None else {1: found})


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (proof(Result.PASSED), "ok"),
        (None, "ok\n1 is not done: its check was not run"),
        (proof(Result.FAILED), "ok\n1 is not done: its check failed"),
        (proof(Result.FAILED, "exit code 1", "E  boom"), "ok\n1 is not done: exit code 1\nE  boom"),
        (proof(Result.REFUSED), "ok\n1 waits for a person to approve its check `pytest -q`. Go on with the rest"),
        (proof(Result.INCONCLUSIVE, "no pytest"), "ok\n1 waits for a person: no pytest. Go on with the rest"),
        (proof(Result.FAILED, "x", "…end", "/o.log"), "ok\n1 is not done: x\n…end\n(all of it: /o.log)"),
    ],
)
def test_a_reply_says_why_a_task_is_not_done(found: Proof | None, said: str) -> None:
    assert with_results("ok", tried(found), numbered=True) == said


def test_a_reply_names_tasks_by_their_texts_and_includes_the_plan() -> None:
    outcome = tried(proof(Result.FAILED, "exit code 1"))
    closed = replace(flat(Task("a", COMPLETED)), check=TESTS, proof=proof(Result.FAILED, "exit code 2"))

    assert with_results("ok", outcome, numbered=False) == "ok\n“parser” is not done: exit code 1"
    assert with_results("ok", Outcome(closed, closed), numbered=True) == "ok\nThe plan is not done: exit code 2"


def test_a_prompt_says_what_is_unproved_and_what_waits() -> None:
    tasks = [
        Task("long " * 40, IN_PROGRESS, number=1, check=TESTS, proof=proof(Result.FAILED)),
        Task("b", IN_PROGRESS, number=2, check=TESTS),
        *(Task(f"c{number}", IN_PROGRESS, number=number, check=Check(("make", str(number)))) for number in range(3, 8)),
        Task("d", number=8, after=(2,)),
    ]
    held = flat(*tasks)
    recorded = flat(tasks[0], replace(tasks[1], status=COMPLETED), *tasks[2:])

    numbered = with_unproved("Go on.", held, recorded, numbered=True)
    named = with_unproved("Go on.", held, recorded, numbered=False).split("\n")

    assert numbered == (
        "Go on.\n"
        "Check failed: 1 (`pytest -q`)\n"
        "Files changed since the check passed; mark it done again: 2 (`pytest -q`)\n"
        "Done only if its check passes: 3 (`make 3`), 4 (`make 4`), 5 (`make 5`) and 2 more"
    )
    assert named[1].startswith("Check failed: “long long")
    assert named[1].endswith("…” (`pytest -q`)")
    assert named[-1] == "Not ready, because other tasks come first: “d”"


def test_a_prompt_says_that_the_check_of_the_plan_is_missing() -> None:
    closed = replace(flat(Task("a", COMPLETED, number=1)), check=TESTS)
    failed, passed = (replace(closed, proof=proof(result)) for result in (Result.FAILED, Result.PASSED))

    assert with_unproved("Go on.", closed, closed, numbered=True) == (
        "Go on.\nThe check of the plan has to pass: `pytest -q`. Then mark a task done again"
    )
    assert "The check of the plan failed: " in with_unproved("Go on.", failed, failed, numbered=True)
    assert with_unproved("Go on.", closed, passed, numbered=True) == (
        "Go on.\nFiles changed since the check of the plan passed: `pytest -q`. Mark a task done again"
    )
    assert with_unproved("Go on.", passed, passed, numbered=True) == "Go on."


def test_a_check_without_order_needs_no_words() -> None:
    plan = reduce(plan_of("a", "b"), [Order(Numbered((2,)), (1,))], Rules()).after

    assert with_unproved("Go on.", plan, plan, numbered=True) == "Go on."
    assert with_unproved("Go on.", Plan(), Plan(), numbered=False) == "Go on."


def test_the_command_of_a_check_is_quoted_where_a_shell_needs_it() -> None:
    assert check_text(Check(("make", "a b", "", "it's", "x\ry"))) == "make 'a b' '' 'it'\"'\"'s' 'x\ry'"


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (None, ("", "proposed")),
        (Proof(Result.PASSED, ("other",)), ("", "proposed")),
        (proof(Result.PASSED), ("passed", "passed")),
        (proof(Result.FAILED), ("failed", "failed")),
        (replace(proof(Result.FAILED), exit_code=1), ("failed (exit 1)", "failed (exit 1)")),
        (proof(Result.INCONCLUSIVE, "no pytest"), ("inconclusive: no pytest", "inconclusive: no pytest")),
        (proof(Result.REFUSED), ("", "proposed")),
    ],
)
def test_the_state_of_a_check_in_a_few_words(found: Proof | None, words: tuple[str, str]) -> None:
    """If a person has approved it, and if not."""
    assert (proof_words(TESTS, found), proof_words(TESTS, found, allowed=False)) == words
    assert proof_words(TESTS, found, stale=True) == "stale"


def test_the_end_of_an_output_has_forty_lines_and_two_thousand_characters_at_most() -> None:
    assert output_end("a\n" * 100) == "\n".join(["a"] * MAX_LINES)
    assert output_end("x" * 3000) == "…" + "x" * 1999
    assert output_end("one\n\n") == "one"


@pytest.mark.parametrize(
    ("count", "numbered", "line"),
    [
        (1, True, "kept 1 (`make`): it has a check; only a person can remove it"),
        (2, True, "kept 1 (`make`), 2 (`make`): they have checks; only a person can remove them"),
        (
            5,
            True,
            "kept 1 (`make`), 2 (`make`), 3 (`make`) and 2 more: they have checks; only a person can remove them",
        ),
        (1, False, "kept “t1” (`make`): it has a check; only a person can remove it"),
    ],
)
def test_a_reply_says_which_tasks_were_kept_because_of_their_checks(count: int, numbered: object, line: str) -> None:
    tasks = [Task(f"t{number}", number=number, check=Check(("make",))) for number in range(1, count + 1)]
    after = flat(*tasks, Task("new", number=9))

    outcome = Outcome(flat(*tasks), after, kept=tuple(range(1, count + 1)))

    assert with_results("ok", outcome, numbered=bool(numbered)) == f"ok\n{line}"


def test_a_dangerous_check_says_why() -> None:
    assert check_caution(Check(("sh", "-c", "rm -rf build"))) == "Careful: it deletes files."
    assert check_caution(Check(("echo", "rm -rf build"))) == ""
