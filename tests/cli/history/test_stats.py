"""`tildone stats`: pictures of the plan's history, at a terminal, as a file and as JSON.

Tokens, read from conversation files.
"""

import os
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.cli.history.histories import kept
from tests.cli.person import Person
from tests.host.models.model_server import ModelServer
from tests.plans import COMPLETED, IN_PROGRESS, plan_of
from tests.run.run_workspace import ALLOW_ALL, CHAT, WRITE, conversation_files, provider_environment
from tildone.cli.history.stats import token_use
from tildone.plan.history.usage import TokenUse
from tildone.plan.model import Task, flat
from tildone.plan.text.styles import display_width
from tildone.stores.pi.session_file import file_name, format_line, format_timestamp, header


def build(person: Person) -> None:
    kept(
        person,
        plan_of("Parse", "Wire"),
        flat(Task("Parse", IN_PROGRESS), Task("Wire")),
        flat(Task("Parse", COMPLETED), Task("Wire", IN_PROGRESS)),
        flat(Task("Parse", COMPLETED), Task("Wire", COMPLETED)),
    )


def test_stats_shows_the_pictures_coloured_at_a_terminal(person: Person) -> None:
    """Over a pipe, they are 80 columns wide."""
    build(person)

    out = person.says("stats", TZ="UTC")

    assert out.startswith("project: 2 of 2 tasks closed\n\nOpen tasks\n2 │█")
    assert "\n   1970-01-01 00:00" in out
    assert "\nAll tasks are closed.\n" in out
    assert "\n✓ #1 Parse  1m  ██████████████████████████████\n✓ #2 Wire   1m  ███" in out
    assert out.endswith("Tokens and cost are not known: no agent of this plan has told them.\n")
    assert all(display_width(line) <= 80 for line in out.splitlines())

    assert "\x1b[36m█" in person.at_terminal("stats").end().out


@pytest.mark.parametrize("columns", [40, 57, 200])
def test_the_pictures_fit_the_terminal(person: Person, columns: int) -> None:
    build(person)

    answer = Person(person.folder, person.home, columns=columns).at_terminal("stats", NO_COLOR="1").end()

    assert answer.code == 0
    assert "Time in progress" in answer.out
    assert max(map(display_width, answer.out.splitlines())) <= columns


def test_without_a_plan_it_says_what_to_type_and_there_is_no_picture(person: Person) -> None:
    answer = person.run("stats")

    assert answer.code == 0
    assert answer.out == f"No plan yet in {os.path.realpath(person.folder)}. Start one with: tildone todo add TEXT\n"
    told = person.run("stats", "--json").json
    assert (told["tasks"], told["open"], told["from"]) == ([], [], None)
    assert not (person.folder / "plans.db").exists()

    assert (
        person.refused(3, "stats", "--svg", "plan.svg")
        == "tildone: there is no plan to draw; start one with: tildone todo add TEXT\n"
    )
    assert not (person.folder / "plan.svg").exists()

    person.says("pause")

    assert person.says("stats").startswith("No plan yet in ")


def test_undone_changes_do_not_count_and_before_the_first_it_names_the_branches(person: Person) -> None:
    person.says("todo", "add", "a")

    person.says("todo", "add", "b")
    person.says("undo")

    assert person.says("stats").startswith("project: 0 of 1 task closed\n\nEvents\n")

    person.says("undo")

    assert person.says("stats") == "This is before the first change. Later changes are on a branch: tildone branch\n"


def test_labels_of_the_branch_are_shown_and_another_session_can_be_named(person: Person) -> None:
    """The event that set a label may be on another branch, after an undo."""
    person.says("todo", "add", "a")
    person.says("todo", "add", "b")
    person.says("label", "v1", "head~1")
    person.says("undo")

    assert [each["label"] for each in person.run("stats", "--json").json["labels"]] == ["v1"]
    assert "⚑ labels: 1" in person.says("stats")

    kept(person, plan_of("Parse"), session="other")

    assert person.says("stats", "--session", "other").startswith("other: 0 of 1 task closed\n")


def test_a_picture_is_written_to_a_file_and_another_file_is_overwritten_only_by_force(person: Person) -> None:
    """A picture is overwritten by another one."""
    build(person)

    for _ in range(2):
        assert person.says("stats", "--svg", "plan.svg") == "Wrote the picture to plan.svg\n"
    root = ET.parse(person.folder / "plan.svg").getroot()  # noqa: S314  our own picture
    assert root[0].text == "project: 2 of 2 tasks closed"
    assert person.says("stats", "--svg", "-").startswith("<svg xmlns=")

    file = person.folder / "plan.svg"
    for content in (b"<svg>by hand</svg>", b"\xff\xfe"):
        file.write_bytes(content)
        answer = person.run("stats", "--svg", "plan.svg")
        assert (answer.code, file.read_bytes()) == (3, content)
        assert "to overwrite it, use --force" in answer.err

    person.says("stats", "--svg", "plan.svg", "--force")
    assert file.read_bytes().startswith(b"<svg xmlns=")

    answer = person.run("stats", "--svg", "missing/plan.svg")

    assert answer.code == 1
    assert "could not write missing/plan.svg" in answer.err


