"""Permission questions at a plain terminal: the answers, what they cover, and lines that must not answer."""

import os
from dataclasses import replace

import pytest

from tests.cli.person import CTRL_C, Person, Terminal
from tests.host.models.model_server import ModelServer, Turn
from tests.run.run_workspace import CHAT, provider_environment, statuses, write_plan
from tests.run.screens import ASKED, at_terminal, screen

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")

DONE: Turn = {"text": "Done.", "repeat": True}


def command(line: str) -> Turn:
    return {"tool": "bash", "args": {"command": line}}


def write(path: str, content: str) -> Turn:
    return {"tool": "write", "args": {"path": path, "content": content}}


def asked(terminal: Terminal, words: str) -> None:
    """Wait until a question with these words takes an answer."""
    terminal.until(words)
    terminal.until_after(words, ASKED)


def test_a_letter_and_enter_answer(person: Person) -> None:
    """Enter alone, several lines and other words do not."""
    name = write_plan(person, "- [ ] One: `echo 1`\n- [ ] Two: `pwd -P`\n- [ ] Again: `pwd -L`\n- [ ] No: `echo 3`\n")
    terminal = at_terminal(person, name, "--session", "s")

    asked(terminal, "  echo 1\r\n")
    terminal.type(b"\r")
    terminal.type(b"sure\r")
    terminal.until("That is no answer. Type one of y a p n r ? and Enter")
    terminal.type(b"y\r")
    asked(terminal, "  pwd -P\r\n")
    terminal.type(b"a\ry\r")
    terminal.until_after("pwd -P", "That is no answer.")
    terminal.type(b"a\r")
    asked(terminal, "  echo 3\r\n")
    terminal.type(b"n\r")
    answer = terminal.end()

    assert answer.code == 1
    assert "  a  always in this conversation: pwd *" in answer.out
    assert "✗ #4 No failed: Denied by the person who was asked: echo 3" in screen(answer.out)
    assert statuses(person, "s") == "✓✓✓●"


def test_a_dangerous_command_needs_capital_letters_and_says_why(person: Person) -> None:
    (person.folder / "build").mkdir()
    with ModelServer(command("rm -r build"), DONE) as server:
        terminal = at_terminal(person, "Go", "--model", CHAT, **provider_environment(server))
        asked(terminal, "Careful: it deletes files.")
        terminal.type(b"?\r")
        terminal.until("Y  allows this one call.")
        terminal.type(b"y\r")
        asked(terminal, "That is no answer.")
        assert (person.folder / "build").exists()
        terminal.type(b"Y\r")
        answer = terminal.end()

    assert answer.code == 0
    assert not (person.folder / "build").exists()


def test_a_no_can_have_a_reason(person: Person) -> None:
    with ModelServer(command("ls"), DONE) as server:
        terminal = at_terminal(person, "Go", "--model", CHAT, **provider_environment(server))
        asked(terminal, "  ls")
        terminal.type(b"r\r")
        terminal.until("Why not?")
        terminal.type("Use fd, naïve\r".encode())
        answer = terminal.end()

    assert answer.code == 0
    assert "asked: ls\\nTheir reason: Use fd, naïve" in str(server.requests[1].messages[-1])


def test_ctrl_c_refuses_and_stops_the_turn(person: Person) -> None:
    with ModelServer(command("touch made"), DONE) as server:
        terminal = at_terminal(person, "Go", "--model", CHAT, **provider_environment(server))
        asked(terminal, "  touch made")
        terminal.type(CTRL_C)
        answer = terminal.end()

    assert answer.code == 130
    assert not (person.folder / "made").exists()
    assert len(server.requests) == 1


