"""Conversations are stored, continued and forked, or not at all.

The settings of runs; and the start and end of the RPC mode.
"""

import shutil
from pathlib import Path

import pytest

from tests.cli.person import Person
from tests.host.models.model_server import ModelServer
from tests.rpc.client import Client
from tests.run.run_workspace import (
    ALLOW_ALL,
    CHAT,
    conversation_entries,
    conversation_files,
    json_lines,
    provider_environment,
    start,
    statuses,
    write_plan,
)
from tests.trusted import write_trusted
from tildone.app.settings import Settings, folder_name, load
from tildone.base import UsageError
from tildone.cli.parsing import ROOT, parse

FAILS = "- [ ] A: `true`\n- [ ] B: `test -e ready`\n"


def test_a_folder_is_named_after_its_path() -> None:
    names = {
        "/home/me/a b": "--home-me-a b--",
        r"C:\Users\me": "--C--Users-me--",
        "/": "----",
        r"\\srv\x": "---srv-x--",
    }
    assert {folder: folder_name(folder) for folder in names} == names


def test_conversations_are_stored_by_working_folder_or_in_a_given_one_or_not_at_all(person: Person) -> None:
    """The names are those of pi, so that both programs find them. The folder that is given is used unchanged."""
    name = write_plan(person, "- [ ] A: `true`\n")

    out = person.says("run", name, *ALLOW_ALL, "--no-session")
    assert "\nThe task is done.\nTook " in out
    assert "tildone log" not in out
    assert conversation_files(person) == []
    assert "has no sessions yet" in person.says("sessions")

    person.says("run", name, *ALLOW_ALL)
    [file] = conversation_files(person)
    person.says("run", name, *ALLOW_ALL, "--restart", "--session-dir", "here")
    person.says("run", name, *ALLOW_ALL, "--restart", TILDONE_SESSION_DIR="there")

    assert file.parent.name == f"--{str(person.folder).lstrip('/').replace('/', '-')}--"
    assert file.parent.parent == person.home / ".local" / "share" / "tildone" / "sessions"
    assert file.name.endswith(f"_{conversation_entries(file)[0]['id']}.jsonl")
    assert [len(list((person.folder / folder).glob("*.jsonl"))) for folder in ("here", "there")] == [1, 1]


def test_a_named_session_is_the_plan_and_continue_finds_its_conversation(person: Person) -> None:
    name = write_plan(person, FAILS)
    codes = [person.run("run", name, *ALLOW_ALL, "--session", session).code for session in ("one", "other")]
    write_plan(person, "", "ready")

    again = person.run("run", "--continue", "--session", "one")

    assert (codes, again.code) == ([1, 1], 0)
    assert "Bash: true" not in again.out
    assert "B: `test -e ready`" in person.says("log", "--session", "one")
    assert "\n  one " in f"\n{person.says('sessions')}"
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


def test_a_missing_conversation_is_an_error(person: Person) -> None:
    run = ("run", write_plan(person, "- [ ] A: `true`\n"), *ALLOW_ALL)
    assert "there is no conversation 'nowhere'" in person.refused(4, *run, "--resume", "nowhere")
    assert "there is no conversation here to fork" in person.refused(4, *run, "--fork", "abc")


def test_a_fork_continues_from_a_message(person: Person) -> None:
    """Earlier messages are kept; the message itself is sent again unless there is another prompt."""
    with ModelServer({"text": "One."}, {"text": "Two."}, {"text": "Three."}, {"text": "Four."}) as server:

        def run(*argv: str) -> str:
            return person.says("run", *argv, "--model", CHAT, "--mode", "print", **provider_environment(server))

        run("First")
        run("Second", "--continue")
        [file] = conversation_files(person)
        said = [entry for entry in conversation_entries(file) if entry.get("message", {}).get("role") == "user"]
        again = run("--fork", said[1]["id"])
        other = run("Another", "--resume", str(file), "--fork", said[1]["id"])

    assert (again, other) == ("Three.\n", "Four.\n")
    heard = [[m["content"] for m in asked.messages if m["role"] == "user"] for asked in server.requests]
    assert heard == [["First"], ["First", "Second"], ["First", "Second"], ["First", "Another"]]
    assert conversation_entries(conversation_files(person)[-1])[0]["parentSession"] == str(file)


