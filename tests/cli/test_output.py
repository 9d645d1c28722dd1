"""What is printed.

Colours, width, Ctrl-C and closed pipes at a terminal; titles of sessions; and the line after every change.
"""

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.person import CTRL_C, Person
from tests.plans import plan_of
from tildone.app.sessions import title_of
from tildone.base import replace as replace_summary
from tildone.cli.output.prompts import plan_summary
from tildone.cli.output.titles import TitledSession
from tildone.plan.events import SessionInfo
from tildone.plan.model import Check, Plan, Status, Task, assign_numbers, flat

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

    assert person.at_terminal("todo", **environ).end().out == person.says("todo")


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
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


def test_at_a_terminal_a_call_does_not_wait_and_a_models_text_is_harmless(person: Person) -> None:
    assert person.at_terminal("call", "list_todos").end().out == "No todos\n"

    person.says("call", "write_todos", r'{"mode": "replace", "todos": [{"text": "a\u001b[2Jb"}]}')

    assert person.says("call", "list_todos", "{}") == "– [0] a␛[2Jb\n"
    assert person.at_terminal("call", "list_todos", "{}").end().out == "– [0] a␛[2Jb\n"


def test_ctrl_c_ends_the_program_with_one_line(person: Person) -> None:
    """Opening the pipe for writing waits until the program reads from it, so it is interrupted at work."""
    pipe = person.folder / "pipe"
    os.mkfifo(pipe)
    terminal = person.at_terminal("todo", "import", "pipe")

    with pipe.open("wb"):
        terminal.type(CTRL_C)
        answer = terminal.end()

    assert (answer.code, answer.out) == (130, "^C\ntildone: interrupted\n")


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_a_reader_that_stops_reading_is_no_error(person: Person) -> None:
    items = ",".join(f'"{"x" * 500} {number}"' for number in range(500))
    person.run("call", "todo_write", given=f'{{"ops": [{{"op": "append", "phase": "A", "items": [{items}]}}]}}')

    answer = person.shell("{ tildone todo; echo $? >code; } | head -1")

    assert (answer.out, answer.err) == ("A 0/500\n", "")
    assert (person.folder / "code").read_text(encoding="utf-8") == "141\n"


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
def test_output_that_cannot_be_written_is_said(person: Person) -> None:
    person.says("todo", "append", "Parse")

    answer = person.shell("tildone todo > /dev/full")

    assert (answer.code, answer.err) == (1, "tildone: No space left on device\n")


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_output_is_utf8_whatever_the_locale(person: Person) -> None:
    person.says("todo", "append", "日本語 – ✓")

    for environ in ({"LC_ALL": "C", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "latin-1"}, {"LC_ALL": "POSIX"}):
        assert "日本語 – ✓" in person.says("todo", **environ)


ID = "0199c0de-7a2b-7000-8000-1234567890ab"


def test_a_title_says_what_the_session_is_about() -> None:
    for name, said, plan, title, beside in (
        ("/home/me/shop", "", Plan(), "shop", "/home/me/shop"),
        ("/home/me/shop/", "", Plan(), "shop", "/home/me/shop/"),
        ("/", "", Plan(), "/", ""),
        (f"/home/me/shop#claude:{ID}", "", Plan(), "shop (claude 90ab)", f"/home/me/shop#claude:{ID}"),
        ("/home/c#/shop", "", Plan(), "shop", "/home/c#/shop"),
        ("release", "", plan_of("Tag it"), "release", ""),
        ("decade", "", plan_of("Count"), "decade", ""),
        (ID, "Add a flag\nwith a test", plan_of("Parse"), "Add a flag", "0199c0de"),
        (ID, "", plan_of("Parse"), "Parse", "0199c0de"),
        (ID, "", Plan(), "0199c0de", ""),
        (ID, "x" * 100, Plan(), "x" * 47 + "…", "0199c0de"),
        (ID, "a\x1b[2Jb", Plan(), "a␛[2Jb", "0199c0de"),
    ):
        info = SessionInfo(name, 1, 0, 0, said)

        assert title_of(info, plan) == title, name
        assert TitledSession(info, plan, title).short_name == beside, name


