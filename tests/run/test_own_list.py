"""A conversation that begins with a prompt has a list of its own; a run without one works on the project's plan."""

import os
from pathlib import Path

import pytest

from tests.cli.person import Person
from tests.host.models.model_server import ModelServer, Turn
from tests.rpc.client import rpc
from tests.run.run_workspace import (
    CHAT,
    WRITE,
    conversation_entries,
    conversation_files,
    provider_environment,
    statuses,
)
from tests.run.screens import at_terminal
from tildone.app.opening import session_in
from tildone.plan.dialects import BY_HAND
from tildone.stores.sqlite.store import SqliteStore

needs_terminal = pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
LISTS: dict[str, Turn] = {
    "indexed": WRITE,
    "phased": {
        "tool": "todo_write",
        "args": {"ops": [{"op": "init", "list": [{"phase": "A", "items": ["One", "Two"]}]}]},
    },
    "declared": {
        "tool": "TodoWrite",
        "args": {"summary": "S", "todos": [{"content": text, "status": "pending"} for text in ("One", "Two")]},
    },
    "brief": {"tool": "todo", "args": {"add": ["One", "Two"]}},
}
FINISHED: Turn = {"tool": "todo_write", "args": {"ops": [{"op": "done", "task": "One"}]}}
STOP: Turn = {"text": "I stop."}
FIND: Turn = {"tool": "find_tools", "args": {"query": "todo"}}


def run(person: Person, *argv: str, script: tuple[Turn, ...], **environ: str) -> ModelServer:
    with ModelServer(*script) as server:
        model = ("--model", CHAT, "--mode", "print", "--max-nudges", "0")
        person.run("run", *argv, *model, **provider_environment(server), **environ)
    return server


def conversations(person: Person) -> list[str]:
    """Return the ids of the conversations, oldest first."""
    return [conversation_entries(file)[0]["id"] for file in conversation_files(person)]


@pytest.mark.parametrize("dialect", LISTS)
def test_a_prompt_begins_a_list_of_its_own(person: Person, dialect: str) -> None:
    person.says("todo", "add", "The project's")

    server = run(person, "Go", "--dialect", dialect, script=(LISTS[dialect], STOP))

    [conversation] = conversations(person)
    assert statuses(person) == "–"
    assert len(statuses(person, conversation)) == 2
    assert "The project's" not in str(server.requests)


def test_a_run_without_a_prompt_works_on_the_projects_plan(person: Person) -> None:
    person.says("todo", "add", "The project's")

    server = run(person, script=({"tool": "edit_todos", "args": {"action": "complete", "indices": [0]}}, STOP))

    assert "The project's" in str(server.requests[0].messages)
    assert statuses(person) == "✓"


def test_a_named_plan_is_worked_on_with_a_prompt(person: Person) -> None:
    run(person, "Go", "--session", "plan", script=(WRITE, STOP))
    run(person, "Go", script=(WRITE, STOP), TILDONE_SESSION="other")

    assert (statuses(person, "plan"), statuses(person, "other")) == ("––", "––")


def test_a_conversation_is_continued_with_its_own_list_without_finished_tasks(person: Person) -> None:
    """The dialect strips them when a conversation is opened again; its results still have them."""
    person.says("todo", "add", "The project's")
    run(person, "Go", "--dialect", "phased", script=(FIND, LISTS["phased"], FINISHED, STOP))
    [conversation] = conversations(person)
    before = statuses(person, conversation)

    run(person, "Go on", "--continue", script=(STOP,))

    assert (before, statuses(person, conversation), statuses(person)) == ("✓●", "●", "–")


def test_a_conversation_on_the_projects_plan_is_continued_on_it(person: Person) -> None:
    person.says("todo", "add", "The project's")
    run(person, script=(STOP,))

    server = run(person, "Go on", "--continue", script=(STOP,))

    assert "The project's" in str(server.requests[0].messages)


@needs_terminal
def test_the_person_takes_up_the_other_plan(person: Person) -> None:
    """It is said which one it is, and the choice is kept for the next run of the conversation."""
    with ModelServer(WRITE, {"text": "First."}, STOP) as server:
        environ = provider_environment(server)
        terminal = at_terminal(person, "--model", CHAT, "--max-nudges", "0", **environ)
        terminal.until("This conversation works on the project's plan; /use own begins its own list.")
        for typed, shown in [
            ("/new", "A new conversation begins. This conversation has its own list;"),
            ("Go", "limit reached"),
            ("/use project", "takes up the project's plan"),
            ("/todo add The project's", "0 of 1 closed"),
        ]:
            terminal.type(f"{typed}\r".encode())
            terminal.until_after(typed, shown)
        terminal.type(b"\x04")
        terminal.end()
        person.run("run", "Go on", "--continue", "--mode", "print", **environ)

    [conversation] = conversations(person)
    assert (statuses(person), statuses(person, conversation)) == ("–", "––")
    assert "The project's" in str(server.requests[-1].messages[-1])


def test_a_client_opens_conversations_each_with_its_plan(tmp_path: Path) -> None:
    """A new one has a list of its own, also when it is opened again; a fork begins with the list at its point."""
    one = {"tool": "write_todos", "args": {"mode": "replace", "todos": [{"text": "One"}]}}
    with (
        ModelServer(WRITE, STOP, one, STOP, WRITE, STOP) as model,
        rpc(tmp_path, model.url, "--max-nudges", "0") as client,
    ):

        def say(text: str) -> str:
            assert client.ask("prompt", message=text)["success"]
            client.event("agent_settled")
            state = client.ask("get_state")["data"]
            return str(state["sessionFile"])

        def plan() -> list[str]:
            name = client.ask("get_state")["data"]["sessionId"]
            return [task.text for task in session_in(SqliteStore(str(store)), name, BY_HAND).plan.tasks]

        say("The project's")
        store = next(tmp_path.rglob("*.db"))
        assert plan() == []

        client.ask("new_session")
        own = say("Mine")
        assert plan() == ["One"]
        say("More")
        assert plan() == ["One", "Two"]
        [_, more] = [entry["id"] for entry in conversation_entries(Path(own)) if is_prompt(entry)]

        client.ask("fork", entryId=more)
        assert plan() == ["One"]
        client.ask("switch_session", sessionPath=own)
        assert plan() == ["One", "Two"]


def is_prompt(entry: dict[str, object]) -> bool:
    message = entry.get("message")
    return isinstance(message, dict) and message["role"] == "user"
