"""`tildone todo`, `list` and `next`.

A person reads the plan and searches in it, sets its order, and tries a model's call.
"""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.person import Person
from tests.cli.plan.checking import tasks

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


def test_the_plan_is_listed_with_its_numbers_and_headings(planner: Person) -> None:
    """Those of a filtered list have the counts of the whole phase."""
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

    assert planner.says("todo", "list", "npm") == "Build 1/3\n  – #3 npm install\n"


def test_tasks_can_be_searched_and_filtered_and_what_is_not_there_is_said(planner: Person) -> None:
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

    for argv, code, complaint in (
        (["--phase", "Test"], 4, 'no phase has "Test" in its name; phases are Build and Ship'),
        (["--phase", "Test", "--session", "x"], 4, 'no phase has "Test" in its name; the plan has no phases'),
        (["--status", "x"], 2, f'there is no status "x"; a status is {STATUSES}'),
        (["--open", "next"], 2, "tildone todo next has no option --open; see tildone todo next --help"),
    ):
        assert planner.refused(code, "todo", *argv) == f"tildone: {complaint}\n", argv

    assert planner.says("todo", "list", "zebra") == "No task matches. To list all 5: tildone todo\n"
    assert planner.says("todo", "--open", "--session", "x") == (
        "No tasks in session 'x'. Add one with: tildone todo add TEXT\n"
    )
    planner.says("todo", "rm", "--all")
    assert planner.says("todo") == f"No tasks in {planner.folder}. Add one with: tildone todo add TEXT\n"


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


def test_reading_a_plan_creates_nothing_to_undo_and_undo_and_redo_can_be_printed_as_json(planner: Person) -> None:
    for argv in (["todo"], ["todo", "next"], ["todo", "list", "x"], ["todo", "--json"]):
        planner.says(*argv)

    assert len(planner.run("log", "--json").json["events"]) == 1

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


def test_no_word_but_a_status_says_pending(person: Person) -> None:
    """Scripts may search the output for it."""
    person.says("todo", "add", "a b")
    person.says("todo", "done", "1")

    assert "pending" not in person.says("todo", "--json")


@pytest.fixture
def shipper(person: Person) -> Person:
    person.says("todo", "add", "Ship it", "Build it", "Test it")
    return person


def test_a_task_that_waits_is_not_offered(shipper: Person) -> None:
    said = shipper.says("todo", "after", "1", "2", "#3")
    waits = shipper.says("todo", "next")
    listed = shipper.says("todo")
    data = shipper.run("todo", "next", "--json").json
    shipper.says("todo", "done", "2")
    listed_later = shipper.says("todo")
    shipper.says("todo", "done", "3")

    assert said == "#1 Ship it comes after #2, #3\n0 of 3 closed. Next: #2 Build it\n"
    assert waits == "– #2 Build it\nWaiting: #1 Ship it (after 2, 3)\n"
    assert listed == "– #1 Ship it\n  after 2, 3\n– #2 Build it\n– #3 Test it\n"
    assert (data["task"]["number"], data["waiting"]) == (2, [{"number": 1, "after": [2, 3]}])
    assert listed_later == "– #1 Ship it\n  after 3\n✓ #2 Build it\n– #3 Test it\n"
    assert shipper.says("todo", "next") == "– #1 Ship it\n"
    assert tasks(shipper)[1]["after"] == [2, 3]


def test_what_waits_for_a_blocked_task_is_named_until_it_waits_for_no_other(shipper: Person) -> None:
    shipper.says("todo", "after", "1", "2")

    shipper.says("todo", "after", "3", "2")
    shipper.says("todo", "block", "2", "No key")

    assert shipper.says("todo", "next") == (
        "Nothing can be done now: #2 Build it (No key) is blocked.\n"
        "Waiting: #1 Ship it (after 2)\nWaiting: #3 Test it (after 2)\n"
    )

    assert shipper.says("todo", "after", "1", "--none").startswith("Waits for no other task: #1 Ship it\n")
    assert "after" not in tasks(shipper)[1]


