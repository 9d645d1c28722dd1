"""Calls at a terminal: the fixed line while one runs, and the key that expands results."""

import os

import pytest

from tests.cli.person import Person, Terminal
from tests.host.models.model_server import ModelServer, Turn
from tests.run.run_workspace import ALLOW_ALL, CHAT, WRITE, provider_environment, write_plan
from tests.run.screens import at_terminal, screen

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")

CTRL_D, CTRL_O = b"\x04", b"\x0f"
EXPANDED, COLLAPSED = (f"Results are shown {how} from now on" for how in ("expanded", "collapsed"))
RUNNING = "  Bash: running... | ctrl+o to show its output"

HOLD = "printf '%s' ear ly; echo; touch ready; cat gate; printf '%s' la te; echo"
"""Prints `early`, then waits. The command line itself, which is on the screen, contains neither word."""

COUNT: Turn = {"tool": "bash", "args": {"command": "seq 20"}}
DONE: Turn = {"text": "All of it.", "ends": "stop"}


def conversation(person: Person, server: ModelServer, *argv: str) -> Terminal:
    """Open a conversation in which the model works through its turns, and wait until it has."""
    terminal = at_terminal(person, "--model", CHAT, *ALLOW_ALL, *argv, **provider_environment(server))
    terminal.until("say what is to be done")
    terminal.type(b"Go\r")
    terminal.until("All of it.")
    return terminal


def frames(out: str) -> list[list[str]]:
    """Return every screen that was drawn."""
    parts = out.split("\x1b[?25l")
    return [screen("".join(parts[: count + 1])) for count in range(len(parts))]


def test_a_running_command_has_a_fixed_line_and_its_output_is_not_echoed(person: Person) -> None:
    os.mkfifo(person.folder / "gate")
    terminal = at_terminal(person, write_plan(person, f"- [ ] Wait: `{HOLD}`\n"), *ALLOW_ALL)

    terminal.until(RUNNING)
    terminal.until("running · 2 s")
    with (person.folder / "gate").open("wb"):
        pass
    answer = terminal.end()

    running = [shown for shown in frames(answer.out) if RUNNING in shown]
    assert answer.code == 0
    assert running
    assert not any("early" in line for shown in running for line in shown)
    assert "  late" in screen(answer.out)


def test_the_key_shows_the_output_of_a_running_command(person: Person) -> None:
    os.mkfifo(person.folder / "gate")
    terminal = at_terminal(person, write_plan(person, f"- [ ] Wait: `{HOLD}`\n"), *ALLOW_ALL)

    terminal.until(RUNNING)
    terminal.type(CTRL_O)
    terminal.until("  early")
    with (person.folder / "gate").open("wb"):
        pass
    answer = terminal.end()

    assert ["  Bash: running...", "  early"] in [
        shown[at : at + 2] for shown in frames(answer.out) for at in range(len(shown))
    ]


def test_the_key_writes_the_newest_collapsed_result_again_in_full(person: Person) -> None:
    with ModelServer(COUNT, {"tool": "bash", "args": {"command": "true"}}, DONE) as server:
        terminal = conversation(person, server)
        terminal.type(CTRL_O)
        terminal.until("  20\r\n")
        terminal.until_after(EXPANDED, "took")
        terminal.type(CTRL_D)
        answer = terminal.end()

    shown = screen(answer.out)
    at = shown.index(EXPANDED)
    assert "  12" not in shown[:at]
    assert any(line.endswith("12 more lines | ctrl+o to expand") for line in shown[:at])
    assert shown[at + 1 : at + 23] == ["Bash: seq 20", "  Done: 20 lines", *(f"  {number}" for number in range(1, 21))]


