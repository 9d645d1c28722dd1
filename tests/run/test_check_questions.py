"""A check that was only proposed, when a model calls its task done: the person is asked where somebody can be."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.person import Person
from tests.host.models.model_server import ModelServer, Turn
from tests.run.run_workspace import CHAT, provider_environment, statuses, write_plan
from tests.run.screens import ASKED, at_terminal
from tests.suite.forking import PROGRAM

needs_terminal = pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
QUESTION = "? Run this command as the check of task 1?"
DONE: Turn = {"tool": "todo", "args": {"done": 1}}
STOP: Turn = {"text": "I stop.", "repeat": True}
RUN = ("run", "Go", "--model", CHAT, "--dialect", "brief")


@pytest.fixture
def person(person: Person) -> Person:
    """Somebody whose plan came from a file that nobody has trusted."""
    person.environ["TILDONE_SESSION"] = "plan"
    person.says("todo", "import", write_plan(person, "- [ ] Make it\n  $ cp plan.md 'made here'\n"))
    return person


@pytest.fixture
def made(person: Person) -> Path:
    """What the check leaves."""
    return person.folder / "made here"


def proposed(person: Person) -> bool:
    return bool(person.run("approve", "--json").json["checks"])


@needs_terminal
@pytest.mark.parametrize(
    ("key", "runs", "stays_proposed"), [(b"y\r", True, True), (b"a\r", True, False), (b"n\r", False, True)]
)
def test_the_person_at_a_terminal_answers(
    person: Person, made: Path, key: bytes, *, runs: bool, stays_proposed: bool
) -> None:
    with ModelServer(DONE, STOP) as server:
        terminal = at_terminal(person, *RUN[1:], **provider_environment(server))
        terminal.until(QUESTION)
        terminal.until_after(QUESTION, ASKED)
        assert not made.exists()
        terminal.type(key)
        answer = terminal.end()

    assert "  cp plan.md 'made here'\n" in answer.out
    assert "  a  always in this project: exactly this check" in answer.out
    assert (made.exists(), statuses(person)) == (runs, "✓" if runs else "!")
    assert proposed(person) == stays_proposed
    assert ("waits for a person" in str(server.requests[1].messages[-1])) != runs


@needs_terminal
def test_once_is_for_once(person: Person, made: Path) -> None:
    """The next time that the same check is needed, the person is asked again."""
    task = "- [ ] {}\n  $ cp plan.md 'made here'\n"
    person.says("todo", "import", write_plan(person, task.format("Make it") + task.format("Make it again")))
    with ModelServer(DONE, {"tool": "todo", "args": {"done": 2}}, STOP) as server:
        terminal = at_terminal(person, *RUN[1:], **provider_environment(server))
        for key, question in ((b"y\r", QUESTION), (b"n\r", QUESTION.replace("1", "2"))):
            terminal.until(question)
            terminal.until_after(question, ASKED)
            terminal.type(key)
        terminal.end()

    assert (made.exists(), statuses(person)) == (True, "✓!")


@needs_terminal
def test_the_model_is_told_the_reason_of_a_no(person: Person, made: Path) -> None:
    with ModelServer(DONE, STOP) as server:
        terminal = at_terminal(person, *RUN[1:], **provider_environment(server))
        terminal.until(QUESTION)
        terminal.until_after(QUESTION, ASKED)
        terminal.type(b"r\r")
        terminal.until("Why not?")
        terminal.type(b"It copies\r")
        terminal.end()

    assert "Their reason: It copies" in str(server.requests[1].messages[-1])
    assert not made.exists()


@pytest.mark.parametrize("mode", ["print", "json"])
def test_nobody_is_asked_without_a_terminal(person: Person, made: Path, mode: str) -> None:
    with ModelServer(DONE, STOP) as server:
        answer = person.run(*RUN, "--mode", mode, **provider_environment(server))

    assert "as the check of" not in answer.out + answer.err
    assert "waits for a person to approve" in str(server.requests[1].messages[-1])
    assert (made.exists(), proposed(person)) == (False, True)


def test_a_client_is_asked(person: Person, made: Path) -> None:
    with ModelServer(DONE, STOP) as server:
        process = subprocess.Popen(
            [PROGRAM, "run", *RUN[2:], "--mode", "rpc"],
            cwd=person.folder,
            env=person.environment(provider_environment(server)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write('{"type": "prompt", "message": "Go"}\n')
        process.stdin.flush()
        questions = []
        for line in process.stdout:
            record = json.loads(line)
            if record.get("method") == "select":
                questions.append(record)
                answer = {"type": "extension_ui_response", "id": record["id"], "value": record["options"][1]}
                process.stdin.write(f"{json.dumps(answer)}\n")
                process.stdin.flush()
            if record["type"] == "agent_settled":
                process.stdin.close()
        assert process.wait(30) == 0
        process.stdout.close()

    [question] = questions
    assert question["title"] == f"{QUESTION.removeprefix('? ')}\ncp plan.md 'made here'"
    assert question["options"] == ["Allow once", "Always allow in this project: exactly this check", "Deny"]
    assert made.exists()
    assert not proposed(person)
