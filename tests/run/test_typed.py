"""What the person does beside the model in plain lines: own commands, copying, and reading the history."""

import base64
import os
import re

import pytest

from tests.cli.person import CTRL_C, Person
from tests.host.models.model_server import ModelServer, Turn
from tests.run.run_workspace import write_plan
from tests.run.screens import at_terminal, model_at_terminal, screen
from tests.run.test_terminal import CTRL_D, conversation
from tests.suite.waiting import until
from tildone.run.tools.typed import NO_COMMAND

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")

DONE: Turn = {"text": "Done.", "repeat": True}
GATED = "touch begun; until [ -e go ]; do sleep 0.05; done"


def asked(server: ModelServer) -> str:
    return str(server.requests[-1].messages)


def test_a_command_runs_without_a_question_and_the_model_reads_it(person: Person) -> None:
    """All of its output is shown."""
    with conversation(person, DONE) as (server, terminal):
        terminal.say("!seq 12; exit 3", "Exit code 3")
        terminal.until_after("Exit code 3", "> ")
        terminal.say("!!echo hid; echo den", "hid\r\n")
        terminal.until_after("hid\r\n", "> ")
        terminal.say(r"\!important", "Done.")
        terminal.until_after("Done.", "> ")
        answer = terminal.end(CTRL_D)

    assert "I ran a command in the shell: seq 12; exit 3" in asked(server)
    assert "den" not in asked(server)
    assert "❯ !important" in answer.out
    shown = screen(answer.out)
    assert shown[shown.index("! seq 12; exit 3") :][1:4] == ["✗ Exit code 3", "  1", "  2"]
    assert not [line for line in shown if "more lines" in line]
    assert "!! echo hid; echo den" in shown, shown


def test_ctrl_c_stops_the_command_only_and_one_of_several_lines_waits_for_its_end(person: Person) -> None:
    with conversation(person, DONE) as (server, terminal):
        terminal.say(f"!for i in 1; do \\\n{GATED}; done", "! for i in 1")
        until((person.folder / "begun").exists)
        terminal.say("!echo second", "A command is still running")
        terminal.type(CTRL_C)
        terminal.until_after("still running", "Aborted")
        terminal.say("Go", "Done.")
        answer = terminal.end(CTRL_D)

    assert answer.code == 0
    assert "It was cancelled." in asked(server)


def test_lines_that_were_pasted_and_an_empty_command_are_not_run(person: Person) -> None:
    with conversation(person, DONE) as (server, terminal):
        terminal.say("!touch one\n!touch two", "Several lines that begin with ! are not run")
        terminal.say("!", NO_COMMAND[:40])
        terminal.say("text\n!touch three", "Done.")
        terminal.end(CTRL_D)

    assert "touch three" in asked(server)
    assert not {"one", "two", "three"} & set(os.listdir(person.folder))


def test_a_run_that_ends_by_itself_waits_for_the_command_and_leaving_ends_it(person: Person) -> None:
    name = write_plan(person, "- [ ] One: `until [ -e first ]; do sleep 0.05; done`\n")
    terminal = at_terminal(person, name, "--allow", "*", "--session", "s")
    terminal.until("Bash: ")
    terminal.say(f"!{GATED}; echo o''ver", "! touch begun")
    until((person.folder / "begun").exists)
    (person.folder / "first").touch()
    terminal.until("The task is done.")
    (person.folder / "go").touch()
    answer = terminal.end()

    assert answer.code == 0
    assert answer.out.index("The task is done.") < answer.out.index("  over")

    with conversation(person) as (_, terminal):
        terminal.say("!sh -c 'echo $$ > pid; sleep 600'", "! sh -c")
        until(lambda: (person.folder / "pid").exists() and (person.folder / "pid").read_text())
        terminal.end(CTRL_D)

    with pytest.raises(ProcessLookupError):
        os.kill(int((person.folder / "pid").read_text()), 0)


def test_the_last_answer_is_copied_by_the_terminal_and_the_history_printed(person: Person) -> None:
    with conversation(person, {"text": "The answer."}) as (_, terminal):
        terminal.say("/copy", "There is no answer to copy")
        terminal.say("Go", "The answer.")
        terminal.until_after("The answer.", "> ")
        terminal.say("/copy", "Copied, if the terminal allows it")
        terminal.say("/todo add Buy milk", "0 of 1 closed")
        terminal.say("/log", "added #1 “Buy milk”")
        answer = terminal.end(CTRL_D)

    sent = re.findall(r"\x1b]52;c;(.*?)\x07", answer.out)
    assert [base64.b64decode(text).decode() for text in sent] == ["The answer."]


@pytest.mark.parametrize(("tool", "words"), [(True, "Copied 1 line"), (False, "No clipboard can be reached from here")])
def test_a_terminal_that_draws_nothing_is_not_asked_to_copy(person: Person, tool: bool, words: str) -> None:  # noqa: FBT001  a parameter of the test
    program = person.folder / "pbcopy"
    program.write_text(f"#!/bin/sh\ncat > {person.folder}/copied\n", encoding="utf-8")
    program.chmod(0o755)
    environ = {"PATH": f"{person.folder}:{os.environ['PATH']}"} if tool else {}
    with model_at_terminal(person, {"text": "The answer."}, argv=(), TERM="dumb", **environ) as (_, terminal):
        terminal.until("say what is to be done")
        terminal.say("Go", "The answer.")
        terminal.until_after("The answer.", "> ")
        terminal.say("/copy", words)
        answer = terminal.end(CTRL_D)

    assert "\x1b]52" not in answer.out
    assert (person.folder / "copied").exists() == tool
