"""Conversations are stored, continued and forked, or not stored at all."""

import shutil

import pytest

from tests.cli.person import Person
from tests.host.models.model_server import ModelServer
from tests.run.run_workspace import (
    ALLOW_ALL,
    CHAT,
    conversation_entries,
    conversation_files,
    provider_environment,
    statuses,
    write_plan,
)
from tildone.app.settings import folder_name

FAILS = "- [ ] A: `true`\n- [ ] B: `test -e ready`\n"


def test_conversations_are_stored_by_working_folder(person: Person) -> None:
    """The names are those of pi, so that both programs find them."""
    person.says("run", write_plan(person, "- [ ] A: `true`\n"), *ALLOW_ALL)

    [file] = conversation_files(person)

    assert file.parent.name == f"--{str(person.folder).lstrip('/').replace('/', '-')}--"
    assert file.parent.parent == person.home / ".local" / "share" / "tildone" / "sessions"
    assert file.name.endswith(f"_{conversation_entries(file)[0]['id']}.jsonl")


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("/home/me/a b", "--home-me-a b--"),
        (r"C:\Users\me", "--C--Users-me--"),
        ("/", "----"),
        (r"\\srv\x", "---srv-x--"),
    ],
)
def test_a_folder_is_named_after_its_path(folder: str, name: str) -> None:
    assert folder_name(folder) == name


def test_the_folder_for_conversations_is_used_unchanged(person: Person) -> None:
    name = write_plan(person, "- [ ] A: `true`\n")

    person.says("run", name, *ALLOW_ALL, "--session-dir", "here")
    person.says("run", name, *ALLOW_ALL, "--restart", TILDONE_SESSION_DIR="there")

    assert [len(list((person.folder / folder).glob("*.jsonl"))) for folder in ("here", "there")] == [1, 1]


def test_a_named_session_is_the_plan_and_continue_finds_its_conversation(person: Person) -> None:
    name = write_plan(person, FAILS)
    codes = [person.run("run", name, *ALLOW_ALL, "--session", session).code for session in ("one", "other")]
    write_plan(person, "", "ready")

    again = person.run("run", "--continue", "--session", "one")

    assert codes == [1, 1]
    assert again.code == 0
    assert "Bash: true" not in again.out
    assert len(conversation_files(person)) == 2
    assert [statuses(person, session) for session in ("one", "other")] == ["✓✓", "✓●"]


@pytest.mark.parametrize("by", ["part of its id", "its file"])
def test_a_conversation_is_resumed_by_id_or_file(person: Person, by: str) -> None:
    name = write_plan(person, FAILS)
    person.run("run", name, *ALLOW_ALL)
    person.run("run", name, *ALLOW_ALL)
    first = conversation_files(person)[0]
    write_plan(person, "", "ready")

    which = str(first) if by == "its file" else conversation_entries(first)[0]["id"][-12:]
    resumed = person.run("run", "--resume", which)

    assert (resumed.code, resumed.err) == (0, "tildone: allowed as before: --allow '*': every command\n")
    assert "All 2 tasks are done." in first.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--resume", "nowhere"), "there is no conversation 'nowhere'"),
        (("--fork", "abc"), "there is no conversation here to fork"),
    ],
)
def test_a_missing_conversation_is_an_error(person: Person, options: tuple[str, ...], complaint: str) -> None:
    answer = person.run("run", write_plan(person, "- [ ] A: `true`\n"), *ALLOW_ALL, *options)

    assert answer.code == 4
    assert complaint in answer.err


def test_a_run_without_a_session_stores_nothing(person: Person) -> None:
    name = write_plan(person, "- [ ] A: `true`\n")

    out = person.says("run", name, *ALLOW_ALL, "--no-session")

    assert "\nThe task is done.\nTook " in out
    assert "tildone log" not in out
    assert conversation_files(person) == []
    assert "has no sessions yet" in person.says("sessions")


def test_a_conversation_keeps_its_dialect(person: Person) -> None:
    name = write_plan(person, FAILS)
    person.run("run", name, *ALLOW_ALL, "--dialect", "phased")
    write_plan(person, "", "ready")

    person.says("run", name, *ALLOW_ALL, "--continue")

    called = {
        entry["message"].get("toolName")
        for entry in conversation_entries(conversation_files(person)[0])
        if "message" in entry
    }
    assert called & {"write_todos", "todo_write"} == {"todo_write"}


def test_a_fork_continues_from_a_message(person: Person) -> None:
    """Earlier messages are kept; the message itself is sent again unless there is another prompt."""
    with ModelServer({"text": "One."}, {"text": "Two."}, {"text": "Three."}, {"text": "Four."}) as server:
        model = ("--model", CHAT, "--mode", "print")
        person.says("run", "First", *model, **provider_environment(server))
        person.says("run", "Second", *model, "--continue", **provider_environment(server))
        [file] = conversation_files(person)
        said = [entry for entry in conversation_entries(file) if entry.get("message", {}).get("role") == "user"]

        again = person.says("run", *model, "--fork", said[1]["id"], **provider_environment(server))
        other = person.says(
            "run", "Another", *model, "--resume", str(file), "--fork", said[1]["id"], **provider_environment(server)
        )

    assert (again, other) == ("Three.\n", "Four.\n")
    assert [
        [str(message["content"]) for message in asked.messages if message["role"] == "user"]
        for asked in server.requests
    ] == [
        ["First"],
        ["First", "Second"],
        ["First", "Second"],
        ["First", "Another"],
    ]
    assert conversation_entries(conversation_files(person)[-1])[0]["parentSession"] == str(file)


def test_a_plan_is_read_and_changed_from_another_terminal(person: Person) -> None:
    name = write_plan(person, FAILS)
    person.run("run", name, *ALLOW_ALL, "--session", "s")

    assert statuses(person, "s") == "✓●"
    assert "B: `test -e ready`" in person.says("log", "--session", "s")
    assert "\n  s " in f"\n{person.says('sessions')}"


def test_a_copied_folder_has_conversations_of_its_own(person: Person) -> None:
    name = write_plan(person, FAILS)
    person.run("run", name, *ALLOW_ALL)
    other = person.folder.with_name("other")
    shutil.copytree(person.folder, other)

    answer = Person(other, person.home, person.environ).run("run", name, *ALLOW_ALL, "--continue")

    assert answer.code == 1
    assert "Bash: true" in answer.out
    assert len(conversation_files(person)) == 2
