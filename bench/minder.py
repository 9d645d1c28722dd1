"""A minder: an agent that is started and ends under one, against a Python process that does nothing."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.measure import Memory, Row, medians
from tildone.fleet.minding import AgentCommand, MindedAgent
from tildone.fleet.processes import boot_seconds

BASE = "python -I -c pass"
AIM, MAX_MEGABYTES = 3.0, 12.0
NAMES = "minder: an agent started and ended", "minder: while its agent runs"
NOT_HERE = "minders are measured on Linux"
SECONDS = 600


def rows(folder: Path, rounds: int) -> Iterator[Row | Memory]:
    """The time of a short agent, and the memory of a minder."""
    if sys.platform != "linux":
        yield from (Row(name, BASE, AIM, skipped=NOT_HERE) for name in NAMES)
        return
    bare, minded = medians([_bare, _minded(folder)], rounds)
    yield Row(NAMES[0], BASE, AIM, minded, bare)
    agent = _start(folder, "sleep", str(SECONDS))
    while not agent.pid:
        agent.wait(0.01)
    yield Memory(NAMES[1], _resident_megabytes(agent.minder_pid), MAX_MEGABYTES)
    agent.stop()
    agent.wait()


def _bare() -> None:
    subprocess.run([sys.executable, "-I", "-c", "pass"], check=True)


def _minded(folder: Path) -> Callable[[], object]:
    return lambda: _start(folder, "true").wait()


def _start(folder: Path, *arguments: str) -> MindedAgent:
    command = AgentCommand(arguments, str(folder), os.environ, "bench/0/1", str(folder / "minder-output"))
    return MindedAgent(command, boot_seconds() + SECONDS)


def _resident_megabytes(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))