def test_of_many_that_wait_some_are_named(person: Person) -> None:
    person.says("todo", "add", *"abcdefgh")
    for number in range(2, 9):
        person.says("todo", "after", str(number), "1")

    assert person.says("todo", "next").splitlines()[-2:] == ["Waiting: #6 f (after 1)", "Waiting: 2 more"]


def start_as_claude(person: Person, text: str) -> None:
    """Start a task in the todo list of Claude Code, in the conversation `s1`."""
    todos = {"todos": [{"content": text, "status": "in_progress"}]}
    event = {"session_id": "s1", "hook_event_name": "PostToolUse", "tool_name": "TodoWrite", "tool_input": todos}
    person.run("hook", "claude", given=json.dumps(event))


def test_an_agent_is_offered_what_no_other_has_and_it_is_said_who_has_it(shipper: Person) -> None:
    start_as_claude(shipper, "Build it")

    own = shipper.says("todo", "next", CLAUDE_CODE_SESSION_ID="s1")
    others = shipper.says("todo", "next", CODEX_SESSION_ID="s2")
    data = shipper.run("todo", "next", "--json", CODEX_SESSION_ID="s2").json

    assert own == "● #2 Build it\n"
    assert others == "– #1 Ship it\nClaimed: #2 Build it (by claude:s1)\n"
    assert data["task"]["number"] == 1

    shipper.says("todo", "after", "1", "2")

    assert shipper.says("todo", "next") == (
        "● #2 Build it\nClaimed: #2 Build it (by claude:s1)\nWaiting: #1 Ship it (after 2)\n"
    )
    assert shipper.run("todo", "next", "--json").json["claimed"] == [{"number": 2, "agent": "claude:s1"}]


def test_an_agent_is_told_why_nothing_is_ready(shipper: Person) -> None:
    shipper.says("todo", "touches", "2", "src/*")
    shipper.says("todo", "touches", "3", "src/a.py")
    start_as_claude(shipper, "Build it")
    shipper.says("todo", "after", "1", "2", "3")

    assert shipper.says("todo", "next", CODEX_SESSION_ID="s2") == (
        "Nothing is ready for you: other agents have what is left, or it waits for them.\n"
        "Claimed: #2 Build it (by claude:s1)\n"
        "Waiting: #1 Ship it (after 2, 3)\n"
        "Waiting: #3 Test it (may change the files of 2)\n"
    )
    assert shipper.run("todo", "next", "--json", CODEX_SESSION_ID="s2").json["task"] is None


def test_what_cannot_be_is_said(shipper: Person) -> None:
    shipper.says("todo", "after", "1", "2")
    for argv, code, words in (
        (("after", "2", "1"), 3, "these tasks would wait for each other: 2, 1"),
        (("after", "1", "1"), 3, "these tasks would wait for each other: 1"),
        (("after", "1", "9"), 4, "there is no task #9"),
        (("after", "9", "1"), 4, "there is no task #9"),
        (("after", "1"), 2, "after which tasks? tildone todo after 1 OTHER…; for none: --none"),
        (("after", "1", "2", "--none"), 2, "after which tasks?"),
        (("touches", "1"), 2, "which files? tildone todo touches 1 GLOB…; for none: --none"),
        (("touches", "9", "x"), 4, "there is no task #9"),
    ):
        refused = shipper.run("todo", *argv)

        assert refused.code == code, argv
        assert words in refused.err, argv


def test_a_task_has_files_and_does_not_wait_while_it_is_in_progress(shipper: Person) -> None:
    """Somebody has started it, whatever was to come first."""
    assert shipper.says("todo", "touches", "1", "src/*", "docs").startswith("Changes src/*, docs: #1 Ship it\n")
    assert tasks(shipper)[1]["touches"] == ["src/*", "docs"]
    assert shipper.says("todo", "touches", "1", "--none").startswith("Names no files: #1 Ship it\n")
    assert "touches" not in tasks(shipper)[1]

    shipper.says("todo", "start", "1")
    shipper.says("todo", "after", "1", "2")

    assert shipper.says("todo", "next") == "● #1 Ship it\n"


APPEND = '{"ops": [{"op": "append", "phase": "Build", "items": ["Parse"]}]}'


