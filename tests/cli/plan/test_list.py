"""`tildone todo`, `list` and `next`: widths, large calls, and the shape of the JSON."""

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


@pytest.fixture
def planner(person: Person) -> Person:
    person.says("todo", "import", "-", given=PLAN)
    return person


def test_undo_and_redo_can_be_printed_as_json(planner: Person) -> None:
    planner.says("todo", "done", "3")
    done = planner.run("todo", "--json").json

    undone, redone = planner.run("todo", "undo", "--json").json, planner.run("redo", "--json").json

    assert undone["changed"] == redone["changed"] == [3]
    assert redone == done | {"changed": [3]}


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


def test_a_huge_call_is_carried_out(person: Person) -> None:
    items = ",".join(f'"{"x" * 900} {number}"' for number in range(1000))

    answer = person.run(
        "call", "todo_write", "-", given=f'{{"ops": [{{"op": "append", "phase": "A", "items": [{items}]}}]}}'
    )

    assert (answer.code, answer.err) == (0, "")
    assert person.run("sessions", "--json").json["sessions"][0]["total"] == 1000


def test_a_call_that_is_too_large_is_refused_in_words(person: Person) -> None:
    answer = person.run("call", "todo_write", given=f'{{"ops": "{"x" * 1_000_000}"}}')

    assert answer.code == 3
    assert len(answer.out) < 1000