def test_what_was_typed_before_a_question_does_not_answer_it(person: Person) -> None:
    """It is discarded, so that the Enter that was meant to send it allows nothing."""
    with ModelServer({**command("touch made"), "hold": 1}, DONE) as server:
        terminal = at_terminal(person, "Go", "--model", CHAT, **provider_environment(server))
        assert server.held.wait(30)
        terminal.type(b"y")
        server.release()
        asked(terminal, "  touch made")
        terminal.type(b"\r")
        terminal.type(b"no\r")
        terminal.until("That is no answer.")
        assert not (person.folder / "made").exists()
        terminal.type(b"y\r")
        answer = terminal.end()

    assert answer.code == 0
    assert (person.folder / "made").exists()


def test_a_long_command_is_shown_whole(person: Person) -> None:
    words = [f"word{number:03}" for number in range(120)]
    with ModelServer(command(f"echo {' '.join(words)}\x1b[2J"), DONE) as server:
        narrow = replace(person, columns=40)
        terminal = at_terminal(narrow, "Go", "--model", CHAT, **provider_environment(server))
        terminal.until(ASKED)
        terminal.type(b"n\r")
        answer = terminal.end()

    shown = " ".join(screen(answer.out, columns=40))
    assert all(word in shown for word in words)


def test_a_change_is_shown_as_a_diff_before_it_is_written(person: Person) -> None:
    (person.folder / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    edit: Turn = {"tool": "edit", "args": {"path": "a.txt", "old_text": "two", "new_text": "zwei"}}
    script = (edit, write("new/b.txt", "hello\n"), write("c.txt", "x\n"), write("d.txt", "x\n"), DONE)
    with ModelServer(*script) as server:
        terminal = at_terminal(person, "Go", "--model", CHAT, **provider_environment(server))
        asked(terminal, "? Change a.txt?  +1 −1")
        assert (person.folder / "a.txt").read_text(encoding="utf-8") == "one\ntwo\n"
        terminal.type(b"y\r")
        asked(terminal, "? Create new/b.txt?  +1 −0")
        terminal.type(b"n\r")
        asked(terminal, "? Create c.txt?")
        terminal.type(b"a\r")
        answer = terminal.end()

    assert answer.code == 0
    assert "  @@ -1,2 +1,2 @@\n   one\n  -two\n  +zwei\n" in answer.out
    assert "  a  always in this conversation: every file in this folder and below" in answer.out
    assert sorted(path.name for path in person.folder.glob("*.txt")) == ["a.txt", "c.txt", "d.txt"]
    assert (person.folder / "a.txt").read_text(encoding="utf-8") == "one\nzwei\n"
    assert not (person.folder / "new").exists()


def test_without_a_terminal_a_change_needs_a_pattern(person: Person) -> None:
    script = (write("src/a.py", "x\n"), write("b.py", "x\n"), DONE)
    with ModelServer(*script) as server:
        arguments = ("run", "Go", "--model", CHAT, "--allow", "*", "--allow-write", "src")
        answer = person.run(*arguments, **provider_environment(server))

    assert answer.code == 0
    assert (person.folder / "src/a.py").exists()
    assert not (person.folder / "b.py").exists()
    assert "Not allowed: changing b.py\n  Start with --allow-write b.py to allow it" in answer.out


def test_the_commands_of_the_plan_are_listed_before_they_are_allowed(person: Person) -> None:
    plan: Turn = {
        "tool": "write_todos",
        "args": {"mode": "replace", "todos": [{"text": "First `touch 1`"}, {"text": "Then `touch 2`"}]},
    }
    complete: Turn = {"tool": "edit_todos", "args": {"action": "complete", "indices": [0, 1]}}
    with ModelServer(plan, command("touch 1"), command("touch 2"), complete, DONE) as server:
        terminal = at_terminal(person, "Go", "--model", CHAT, **provider_environment(server))
        asked(terminal, "? Run this command?")
        terminal.type(b"p\r")
        terminal.until("p  again: allow exactly the 2 commands listed above")
        terminal.type(b"p\r")
        answer = terminal.end()

    assert answer.code == 0
    assert "Commands in the open tasks of the plan:\n  touch 1\n  touch 2\n" in answer.out
    assert {path.name for path in person.folder.iterdir()} >= {"1", "2"}
