"""Runs against real providers' wire formats, served on loopback: answers, tools, and everything that goes wrong."""

import json
import re

import pytest

from tests.cli.person import Person
from tests.host.models.model_server import ModelServer, Turn
from tests.run.run_workspace import (
    ALLOW_ALL,
    ANTHROPIC,
    CHAT,
    WRITE,
    conversation_entries,
    conversation_files,
    provider_environment,
    write_plan,
)
from tests.suite.forking import starting
from tests.trusted import write_trusted

both_formats = pytest.mark.parametrize("spec", [CHAT, ANTHROPIC])


@both_formats
def test_a_model_works_through_a_task_with_the_tools(person: Person, spec: str) -> None:
    script = [
        WRITE,
        {"tool": "edit_todos", "args": {"action": "start", "indices": [0, 1]}},
        {"tool": "write", "args": {"path": "greeting.txt", "content": "hello\n"}},
        {"tool": "bash", "args": {"command": "cat greeting.txt"}},
        {"tool": "edit_todos", "args": {"action": "complete", "indices": [0, 1]}},
        {"text": "The greeting is written."},
    ]
    with ModelServer(*script) as server, starting():
        allowed = (*ALLOW_ALL, "--allow-write", "greeting.txt")
        answer = person.run(
            "run", "Write a greeting", "--model", spec, *allowed, "--session", "s", **provider_environment(server)
        )

    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("❯ Write a greeting\nwrite_todos replace (2 items)\n")
    assert re.search(r"\nThe greeting is written\.\nTook .* · \d+ in · \d+ out\nHow it went: ", answer.out)
    assert (person.folder / "greeting.txt").read_text(encoding="utf-8") == "hello\n"
    assert len(server.requests) == len(script)
    assert "completed #1 “One”" in person.says("log", "--session", "s")


def test_an_error_ends_the_run_and_is_reported(person: Person) -> None:
    """An invalid key is not a transient failure."""
    with ModelServer(WRITE, {"error": 401, "message": "no such key"}) as server:
        answer = person.run("run", "Go", "--model", ANTHROPIC, "--mode", "print", **provider_environment(server))

    assert (answer.code, answer.out) == (1, "")
    assert "no such key" in answer.err
    assert len(server.requests) == 2


def test_a_rate_limited_request_is_retried(person: Person) -> None:
    with ModelServer({"error": 429, "retry_after": 0, "message": "slow down"}, {"text": "Here I am."}) as server:
        answer = person.run("run", "Go", "--model", CHAT, **provider_environment(server))

    assert answer.code == 0
    assert "slow down" in answer.out
    assert "Trying again in 0 s (1 of 3)\nHere I am.\n" in answer.out


def test_a_broken_request_is_retried(person: Person) -> None:
    with ModelServer({"text": "This is only half of", "cut": 3}, {"text": "The whole answer."}) as server:
        answer = person.run("run", "Go", "--model", ANTHROPIC, "--mode", "print", **provider_environment(server))

    assert (answer.code, answer.out) == (0, "The whole answer.\n")
    assert len(server.requests) == 2


def test_a_model_is_named_by_the_environment_or_the_project(person: Person) -> None:
    write_trusted(person.folder / "tildone.toml", f'model = "{CHAT}"\n', person.environment({}))
    with ModelServer({"text": "One."}, {"text": "Two."}) as server:
        said = [
            person.says("run", "Go", "--mode", "print", **provider_environment(server)),
            person.says("run", "Go", "--mode", "print", **provider_environment(server), TILDONE_MODEL=ANTHROPIC),
        ]

    assert said == ["One.\n", "Two.\n"]
    assert [asked.path for asked in server.requests] == ["/v1/chat/completions", "/v1/messages"]


def test_a_plan_file_is_sent_to_the_model(person: Person) -> None:
    """A plan that only a model understands needs no commands."""
    name = write_plan(person, "# Research\n- [ ] Think about it\n")
    done: Turn = {"tool": "edit_todos", "args": {"action": "complete", "indices": [0]}}
    with ModelServer(done, {"text": "I thought."}) as server:
        person.says("run", name, "--model", CHAT, "--mode", "print", **provider_environment(server))

    told = next(message["content"] for message in server.requests[0].messages if message["role"] == "user")
    words = told if isinstance(told, str) else told[0]["text"]
    assert words == (
        "Work through this plan, task by task. It is in your todo list:\n\n# Research\n- [ ] Think about it"
    )


def test_a_task_is_read_from_standard_input(person: Person) -> None:
    with ModelServer({"text": "Read."}) as server:
        person.run(
            "run", "-", "--model", CHAT, "--mode", "print", given="Do this,\nand that\n", **provider_environment(server)
        )

    assert "Do this,\\nand that" in json.dumps(server.requests[0].messages)


def test_a_missing_key_names_the_variable_to_set(person: Person) -> None:
    answer = person.run("run", "Go", "--model", "anthropic:claude-sonnet-5-5", ANTHROPIC_API_KEY="")

    assert (answer.code, conversation_files(person)) == (2, [])
    assert answer.err == "tildone: anthropic models cannot be reached: set ANTHROPIC_API_KEY in the environment\n"


def test_without_builtin_tools_a_model_has_only_the_plan(person: Person) -> None:
    with ModelServer({"text": "Done."}) as server:
        person.says(
            "run", "Go", "--model", CHAT, "--no-builtin-tools", "--mode", "print", **provider_environment(server)
        )

    offered = [tool["function"]["name"] for tool in server.requests[0].body["tools"]]
    assert offered == ["write_todos", "list_todos", "edit_todos"]


def test_usage_is_stored_in_the_conversation(person: Person) -> None:
    with ModelServer({"text": "Done."}) as server:
        person.says("run", "Go", "--model", CHAT, "--mode", "print", **provider_environment(server))

    [said] = [
        entry["message"] for entry in conversation_entries(conversation_files(person)[0]) if entry.get("message")
    ][1:]
    assert (said["usage"]["input"], said["usage"]["output"]) == (10, 5)


def test_the_cost_is_shown_where_the_price_is_known(person: Person) -> None:
    with ModelServer({"text": "Hi."}, {"text": "Hi."}) as server:
        unknown = person.run("run", "Go", "--model", CHAT, **provider_environment(server))
        write_trusted(
            person.folder / "tildone.toml",
            "[prices]\nscripted = { input = 1000, output = 1000 }\n",
            person.environment({}),
        )
        known = person.run("run", "Go", "--model", CHAT, **provider_environment(server))

    assert re.search(r"^Took \S+ s · 10 in · 5 out$", unknown.out, re.MULTILINE)
    assert re.search(r"^Took \S+ s · 10 in · 5 out · \$0\.015$", known.out, re.MULTILINE)
