"""The task script: says what it can do, does nothing twice, and fails with one clear sentence."""

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from unittest import mock

import pytest

import do

Step = tuple[str, list[str]]
Steps = list[Step]


def test_it_says_what_it_can_do_and_refuses_what_it_cannot(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert do.main([]) == 0
    printed = capsys.readouterr().out
    assert [verb for verb in do.VERBS if f"\n  {verb} " not in printed] == []
    for words, told in ((["dance"], "dance"), (["check", "pi"], "check takes no names")):
        with pytest.raises(SystemExit) as stopped:
            do.main(words)
        assert (stopped.value.code, told in capsys.readouterr().err) == (2, True)
    assert [do.main(["test", "all", "bowser"]), do.main(["test", "browser"])] == [2, 2]
    assert capsys.readouterr().err.count("all [SHARD…], with these shards: coverage, agents, browser,") == 2
    monkeypatch.setattr(sys, "version_info", (3, 10, 0))
    assert (do.main(["test"]), "needs Python 3.11" in capsys.readouterr().err) == (2, True)


def test_ctrl_c_ends_it_quietly(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(do.VERBS, "check", mock.Mock(side_effect=KeyboardInterrupt))

    assert do.main(["check"]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_second_set_up_runs_nothing_and_a_python_without_venv_is_told_what_to_install(
    fake_venv: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (fake_venv / "python").touch()
    do.STAMP.write_text(do.fingerprint("dev"), encoding="utf-8")
    monkeypatch.setattr(subprocess, "run", mock.Mock(side_effect=AssertionError))

    assert (do.main(["setup"]), capsys.readouterr()) == (0, ("", ""))
    do.STAMP.unlink()
    (fake_venv / "python").unlink()
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "ensurepip" else object())
    assert (do.main(["setup"]), "python3-venv" in capsys.readouterr().err) == (2, True)


def test_every_step_is_run_and_the_failed_ones_are_named() -> None:
    steps = [("bad", python("raise SystemExit(3)")), ("good", python("print('ran')"))]
    done = subprocess.run(running(steps), capture_output=True, text=True, check=False)

    assert done.returncode == 1
    *lines, took, failed = done.stdout.splitlines()
    assert (lines, failed) == (["== bad", "== good", "ran"], "== FAILED: bad")
    assert re.fullmatch(r"== took: bad \d+ s \(\d+ CPU s\), good \d+ s \(\d+ CPU s\)", took)


def test_what_runs_beside_the_first_step_is_shown_after_it_and_can_fail(tmp_path: Path) -> None:
    """Each of them waits here for the other."""
    meeting = (
        "import pathlib, time; pathlib.Path({!r}).touch()\nwhile not pathlib.Path({!r}).exists(): time.sleep(0.01)\n"
    )
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    step, beside = meeting.format(a, b) + "print('step')", meeting.format(b, a) + "print('beside'); raise SystemExit(1)"
    command = running([("one", python(step)), ("two", python("print(2)"))], beside=("other", python(beside)))
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 1
    *lines, took, failed = done.stdout.splitlines()
    assert (lines, failed) == (["== one, beside it other", "step", "beside", "== two", "2"], "== FAILED: other")
    assert took.startswith("== took: one and other ")


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def running(steps: Steps, more: str = "pass", beside: Step | None = None) -> list[str]:
    """Run steps in a process of their own: the processes that are left at the end of a step are killed."""
    find = f"import sys; sys.path.insert(0, {str(do.ROOT)!r}); import do"
    return python(f"{find}; {more}; sys.exit(do.run_all({steps!r}, {beside!r}))")


LEAVES_SOMETHING = """
import os, subprocess, sys, tempfile
tempfile.mkdtemp()
orphan = "import os, time; os.setsid(); print(os.getpid(), flush=True); time.sleep(600)"
starts_it = f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', {orphan!r}]).wait(0.1))"
print(tempfile.gettempdir(), flush=True)
subprocess.run([sys.executable, "-c", starts_it], stderr=subprocess.DEVNULL)
"""
WAITS = LEAVES_SOMETHING + "import time; time.sleep(600)"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt orphans")
@pytest.mark.parametrize("end", ["by itself", "SIGINT", "SIGTERM", "the time limit"])
def test_a_step_leaves_no_process_and_no_file_behind(end: str) -> None:
    """However it ends. A process that outlives a finished step is a failure."""
    code = LEAVES_SOMETHING if end == "by itself" else WAITS
    more = f"do.STEP_LIMIT = {2 if end == 'the time limit' else 60}; do.GRACE_SECONDS = 0.2"
    process = subprocess.Popen(
        running([("step", python(code))], more), stdout=subprocess.PIPE, text=True, process_group=0
    )
    assert process.stdout
    with process.stdout as output:
        assert output.readline() == "== step\n"
        folder, orphan = Path(output.readline().strip()), int(output.readline())
        if end.startswith("SIG"):
            process.send_signal(getattr(signal, end))
        rest = output.read()

    assert process.wait(60) != 0
    assert (folder.name.startswith("tildone-"), folder.exists()) == (True, False)
    assert not Path(f"/proc/{orphan}").exists()
    if end == "the time limit":
        assert "== step did not finish within 0 hours and was stopped\n" in rest
    if end == "by itself":
        assert f"== left running, and killed now: {orphan} {sys.executable}" in rest


def test_the_clients_that_are_named_are_installed_and_make_the_table(steps: Steps) -> None:
    """By the program that knows which there are."""
    assert do.main(["clients", "pi", "codex"]) == do.main(["table", "pi"]) == 0

    assert [(name, command[1:]) for name, command in steps] == [
        ("clients", ["-m", "tests.clients.install", "pi", "codex"]),
        ("clients", ["-m", "tests.clients.install", "pi"]),
        ("table", ["-m", "tests.clients.integrations_page", "pi"]),
    ]


@pytest.mark.parametrize("ci", ["true", ""])
def test_before_the_tests_ci_installs_clients_and_a_browser_and_measures_coverage(
    ci: str, steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As steps that can fail. A person is not made to wait for them, and nothing is installed on their machine."""
    monkeypatch.setenv("CI", ci)

    assert do.main(["test"]) == 0

    names = [name for name, _ in steps]
    assert names == ["checks", *(["clients", "browser", "coverage of the pure packages"] if ci else []), "tests"]
    if ci:
        assert dict(steps)["clients"][1:] == ["-m", "tests.clients.install"]
        assert dict(steps)["browser"][1:] == ["-m", "tests.web.browser.install"]


def test_all_tests_are_in_shards(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each folder is in one of them, and each of them can be run alone."""
    monkeypatch.setattr(do, "find_python", lambda series: f"/opt/python{series[0]}.{series[1]}")

    assert do.main(["test", "all"]) == 0
    every = [name for name, _ in steps]
    steps.clear()
    assert do.main(["test", "all", "fleet", "agents"]) == 0

    others = ["coverage of the pure packages", "clients", "portable on Python 3.13"]
    assert [name for name in every if name not in do.SHARDS] == others
    assert [name for name, _ in steps] == ["fleet", "clients", "agents"]
    assert steps[0][1][-2:] == ["tests/fleet", "tests/cli/fleet"]
    assert not any("slow" in word for _, command in steps for word in command)
    folders = [folder for named in do.SHARDS.values() for folder in named]
    assert len(folders) == len(set(folders))
    assert [folder for folder in folders if not (do.ROOT / folder).is_dir()] == []


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    """The steps that would be run, and are not."""
    taken: Steps = []

    def noted(asked: Steps, beside: Step | None = None) -> int:
        taken.extend([*([beside] if beside else []), *asked])
        return 0

    monkeypatch.setattr(do, "prepare", lambda _: 0)
    monkeypatch.setattr(do, "run_all", noted)
    return taken


@pytest.fixture
def fake_venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty environment in a folder of its own; gives the folder its programs are in."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setattr(do, "VENV", tmp_path)
    monkeypatch.setattr(do, "BIN", programs)
    monkeypatch.setattr(do, "PYTHON", programs / "python")
    monkeypatch.setattr(do, "STAMP", tmp_path / "stamp.json")
    return programs


def test_no_test_is_run_twice_and_none_is_left_out(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    """What measures coverage is not run again without. The portable tests are those without what no Python changes."""
    monkeypatch.setenv("CI", "true")
    assert do.main(["test"]) == 0
    covering = [word for word in dict(steps)["coverage of the pure packages"] if word.startswith("tests/")]
    ignored = [word.removeprefix("--ignore=") for word in dict(steps)["tests"] if word.startswith("--ignore=")]
    assert {"tests/core", "tests/log", "tests/kit", "tests/stores/test_leases.py"} <= set(covering)
    assert (covering, [path for path in covering if not (do.ROOT / path).exists()]) == (ignored, [])

    steps.clear()
    monkeypatch.setenv("CI", "")
    assert do.main(["test"]) == do.main(["portable"]) == 0
    tests, portable = dict(steps)["tests"], dict(steps)["portable tests"]
    ignored = [word.removeprefix("--ignore=") for word in portable if word not in tests]
    assert portable[: len(portable) - len(ignored)] == tests[: len(portable) - len(ignored)]
    assert all((do.ROOT / folder).is_dir() for folder in ignored)
    assert "tests/project" in ignored


def test_a_run_on_another_python_has_an_environment_of_its_own(tmp_path: Path) -> None:
    """And is no CI run, which would start a run on yet another Python."""
    script = tmp_path / "show.py"
    script.write_text("import os, sys; print(os.environ['TILDONE_VENV'], repr(os.environ['CI']), *sys.argv[1:])")
    command = [sys.executable, "-c", do.IN_OWN_VENV, ".venv/other", str(script), "portable"]

    answer = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "CI": "true"})

    assert answer.stdout.split() == [".venv/other", "''", "portable"]


def test_a_python_that_is_not_installed_is_skipped_with_a_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(do, "find_python", lambda _: None)
    monkeypatch.setattr(sys, "version_info", (*do.NEWEST, 0))

    assert do.on_other_pythons("portable") == []
    assert "Python 3.11 is not installed: its tests are skipped" in capsys.readouterr().out


def test_a_python_is_taken_only_if_it_is_of_the_release_series(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A launcher on PATH may exist and still run nothing, or another release. Another user's folder has none."""
    broken = tmp_path / "python3.99"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setattr(shutil, "which", lambda name, which=shutil.which: None if name == "uv" else which(name))

    assert do.find_python((3, 99)) is None
    assert do.release_series(sys.executable) == sys.version_info[:2]
    with mock.patch.object(Path, "glob", side_effect=PermissionError):
        assert do.pythons_of_pyenv("3.11") == []


def test_the_supported_range_is_the_one_that_the_package_claims() -> None:
    project = tomllib.loads((do.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    prefix = "Programming Language :: Python :: 3."
    claimed = sorted(int(line.removeprefix(prefix)) for line in project["classifiers"] if line.startswith(prefix))

    assert [(3, claimed[0]), (3, claimed[-1])] == [do.OLDEST, do.NEWEST]
    assert project["requires-python"] == f">=3.{claimed[0]}"


@pytest.mark.skipif(os.name == "nt", reason="CI runs a shell script")
def test_ci_runs_the_tests_as_an_ordinary_user_if_it_can_and_ends_with_their_status(tmp_path: Path) -> None:
    """As root, it says so."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(do.ROOT / ".ci" / "run", tmp_path / ".ci")
    (tmp_path / "do.py").write_text("import os, sys; print(sys.argv[1:], os.environ['CI'], os.getuid()); sys.exit(7)")

    done = subprocess.run(["bash", str(tmp_path / ".ci" / "run")], capture_output=True, text=True, check=False)

    *said, ran = done.stdout.splitlines()
    assert (done.returncode, ran[:-1].rstrip("0123456789")) == (7, "['test'] true ")
    assert [line.startswith("== as root: ") for line in said] == [True] * ran.endswith(" 0")