def test_results_stay_expanded_until_the_key_is_pressed_again(person: Person) -> None:
    with ModelServer(COUNT, DONE, COUNT, {"text": "Once more."}, COUNT, {"text": "The last."}) as server:
        terminal = conversation(person, server)
        terminal.type(CTRL_O)
        terminal.until(EXPANDED)
        terminal.type(b"More\r")
        terminal.until("Once more.")
        terminal.type(CTRL_O)
        terminal.until(COLLAPSED)
        terminal.type(b"And more\r")
        terminal.until("The last.")
        terminal.type(CTRL_D)
        answer = terminal.end()

    shown = screen(answer.out)
    more, collapsed = shown.index("❯ More"), shown.index(COLLAPSED)
    assert "  1" in shown[more:collapsed]
    assert "  1" not in shown[collapsed:]
    assert any("ctrl+o to expand" in line for line in shown[collapsed:])
    assert not any("ctrl+o to expand" in line for line in shown[more:collapsed])


def test_the_key_shows_every_task_of_a_tree_that_was_cut(person: Person) -> None:
    items = [f"Task {number}" for number in range(1, 11)]
    init: Turn = {"tool": "todo_write", "args": {"ops": [{"op": "init", "list": [{"phase": "A", "items": items}]}]}}
    done: Turn = {"tool": "todo_write", "args": {"ops": [{"op": "drop", "phase": "A"}]}}
    with ModelServer(init, {"text": "Wait", "hold": 1}, done, DONE) as server:
        terminal = at_terminal(person, "Go", "--model", CHAT, "--dialect", "phased", **provider_environment(server))
        terminal.until("… 2 more todos")
        assert server.held.wait(30)
        terminal.type(CTRL_O)
        terminal.until("Task 10")
        server.release()
        answer = terminal.end()

    shown = screen(answer.out)
    tree = shown[shown.index(EXPANDED) + 1 :]
    assert "Task 10" not in answer.out.partition(EXPANDED)[0]
    assert tree[0] == "✔ Todo Write init · 10 tasks"
    assert [line.partition("☐ ")[2] for line in tree[1:11]] == items


def test_the_key_neither_answers_a_question_nor_stops_a_countdown(person: Person) -> None:
    complete: Turn = {"tool": "edit_todos", "args": {"action": "complete", "indices": [0, 1]}}
    asks: Turn = {"tool": "bash", "args": {"command": "touch made"}}
    with ModelServer(WRITE, {"text": "I stop."}, asks, complete, {"text": "Done."}) as server:
        countdown = {"TILDONE_COUNTDOWN": "1"}
        terminal = at_terminal(person, "Go", "--model", CHAT, **countdown, **provider_environment(server))
        terminal.until("Auto-continuing in 1s")
        terminal.type(CTRL_O)
        terminal.until("  y  once")
        terminal.type(CTRL_O)
        terminal.until(COLLAPSED)
        terminal.type(b"y")
        answer = terminal.end()

    assert answer.code == 0
    assert (person.folder / "made").exists()


def test_the_system_leaves_the_key_to_the_program(person: Person) -> None:
    """Where IEXTEN is set, macOS takes Ctrl-O for itself."""
    import termios  # noqa: PLC0415  not available on Windows

    terminal = at_terminal(person, "--model", CHAT, OPENAI_API_KEY="none")
    terminal.until("say what is to be done")
    local_modes = termios.tcgetattr(terminal.fd)[3]
    terminal.type(CTRL_D)

    assert terminal.end().code == 0
    assert not local_modes & termios.IEXTEN
    assert local_modes & termios.ISIG


def test_help_names_the_key(person: Person) -> None:
    terminal = at_terminal(person, "--model", CHAT, OPENAI_API_KEY="none")
    terminal.until("say what is to be done")
    terminal.type(b"/help\r")
    terminal.until("ctrl+o  ")
    terminal.type(CTRL_D)

    assert terminal.end().code == 0


def test_print_mode_offers_no_key(person: Person) -> None:
    answer = at_terminal(person, write_plan(person, "- [ ] A: `seq 20`\n"), *ALLOW_ALL, "--mode", "print").end()

    assert answer.code == 0
    assert "12 more lines" in answer.out
    assert "ctrl+o" not in answer.out
