"""`tildone todo`, `todo list` and `todo next`: a person reads the plan and searches in it."""

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.person import Person

PLAN = """\
# Build
- [x] Write the parser
- [/] Wire up the CLI
  > Ask Ünal about the flags
- [ ] npm install

# Ship
- [!] Deploy
  > Waiting for the key
- [-] Write a Parser manual
"""

STATUSES = "pending, in_progress, completed, abandoned, blocked, done, dropped or started"


@pytest.fixture
def planner(person: Person) -> Person:
    person.says("todo", "import", "-", given=PLAN)
    return person


def numbers(person: Person, *argv: str) -> list[int]:
    return [task["number"] for task in person.run("todo", *argv, "--json").json["tasks"]]


def test_the_plan_is_listed_with_its_numbers(planner: Person) -> None:
    listed = planner.says("todo")

    assert listed == (
        "Build 1/3\n"
        "  ✓ #1 Write the parser\n"
        "  ● #2 Wire up the CLI\n"
        "    │ Ask Ünal about the flags\n"
        "  – #3 npm install\n"
        "\n"
        "Ship 1/2\n"
        "  ! #4 Deploy\n"
        "    │ Waiting for the key\n"
        "  ✗ #5 Write a Parser manual\n"
    )
    assert all(planner.says("todo", alias) == listed for alias in ("list", "ls", "show", "LS"))


def test_tasks_can_be_searched_and_filtered(planner: Person) -> None:
    for argv, found in (
        (["--open"], [2, 3, 4]),
        (["list", "--open"], [2, 3, 4]),
        (["--status", "pending"], [3]),
        (["--status", "in-progress"], [2]),
        (["--status", "done"], [1]),
        (["--status", "Blocked"], [4]),
        (["--phase", "ship"], [4, 5]),
        (["--phase", "bui", "--open"], [2, 3]),
        (["list", "PARSER"], [1, 5]),
        (["list", "parser", "manual"], [5]),
        (["list", "ünal"], [2]),
        (["list", "key"], [4]),
        (["list", "3"], [3]),
        (["list", "#3"], [3]),
        (["list", "nothing like it"], []),
    ):
        assert numbers(planner, *argv) == found, argv


def test_a_filtered_list_keeps_the_headings_of_what_it_shows(planner: Person) -> None:
    """The counts are those of the whole phase."""
    assert planner.says("todo", "list", "npm") == "Build 1/3\n  – #3 npm install\n"


def test_an_empty_list_says_what_to_type(planner: Person) -> None:
    assert planner.says("todo", "list", "zebra") == "No task matches. To list all 5: tildone todo\n"
    assert planner.says("todo", "--open", "--session", "x") == (
        "No tasks in session 'x'. Add one with: tildone todo add TEXT\n"
    )
    planner.says("todo", "rm", "--all")
    assert planner.says("todo") == f"No tasks in {planner.folder}. Add one with: tildone todo add TEXT\n"


def test_an_unknown_phase_or_status_is_an_error(planner: Person) -> None:
    for argv, code, complaint in (
        (["--phase", "Test"], 4, 'no phase has "Test" in its name; phases are Build and Ship'),
        (["--phase", "Test", "--session", "x"], 4, 'no phase has "Test" in its name; the plan has no phases'),
        (["--status", "x"], 2, f'there is no status "x"; a status is {STATUSES}'),
        (["--open", "next"], 2, "tildone todo next has no option --open; see tildone todo next --help"),
    ):
        answer = planner.run("todo", *argv)

        assert (answer.code, answer.out, answer.err) == (code, "", f"tildone: {complaint}\n"), argv


def test_next_is_the_task_in_progress_else_the_first_that_can_be_done(planner: Person) -> None:
    said = [planner.says("todo", "next")]
    for number in ("2", "3"):
        planner.says("todo", "done", number)
        said.append(planner.says("todo", "next"))
    planner.says("todo", "add", "Mail", "it")
    planner.says("todo", "block", "6")
    planner.says("todo", "block", "7")
    said.append(planner.says("todo", "next"))
    planner.says("todo", "done", "--all")
    said += [planner.says("todo", "next"), planner.says("todo", "next", "--session", "x")]

    assert said == [
        "● #2 Wire up the CLI\n  │ Ask Ünal about the flags\n",
        "– #3 npm install\n",
        "Nothing can be done now: #4 Deploy (Waiting for the key) is blocked.\n",
        "Nothing can be done now: #4 Deploy (Waiting for the key) and 2 more are blocked.\n",
        "Nothing is left to do: all 7 tasks are closed.\n",
        "No tasks in session 'x'. Add one with: tildone todo add TEXT\n",
    ]