def test_a_session_is_named_by_its_title_or_the_beginning_of_its_name(person: Person) -> None:
    person.says("todo", "append", "Parse", "--session", "/home/me/shop")
    person.says("todo", "append", "Count", "--session", ID)

    assert "Parse" in person.says("todo", "--session", "shop")
    assert "Parse" in person.says("todo", "--session", "SHOP")
    assert "Count" in person.says("todo", "--session", "0199c0de")
    assert "Count" in person.says("todo", "--session", "coun")
    assert "Count" in person.says("log", "--session", "0199")
    assert "No tasks" in person.says("todo", "--session", "sho")  # too short to mean another
    person.says("todo", "start", "Count", "--session", "0199c0de")
    assert "#1 Count" in person.says("status", "--session", "count")


def test_a_new_name_begins_a_session_and_one_that_may_mean_several_is_an_error(person: Person) -> None:
    person.says("todo", "append", "Parse", "--session", "release")
    person.says("todo", "append", "Count", "--session", "another")

    assert {each["name"] for each in person.run("sessions", "--json").json["sessions"]} == {"release", "another"}

    for place in ("first", "second"):
        person.says("todo", "append", "Parse", "--session", f"/{place}/shop")

    assert person.refused(2, "todo", "--session", "shop") == (
        "tildone: --session 'shop' may mean several sessions: /second/shop; /first/shop; give more of the name\n"
    )
    assert "Parse" in person.says("todo", "--session", "/first/shop")


def test_a_conversation_is_titled_after_its_first_prompt(person: Person) -> None:
    """In a store of session files, which contain the conversation."""
    folder = person.folder / "conversations"
    person.says("todo", "append", "Parse", "--store", f"jsonl:{folder}", "--session", ID)
    [file] = folder.glob("*.jsonl")
    header, *entries = file.read_text(encoding="utf-8").splitlines()
    prompt = {
        "type": "message",
        "id": "aaaaaaaa",
        "parentId": None,
        "timestamp": "2026-01-01T00:00:00.000Z",
        "message": {"role": "user", "content": [{"type": "text", "text": "Add a --version flag"}]},
    }
    file.write_text("\n".join([header, json.dumps(prompt), *entries, ""]), encoding="utf-8")

    [found] = person.run("sessions", "--json", "--store", f"jsonl:{folder}").json["sessions"]

    assert (found["name"], found["title"]) == (ID, "Add a --version flag")


def test_lines_of_sessions_and_of_a_width_that_is_set_keep_within_the_terminal(person: Person) -> None:
    person.says("todo", "append", "Parse", "--session", f"/home/me/{'long' * 12}")

    shown = Person(person.folder, person.home, person.environ, 40).at_terminal("sessions", NO_COLOR="1").end().out

    assert all(len(line) <= 40 for line in shown.splitlines())
    assert len(shown.splitlines()) == 2

    person.says("todo", "append", "A task with a rather long text that goes on and on")

    shown = person.at_terminal("todo", NO_COLOR="1", COLUMNS="24").end().out

    assert max(len(line) for line in shown.splitlines()) <= 24


def test_restoring_lists_titles(person: Person, tmp_path: Path) -> None:
    person.says("todo", "append", "Parse", "--session", ID)
    person.says("backup", str(tmp_path / "kept.db"))
    person.says("todo", "append", "more", "--session", ID)

    said = person.says("restore", str(tmp_path / "kept.db"), "--dry-run")

    assert "  Parse (0199c0de): would return to its state in the backup" in said
    assert "  Parse (0199c0de)\n" in person.says("restore", str(tmp_path / "kept.db"), "--session", "0199c0de")


def test_the_summary_tells_what_is_next_and_that_a_check_has_not_passed() -> None:
    for statuses, line in (
        ([], "The plan is now empty."),
        ([Status.COMPLETED, Status.PENDING], "1 of 2 closed. Next: #2 b"),
        ([Status.IN_PROGRESS], "0 of 1 closed. In progress: #1 a"),
        ([Status.COMPLETED, Status.ABANDONED], "2 of 2 closed: nothing is left to do."),
        ([Status.COMPLETED, Status.BLOCKED], "1 of 2 closed: what is left is blocked."),
    ):
        plan = flat(*(Task(text, status) for text, status in zip("abc", statuses, strict=False)))

        assert plan_summary(assign_numbers(Plan(), plan)) == line, statuses

    plan = replace_summary(flat(Task("a", Status.COMPLETED)), check=Check(("make",)))

    assert plan_summary(plan) == "1 of 1 closed: the check of the plan has not passed."
