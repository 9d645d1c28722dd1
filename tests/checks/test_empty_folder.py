"""Checks that always pass: refused if that can be known from the command, else told when they are approved."""

import sys
from pathlib import Path

import pytest

from tildone.app.check_commands import warnings_about
from tildone.plan.model import Check, proves_nothing

REFUSED = (
    ("true",),
    (":",),
    ("exit", "0"),
    ("/bin/true",),
    ("env", "true"),
    ("command", "true"),
    ("echo", "done"),
    ("printf", "done"),
    ("ls",),
    ("pwd",),
    ("date",),
    ("sleep", "0"),
    ("cat", "/dev/null"),
    ("test", "1"),
    ("[", "1", "]"),
    ("sh", "-c", "exit 0"),
    ("sh", "-c", "pytest || true"),
    ("sh", "-c", "pytest; true"),
    ("sh", "-c", "pytest -q | tail -1"),
    (sys.executable, "-c", "pass"),
)
TOLD = (
    (sys.executable, "--version"),
    (sys.executable, "--help"),
    (sys.executable, "-c", "import sys; sys.exit(0)"),
    ("sh", "-c", "if pytest; then echo; fi; true"),
)
HONEST = (
    ("test", "-f", "README"),
    ("grep", "-q", "42", "answer"),
    ("./test.sh",),
    (sys.executable, "-c", "import time; time.sleep(60)"),
    ("sh", "-c", "exit 3"),
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are those of a POSIX system")


def test_all_of_24_commands_that_always_pass_are_refused_or_told() -> None:
    """20 are refused when they are set, and 4 are told when they are approved. None of them depends on the work."""
    assert [proves_nothing(command) for command in (*REFUSED, *TOLD)] == [True] * 20 + [False] * 4
    for command in TOLD:
        [said] = warnings_about([Check(command)])
        assert said.startswith("this check seems to always pass: it passed in an empty folder, too: "), command
    shells = [command for command in REFUSED if command[0] in ("sh", "test", sys.executable)]
    assert len(warnings_about(map(Check, shells))) == len(shells)


def test_nothing_is_said_of_a_check_that_can_fail_or_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is run in a folder without the files here, and nothing of it is left."""
    monkeypatch.setattr("tildone.app.check_commands.TRIAL_SECONDS", 0.5)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "README").touch()
    monkeypatch.chdir(tmp_path)

    assert warnings_about(map(Check, HONEST)) == []
    assert len(warnings_about([Check(("sh", "-c", "mkdir a && touch a/b"))])) == 1
    assert [each.name for each in tmp_path.iterdir()] == ["README"]