@pytest.mark.parametrize("wrong", [("--svg", "a.svg", "--json"), ("--force",), ("more",), ("--svg",)])
def test_options_that_make_no_sense_are_refused(person: Person, wrong: tuple[str, ...]) -> None:
    assert person.run("stats", *wrong).code == 2


def test_tokens_of_tildone_run_belong_to_the_task_that_was_in_progress(person: Person) -> None:
    """Two of the requests were answered while the first task was in progress."""
    script = [
        WRITE,
        {"tool": "edit_todos", "args": {"action": "start", "indices": [0]}},
        {"tool": "bash", "args": {"command": "true"}},
        {"tool": "edit_todos", "args": {"action": "complete", "indices": [0]}},
        {"tool": "edit_todos", "args": {"action": "abandon", "indices": [1]}},
        {"text": "Done."},
    ]
    with ModelServer(*script) as server:
        person.environ["TILDONE_SESSION"] = "plan"
        person.run("run", "Go", "--model", CHAT, *ALLOW_ALL, **provider_environment(server))
    told = person.run("stats", "--json").json

    assert [task["tokens"] for task in told["tasks"]] == [30, None]
    assert told["tokens"] == 15 * len(server.requests)
    assert "30 tok" in person.says("stats")
    # Without the conversation, the events tell all but what came after the last of them.
    [file] = conversation_files(person)
    file.write_text("no conversation\n", encoding="utf-8")
    without = person.run("stats", "--json").json
    assert [task["tokens"] for task in without["tasks"]] == [30, None]
    assert without["tokens"] == 15 * (len(server.requests) - 1)
    file.unlink()
    assert person.run("stats", "--json").json["tasks"] == without["tasks"]


def conversation(folder: Path, name: str, *entries: dict[str, Any]) -> None:
    """Write a conversation with these entries, in order."""
    first = header(name, "/work", 0)
    chain = [{**entry, "parentId": entries[n - 1]["id"] if n else None} for n, entry in enumerate(entries)]
    content = b"".join(format_line(record) for record in (first, *chain))
    (folder / file_name(name, first["timestamp"])).write_bytes(content)


def answer(entry_id: str, at: int, tokens: int | None) -> dict[str, Any]:
    usage = {} if tokens is None else {"usage": {"totalTokens": tokens}}
    message = {"role": "assistant", "content": [], **usage}
    return {"type": "message", "id": entry_id, "timestamp": format_timestamp(at), "message": message}


def test_the_requests_of_all_conversations_are_in_the_order_of_their_times(tmp_path: Path) -> None:
    """Other agents, and conversations of other plans, are not read."""
    conversation(tmp_path, "one", answer("a", 5_000, 10), answer("b", 9_000, 20))
    conversation(tmp_path, "two", answer("c", 7_000, 40))
    conversation(tmp_path, "three", answer("d", 8_000, 80))

    found, agents = token_use(["tildone:one", "tildone:two", "claude:three", ""], str(tmp_path))

    assert agents == {"tildone:one", "tildone:two"}
    assert found == [TokenUse(5_000, 10), TokenUse(7_000, 40), TokenUse(9_000, 20)]


def test_entries_that_a_fork_copied_count_once(tmp_path: Path) -> None:
    conversation(tmp_path, "one", answer("a", 5_000, 10))
    conversation(tmp_path, "two", answer("a", 5_000, 10), answer("b", 6_000, 1))

    assert sum(use.tokens for use in token_use(["tildone:one", "tildone:two"], str(tmp_path))[0]) == 11


def test_messages_without_a_usage_or_a_time_and_missing_conversations_tell_nothing(tmp_path: Path) -> None:
    question = {
        "type": "message",
        "id": "q",
        "timestamp": format_timestamp(1),
        "message": {"role": "user", "content": "?"},
    }
    conversation(
        tmp_path,
        "one",
        question,
        answer("a", 5_000, None),
        answer("b", 5_000, 0),
        answer("c", 1, 5) | {"timestamp": "?"},
    )

    assert token_use(["tildone:one"], str(tmp_path)) == ([], set())

    assert token_use(["tildone:one"], str(tmp_path / "missing")) == ([], set())
    assert token_use(["claude:one"], str(tmp_path)) == ([], set())
