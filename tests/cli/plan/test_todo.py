"""`tildone todo`: a person changes the plan."""

import os
import shlex
import subprocess

import pytest

from tests.cli.history.histories import kept
from tests.cli.person import CTRL_C, Person
from tests.plans import unnumbered_plan_of
from tests.suite.forking import PROGRAM


def test_a_plan_of_an_earlier_version_gets_numbers_that_stay(person: Person) -> None:
    """Its events have none. Showing the plan writes nothing; the next change records them."""
    kept(person, unnumbered_plan_of("old a", "old b"))

    before = person.says("todo")
    person.says("todo", "rm", "1")

    assert before == "– #1 old a\n– #2 old b\n"
    assert person.says("todo") == "– #2 old b\n"


@pytest.mark.parametrize(
    ("verb", "question", "done"),
    [
        ("done", "Mark all 2 open tasks as completed?", "Done: all 2 open tasks\n"),
        ("drop", "Mark all 2 open tasks as abandoned?", "Dropped: all 2 open tasks\n"),
        ("rm", "Remove all 3 tasks?", "Removed: all 3 tasks\n"),
    ],
)
def test_a_change_of_all_tasks_is_asked_for_first(person: Person, verb: str, question: str, done: str) -> None:
    person.says("todo", "add", "task a", "task b", "task c")
    person.says("todo", "done", "1")

    for answer in (b"\n", b"n\n", b"\x04"):
        terminal = person.at_terminal("todo", verb)
        terminal.until(f"{question} [y/N]")
        terminal.type(answer)
        ended = terminal.end()
        assert ended.code == 0
        assert "Nothing changed: not confirmed." in ended.out
    terminal = person.at_terminal("todo", verb)
    terminal.until(question)
    terminal.type(CTRL_C)
    assert terminal.end().code == 130
    assert len(person.run("log", "--json").json["events"]) == 2

    terminal = person.at_terminal("todo", verb)
    terminal.until(question)
    terminal.type(b"y\n")
    assert done in terminal.end().out
    assert person.run("todo", "--open", "--json").json["tasks"] == []


def test_the_undo_that_is_named_works_for_a_program_that_is_not_on_path(person: Person) -> None:
    person.says("todo", "add", "a")

    hint = person.says("todo", "rm", "a", PATH=os.defpath).splitlines()[-1].removeprefix("To undo: ")
    without_path = person.environment({"PATH": os.defpath})
    undone = subprocess.run(["sh", "-c", hint], cwd=person.folder, env=without_path, capture_output=True, check=False)

    assert undone.returncode == 0
    assert hint == f"{shlex.quote(str(PROGRAM))} undo"
    assert "#1 a" in person.says("todo")
