"""The person's commands in a run: the model, the plan and the conversation."""

import json
import os
from typing import Any

import pytest

from tests.cli.person import Person, Terminal
from tests.host.models.model_server import ModelServer, Turn
from tests.run.run_workspace import CHAT, WRITE, provider_environment
from tests.run.screens import at_terminal, screen
from tildone.cli.run.setup import split_words
from tildone.plan.formats.markdown import lossless_checklist
from tildone.plan.formats.markdown_reader import reader_read
from tildone.plan.model import Phase, Plan, Status, Task

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")

CTRL_D = b"\x04"

COMMANDS = ["todo", "undo", "redo", "pause", "resume", "export", "model", "compact", "use", "new", "clear", "help"]


def conversation(person: Person, server: ModelServer, *argv: str, **environ: str) -> Terminal:
    """Start a run in which the person types every prompt."""
    terminal = at_terminal(person, "--model", CHAT, *argv, **provider_environment(server), **environ)
    terminal.until("say what is to be done")
    return terminal


def say(terminal: Terminal, line: str, answer: str) -> None:
    """Type a line, and wait for the answer."""
    terminal.type(f"{line}\r".encode())
    terminal.until(answer)


def texts(messages: list[dict[str, Any]]) -> list[str]:
    return [str(message["content"]) for message in messages if message["role"] == "user"]


def test_help_lists_the_commands_and_typos_get_suggestions(person: Person) -> None:
    with ModelServer({"text": "First."}, {"text": "Second."}) as server:
        terminal = conversation(person, server)
        say(terminal, "/help", "//TEXT")
        say(terminal, "/modle x", "There is no command /modle; did you mean '/model'?")
        say(terminal, "/zzzz", "There is no command /zzzz; /help lists them")
        say(terminal, "//help me", "First.")
        say(terminal, "/usr/bin/env is missing", "Second.")
        terminal.type(CTRL_D)
        answer = terminal.end()

    listed = [line.split()[0] for line in screen(answer.out) if line.startswith("/") and "  " in line]
    assert listed == [*(f"/{name}" for name in COMMANDS), "/quit", "/expand", "//TEXT"]
    assert [texts(asked.messages)[-1] for asked in server.requests] == ["/help me", "/usr/bin/env is missing"]


def test_the_plan_can_be_changed_and_changed_back(person: Person) -> None:
    with ModelServer({"text": "Seen."}) as server:
        terminal = conversation(person, server, EDITOR="sed -i s/milk/bread/")
        say(terminal, "/todo add Buy milk, don't forget", "0 of 1 closed")
        say(terminal, '/todo add "Call the bank"', "0 of 2 closed")
        say(terminal, "/todo done bank", "1 of 2 closed")
        say(terminal, "/undo", "Undid:")
        say(terminal, "/todo edit", "bread")
        say(terminal, "/todo nonsense", "nonsense")
        say(terminal, "Go", "Seen.")
        terminal.type(b"\x03")
        answer = terminal.end()

    assert "Buy bread, don't forget" in str(server.requests[0].messages)
    assert "Call the bank" in str(server.requests[0].messages)
    assert "\x1b[2J" not in answer.out


FIRST, SECOND, THIRD = Task("one", Status.COMPLETED, ("why",)), Task("two", Status.IN_PROGRESS), Task("three")


@pytest.mark.parametrize(
    "phases",
    [
        pytest.param((Phase("", (FIRST, SECOND)),), id="flat"),
        pytest.param((Phase("", (FIRST, SECOND)), Phase("B", (THIRD,))), id="first"),
        pytest.param((Phase("A", (FIRST,)), Phase("", (SECOND,)), Phase("B", (THIRD,))), id="middle"),
        pytest.param((Phase("", (FIRST,)), Phase("", (SECOND,)), Phase(""), Phase("", (THIRD,))), id="several"),
        pytest.param((Phase(""), Phase("Todos", (FIRST, SECOND)), Phase("B")), id="empty"),
    ],
)
@pytest.mark.parametrize("verb", ["export", "edit"])
def test_a_plan_of_phases_is_the_same_after_it_was_exported_and_imported_or_edited(
    person: Person, phases: tuple[Phase, ...], verb: str
) -> None:
    """Also phases without a name, which are not those of tasks above the first heading."""

    def stored() -> Plan:
        return reader_read(person.says("todo", "export", "-", "--session", "s")).plan

    (person.folder / "plan.md").write_text(lossless_checklist(Plan(phases), all_headings=True), encoding="utf-8")
    with ModelServer() as server:
        terminal = conversation(person, server, "--dialect", "phased", "--session", "s", EDITOR="touch")
        say(terminal, "/todo import plan.md", "Imported plan.md: ")
        assert stored().phases == phases
        if verb == "export":
            say(terminal, "/todo export out.md", "Wrote the plan to out.md")
            say(terminal, "/todo rm", "Removed")
            say(terminal, "/todo import out.md", "Imported out.md: ")
        else:
            say(terminal, "/todo edit", "Saved: ")
        terminal.type(CTRL_D)
        terminal.end()

    assert stored().phases == phases


def test_an_editor_that_cannot_be_run_ends_nothing(person: Person) -> None:
    with ModelServer({"text": "Seen."}) as server:
        terminal = conversation(person, server, EDITOR='vi "')
        say(terminal, "/todo add Buy milk", "0 of 1 closed")
        say(terminal, "/todo edit", "Nothing was edited")
        say(terminal, "Go", "Seen.")
        terminal.type(b"/quit\r")

        assert terminal.end().code == 0


