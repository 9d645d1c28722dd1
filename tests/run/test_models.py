"""Runs against real providers' wire formats, served on loopback: answers, tools, and everything that goes wrong."""

import json

import pytest

from tests.cli.person import Person
from tests.host.models.wire import Wire
from tests.run.scenes import ANTHROPIC, CHAT, EVERYTHING, WRITE, address, conversations, entries, plan

both_formats = pytest.mark.parametrize("spec", [CHAT, ANTHROPIC])

pytestmark = pytest.mark.slow


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
    with Wire(*script) as wire:
        answer = person.run("run", "Write a greeting", "--model", spec, *EVERYTHING, "--session", "s", **address(wire))

    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("❯ Write a greeting\nwrite_todos replace (2 items)\n")
    assert "\nThe greeting is written.\nHow it went: " in answer.out
    assert (person.folder / "greeting.txt").read_text(encoding="utf-8") == "hello\n"
    assert len(wire.asked) == len(script)
    assert "completed “One”" in person.says("log", "--session", "s")


@both_formats
def test_an_error_ends_the_run_and_is_told(person: Person, spec: str) -> None:
    """A key that is not accepted will not be accepted next time."""
    with Wire(WRITE, {"error": 401, "message": "no such key"}) as wire:
        answer = person.run("run", "Go", "--model", spec, "--mode", "print", **address(wire))

    assert (answer.code, answer.out) == (1, "")
    assert "no such key" in answer.err
    assert len(wire.asked) == 2


@both_formats
def test_a_rate_limit_is_waited_for(person: Person, spec: str) -> None:
    with Wire({"error": 429, "retry_after": 0, "message": "slow down"}, {"text": "Here I am."}) as wire:
        answer = person.run("run", "Go", "--model", spec, **address(wire))

    assert answer.code == 0
    assert "slow down" in answer.out
    assert "Trying again in 0 s (1 of 3)\nHere I am.\n" in answer.out


@both_formats
def test_a_cut_connection_is_made_again(person: Person, spec: str) -> None:
    with Wire({"text": "This is only half of", "cut": 3}, {"text": "The whole answer."}) as wire:
        answer = person.run("run", "Go", "--model", spec, "--mode", "print", **address(wire))

    assert (answer.code, answer.out) == (0, "The whole answer.\n")
    assert len(wire.asked) == 2


def test_a_model_is_named_by_the_environment_or_the_project(person: Person) -> None:
    plan(person, f'model = "{CHAT}"\n', "tildone.toml")
    with Wire({"text": "One."}, {"text": "Two."}) as wire:
        said = [
            person.says("run", "Go", "--mode", "print", **address(wire)),
            person.says("run", "Go", "--mode", "print", **address(wire), TILDONE_MODEL=ANTHROPIC),
        ]

    assert said == ["One.\n", "Two.\n"]
    assert [asked.path for asked in wire.asked] == ["/v1/chat/completions", "/v1/messages"]


def test_a_model_is_told_the_plan_of_a_file(person: Person) -> None:
    """A plan that only a model understands needs no commands."""
    name = plan(person, "# Research\n- [ ] Think about it\n")
    with Wire({"text": "I thought."}) as wire:
        person.says("run", name, "--model", CHAT, "--mode", "print", **address(wire))

    told = wire.asked[0].messages[-1]["content"]
    words = told if isinstance(told, str) else told[0]["text"]
    assert words == "Work through this plan, task by task:\n\n# Research\n- [ ] Think about it"


def test_a_task_is_read_from_standard_input(person: Person) -> None:
    with Wire({"text": "Read."}) as wire:
        person.run("run", "-", "--model", CHAT, "--mode", "print", given="Do this,\nand that\n", **address(wire))

    assert "Do this,\\nand that" in json.dumps(wire.asked[0].messages)


def test_a_model_without_a_key_is_told_what_to_set(person: Person) -> None:
    answer = person.run("run", "Go", "--model", "anthropic:claude-sonnet-5-5", ANTHROPIC_API_KEY="")

    assert (answer.code, conversations(person)) == (2, [])
    assert answer.err == "tildone: anthropic models cannot be reached: set ANTHROPIC_API_KEY in the environment\n"


def test_without_builtin_tools_a_model_has_only_the_plan(person: Person) -> None:
    with Wire({"text": "Done."}) as wire:
        person.says("run", "Go", "--model", CHAT, "--no-builtin-tools", "--mode", "print", **address(wire))

    offered = [tool["function"]["name"] for tool in wire.asked[0].body["tools"]]
    assert offered == ["write_todos", "list_todos", "edit_todos"]


def test_usage_is_kept_in_the_session(person: Person) -> None:
    with Wire({"text": "Done."}) as wire:
        person.says("run", "Go", "--model", CHAT, "--mode", "print", **address(wire))

    [said] = [entry["message"] for entry in entries(conversations(person)[0]) if entry.get("message")][1:]
    assert (said["usage"]["input"], said["usage"]["output"]) == (10, 5)
