"""The report about the newest versions of the clients."""

import os
from pathlib import Path

import pytest

from tests.clients import newest, payloads
from tests.clients.install import Missing, Package
from tests.clients.newest import got_worse, newest_version, report
from tests.clients.results import NO, YES, Results
from tests.clients.situations import Cell, Mode

HELD = Cell("held", "pi", Mode.HEADLESS)
STOP = Cell("stop", "pi", Mode.TERMINAL)
BEFORE = Results({"pi": "1.0"}, {HELD: YES})


def test_a_report_names_versions_cells_and_fields() -> None:
    sent = {"pi": {**payloads.load()["pi"], "a_new_event": ["directory"]}}

    lines = list(report("pi", BEFORE, Results({"pi": "1.1"}, {HELD: NO, STOP: YES}), sent))

    assert lines == [
        "pi: 1.0 -> 1.1, 2 cells tried",
        "  held, headless: yes -> no",
        "  stop, terminal: not tried -> yes",
        "  event a_new_event is new: directory",
    ]


def test_a_report_says_that_nothing_changed() -> None:
    after = Results({"pi": "1.1"}, {HELD: YES})

    assert list(report("pi", BEFORE, after, {"pi": payloads.load()["pi"]})) == [
        "pi: 1.0 -> 1.1, 1 cells tried",
        "  no cell changed",
        "  no field of an event or of a request changed",
    ]
    assert list(report("pi", BEFORE, after, {}))[-1] == "  what it sends to hooks and servers could not be recorded"


@pytest.mark.parametrize(("mark", "worse"), [(YES, False), (NO, True)])
def test_what_worked_and_fails_now_is_a_failure(mark: str, *, worse: bool) -> None:
    """What was not tried before is not."""
    assert got_worse(BEFORE, Results({"pi": "1.1"}, {HELD: mark, STOP: NO})) is worse


@pytest.mark.skipif(os.name == "nt", reason="the npm of this test is a shell script")
@pytest.mark.parametrize(
    ("script", "complaint"), [("exit 1", "could not look up pi"), ("echo", "could not look up pi")]
)
def test_a_version_that_npm_does_not_know_is_reported(
    script: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    npm = tmp_path / "npm"
    npm.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    with pytest.raises(Missing, match=complaint):
        newest_version(Package("pi", "1.0"))


def test_an_unknown_client_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert newest.main(["emacs"]) == 2
    assert capsys.readouterr().err.startswith("there is no client 'emacs'; there are claude, codex")