def test_a_conversation_keeps_its_dialect_and_a_copied_folder_has_conversations_of_its_own(person: Person) -> None:
    name = write_plan(person, FAILS)
    person.run("run", name, *ALLOW_ALL, "--dialect", "phased")
    other = person.folder.with_name("other")
    shutil.copytree(person.folder, other)
    [file] = conversation_files(person)

    answer = Person(other, person.home, person.environ).run("run", name, *ALLOW_ALL, "--continue")
    write_plan(person, "", "ready")
    person.says("run", name, *ALLOW_ALL, "--continue")

    assert answer.code == 1
    assert "Bash: true" in answer.out
    assert len(conversation_files(person)) == 2
    called = {entry["message"].get("toolName") for entry in conversation_entries(file) if "message" in entry}
    assert called & {"write_todos", "todo_write"} == {"todo_write"}


def settled(folder: Path, toml: str = "", flags: dict[str, str] | None = None, **environ: str) -> Settings:
    homes = {"XDG_CONFIG_HOME": str(folder / "config"), "XDG_DATA_HOME": str(folder / "data")}
    write_trusted(folder / "tildone.toml", toml, homes)
    return load(flags or {}, homes | environ, str(folder))


def test_every_run_setting_has_a_default_and_an_option_may_be_given_several_times(tmp_path: Path) -> None:
    settings = settled(tmp_path)

    assert (settings.model, settings.max_nudges, settings.countdown, settings.phases) == (None, None, 3, ())
    assert Path(settings.session_dir).parent == tmp_path / "data" / "tildone" / "sessions"

    typed = parse(ROOT, ["run", "--allow", "a *", "x", "--allow=b", "--model", "m", "--model", "n"])

    assert (typed.values("allow"), typed.values("mode"), typed.options["model"]) == (("a *", "b"), (), "n")


def test_numbers_are_read_from_files_environment_and_flags(tmp_path: Path) -> None:
    toml = "countdown = 5\nmax_nudges = 7\n"
    said = [
        settled(tmp_path, toml),
        settled(tmp_path, toml, TILDONE_COUNTDOWN="0"),
        settled(tmp_path, toml, {"max-nudges": "9"}, TILDONE_MAX_NUDGES="8"),
    ]
    assert [(settings.countdown, settings.max_nudges) for settings in said] == [(5, 7), (0, 7), (5, 9)]

    refused: list[tuple[str, dict[str, str], str]] = [
        *((f"countdown = {held}\n", {}, "") for held in ('"3"', "-1", "true", "2.5")),
        *(("", {"TILDONE_COUNTDOWN": said}, f", not '{said}'") for said in ("three", "-1", "1.5")),
    ]
    for text, environ, told in refused:
        with pytest.raises(UsageError, match=f"countdown must be a whole number, 0 or more{told}"):
            settled(tmp_path, text, {}, **environ)


def test_a_relative_folder_is_resolved_where_it_was_set_and_phased_settings_have_own_names(tmp_path: Path) -> None:
    phased = '"todo.reminders.max" = 5\n"todo.enabled" = true\n'
    said = [settled(tmp_path, f'session_dir = "kept"\n{phased}'), settled(tmp_path, TILDONE_SESSION_DIR="here")]

    assert [settings.session_dir for settings in said] == [str(tmp_path / "kept"), str(tmp_path / "here")]
    assert said[0].phases == (("todo.enabled", True), ("todo.reminders.max", 5))


def test_a_plan_is_run_on_request_of_the_client_and_other_requests_are_answered_before(person: Person) -> None:
    name = write_plan(person, "- [ ] A: `echo a`\n")
    with start(person, "run", name, "--mode", "rpc", *ALLOW_ALL) as process:
        client = Client(process)
        state = client.get("get_state")
        client.settle("Go")
        assert client.hang_up() == 0

    assert (state["isStreaming"], state["model"]) == (False, {"id": "shell", "provider": "tildone", "api": "shell"})
    ended = [record["toolName"] for record in client.records if record["type"] == "tool_execution_end"]
    assert ended == ["todo", "bash", "todo"]


@pytest.mark.parametrize("script", ["tildone run plan.md --mode rpc <&-", "tildone run plan.md --mode rpc </dev/null"])
def test_the_process_ends_when_the_client_disconnects(person: Person, script: str) -> None:
    write_plan(person, "- [ ] A: `true`\n")

    answer = person.shell(script)

    assert (answer.code, answer.err) == (0, "")
    assert all(record["type"] == "extension_ui_request" for record in json_lines(answer.out))
