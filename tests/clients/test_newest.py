"""The report about the newest versions of the clients, and the trials that it is made of."""

import os
from pathlib import Path
from typing import Literal

import pytest

from tests.clients import newest, payloads, results
from tests.clients.install import Missing, Package
from tests.clients.integrations_page import page
from tests.clients.newest import found, is_complete, newest_version, report
from tests.clients.results import NO, YES, Results
from tests.clients.situations import SITUATIONS, Cell, Mode
from tests.clients.trial import (
    EXPECTED,
    FAILED,
    PASSED,
    SKIPPED,
    Journal,
    Outcome,
    Trial,
    outcomes_in,
    reason_of,
    trial_of,
    try_out,
)

HELD = Cell("held", "pi", Mode.HEADLESS)
STOP = Cell("stop", "pi", Mode.TERMINAL)
EDIT = Cell("edit", "pi", Mode.TERMINAL)
BEFORE = Results({"pi": "1.0"}, {HELD: YES, EDIT: YES})
SENT = payloads.load()["pi"]
HEAD = "pi: 1.1 is the newest on the registry, 1.0 is the version tried before"
on_unix = pytest.mark.skipif(os.name == "nt", reason="the npm of this test is a shell script")


def outcome(test: str, result: str, *cells: Cell, attempt: int = 1, reason: str = "") -> Outcome:
    return Outcome(test, attempt, result, [str(cell) for cell in cells], reason)


def test_a_report_names_versions_what_holds_what_fails_and_the_fields() -> None:
    failed, passed = outcome("a", FAILED, HELD, reason="assert 2 == 1"), outcome("b", PASSED, STOP)
    trials = [
        trial_of([failed, passed, outcome("c", SKIPPED)], {**SENT, "a_new_event": ["directory"]}),
        trial_of([outcome("a", PASSED, HELD), outcome("b", PASSED, EDIT)], SENT),
        trial_of([], None, 900.0),
    ]

    changed, unchanged, missing = (list(report("pi", "1.1", BEFORE, trial)) for trial in trials)

    assert changed == [
        HEAD,
        "  3 tests: 1 passed, 1 failed, 1 skipped; 0 of them were run twice",
        "  holds, terminal: stop",
        "  fails, headless: held (before: yes): assert 2 == 1",
        "  not tried, terminal: edit",
        "  event a_new_event is new: directory",
    ]
    assert unchanged == [
        HEAD,
        "  2 tests: 2 passed, 0 failed, 0 skipped; 0 of them were run twice",
        "  holds, headless: held",
        "  holds, terminal: edit",
        "  no cell that was tried changed",
        "  no field of an event or of a request changed",
    ]
    assert "  stopped after 900 s; what had not run by then is not tried" in missing
    assert missing[-1] == "  what it sends to hooks and servers could not be recorded"


def test_the_page_says_what_was_found_in_the_newest_version() -> None:
    both = trial_of([outcome("a", PASSED, HELD), outcome("b", FAILED, STOP)], SENT, 900.0)
    newer = {"pi": {"version": "1.1", "found": found(both)}}

    table = page(Results(BEFORE.versions, BEFORE.cells, newest=newer))

    fails = f"fails: {SITUATIONS['stop']} (terminal)"
    assert f" | 1.0 | 0.87.0 | – | 1.1: 1 of 2 results hold in 900 s; {fails} |" in table
    assert found(trial_of([outcome("a", PASSED, HELD)], SENT)) == "1 of 1 results hold"


def test_what_worked_and_fails_now_is_a_failure_and_so_is_what_was_not_tried() -> None:
    works, fails, never_worked = outcome("a", PASSED, HELD), outcome("a", FAILED, HELD), outcome("b", FAILED, STOP)
    complete = trial_of([works], SENT), trial_of([works, never_worked], SENT)
    stopped, not_recorded = trial_of([works], SENT, 900.0), trial_of([works], None)
    incomplete = trial_of([fails], SENT), stopped, not_recorded, trial_of([], SENT)

    assert [is_complete(BEFORE, trial) for trial in (*complete, *incomplete)] == [True] * 2 + [False] * 4


@on_unix
@pytest.mark.parametrize("script", ["exit 1", "echo", "echo '{\"error\": {}}'"])
def test_a_version_that_npm_does_not_know_is_reported(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_npm(tmp_path, monkeypatch, script)

    with pytest.raises(Missing, match="could not look up pi"):
        newest_version(Package("pi", "1.0"))


@on_unix
def test_a_client_that_is_unknown_or_cannot_be_installed_is_reported_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = "npm error code E403", "npm error 403 Forbidden"
    fails = f"{'; '.join(f'echo {line}' for line in lines)}; exit 1"
    write_npm(tmp_path, monkeypatch, f"if [ $1 = view ]; then echo '\"1.1\"'; else {fails}; fi")
    folder = tmp_path / "clients"
    monkeypatch.setenv("CLIENTS_IN", str(folder))

    assert newest.main(["emacs"]) == 2
    assert capsys.readouterr().err.startswith("there is no client 'emacs'; there are claude, codex")
    assert newest.main(["pi"]) == 1

    reason = "npm could not install @earendil-works/pi-coding-agent 1.1: 403 Forbidden; is the network reachable?"
    versions = f"1.1 is the newest on the registry, {results.load().versions['pi']} is the version tried before"
    assert capsys.readouterr().out == f"pi: {versions}\n  not tried: {reason}\n"
    assert list(folder.iterdir()) == []


def write_npm(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    programs = folder / "bin"
    programs.mkdir()
    npm = programs / "npm"
    npm.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)


CELLS: dict[str, str | None] = {
    "a passed, b failed": NO,
    "b failed, a passed": NO,
    "a failed, a passed again": YES,
    # A teardown and a setup that failed.
    "a passed, a failed": NO,
    "a failed, a passed": NO,
    "a skipped, b passed": YES,
    "a skipped": None,
    "a expected to fail": NO,
}


def test_a_cell_holds_if_each_of_its_tests_passed_in_its_last_attempt() -> None:
    def trial(text: str) -> Trial:
        words = [each.partition(" ") for each in text.split(", ")]
        return trial_of(
            [
                outcome(test, result.removesuffix(" again"), HELD, attempt=1 + result.endswith(" again"))
                for test, _, result in words
            ],
            None,
        )

    assert {text: trial(text).cells.get(HELD) for text in CELLS} == CELLS
    assert trial("a failed, b passed, a passed again").repeated == 1


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

    expected = pytest.TestReport("c", ("", 0, ""), {}, "skipped", None, "call")
    expected.wasxfail = "it is known"
    journal.pytest_runtest_logreport(expected)

    assert outcomes_in(file) == [
        outcome("a", PASSED, HELD),
        Outcome("b", 1, FAILED, [str(HELD)], "assert 2 == 1"),
        Outcome("c", 1, EXPECTED, [], ""),
    ]
    assert journal.failed == ["b"]


def test_a_reason_is_short_and_names_the_error() -> None:
    assert reason_of("in test\nTimedOut") == "TimedOut"
    assert reason_of("") == ""
    assert len(reason_of(f"E   {'x' * 1000}")) == 160


@pytest.mark.skipif(os.name == "nt", reason="the supervisor runs on Unix")
def test_a_trial_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    trial = try_out("pi", tmp_path, 0.1)

    assert trial.seconds_allowed == 0.1
    assert (trial.outcomes, trial.sent) == ([], None)