def test_a_model_would_get_this_also_half_a_surrogate_pair(person: Person) -> None:
    written = person.says("call", "write_todos", '{"mode": "replace", "todos": [{"text": "Parse"}]}')

    assert written == "Wrote 1 todo item(s)\n\n– [0] Parse\n"
    assert person.says("call", "list_todos", "{}") == "– [0] Parse\n"

    answer = person.run("call", "write_todos", r'{"mode": "replace", "todos": [{"text": "a\ud800b"}]}')

    assert (answer.code, answer.err) == (0, "")
    assert "a<U+D800>b" in answer.out
    assert "a<U+D800>b" in person.says("todo")


@pytest.mark.parametrize("tool", ["todo_write", "TodoWrite", "write_todos"])
def test_a_call_finds_its_dialect_by_its_tool(person: Person, tool: str) -> None:
    answer = person.run("call", tool, "{}")

    assert answer.code == 3
    assert answer.out.strip()


def test_arguments_come_from_standard_input_if_they_are_not_typed(person: Person) -> None:
    said = [
        person.says("call", "todo_write", "-", given=APPEND),
        person.says("call", "list_todos"),
        person.says("call", "list_todos", given="\ufeff{}\n"),
    ]

    assert "Parse" in said[0]
    assert said[1] == said[2] == "● [0] Parse\n"


def test_the_whole_result_is_there_as_json(person: Person) -> None:
    answer = person.run("call", "todo_write", APPEND, "--json")

    assert answer.code == 0
    assert answer.json["content"][0]["type"] == "text"
    assert "Parse" in answer.json["content"][0]["text"]
    assert answer.json["details"]["phases"] == [
        {"name": "Build", "tasks": [{"content": "Parse", "status": "in_progress"}]}
    ]
    assert answer.json["isError"] is False


def test_a_refusal_is_an_answer_with_an_exit_code(person: Person) -> None:
    for tool, arguments, is_error in (
        ("edit_todos", '{"action": "start", "indices": [3]}', False),
        ("edit_todos", "{", True),
        ("edit_todos", "[]", True),
        ("todo_write", '{"ops": [{"op": "start", "task": "x"}]}', True),
        ("TodoWrite", '{"todos": 7}', True),
    ):
        answer = person.run("call", tool, arguments, "--json")

        assert (answer.code, answer.err) == (3, ""), tool
        assert answer.json["isError"] is is_error, tool


def test_a_huge_call_is_carried_out(person: Person) -> None:
    items = ",".join(f'"{"x" * 900} {number}"' for number in range(1000))

    answer = person.run(
        "call", "todo_write", "-", given=f'{{"ops": [{{"op": "append", "phase": "A", "items": [{items}]}}]}}'
    )

    assert (answer.code, answer.err) == (0, "")
    assert person.run("sessions", "--json").json["sessions"][0]["total"] == 1000


def test_a_call_that_is_too_large_or_no_text_or_of_an_unknown_tool_is_refused_in_words(person: Person) -> None:
    answer = person.run("call", "todo_write", given=f'{{"ops": "{"x" * 1_000_000}"}}')

    assert answer.code == 3
    assert len(answer.out) < 1000

    assert (
        person.refused(2, "call", "list_todos", "-", given=b"\xff\xfe{")
        == "tildone: standard input is not UTF-8 text\n"
    )

    for argv, complaint in (
        (
            ["nope"],
            "there is no tool 'nope'; tools are write_todos list_todos edit_todos (indexed), todo_write (phased",
        ),
        (["todo_write", "--dialect", "indexed"], "indexed has no tool 'todo_write'; its tools are write_todos, "),
        (["todo_write", "--dialect", "phase"], "there is no dialect 'phase'; did you mean 'phased'?"),
    ):
        assert person.refused(2, "call", *argv).startswith(f"tildone: {complaint}"), argv


def test_a_finished_plan_is_written_down_in_the_project(person: Person) -> None:
    """As the declared dialect promises, and wherever in the project the call is made."""
    below = person.folder / "src"
    below.mkdir()
    done = '{"summary": "All", "todos": [{"content": "a", "status": "completed"}]}'

    assert Person(below, person.home, person.environ).run("call", "TodoWrite", done).code == 0
    assert [file.parent for file in Path(person.folder).rglob("todoList-*.md")] == [person.folder / "memory" / "todos"]