def test_a_plan_that_is_not_stored_is_not_changed_from_here(person: Person) -> None:
    with ModelServer() as server:
        terminal = conversation(person, server, "--no-session")
        say(terminal, "/todo", "The plan of this run is not stored")
        terminal.type(b"/quit\r")

        assert terminal.end().code == 0


def test_another_model_can_answer(person: Person) -> None:
    """After an error the old one goes on. The choice holds for the rest of the conversation."""
    with ModelServer({"text": "First."}, {"text": "Second."}) as server:
        terminal = conversation(person, server)
        say(terminal, "/model", "openai-chat:scripted; /model PROVIDER:NAME switches to another")
        say(terminal, "/model nonsense", "scripted goes on answering")
        say(terminal, "One", "First.")
        say(terminal, "/model anthropic:another", "another answers from now on")
        say(terminal, "Two", "Second.")
        terminal.type(CTRL_D)
        answer = terminal.end()
        again = person.run("run", "Three", "--continue", "--mode", "print", **provider_environment(server))

    assert (answer.code, again.code) == (0, 0)
    assert [asked.body["model"] for asked in server.requests] == ["scripted", "another", "another"]
    assert len(server.requests[1].messages) == 3


def test_a_new_conversation_keeps_the_plan(person: Person) -> None:
    done: Turn = {"tool": "edit_todos", "args": {"action": "complete", "indices": [0, 1]}}
    with ModelServer(WRITE, {"text": "First.", "ends": "stop"}, done, {"text": "Second."}) as server:
        terminal = conversation(person, server)
        say(terminal, "Remember this", "First.")
        say(terminal, "/clear", "A new conversation begins. This conversation works on the project's plan")
        say(terminal, "Go on", "Second.")
        terminal.type(CTRL_D)
        answer = terminal.end()

    assert answer.code == 0
    asked = json.dumps(server.requests[2].messages)
    assert "Remember this" not in asked
    assert "Two" in asked


def test_a_conversation_is_replaced_by_a_summary(person: Person) -> None:
    script: tuple[Turn, ...] = (
        WRITE,
        {"text": "First."},
        {"error": 400, "message": "no summary today"},
        {"text": "They want tabs."},
        {"text": "Third."},
    )
    with ModelServer(*script) as server:
        terminal = conversation(person, server, "--max-nudges", "0")
        say(terminal, "/compact", "There is nothing to compact")
        say(terminal, "Use tabs", "limit reached")
        say(terminal, "/compact", "Nothing was compacted: 400")
        say(terminal, "/compact", "The conversation is replaced by a summary of it")
        say(terminal, "Go on", "Third.")
        terminal.type(CTRL_D)
        answer = terminal.end()

    summarised, after = server.requests[3], json.dumps(server.requests[4].messages)
    assert "Summarise the conversation so far." in str(summarised.messages[-1])
    assert "tools" not in summarised.body
    assert "They want tabs." in after
    assert "- [ ] One" in after
    assert "Use tabs" not in after
    assert answer.code in {0, 1}


def test_a_summary_can_be_interrupted(person: Person) -> None:
    with ModelServer({"text": "First."}, {"text": "Never finished", "hold": 1}, {"text": "Third."}) as server:
        terminal = conversation(person, server)
        say(terminal, "Use tabs", "First.")
        terminal.until_after("First.", "> ")
        terminal.type(b"/compact\r")
        assert server.held.wait(30)
        terminal.type(b"\x03")
        terminal.until("Nothing was compacted: it was interrupted")
        say(terminal, "Go on", "Third.")
        terminal.type(CTRL_D)
        answer = terminal.end()

    assert answer.code == 0
    assert "Use tabs" in json.dumps(server.requests[2].messages)
    assert "To go on: tildone run --continue" in screen(answer.out)


def test_the_shell_driver_has_nothing_to_compact(person: Person) -> None:
    (person.folder / "plan.md").write_text("- [ ] Wait: `cat gate`\n", encoding="utf-8")
    os.mkfifo(person.folder / "gate")
    terminal = at_terminal(person, "plan.md", "--allow", "*")
    terminal.until("Bash: cat gate")
    say(terminal, "/compact", "There is nothing to compact: the shell driver reads the plan")
    with (person.folder / "gate").open("wb"):
        pass

    assert terminal.end().code == 0


def test_rpc_clients_see_the_commands(person: Person) -> None:
    with ModelServer() as server:
        given = '{"type": "get_commands"}\n{"type": "prompt", "message": "/model"}\n'
        answer = person.run("run", "--model", CHAT, "--mode", "rpc", given=given, **provider_environment(server))

    records = [json.loads(line) for line in answer.out.splitlines()]
    [listed] = [record["data"]["commands"] for record in records if record.get("command") == "get_commands"]
    assert [command["name"] for command in listed] == COMMANDS
    assert any(
        "openai-chat:scripted" in record.get("message", "") for record in records if record.get("method") == "notify"
    )


WORDS = {
    "": [],
    "done 3": ["done", "3"],
    "add Buy milk": ["add", "Buy milk"],
    'add "Buy milk" "Call the bank"': ["add", "Buy milk", "Call the bank"],
    "add --phase Shop Milk": ["add", "--phase", "Shop", "Milk"],
    "note 3 don't": ["note", "3", "don't"],
    "add don't": ["add", "don't"],
}


def test_words_of_a_command() -> None:
    assert {typed: split_words(typed) for typed in WORDS} == WORDS
