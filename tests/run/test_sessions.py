"""Conversations are kept where they are looked for, gone on with, forked, or not kept at all."""

import shutil

import pytest

from tests.cli.person import Person
from tests.host.models.wire import Wire
from tests.run.scenes import CHAT, EVERYTHING, address, conversations, entries, plan
from tildone.config import folder_name

FAILS = "- [ ] A: `true`\n- [ ] B: `test -e ready`\n"


def test_conversations_are_kept_by_working_folder(person: Person) -> None:
    """As pi names them, so that both find them again."""
    person.says("run", plan(person, "- [ ] A: `true`\n"), *EVERYTHING)

    [file] = conversations(person)

    assert file.parent.name == f"--{str(person.folder).lstrip('/').replace('/', '-')}--"
    assert file.parent.parent == person.home / ".local" / "share" / "tildone" / "sessions"
    assert file.name.endswith(f"_{entries(file)[0]['id']}.jsonl")


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("/home/me/a b", "--home-me-a b--"),
        (r"C:\Users\me", "--C--Users-me--"),
        ("/", "----"),
        (r"\\srv\x", "---srv-x--"),
    ],
)
def test_a_folder_is_named_like_its_path(folder: str, name: str) -> None:
    assert folder_name(folder) == name


def test_a_folder_for_conversations_is_used_as_it_is(person: Person) -> None:
    name = plan(person, "- [ ] A: `true`\n")

    person.says("run", name, *EVERYTHING, "--session-dir", "here")
    person.says("run", name, *EVERYTHING, TILDONE_SESSION_DIR="there")

    assert [len(list((person.folder / folder).glob("*.jsonl"))) for folder in ("here", "there")] == [1, 1]


def test_a_session_of_a_name_is_begun_and_gone_on_with(person: Person) -> None:
    """The same name, whole: a part of it is another session."""
    name = plan(person, FAILS)
    codes = [person.run("run", name, *EVERYTHING, "--session", session).code for session in ("a_demo", "demo")]
    plan(person, "", "ready")

    again = person.says("run", name, *EVERYTHING, "--session", "a_demo")

    assert codes == [1, 1]
    assert "Bash: true" not in again
    assert len(conversations(person)) == 2


@pytest.mark.parametrize("by", ["part of its id", "its file"])
def test_a_conversation_is_resumed_by_id_or_file(person: Person, by: str) -> None:
    name = plan(person, FAILS)
    person.run("run", name, *EVERYTHING)
    person.run("run", name, *EVERYTHING)
    first = conversations(person)[0]
    plan(person, "", "ready")

    which = str(first) if by == "its file" else entries(first)[0]["id"][-12:]
    person.says("run", name, *EVERYTHING, "--resume", which)

    assert "All 2 tasks are done." in first.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--continue",), "there is no conversation in "),
        (("--resume", "nowhere"), "there is no conversation 'nowhere'"),
        (("--fork", "abc"), "there is no conversation here to fork"),
        (("--session", "../elsewhere"), "no session file ../elsewhere"),
    ],
)
def test_what_is_not_there_is_not_found(person: Person, options: tuple[str, ...], complaint: str) -> None:
    answer = person.run("run", plan(person, "- [ ] A: `true`\n"), *EVERYTHING, *options)

    assert answer.code == 4
    assert complaint in answer.err


def test_a_run_that_keeps_nothing_leaves_nothing(person: Person) -> None:
    name = plan(person, "- [ ] A: `true`\n")

    out = person.says("run", name, *EVERYTHING, "--no-session")

    assert out.endswith("The task is done.\n")
    assert conversations(person) == []
    assert "There is no session" in person.says("sessions")


def test_a_conversation_keeps_its_dialect(person: Person) -> None:
    name = plan(person, FAILS)
    person.run("run", name, *EVERYTHING, "--dialect", "phased")
    plan(person, "", "ready")

    person.says("run", name, *EVERYTHING, "--continue")

    called = {entry["message"].get("toolName") for entry in entries(conversations(person)[0]) if "message" in entry}
    assert called & {"write_todos", "todo_write"} == {"todo_write"}


@pytest.mark.slow
def test_a_fork_goes_another_way_from_a_message(person: Person) -> None:
    """What was said before it is kept, and what it said is said again unless something else is."""
    with Wire({"text": "One."}, {"text": "Two."}, {"text": "Three."}, {"text": "Four."}) as wire:
        model = ("--model", CHAT, "--mode", "print")
        person.says("run", "First", *model, **address(wire))
        person.says("run", "Second", *model, "--continue", **address(wire))
        [file] = conversations(person)
        said = [entry for entry in entries(file) if entry.get("message", {}).get("role") == "user"]

        again = person.says("run", *model, "--fork", said[1]["id"], **address(wire))
        other = person.says("run", "Another", *model, "--resume", str(file), "--fork", said[1]["id"], **address(wire))

    assert (again, other) == ("Three.\n", "Four.\n")
    assert [
        [str(message["content"]) for message in asked.messages if message["role"] == "user"] for asked in wire.asked
    ] == [
        ["First"],
        ["First", "Second"],
        ["First", "Second"],
        ["First", "Another"],
    ]
    assert entries(conversations(person)[-1])[0]["parentSession"] == str(file)


def test_a_plan_is_read_and_changed_from_another_terminal(person: Person) -> None:
    """The plan is in the ordinary store, under the conversation's id."""
    name = plan(person, FAILS)
    person.run("run", name, *EVERYTHING, "--session", "s")

    assert "● [1] B" in person.says("todo", "--session", "s")
    assert "started “B”" in person.says("log", "--session", "s")
    assert "s\n" in person.says("sessions")


def test_a_moved_folder_has_conversations_of_its_own(person: Person) -> None:
    name = plan(person, FAILS)
    person.run("run", name, *EVERYTHING)
    other = person.folder.with_name("other")
    shutil.copytree(person.folder, other)

    answer = Person(other, person.home, person.environ).run("run", name, *EVERYTHING, "--continue")

    assert answer.code == 4
