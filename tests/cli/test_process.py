"""The end of the process: nothing is lost although the interpreter does not shut down; and closed streams."""

import os
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


def test_exit_handlers_run_and_output_is_complete(person: Person) -> None:
    for argv, code in ((["--version"], 0), (["todo"], 0), (["redo"], 3), (["todo", "nope"], 2)):
        done = person.python(AT_EXIT + RUN, *argv)

        assert done.code == code, argv
        assert done.out.endswith("printed at exit\n"), argv
        assert done.err.endswith("exit handler\n"), argv


def test_the_interpreter_does_not_shut_down(person: Person) -> None:
    """An object that lives until the end is not finalized: the process is gone before."""
    script = "class Late:\n    def __del__(self): os.write(2, b'finalized')\nlate = Late(); late.self = late\n"

    done = person.python(AT_EXIT + script + RUN, "--version")

    assert (done.code, done.err) == (0, "exit handler\n")


def test_a_thread_at_work_is_waited_for(person: Person) -> None:
    script = "go = threading.Event()\n"
    script += "threading.Thread(target=lambda: (go.wait(), os.write(2, b'thread done\\n'))).start()\n"
    script += "atexit.register(lambda: None); threading.Timer(0, go.set).start()\n"

    assert "thread done\n" in person.python(AT_EXIT + script + RUN, "--version").err


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
def test_closed_standard_streams_do_no_harm(person: Person, closed: str) -> None:
    """A file that is opened later must not take the place of a standard stream."""
    person.says("todo", "append", "Parse")
    for verb in ("todo append one", "todo", "log", "sessions", "--help", "nope", "todo import -"):
        answer = person.shell(f"tildone {verb} {closed}")

        assert "Traceback" not in answer.err, verb
        assert "Parse" in person.says("todo") or verb == "todo import -", verb
    assert person.run("doctor").code in (0, 5)


def test_a_store_is_closed_when_its_verb_has_ended(person: Person) -> None:
    """No log is left beside the file, whether the verb succeeded or failed."""
    for argv in (["todo", "append", "one"], ["todo"], ["log"], ["redo"], ["todo", "start", "nothing"], ["undo"]):
        person.run(*argv)
        assert [path.name for path in person.home.rglob("*.db*")] == ["tildone.db"], argv


def test_the_version_is_stated_once() -> None:
    assert version("tildone") == __version__


def test_the_version_is_told_wherever_it_is_asked_for(person: Person) -> None:
    for argv in (["--version"], ["-V"], ["todo", "--version"], ["todo", "done", "--version"]):
        assert person.says(*argv) == f"tildone {__version__}\n", argv


def test_the_version_needs_hardly_any_module(person: Person) -> None:
    script = "import sys; before = set(sys.modules); from tildone.cli import main; main(['--version']);"
    script += "print(*set(sys.modules) - before)"

    imported = set(person.python(AT_EXIT + script).out.splitlines()[1].split())

    assert {name for name in imported if not name.startswith("tildone")} <= {"__future__", "atexit", "gc"}
    assert "tildone.cli.parsing" not in imported
