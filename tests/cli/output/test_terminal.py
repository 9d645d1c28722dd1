"""At a terminal: colours, width, Ctrl-C; and pipes that close early."""

import os
import re
from dataclasses import replace

import pytest

from tests.cli.person import CTRL_C, Person

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")

ESCAPE = "\x1b["


def test_a_terminal_gets_colours(person: Person) -> None:
    person.says("todo", "append", "Parse")

    shown = person.at_terminal("todo").end()

    assert shown.code == 0
    assert ESCAPE in shown.out
    assert re.sub(r"\x1b\[[\d;]*m", "", shown.out) == person.says("todo")


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}])
def test_a_terminal_gets_no_colours_if_the_person_wants_none(person: Person, environ: dict[str, str]) -> None:
    person.says("todo", "append", "Parse")

    shown = person.at_terminal("todo", **environ).end()

    assert shown.out == person.says("todo")


@pytest.mark.parametrize(
    ("wish", "colored"), [({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "0"}, False), ({}, False)]
)
def test_a_pipe_gets_colours_only_if_they_are_forced(person: Person, wish: dict[str, str], *, colored: bool) -> None:
    person.says("todo", "append", "Parse")

    assert (ESCAPE in person.says("todo", **wish)) is colored


@pytest.mark.parametrize("verb", ["todo", "log"])
def test_lines_keep_within_a_narrow_terminal(person: Person, verb: str) -> None:
    person.says("todo", "append", "A phase", "A task with a rather long text that goes on and on, 漢字も")

    shown = replace(person, columns=30).at_terminal(verb, NO_COLOR="1").end().out

    assert max(len(line) for line in shown.splitlines()) <= 30
    assert max(len(line) for line in person.says(verb).splitlines()) > 30


def test_a_width_that_is_set_counts(person: Person) -> None:
    person.says("todo", "append", "A task with a rather long text that goes on and on")

    shown = person.at_terminal("todo", NO_COLOR="1", COLUMNS="24").end().out

    assert max(len(line) for line in shown.splitlines()) <= 24


def test_a_models_text_is_harmless_on_a_terminal_and_in_a_pipe(person: Person) -> None:
    person.says("call", "write_todos", r'{"mode": "replace", "todos": [{"text": "a\u001b[2Jb"}]}')

    assert person.says("call", "list_todos", "{}") == "– [0] a␛[2Jb\n"
    assert person.at_terminal("call", "list_todos", "{}").end().out == "– [0] a␛[2Jb\n"


def test_at_a_terminal_a_call_without_arguments_does_not_wait_for_them(person: Person) -> None:
    assert person.at_terminal("call", "list_todos").end().out == "No todos\n"


def test_ctrl_c_ends_the_program_with_one_line(person: Person) -> None:
    """Opening the pipe for writing waits until the program reads from it, so it is interrupted at work."""
    pipe = person.folder / "pipe"
    os.mkfifo(pipe)
    terminal = person.at_terminal("todo", "import", "pipe")

    with pipe.open("wb"):
        terminal.type(CTRL_C)
        answer = terminal.end()

    assert (answer.code, answer.out) == (130, "^C\ntildone: interrupted\n")


def test_a_reader_that_stops_reading_is_no_error(person: Person) -> None:
    items = ",".join(f'"{"x" * 500} {number}"' for number in range(500))
    person.run("call", "todo_write", given=f'{{"ops": [{{"op": "append", "phase": "A", "items": [{items}]}}]}}')

    answer = person.shell("{ tildone todo; echo $? >code; } | head -1")

    assert (answer.out, answer.err) == ("A 0/500\n", "")
    assert (person.folder / "code").read_text(encoding="utf-8") == "141\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
def test_output_that_cannot_be_written_is_said(person: Person) -> None:
    person.says("todo", "append", "Parse")

    answer = person.shell("tildone todo > /dev/full")

    assert (answer.code, answer.err) == (1, "tildone: No space left on device\n")


def test_output_is_utf8_whatever_the_locale(person: Person) -> None:
    person.says("todo", "append", "日本語 – ✓")

    for environ in ({"LC_ALL": "C", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "latin-1"}, {"LC_ALL": "POSIX"}):
        assert "日本語 – ✓" in person.says("todo", **environ)
