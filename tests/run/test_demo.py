"""The first command of the README works."""

import pytest

import do
from tests.suite.forking import starting


def test_the_demo_runs_the_example_and_shows_its_log(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(do, "prepare", lambda _: 0)

    with starting():
        assert do.demo() == 0

    shown = capfd.readouterr().out
    assert "$ tildone run examples/hello.md --allow '*' --session hello\n" in shown
    assert "All 6 tasks are done.\n" in shown
    assert "completed #6 “Check the greeting and remove it”" in shown.split("$ tildone log --session hello")[1]
