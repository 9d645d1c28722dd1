"""The proof in a bare Debian root: which rows it runs, under what conditions, and what it prints."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bare_debian.prove import (
    CHECKOUT,
    COMMANDS,
    GROUPS,
    ROWS,
    Result,
    Row,
    Stop,
    check_host,
    counts,
    entering,
    environment,
    folders,
    limited,
    line,
    selection,
)

HOME = Path("/home/newcomer/home")
SUMMARY = """
SKIPPED [2] tests/a.py:7: 5 passed in 3.0s is what an earlier test printed
===== 1 failed, 9173 passed, 14 skipped, 2 errors in 508.16s (0:08:28) =====
== coverage of the pure packages
"""


def test_words_select_rows_groups_and_commands() -> None:
    """Without words, every row is run with both commands."""
    assert selection([]) == (list(ROWS), COMMANDS)
    assert selection(["demo", "user", "spaces"]) == (["user", "spaces"], ("demo",))
    assert selection(["short", "root"]) == (list(GROUPS["short"]), COMMANDS)


def test_an_unknown_word_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(Stop, match="there is no row 'moon'; there are demo, test, short, root"):
        selection(["user", "moon"])


def test_a_row_gets_the_network_of_the_host_and_the_variables_of_its_condition() -> None:
    host = {"PIP_TIMEOUT": "9", "https_proxy": "p", "NO_PROXY": "n", "SSL_CERT_FILE": "c", "LC_ALL": "x", "CI": "1"}

    variables = environment(host, ROWS["user"], HOME)

    assert set(variables) == {"PATH", "LANG", "HOME", "PIP_TIMEOUT", "https_proxy", "NO_PROXY", "SSL_CERT_FILE"}
    assert variables["HOME"] == str(HOME)
    assert "HOME" not in environment({"HOME": "/root"}, ROWS["home-unset"], HOME)
    assert environment({}, ROWS["lang-c"], HOME)["LANG"] == "C"


def test_only_an_ordinary_user_is_switched_to() -> None:
    def words(name: str) -> list[str]:
        return entering(Path("/bare"), ROWS[name], Path("/home/x y"), "demo")

    assert not any(word.startswith("--userspec") for word in words("root"))
    assert any(word.startswith("--userspec") for word in words("user"))
    assert words("user")[-2:] == ["/home/x y", "demo"]


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
@pytest.mark.parametrize(("name", "ignored"), [("sigint", True), ("user", False)])
def test_a_row_can_ignore_ctrl_c(name: str, tmp_path: Path, *, ignored: bool) -> None:
    """The shell that starts `do.py` passes the disposition on."""
    report = "import signal; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    (tmp_path / "do.py").write_text(report)
    (tmp_path / "python3").symlink_to(sys.executable)
    script = entering(Path("/bare"), ROWS[name], tmp_path, "demo")[-6:]
    variables = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}

    answer = subprocess.run(script, env=variables, capture_output=True, text=True, check=True)

    assert answer.stdout == f"{ignored}\n"


def test_a_line_says_how_each_command_went_and_how_long_it_took() -> None:
    """With the counts of the last summary; columns stand below each other."""
    assert (counts(SUMMARY), counts("do.py: could not run pip")) == ("1 failed 9173 passed 14 skipped 2 errors", "")
    assert Result(0, 11.4).cell == "ok, 11 s"
    assert Result(1, 600, "2 failed 9000 passed").cell == "FAILED (1), 2 failed 9000 passed, 600 s"
    assert len({line(row.title, ["ok, 1 s", "ok"]).index("|") for row in ROWS.values()}) == 1


@pytest.mark.parametrize(
    ("user", "told"),
    [(1000, "needs Linux and root"), (0, "debootstrap and unshare and chroot not found; on Debian: apt-get install")],
)
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is looked for")
def test_what_is_missing_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, user: int, told: str) -> None:
    """Root, or programs, with the command that installs them."""
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr("tests.bare_debian.prove.search_path", lambda: str(tmp_path))

    with pytest.raises(Stop, match=told):
        check_host()


def test_a_command_over_its_limit_is_killed_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.bare_debian.prove.LIMIT", 0.01)
    log = tmp_path / "log"

    with log.open("wb") as output:
        command = [sys.executable, "-c", "import threading; threading.Event().wait()"]
        assert limited(command, os.environ, output.fileno()) == 124

    assert "stopped after" in log.read_text()


@pytest.mark.parametrize("from_archive", [True, False])
def test_a_row_has_a_copy_of_the_checkout_that_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, from_archive: bool
) -> None:
    source = tmp_path / "source"
    for name in (".git", ".venv", ".clients", "src"):
        (source / name).mkdir(parents=True)
    monkeypatch.setattr("tests.bare_debian.prove.CHECKOUT", source)

    with folders(tmp_path / "bare", Row("here", user=False, folder="prø ject", from_archive=from_archive)) as (_, copy):
        assert {path.name for path in copy.iterdir()} == ({"src"} if from_archive else {"src", ".git"})

    assert not copy.parent.exists()


def test_the_program_runs_by_its_name() -> None:
    """As `do.py prove` starts it, without the packages of the environment."""
    command = [sys.executable, "-S", "-m", "tests.bare_debian.prove", "moon"]

    answer = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)

    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith("prove: there is no row 'moon'")
