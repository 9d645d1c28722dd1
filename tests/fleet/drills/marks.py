"""What the processes of a drill do as their environment says: note what happens in a file, and have a wrong clock.

Agents note when a command begins, goes on and ends, and when its task is done.
A mark is a line `WHAT SECONDS RUN TASK EPOCH`; the seconds are those since the machine was started. Lines are appended
in one write each, so their order is that of the events. `tick` marks are made by the commands themselves: they show a
command that runs on although its agent has lost its lease.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from tildone.plan.runs import RunFence

VARIABLE = "MARKS"
CLOCK = "DRILL_CLOCK"
"""The environment variable with the seconds by which the clock of a process is fast."""

GATE = ".gate"
STEP = 0.1


@dataclass(frozen=True, slots=True)
class Mark:
    """A line of the file."""

    what: str
    at: float
    run: str
    task: int
    epoch: int


def note(what: str, fence: RunFence, task: int) -> None:
    """Add a mark to the file that the environment names."""
    line = f"{what} {time.clock_gettime(time.CLOCK_BOOTTIME):.3f} {fence.run} {task} {fence.epoch}\n"
    with open(os.environ[VARIABLE], "a", encoding="utf-8") as file:
        file.write(line)


def ticking(seconds: float) -> str:
    """Return a shell command that takes so long while it is not frozen, and adds a mark at each step of it.

    It waits first until the gate is open, so that all commands have begun when something happens to them.
    """
    line = '"tick $up $RUN $TASK $EPOCH"'
    return (
        f'until [ -e "${VARIABLE}{GATE}" ]; do sleep {STEP}; done; '
        f"i=0; while [ $i -lt {round(seconds / STEP)} ]; do "
        f'read up _ < /proc/uptime; echo {line} >> "${VARIABLE}"; sleep {STEP}; i=$((i+1)); done'
    )


def read_marks(path: Path) -> list[Mark]:
    """Return the marks of a file, in their order."""
    return [Mark(what, float(at), run, int(task), int(epoch)) for what, at, run, task, epoch in read_words(path)]


def read_words(path: Path) -> list[list[str]]:
    """Return the words of each line; a line that is being written is left out."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [line.split() for line in text[: text.rfind("\n") + 1].splitlines()]


def shift_clock() -> None:
    """Make the wall clock of this process fast, as its environment says."""
    seconds = float(os.environ.get(CLOCK, "0"))
    if seconds:
        now, now_ns = time.time, time.time_ns
        time.time = lambda: now() + seconds
        time.time_ns = lambda: now_ns() + int(seconds * 1e9)
