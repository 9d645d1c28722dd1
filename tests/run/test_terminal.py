"""The terminal mode in plain lines: messages, interruptions and leaving."""

import os
import re
import signal
import time
from dataclasses import replace

import pytest

from tests.cli.person import CTRL_C, Person
from tests.host.models.model_server import ModelServer, Turn
from tests.rpc.client import EXTENSION
from tests.run.run_workspace import ALLOW_ALL, CHAT, WRITE, provider_environment, statuses, write_plan
from tests.run.screens import at_terminal, screen
from tests.suite.forking import starting
from tests.suite.waiting import until

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")

CTRL_D = b"\x04"
COUNTING = "Auto-continuing in 3s"
STOPS: Turn = {"text": "I stop here.", "repeat": True}


def processes(marker: str) -> list[int]:
    """Return the processes whose command line contains the marker."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                if marker.encode() in file.read():
                    found.append(int(name))
        except OSError:
            continue
    return found


def test_a_plan_is_worked_through_in_lines(person: Person) -> None:
    """Nothing is drawn: there is no control character in the output."""
    name = write_plan(person, "- [ ] Say hello: `echo hello`\n- [ ] Count: `echo 1; echo 2`\n")

    with starting():
        answer = at_terminal(person, name, *ALLOW_ALL, "--session", "s").end()

    assert answer.code == 0
    shown = screen(answer.out)
    assert [shown[-4], *shown[-2:]] == ["All 2 tasks are done.", "How it went: tildone log --session s", ""]
    assert re.fullmatch(r"Took \d+\.\d s", shown[-3])
    assert [line for line in shown if line.startswith("Bash: ")] == ["Bash: echo hello", "Bash: echo 1; echo 2"]


def test_ctrl_c_ends_a_command_and_its_processes(person: Person) -> None:
    marker = f"tildone-{os.getpid()}"
    forks = f"for i in 1 2; do (trap '' HUP; sleep 600; echo {marker}) & done; touch started; sleep 600; echo {marker}"
    name = write_plan(person, f"- [ ] Hang: `{forks}`\n- [ ] Never: `touch never`\n")
    terminal = at_terminal(person, name, *ALLOW_ALL, "--session", "s")
    until((person.folder / "started").exists)

    terminal.type(CTRL_C)
    answer = terminal.end()

    assert answer.code == 130
    assert processes(marker) == []
    assert "✗ Interrupted" in answer.out
    assert statuses(person, "s") == "●–"
    assert not (person.folder / "never").exists()


@pytest.mark.parametrize(
    ("mode", "number"),
    [*((mode, signal.SIGTERM) for mode in ("terminal", "print", "json", "rpc")), ("terminal", signal.SIGHUP)],
)
def test_a_terminated_program_leaves_no_process_running(person: Person, mode: str, number: int) -> None:
    """Commands have process sessions of their own, so the program must end them."""
    marker = f"tildone-{mode}-{number}-{os.getpid()}"
    name = write_plan(person, f"- [ ] Hang: `touch started; sleep 600; echo {marker}`\n")
    terminal = at_terminal(person, name, *ALLOW_ALL, "--mode", mode)
    if mode == "rpc":
        terminal.type(b'{"type": "prompt", "message": "Go"}\n')
    until((person.folder / "started").exists)

    terminal.process.send_signal(number)
    answer = terminal.end()

    assert answer.code == 128 + number
    assert processes(marker) == []


@pytest.mark.parametrize("options", [("--mode", "print"), ()], ids=["print", "full screen"])
def test_a_tool_that_does_not_stop_does_not_keep_the_program(person: Person, options: tuple[str, ...]) -> None:
    """One ignores the signal and its cancellation, the other is in a thread."""
    with ModelServer({"tools": [["stubborn", {}], ["threaded", {}]]}) as server:
        given = ("run", "Go", "--model", CHAT, "--extension", EXTENSION, *options)
        terminal = person.at_terminal(*given, **provider_environment(server))
        until((person.folder / "at_work").exists)
        terminal.process.send_signal(signal.SIGTERM)
        answer = terminal.end()

    assert answer.code == 128 + signal.SIGTERM


def test_a_line_interrupts_the_countdown_and_is_sent_instead(person: Person) -> None:
    with ModelServer(WRITE, {"text": "I stop here."}, {"text": "You spoke.", "ends": "stop"}) as server:
        terminal = at_terminal(person, "Go", "--model", CHAT, **provider_environment(server))
        terminal.until(COUNTING)
        terminal.type(b"Wait for me\r")
        terminal.until("You spoke.")
        terminal.until_after("You spoke.", COUNTING)
        terminal.type(CTRL_C)
        terminal.until_after(COUNTING, "> ")
        terminal.type(CTRL_D)
        answer = terminal.end()

    assert answer.code == 0
    assert len(server.requests) == 3
    said = [message for message in server.requests[-1].messages if message["role"] == "user"]
    assert any("Wait for me" in str(message["content"]) for message in said)
    assert "❯ Wait for me" in answer.out


def test_enter_alone_interrupts_the_countdown(person: Person) -> None:
    with ModelServer(WRITE, STOPS) as server:
        terminal = at_terminal(
            person, "Go", "--model", CHAT, **provider_environment(server) | {"TILDONE_COUNTDOWN": "600"}
        )
        terminal.until("Auto-continuing in 600s")
        terminal.type(b"\r")
        terminal.until_after("Auto-continuing", "\n> ")
        terminal.type(CTRL_D)
        answer = terminal.end()

    assert answer.code == 0
    assert len(server.requests) == 2


def test_ctrl_c_in_the_countdown_leaves_a_run_that_had_its_task(person: Person) -> None:
    with ModelServer(WRITE, STOPS) as server:
        terminal = at_terminal(person, "Go", "--model", CHAT, **provider_environment(server))
        terminal.until(COUNTING)
        terminal.type(CTRL_C)
        answer = terminal.end()

    assert answer.code == 130
    assert "To go on: tildone run --continue" in answer.out


def test_the_countdown_continues_the_agent_and_is_one_line(person: Person) -> None:
    complete: Turn = {"tool": "edit_todos", "args": {"action": "complete", "indices": [0, 1]}}
    with ModelServer(WRITE, {"text": "I stop here."}, complete, {"text": "Done."}) as server:
        answer = at_terminal(person, "Go", "--model", CHAT, **provider_environment(server)).end()

    assert answer.code == 0
    assert [second for second in "321" if f"Auto-continuing in {second}s" in answer.out] == ["3"]
    assert "edit_todos complete [0, 1]" in screen(answer.out)


def test_a_line_typed_during_a_turn_is_sent_before_the_next_request(person: Person) -> None:
    with ModelServer({"tool": "list_todos", "args": {}, "hold": 1}, {"text": "Heard."}) as server:
        terminal = at_terminal(person, "Go", "--model", CHAT, **provider_environment(server))
        assert server.held.wait(30)
        terminal.type("Use tabs, naïve one\r".encode())
        terminal.until("naïve one\r\n")
        time.sleep(0.2)
        server.release()
        answer = terminal.end()

    assert answer.code == 0
    assert "Use tabs, naïve one" in str(server.requests[1].messages[-1])


def test_ctrl_c_closes_a_request_that_hangs(person: Person) -> None:
    with ModelServer(WRITE, {"text": "Never finished", "hold": 2}, STOPS) as server:
        terminal = at_terminal(person, "Go", "--model", CHAT, **provider_environment(server))
        assert server.held.wait(30)
        terminal.type(CTRL_C)
        answer = terminal.end()

    assert answer.code == 130
    assert server.requests[1].left.wait(10)
    assert len(server.requests) == 2


@pytest.mark.parametrize("environ", [{}, {"TERM": "dumb"}], ids=["plain", "dumb"])
def test_without_a_task_the_person_types_prompts_until_they_leave(person: Person, environ: dict[str, str]) -> None:
    with ModelServer({"text": "First answer."}, {"text": "Second answer."}) as server:
        terminal = at_terminal(person, "--model", CHAT, **provider_environment(server), **environ)
        terminal.until("say what is to be done")
        terminal.until("\n> ")
        for typed, shown in [
            (b"/help\r", "/quit"),
            (b"/nonsense\r", "There is no command /nonsense"),
            (b"\r", "> \r\n"),
            (b"On\x1b[Ae\r", "First answer."),
        ]:
            terminal.type(typed)
            terminal.until(shown)
            terminal.until_after(shown, "> ")
        terminal.type("Twö \\\r".encode())
        terminal.until("\\\r\n")
        time.sleep(0.2)
        terminal.type(b"and more\r")
        terminal.until("Second answer.")
        terminal.type(CTRL_D)
        answer = terminal.end()

    assert answer.code == 0
    assert [str(asked.messages[-1]["content"]) for asked in server.requests] == ["One", "Twö \nand more"]


def test_lines_that_are_pasted_are_one_message(person: Person) -> None:
    """Also with the line ends of Windows."""
    with ModelServer({"text": "First answer."}) as server:
        terminal = at_terminal(person, "--model", CHAT, **provider_environment(server))
        terminal.until("\n> ")
        terminal.type(b"one\r\ntwo\nthree\r")
        terminal.until("First answer.")
        terminal.type(CTRL_D)
        terminal.end()

    [request] = server.requests
    assert str(request.messages[-1]["content"]).split() == ["one", "two", "three"]


def test_ctrl_c_at_the_prompt_leaves(person: Person) -> None:
    terminal = at_terminal(person, "--model", CHAT, OPENAI_API_KEY="none")
    terminal.until("say what is to be done")
    terminal.until("\n> ")
    terminal.type(CTRL_C)

    assert terminal.end().code == 130


def test_phases_have_their_tree_and_their_command(person: Person) -> None:
    init: Turn = {"tool": "todo_write", "args": {"ops": [{"op": "init", "list": [{"phase": "A", "items": ["One"]}]}]}}
    with ModelServer(init, {"tool": "todo_write", "args": {"ops": [{"op": "done"}]}}, {"text": "Done."}) as server:
        terminal = at_terminal(person, "--model", CHAT, "--dialect", "phased", **provider_environment(server))
        terminal.until("say what is to be done")
        terminal.type(b"Go\r")
        terminal.until("Done.")
        terminal.type(b"/todo append B Two\r")
        terminal.until("Added to the new phase B: Two")
        terminal.type(b"/quit\r")
        answer = terminal.end()

    assert answer.code == 0
    assert "☐ One" in answer.out


@pytest.mark.parametrize("columns", [12, 30])
def test_narrow_terminals_get_narrow_lines(person: Person, columns: int) -> None:
    name = write_plan(
        person, "- [ ] A task with a rather long text that goes on and on: `echo a long line of output, too`\n"
    )

    answer = at_terminal(replace(person, columns=columns), name, *ALLOW_ALL, "--session", "s").end()

    assert answer.code == 0
    screen(answer.out, columns=columns)


def test_print_mode_shows_progress_on_standard_error(person: Person) -> None:
    name = write_plan(person, "- [ ] A: `echo a`\n")

    answer = at_terminal(person, name, *ALLOW_ALL, "--mode", "print").end()

    assert answer.code == 0
    assert answer.out.startswith("tildone: allowed: --allow '*': every command\n")
    assert answer.out.endswith("\nTodo: done=1\n  ✓ #1 A: `echo a`\nThe task is done.\n")
    assert "Bash: echo a" in answer.out


def test_the_lines_of_a_streamed_answer_are_shown_once_and_early(person: Person) -> None:
    """What a model writes cannot control the terminal."""
    with ModelServer({"text": "First line.\nSecond\x1b[2J line.", "hold": 5}) as server:
        terminal = at_terminal(person, "Go", "--model", CHAT, **provider_environment(server))
        terminal.until("First line.")
        server.release()
        answer = terminal.end()

    shown = screen(answer.out)
    at = shown.index("❯ Go")
    assert shown[at : at + 3] == ["❯ Go", "First line.", "Second␛[2J line."]


def test_a_task_that_takes_several_rows_is_shown_completely(person: Person) -> None:
    name = write_plan(person, "- [ ] A task with a rather long text that has to be wrapped: `true`\n- [ ] B: `true`\n")

    answer = at_terminal(replace(person, columns=30), name, *ALLOW_ALL, "--session", "s").end()

    shown = "\n".join(screen(answer.out, columns=30))
    assert "  ✓ #1 A task with a rather\n  long text that has to be\n  wrapped: `true`\n  ● #2 B: `true`\n" in shown
