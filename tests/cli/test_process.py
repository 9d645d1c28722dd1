"""The end of the process: nothing is lost although the interpreter does not shut down; and closed streams."""

import os
import subprocess
import sys
from importlib.metadata import version

import pytest

from tests.cli.person import Person
from tildone.cli import main
from tildone.version import __version__

AT_EXIT = """
import atexit, os, sys, threading
atexit.register(lambda: os.write(2, b"exit handler\\n"))
atexit.register(lambda: print("printed at exit"))
sys.argv = ["tildone", *sys.argv[1:]]
"""
RUN = "from tildone.cli import main; main()"


def program(person: Person, script: str, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", AT_EXIT + script, *argv],
        cwd=person.folder,
        env=person.environment({}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(("argv", "code"), [(["--version"], 0), (["todo"], 0), (["redo"], 3), (["todo", "nope"], 2)])
def test_exit_handlers_run_and_output_is_complete(person: Person, argv: list[str], code: int) -> None:
    done = program(person, RUN, *argv)

    assert done.returncode == code
    assert done.stdout.endswith("printed at exit\n")
    assert done.stderr.endswith("exit handler\n")


def test_the_interpreter_does_not_shut_down(person: Person) -> None:
    """An object that lives until the end is not finalized: the process is gone before."""
    done = program(
        person,
        "class Late:\n    def __del__(self): os.write(2, b'finalized')\nlate = Late(); late.self = late\n" + RUN,
        "--version",
    )

    assert (done.returncode, done.stderr) == (0, "exit handler\n")


def test_a_thread_at_work_is_waited_for(person: Person) -> None:
    script = "go = threading.Event()\n"
    script += "threading.Thread(target=lambda: (go.wait(), os.write(2, b'thread done\\n'))).start()\n"
    script += "atexit.register(lambda: None); threading.Timer(0, go.set).start()\n"

    assert "thread done\n" in program(person, script + RUN, "--version").stderr


def test_a_call_of_main_returns(capsys: pytest.CaptureFixture[str]) -> None:
    """Only the program itself, without arguments, ends the process."""
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"tildone {__version__}\n"


def test_output_that_fails_at_the_end_is_a_failure(person: Person) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no device that is full")
    answer = person.shell("tildone --version > /dev/full")

    assert (answer.code, answer.err) == (1, "tildone: No space left on device\n")


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("verb", ["todo append one", "todo", "log", "sessions", "todo import -", "--help", "nope"])
def test_closed_standard_streams_do_no_harm(person: Person, verb: str, closed: str) -> None:
    """A file that is opened later must not take the place of a standard stream."""
    person.says("todo", "append", "Parse")

    answer = person.shell(f"tildone {verb} {closed}")

    assert "Traceback" not in answer.err
    assert person.run("doctor").code in (0, 5)
    assert "Parse" in person.says("todo") or verb == "todo import -"


def test_a_store_is_closed_when_its_verb_has_ended(person: Person) -> None:
    """No log is left beside the file, whether the verb succeeded or failed."""
    for argv in (["todo", "append", "one"], ["todo"], ["log"], ["redo"], ["todo", "start", "nothing"], ["undo"]):
        person.run(*argv)
        assert [path.name for path in person.home.rglob("*.db*")] == ["tildone.db"], argv


def test_the_version_is_stated_once() -> None:
    assert version("tildone") == __version__


@pytest.mark.parametrize("argv", [["--version"], ["-V"], ["todo", "--version"], ["todo", "done", "--version"]])
def test_the_version_is_told_wherever_it_is_asked_for(person: Person, argv: list[str]) -> None:
    assert person.says(*argv) == f"tildone {__version__}\n"


def test_the_version_needs_hardly_any_module(person: Person) -> None:
    script = "import sys; before = set(sys.modules); from tildone.cli import main; main(['--version']);"
    script += "print(*set(sys.modules) - before)"

    imported = set(program(person, script).stdout.splitlines()[1].split())

    assert {name for name in imported if not name.startswith("tildone")} <= {"__future__", "atexit", "gc"}
    assert "tildone.cli.dispatch" not in imported
