"""`tildone watch` as a person starts it: in a real terminal, from the first screen until it is left."""

import os
import re
import threading
from pathlib import Path

import pytest

from tests.cli.person import Person, Terminal

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")

LEAVES_FULL_SCREEN = "\x1b[?1049l"
CPU_SHARE = 0.25


@pytest.fixture
def person(tmp_path: Path) -> Person:
    """A person with a plan of two tasks."""
    folder, home = tmp_path / "work", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    found = Person(folder, home)
    found.says("todo", "add", "Write the parser", "Test it", "--session", "grammar")
    return found


def at_terminal(person: Person, *argv: str, **environ: str) -> Terminal:
    """Start the screen; a program that does not end is killed."""
    terminal = person.at_terminal("watch", *argv, **environ)
    watchdog = threading.Timer(60, terminal.process.kill)
    watchdog.daemon = True
    watchdog.start()
    return terminal


def test_from_the_list_to_a_plan_an_edit_and_out(person: Person) -> None:
    terminal = at_terminal(person)
    terminal.until("1 in all")
    terminal.until("next: Write the parser")
    terminal.type(b"\r")
    terminal.until("space")
    terminal.until("Test it")
    terminal.type(b" ")
    terminal.until("Done: #1 Write the parser")
    person.says("todo", "add", "From elsewhere", "--session", "grammar")
    terminal.until("From elsewhere")
    terminal.type(b"q")
    answer = terminal.end()

    assert answer.code == 0
    assert LEAVES_FULL_SCREEN in answer.out
    assert "✓ #1 Write the parser" in person.says("todo", "--session", "grammar")


def test_a_named_session_is_opened_by_the_beginning_of_its_name(person: Person) -> None:
    terminal = at_terminal(person, "gram", "--theme", "light")
    terminal.until("Write the parser")
    terminal.until("at work")
    terminal.type(b"\x03")

    assert terminal.end().code == 0


COLORS = re.compile(r"\x1b\[(?:[\d;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[\d;]*)?m")


def test_without_colours_the_cursor_and_the_states_are_still_shown(person: Person) -> None:
    terminal = at_terminal(person, "--theme", "light", NO_COLOR="1")
    terminal.until("▎")
    terminal.until("idle")
    terminal.type(b"q")
    drawn = terminal.end().out

    assert not COLORS.search(drawn)
    assert "\x1b[1" in drawn


def test_the_terminals_own_colours_are_used_where_others_are_not_known(person: Person) -> None:
    terminal = at_terminal(person, TERM="xterm-256color", COLORTERM="")
    terminal.until("idle")
    terminal.type(b"q")
    drawn = terminal.end().out

    assert COLORS.search(drawn)
    assert "38;2;" not in drawn
    assert "48;" not in drawn


@pytest.mark.slow
def test_an_idle_screen_takes_next_to_no_processor_time(person: Person) -> None:
    """Of ten redraws of the ages, two seconds of polling and the start, the polling must not keep a processor busy."""
    if not os.path.isdir("/proc"):
        pytest.skip("needs /proc")
    terminal = at_terminal(person)
    terminal.until("next: Write the parser")
    before = processor_seconds(terminal.process.pid)
    threading.Event().wait(4)
    used = processor_seconds(terminal.process.pid) - before
    terminal.type(b"q")
    terminal.end()

    assert used < 4 * CPU_SHARE


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize(
    ("argv", "code", "message"),
    [
        (["nowhere"], 4, "there is no session 'nowhere'; to list them: tildone sessions"),
        (
            ["--theme", "drak"],
            2,
            'theme must be "dark", "light", "safe-dark", "safe-light" or "terminal", not \'drak\'',
        ),
    ],
)
def test_what_cannot_be_shown_is_said_in_one_line(person: Person, argv: list[str], code: int, message: str) -> None:
    answer = at_terminal(person, *argv).end()

    assert (answer.code, answer.out) == (code, f"tildone: {message}\n")


def test_without_a_terminal_it_names_other_commands(person: Person) -> None:
    answer = person.run("watch")

    assert (answer.code, answer.out) == (2, "")
    assert answer.err == "tildone: watch needs a terminal; elsewhere use: tildone status, tildone todo, tildone log\n"


def test_without_the_extra_it_says_how_to_install_it(person: Person, tmp_path: Path) -> None:
    """A package that cannot be imported stands in for one that is not installed."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "textual.py").write_text("raise ModuleNotFoundError(name='textual')\n", encoding="utf-8")

    answer = at_terminal(person, PYTHONPATH=str(hidden)).end()

    assert answer.code == 2
    assert answer.out.startswith("tildone: watch needs the package textual: ")
    assert answer.out.count("\n") == 1
