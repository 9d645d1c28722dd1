"""Checks, the order and the files of tasks in the brief dialect."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.plans import session_on
from tildone.base import replace
from tildone.log.session import Session
from tildone.plan.dialects.brief import DIALECT as BRIEF
from tildone.plan.dialects.brief.calls import interpret
from tildone.plan.model import Check, Proof, Result, Status
from tildone.plan.ops import Numbered, SetCheck


class Fixed:
    """Gives every check the same result; all passed proofs are stale if `is_stale`."""

    def __init__(self, result: Result, reason: str = "", tail: str = "") -> None:
        self.result, self.reason, self.tail = result, reason, tail
        self.is_stale = False

    def prove(self, checks: Mapping[int, Check]) -> Mapping[int, Proof]:
        return {
            number: Proof(self.result, check.command, reason=self.reason, tail=self.tail)
            for number, check in checks.items()
        }

    def stale(self, proofs: Mapping[int, tuple[Check, Proof]]) -> frozenset[int]:
        return frozenset(proofs) if self.is_stale else frozenset()

    def is_allowed(self, _check: Check) -> bool:
        return True


def session(prover: Fixed | None = None) -> Session:
    opened = session_on(dialect=BRIEF)
    opened.call("todo", {"add": ["parser", "docs", "release"]})
    return opened.using(parts=replace(opened.parts, prover=(lambda: prover) if prover else None))


@pytest.mark.parametrize(
    ("arguments", "ops"),
    [
        ({"check": "3 pytest -q"}, [["check", 3, "pytest", "-q"]]),
        ({"check": "#3: make 'a b'"}, [["check", 3, "make", "a b"]]),
        ({"check": {"3": "make", "4": "tox"}}, [["check", 3, "make"], ["check", 4, "tox"]]),
        ({"check": {"id": 3, "command": "make test"}}, [["check", 3, "make", "test"]]),
        ({"check": {"id": 3, "command": ["make", "a b"]}}, [["check", 3, "make", "a b"]]),
        ({"check": {"id": 3, "command": ["make test"]}}, [["check", 3, "make", "test"]]),
        ({"check": [3, "make"]}, [["check", 3, "make"]]),
        ({"check": ["3 make", "4 tox"]}, [["check", 3, "make"], ["check", 4, "tox"]]),
        ({"op": "check", "id": 3, "command": "make"}, [["check", 3, "make"]]),
        ("check 3 make", [["check", 3, "make"]]),
        ({"check": {"parser": "make"}}, [["check", "parser", "make"]]),
        ({"after": "3 1 2"}, [["after", 3, 1, 2]]),
        ({"after": "3 after 1 and 2"}, [["after", 3, 1, 2]]),
        ({"after": {"3": [1, 2]}}, [["after", 3, 1, 2]]),
        ({"after": {"id": 3, "after": 1}}, [["after", 3, 1]]),
        ({"after": "3 none"}, [["after", 3]]),
        ({"touches": "3 src/*.py, docs"}, [["touches", 3, "src/*.py", "docs"]]),
        ({"touches": {"id": 3, "globs": ["a b", "c"]}}, [["touches", 3, "a b", "c"]]),
        ({"touch": [3, "src"]}, [["touches", 3, "src"]]),
        ({"touches": {"3": "None"}}, [["touches", 3]]),
    ],
)
def test_the_forms_that_models_write(arguments: object, ops: list[Any]) -> None:
    params, problems = interpret(arguments)

    assert (params["ops"], problems) == (ops, [])


@pytest.mark.parametrize(
    "arguments",
    [
        {"check": 3},
        {"check": "3"},
        {"check": [3]},
        {"check": {"id": 3}},
        {"op": "check", "id": 3},
        {"check": 3.0},
        "check 3",
    ],
)
def test_a_check_without_a_command_completes_the_task(arguments: object) -> None:
    """Models also say that they check off a task."""
    assert interpret(arguments)[0]["ops"] == [["done", 3]]
    assert interpret({"check": "3, 4"})[0] == {"ops": [["done", 3], ["done", 4]], "hints": ["done, not check"]}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"check": "all tests pass"}, 'check takes "ID command"'),
        ({"check": True}, 'check takes "ID command"'),
        ({"check": {}}, 'check takes "ID command"'),
        ({"check": [None]}, 'check takes "ID command"'),
        ({"check": "3 none"}, "only a person removes a check"),
        ({"check": "3 make && tox"}, "check: && needs a shell: sh -c '…'"),
        ({"check": "3 'a"}, "check: a quotation mark is not closed"),
        ({"after": "3"}, 'after takes "ID IDs"'),
        ({"after": "3 docs"}, 'after takes "ID IDs", in numbers'),
        ({"touches": 3}, 'touches takes "ID globs"'),
    ],
)
def test_what_has_no_clear_meaning_is_refused(arguments: object, problem: str) -> None:
    assert [str(each) for each in interpret(arguments)[1]] == [problem]


def test_a_model_can_set_a_check_but_none_that_proves_nothing_and_not_remove_one() -> None:
    opened = session()

    assert opened.call("todo", {"check": "1 make test"}).text == "ok"
    assert opened.plan.tasks[0].check == Check(("make", "test"))
    assert opened.call("todo", {"check": "1 true"}).text == "a check needs a command that can fail, not “true”"
    assert opened.call("todo", {"check": "1 none"}).text == "only a person removes a check"
    assert opened.plan.tasks[0].check == Check(("make", "test"))


def test_the_list_says_what_waits_and_which_check_failed() -> None:
    opened = session(Fixed(Result.FAILED, "`make` failed with exit code 2", "boom"))
    opened.call("todo", {"check": "1 make", "after": "3 1 2", "touches": "2 docs"})

    reply = opened.call("todo", {"done": 1})

    assert reply.text == "1 is not done: `make` failed with exit code 2\nboom"
    assert reply.details == {"say": reply.text}
    assert opened.call("todo", {}).text == "1> parser (check failed)\n2 docs\n3 release (after 1-2)"
    assert opened.call("todo", {"done": [1, 2]}).text.startswith("ok\n1 is not done")
    assert opened.plan.tasks[1].touches == ("docs",)


@pytest.mark.parametrize(
    ("result", "said", "listed"),
    [
        (Result.REFUSED, "1 waits for a person to approve its check `make`. Go on with the rest", "check not approved"),
        (Result.INCONCLUSIVE, "1 waits for a person: `make` hangs. Go on with the rest", "check inconclusive"),
    ],
)
def test_a_check_that_only_a_person_can_settle_blocks_its_task(result: Result, said: str, listed: str) -> None:
    opened = session(Fixed(result, "`make` hangs"))
    opened.call("todo", {"check": "1 make"})

    assert opened.call("todo", {"done": 1}).text == said
    assert opened.plan.tasks[0].status is Status.BLOCKED
    assert opened.call("todo", {}).text.startswith(f"1! parser ({listed})")


def test_the_plan_is_not_all_done_before_its_own_check_has_passed() -> None:
    prover = Fixed(Result.FAILED, "`make` failed with exit code 2")
    opened = session(prover)
    opened.change([SetCheck(None, Check(("make",)))])
    opened.call("todo", {})

    assert opened.call("todo", {"done": [1, 2, 3]}).text == "ok\nThe plan is not done: `make` failed with exit code 2"
    prover.result = Result.PASSED
    assert opened.call("todo", {"done": 3}).text == "ok, all done"


def test_an_order_without_end_is_refused() -> None:
    opened = session()
    opened.call("todo", {"after": "2 1"})

    assert opened.call("todo", {"after": "1 2"}).text == "these tasks would wait for each other: 1, 2"
    assert opened.call("todo", {"after": "1 9"}).text == "no 9; there are 1-3"


def test_without_anything_to_run_checks_a_task_with_one_is_not_done() -> None:
    opened = session()
    opened.change([SetCheck(Numbered((1,)), Check(("make",)))])
    opened.call("todo", {})

    assert opened.call("todo", {"done": 1}).text == "1 is not done: its check was not run"
