"""Runs at a plain terminal, and what a person sees there."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.cli.person import Person, Terminal
from tests.host.models.model_server import ModelServer, Turn
from tests.run.run_workspace import CHAT, provider_environment

ASKED = "Answer: "
"""What a question ends with."""


def screen(shown: str, columns: int = 80) -> list[str]:
    """Return the lines of a terminal that received this. None is too wide, and nothing but text is written.

    The line about the library that is loaded is erased by what follows it.
    """
    lines = [line.rpartition("\r")[2] for line in shown.split("\n")]
    assert not {char for line in lines for char in line if ord(char) < 32}
    assert max(map(len, lines)) <= columns
    return lines


def at_terminal(person: Person, *argv: str, **environ: str) -> Terminal:
    """Start a run at a terminal, in lines, with the default countdown; a program that does not end is killed.

    Where nothing can be drawn, no option is needed for lines.
    """
    plain = () if environ.get("TERM") == "dumb" else ("--plain",)
    terminal = person.at_terminal("run", *plain, *argv, **{"TILDONE_COUNTDOWN": "3", **environ})
    watchdog = threading.Timer(60, terminal.process.kill)
    watchdog.daemon = True
    watchdog.start()
    return terminal


@contextmanager
def model_at_terminal(
    person: Person, *script: Turn, argv: tuple[str, ...] = ("Go",), **environ: str
) -> Iterator[tuple[ModelServer, Terminal]]:
    """Start a run of a model that answers from a script."""
    with ModelServer(*script) as server:
        yield server, at_terminal(person, *argv, "--model", CHAT, **provider_environment(server) | environ)
