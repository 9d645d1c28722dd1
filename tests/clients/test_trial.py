"""A trial of a client: outcomes are written as tests end, and the last attempt counts."""

import json
import os
from pathlib import Path
from typing import Literal

import pytest

from tests.clients.results import NO, YES
from tests.clients.situations import Cell, Mode
from tests.clients.trial import FAILED, PASSED, SKIPPED, Journal, Outcome, reason_of, trial_of, try_out

HELD = Cell("held", "pi", Mode.HEADLESS)


def of(test: str, result: str, attempt: int = 1) -> Outcome:
    return Outcome(test, attempt, result, [str(HELD)])


@pytest.mark.parametrize(
    ("outcomes", "mark"),
    [
        ([of("a", PASSED), of("b", FAILED)], NO),
        ([of("b", FAILED), of("a", PASSED)], NO),
        ([of("a", FAILED), of("a", PASSED, attempt=2)], YES),
        ([of("a", PASSED), of("a", FAILED)], NO),
        ([of("a", FAILED), of("a", PASSED)], NO),
        ([of("a", SKIPPED), of("b", PASSED)], YES),
        ([of("a", SKIPPED)], None),
    ],
    ids=[
        "one fails",
        "in any order",
        "second attempt",
        "failed teardown",
        "failed setup",
        "one skipped",
        "all skipped",
    ],
)
def test_a_cell_holds_if_each_of_its_tests_passed_in_its_last_attempt(
    outcomes: list[Outcome], mark: str | None
) -> None:
    assert trial_of(outcomes, None).cells.get(HELD) == mark


def test_tests_that_were_run_again_are_counted() -> None:
    assert trial_of([of("a", FAILED), of("b", PASSED), of("a", PASSED, attempt=2)], None).repeated == 1


def test_a_journal_keeps_what_a_test_proves_and_why_it_failed(tmp_path: Path) -> None:
    """Each line is complete when the test has ended."""
    file, journal = tmp_path / "outcomes", Journal(tmp_path / "outcomes", attempt=1)
    failure = "test.py:3: in test\n    assert f() == 1\nE   assert 2 == 1\nE    +  where 2 = f()"
    outcomes: list[tuple[str, Literal["passed", "failed"], str | None]] = [
        ("a", "passed", None),
        ("b", "failed", failure),
    ]
    for name, result, text in outcomes:
        journal.pytest_runtest_logreport(
            pytest.TestReport(
                name, ("", 0, ""), {}, result, text, "call", user_properties=[("proves", str(HELD)), ("other", "x")]
            )
        )

    written = [Outcome(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]

    assert written == [of("a", PASSED), Outcome("b", 1, FAILED, [str(HELD)], "assert 2 == 1")]
    assert journal.failed == ["b"]


def test_a_reason_is_short_and_names_the_error() -> None:
    assert reason_of("in test\nTimedOut") == "TimedOut"
    assert reason_of("") == ""
    assert len(reason_of(f"E   {'x' * 1000}")) == 160


@pytest.mark.skipif(os.name == "nt", reason="the supervisor runs on Unix")
def test_a_trial_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    """It reports what it found until then, which is nothing here."""
    trial = try_out("pi", tmp_path, 0.1)

    assert trial.seconds_allowed == 0.1
    assert (trial.outcomes, trial.sent) == ([], None)
