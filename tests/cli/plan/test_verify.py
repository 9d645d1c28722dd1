"""`tildone verify`: checks are run again, and what came of them is recorded."""

import os

import pytest

from tests.cli.person import Person
from tests.cli.plan.checking import AGENT, answer, script, statuses, tasks, with_repository

GREP = ("grep", "-qx", "42", "answer")
EXISTS = ("test", "-f", "answer")

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the commands are those of a POSIX system")


@pytest.fixture
def checker(person: Person) -> Person:
    with_repository(person)
    person.says("todo", "check", "1", "--", *GREP)
    return person


def test_only_what_is_stale_or_did_not_pass_is_run(checker: Person) -> None:
    checker.says("todo", "check", "2", "--watch", "other", "--", *EXISTS)
    nothing = checker.says("verify")
    answer(checker, 42)
    checker.says("todo", "done", "1", "2")
    fresh = checker.says("verify")
    answer(checker, 43)
    stale = checker.run("verify")
    failed = checker.run("verify")

    assert nothing == fresh == "There is nothing to verify.\n"
    assert (stale.code, stale.out, stale.err) == (3, "✗ #1 $ grep -qx 42 answer · failed (exit 1)\n", "")
    assert failed.out == stale.out
    assert statuses(checker) == ["in_progress", "completed"]


def test_a_stale_proof_that_passes_again_is_fresh(checker: Person) -> None:
    answer(checker, 42)
    checker.says("todo", "done", "1")
    (checker.folder / "answer").write_text("42\n\n", encoding="utf-8")

    assert checker.says("verify") == "✓ #1 $ grep -qx 42 answer · passed\n"
    assert "stale" not in tasks(checker)[1]
    assert checker.says("verify") == "There is nothing to verify.\n"


def test_a_named_check_is_always_run_and_leaves_an_open_task_open(checker: Person) -> None:
    answer(checker, 42)

    assert checker.says("verify", "1") == "✓ #1 $ grep -qx 42 answer · passed\n"
    assert statuses(checker) == ["pending", "pending"]
    without = checker.run("verify", "2")
    assert (without.code, without.err) == (
        3,
        "tildone: #2 has no check; to set one: tildone todo check TASK -- COMMAND\n",
    )
    assert checker.run("verify", "--plan").err.startswith("tildone: the plan has no check")
    assert checker.run("verify", "9").code == 4


def test_the_proof_of_verify_counts_as_long_as_the_files_stay(checker: Person) -> None:
    """Done without another run; and not if the files have changed since."""
    count = script(checker.folder, "echo run >> runs; grep -qx 42 answer")
    (checker.folder / ".gitignore").write_text("runs\n", encoding="utf-8")
    checker.says("todo", "check", "1", "--", "sh", count)
    answer(checker, 42)
    checker.says("verify", "1")
    checker.says("todo", "done", "1")

    assert (checker.folder / "runs").read_text(encoding="utf-8") == "run\n"


def test_a_task_that_was_blocked_for_want_of_a_result_is_open_again(checker: Person) -> None:
    checker.says(
        "todo", "check", "1", "--seconds", "1", "--", "sh", script(checker.folder, "test -f x || read x < fifo")
    )
    os.mkfifo(checker.folder / "fifo")
    checker.run("todo", "done", "1")
    still = checker.run("verify")
    blocked = statuses(checker)
    (checker.folder / "x").touch()
    passed = checker.run("verify")

    assert still.code == 3
    assert still.out.splitlines() == [
        "! #1 $ sh check.sh · inconclusive: it took longer than 1 s",
        "  To run it again: tildone verify 1; with more time: tildone todo check 1 --seconds N",
    ]
    assert blocked == ["blocked", "pending"]
    assert (passed.code, statuses(checker)) == (0, ["pending", "pending"])


def test_a_proposed_check_is_not_run(checker: Person) -> None:
    checker.run("todo", "check", "2", "--", "touch", "made", **AGENT)
    verified = checker.run("verify", "2")

    assert (verified.code, verified.out) == (
        3,
        "! #2 $ touch made · proposed\n  To see and approve it: tildone approve 2\n",
    )
    assert not (checker.folder / "made").exists()


def test_equal_checks_share_one_run_and_json_has_all(checker: Person) -> None:
    name = script(checker.folder, "echo run >> runs")
    for number in ("1", "2"):
        checker.says("todo", "check", number, "--", "sh", name)

    data = checker.run("verify", "1", "2", "--json").json

    assert [(each["number"], each["proof"]["result"], each["approved"]) for each in data["checks"]] == [
        (1, "passed", True),
        (2, "passed", True),
    ]
    assert (checker.folder / "runs").read_text(encoding="utf-8") == "run\n"
