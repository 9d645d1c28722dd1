"""`tildone todo after`, `todo touches`, and what `todo next` offers."""

import json

import pytest

from tests.cli.person import Person
from tests.cli.plan.checking import tasks


@pytest.fixture
def planner(person: Person) -> Person:
    person.says("todo", "add", "Ship it", "Build it", "Test it")
    return person


def test_a_task_that_waits_is_not_offered(planner: Person) -> None:
    said = planner.says("todo", "after", "1", "2", "#3")
    waits = planner.says("todo", "next")
    listed = planner.says("todo")
    data = planner.run("todo", "next", "--json").json
    planner.says("todo", "done", "2")
    listed_later = planner.says("todo")
    planner.says("todo", "done", "3")

    assert said == "#1 Ship it comes after #2, #3\n0 of 3 closed. Next: #2 Build it\n"
    assert waits == "– #2 Build it\nWaiting: #1 Ship it (after 2, 3)\n"
    assert listed == "– #1 Ship it\n  after 2, 3\n– #2 Build it\n– #3 Test it\n"
    assert (data["task"]["number"], data["waiting"]) == (2, [{"number": 1, "after": [2, 3]}])
    assert listed_later == "– #1 Ship it\n  after 3\n✓ #2 Build it\n– #3 Test it\n"
    assert planner.says("todo", "next") == "– #1 Ship it\n"
    assert tasks(planner)[1]["after"] == [2, 3]


def test_a_task_in_progress_does_not_wait(planner: Person) -> None:
    """Somebody has started it, whatever was to come first."""
    planner.says("todo", "start", "1")
    planner.says("todo", "after", "1", "2")

    assert planner.says("todo", "next") == "● #1 Ship it\n"


def test_a_task_waits_for_no_other_again(planner: Person) -> None:
    planner.says("todo", "after", "1", "2")

    assert planner.says("todo", "after", "1", "--none").startswith("Waits for no other task: #1 Ship it\n")
    assert "after" not in tasks(planner)[1]


def test_what_waits_for_a_blocked_task_is_named(planner: Person) -> None:
    planner.says("todo", "after", "1", "2")
    planner.says("todo", "after", "3", "2")
    planner.says("todo", "block", "2", "No key")

    assert planner.says("todo", "next") == (
        "Nothing can be done now: #2 Build it (No key) is blocked.\n"
        "Waiting: #1 Ship it (after 2)\nWaiting: #3 Test it (after 2)\n"
    )


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


def test_who_has_a_task_is_said(planner: Person) -> None:
    start_as_claude(planner, "Build it")
    planner.says("todo", "after", "1", "2")

    assert planner.says("todo", "next") == (
        "● #2 Build it\nClaimed: #2 Build it (by claude:s1)\nWaiting: #1 Ship it (after 2)\n"
    )
    assert planner.run("todo", "next", "--json").json["claimed"] == [{"number": 2, "agent": "claude:s1"}]


def test_an_agent_is_offered_what_no_other_has(planner: Person) -> None:
    start_as_claude(planner, "Build it")

    own = planner.says("todo", "next", CLAUDE_CODE_SESSION_ID="s1")
    others = planner.says("todo", "next", CODEX_SESSION_ID="s2")
    data = planner.run("todo", "next", "--json", CODEX_SESSION_ID="s2").json

    assert own == "● #2 Build it\n"
    assert others == "– #1 Ship it\nClaimed: #2 Build it (by claude:s1)\n"
    assert data["task"]["number"] == 1


def test_an_agent_is_told_why_nothing_is_ready(planner: Person) -> None:
    planner.says("todo", "touches", "2", "src/*")
    planner.says("todo", "touches", "3", "src/a.py")
    start_as_claude(planner, "Build it")
    planner.says("todo", "after", "1", "2", "3")

    assert planner.says("todo", "next", CODEX_SESSION_ID="s2") == (
        "Nothing is ready for you: other agents have what is left, or it waits for them.\n"
        "Claimed: #2 Build it (by claude:s1)\n"
        "Waiting: #1 Ship it (after 2, 3)\n"
        "Waiting: #3 Test it (may change the files of 2)\n"
    )
    assert planner.run("todo", "next", "--json", CODEX_SESSION_ID="s2").json["task"] is None


def test_what_cannot_be_is_said(planner: Person) -> None:
    planner.says("todo", "after", "1", "2")
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
        refused = planner.run("todo", *argv)

        assert refused.code == code, argv
        assert words in refused.err, argv


def test_the_files_of_a_task(planner: Person) -> None:
    said = planner.says("todo", "touches", "1", "src/*", "docs")

    assert said.startswith("Changes src/*, docs: #1 Ship it\n")
    assert tasks(planner)[1]["touches"] == ["src/*", "docs"]
    assert planner.says("todo", "touches", "1", "--none").startswith("Names no files: #1 Ship it\n")
    assert "touches" not in tasks(planner)[1]
