"""A supervisor: an agent that is started and ends under one, against a Python process that does nothing."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.measure import Memory, Row, medians, resident_megabytes
from tildone.fleet.process_tree import boot_seconds
from tildone.fleet.supervision import AgentCommand, SupervisedAgent

BASE = "python -I -c pass"
AIM, MAX_MEGABYTES = 3.0, 12.0
NAMES = "supervisor: an agent started and ended", "supervisor: while its agent runs"
NOT_HERE = "supervisors are measured on Linux"
SECONDS = 600


def rows(folder: Path, rounds: int) -> Iterator[Row | Memory]:
    """The time of a short agent, and the memory of a supervisor."""
    if sys.platform != "linux":
        yield from (Row(name, BASE, AIM, skipped=NOT_HERE) for name in NAMES)
        return
    bare, supervised = medians([_bare, _supervised(folder)], rounds)
    yield Row(NAMES[0], BASE, AIM, supervised, bare)
    agent = _start(folder, "sleep", str(SECONDS))
    while not agent.pid:
        agent.wait(0.01)
    yield Memory(NAMES[1], resident_megabytes(agent.supervisor_pid), MAX_MEGABYTES)
    agent.stop()
    agent.wait()


def _bare() -> None:
    subprocess.run([sys.executable, "-I", "-c", "pass"], check=True)


def _supervised(folder: Path) -> Callable[[], object]:
    return lambda: _start(folder, "true").wait()


def _start(folder: Path, *arguments: str) -> SupervisedAgent:
    command = AgentCommand(arguments, str(folder), os.environ, "bench/0/1", str(folder / "supervisor-output"))
    return SupervisedAgent(command, boot_seconds() + SECONDS)