def test_reading_a_plan_creates_nothing_to_undo(planner: Person) -> None:
    for argv in (["todo"], ["todo", "next"], ["todo", "list", "x"], ["todo", "--json"]):
        planner.says(*argv)

    assert len(planner.run("log", "--json").json["events"]) == 1


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_a_narrow_terminal_wraps_and_wide_letters_take_two_columns(person: Person) -> None:
    narrow = replace(person, columns=40)
    narrow.says("todo", "add", "漢字" * 12, "Write the parser and wire it up to the command line")

    lines = narrow.at_terminal("todo", NO_COLOR="1").end().out.splitlines()

    assert lines == [
        "– #1 " + "漢字" * 8 + "漢",
        "     字漢字漢字漢字",
        "– #2 Write the parser and wire it up to",
        "     the command line",
    ]


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_colours_are_for_terminals_that_want_them(person: Person) -> None:
    person.says("todo", "add", "a b")

    assert "\x1b[" in person.at_terminal("todo").end().out
    assert person.at_terminal("todo", NO_COLOR="1").end().out == person.says("todo")


def test_the_shape_of_the_json_is_the_documented_one(planner: Person) -> None:
    """Every key of the reference page is there, and no other."""
    page = (Path(__file__).parents[3] / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
    section = page.partition("## `tildone todo`")[2].partition("\n## ")[0]
    documented = set(re.findall(r"^\| `([a-z_]+)` \|", section, re.MULTILINE))

    plan = planner.run("todo", "--json").json
    changed = planner.run("todo", "start", "3", "--json").json
    upcoming = planner.run("todo", "next", "--json").json
    planner.run("call", "list_todos", "{}")
    planner.run("call", "edit_todos", '{"action": "complete", "indices": [2]}')
    positions = planner.run("todo", "--json").json

    # These are there only if several agents are at work.
    of_several_agents = {"shared_by", "subagents", "claimed"}
    # And these only of tasks with a check or an order.
    of_checks = {"check", "proof", "approved", "stale", "unproved", "after", "touches", "waiting"}
    keys = {*plan, *changed, *upcoming, *(key for data in (plan, positions) for task in data["tasks"] for key in task)}
    assert not keys & of_checks
    assert keys | of_several_agents | of_checks == documented
    assert plan == {
        "version": 1,
        "session": str(planner.folder),
        "next": 2,
        "phases": ["Build", "Ship"],
        "tasks": [
            {"number": 1, "text": "Write the parser", "status": "completed", "phase": "Build", "notes": []},
            {
                "number": 2,
                "text": "Wire up the CLI",
                "status": "in_progress",
                "phase": "Build",
                "notes": ["Ask Ünal about the flags"],
            },
            {"number": 3, "text": "npm install", "status": "pending", "phase": "Build", "notes": []},
            {"number": 4, "text": "Deploy", "status": "blocked", "phase": "Ship", "notes": ["Waiting for the key"]},
            {"number": 5, "text": "Write a Parser manual", "status": "abandoned", "phase": "Ship", "notes": []},
        ],
    }
    assert upcoming == {"version": 1, "session": str(planner.folder), "task": plan["tasks"][1]}


@pytest.mark.parametrize(
    ("argv", "changed"),
    [
        (["add", "x y", "z w"], [6, 7]),
        (["append", "New", "x y"], [6]),
        (["start", "3"], [3]),
        (["done", "2", "3"], [2, 3]),
        (["done", "1"], []),
        (["drop", "--all"], [2, 3, 4]),
        (["rm", "ship"], [4, 5]),
        (["block", "3", "why"], [3]),
        (["unblock", "3"], []),
        (["unblock", "4"], [4]),
        (["reopen", "5"], [5]),
        (["rename", "3", "x"], [3]),
        (["note", "3", "x"], [3]),
        (["move", "3", "--first"], [3]),
        (["move", "3", "--phase", "Ship"], [3]),
        (["import", "plan.md"], [1, 2, 3, 4, 5, 6]),
    ],
)
def test_every_change_can_be_printed_as_json(planner: Person, argv: list[str], changed: list[int]) -> None:
    """The plan after the change, and the numbers of the tasks that it affected."""
    (planner.folder / "plan.md").write_text("- [ ] npm install\n- [ ] new\n", encoding="utf-8")

    data = planner.run("todo", *argv, "--json").json

    assert data["changed"] == changed
    assert {key: data[key] for key in data if key != "changed"} == planner.run("todo", "--json").json


def test_undo_and_redo_can_be_printed_as_json(planner: Person) -> None:
    planner.says("todo", "done", "3")
    done = planner.run("todo", "--json").json

    undone, redone = planner.run("todo", "undo", "--json").json, planner.run("redo", "--json").json

    assert undone["changed"] == redone["changed"] == [3]
    assert redone == done | {"changed": [3]}


def test_no_word_but_a_status_says_pending(person: Person) -> None:
    """Scripts may search the output for it."""
    person.says("todo", "add", "a b")
    person.says("todo", "done", "1")

    assert "pending" not in person.says("todo", "--json")
