"""Runs at a terminal, and the screen that a person sees there."""

import re
import threading

from tests.cli.person import Person, Terminal

ARMED = "  y  once"
"""A permission question shows its keys when they count."""


def screen(shown: str, rows: int = 200, columns: int = 80) -> list[str]:
    """Return the final screen of a terminal that received this output; only the used sequences are emulated."""
    lines, row, column = [""], 0, 0
    for part in re.findall(r"\x1b\[[0-?]*[ -/]*[@-~]|\r|\n|[^\x1b\r\n]+", shown):
        if part == "\r":
            column = 0
        elif part == "\n":
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        elif part.startswith("\x1b["):
            count, kind = int(re.sub(r"\D", "", part[2:-1]) or 1), part[-1]
            row = max(row - count, 0) if kind == "A" else row
            column = column + count if kind == "C" else column
            if kind == "J":
                lines[row:] = [lines[row][:column]]
        else:
            line = lines[row].ljust(column)
            lines[row] = line[:column] + part + line[column + len(part) :]
            column += len(part)
    assert len(lines) <= rows
    assert max(map(len, lines)) <= columns
    return lines


def at_terminal(person: Person, *argv: str, **environ: str) -> Terminal:
    """Start a run at a terminal, in lines, with the default countdown; a program that does not end is killed."""
    terminal = person.at_terminal("run", "--plain", *argv, **{"TILDONE_COUNTDOWN": "3", **environ})
    watchdog = threading.Timer(60, terminal.process.kill)
    watchdog.daemon = True
    watchdog.start()
    return terminal
