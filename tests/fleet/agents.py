"""Agents for the tests of supervisors: real processes, and what is known of them from `/proc`."""

import os
import shlex
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from time import sleep
from typing import Any
from uuid import uuid4

from tests.suite.waiting import LIMIT_SECONDS, until
from tildone.fleet.process_tree import Containment, boot_seconds
from tildone.fleet.supervision import AgentCommand, AgentEnding, SupervisedAgent

FOREVER = 3600.0
"""The agents of tests would run for so many seconds."""

READINGS = 40
"""How often the environment of a process is read that has none: it may be about to execute a program."""

MEANS = (Containment.CGROUP, Containment.TREE, Containment.GROUP)


def is_running(pid: int) -> bool:
    """Return whether a process runs: a zombie that nobody has waited for does not."""
    return state(pid) not in ("", "Z", "X")


def state(pid: int) -> str:
    return _state_in(Path(f"/proc/{pid}/stat"))


def _state_in(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").rpartition(") ")[2][:1]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def stop(pid: int) -> None:
    """Stop a process with SIGSTOP, and wait until none of its threads runs: the signal takes effect later."""
    os.kill(pid, signal.SIGSTOP)
    until(lambda: all(_state_in(task / "stat") == "T" for task in Path(f"/proc/{pid}/task").iterdir()))


def stop_all(agents: Iterable[SupervisedAgent]) -> None:
    """End agents together."""
    stopping = list(agents)
    for agent in stopping:
        agent.stop()
    for agent in stopping:
        if agent.wait(LIMIT_SECONDS) is None:
            agent.kill()


def processes_of(lease: str) -> list[int]:
    """Return the processes with a lease in their environment, without those that have ended."""
    wanted = f"TILDONE_LEASE={lease}".encode()
    pids = map(int, filter(str.isdigit, os.listdir("/proc")))
    return [pid for pid in pids if wanted in variables_of(pid) and is_running(pid)]


def variables_of(pid: int) -> list[bytes]:
    """Return the environment of a process; empty if it has ended. While it executes a program, it is read again."""
    for _ in range(READINGS):
        try:
            content = Path(f"/proc/{pid}/environ").read_bytes()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            return []
        if content or not is_running(pid) or not os.path.exists(f"/proc/{pid}/exe"):
            return content.split(b"\0")
        sleep(0.005)
    return []


def new_lease() -> str:
    return f"{uuid4().hex}/0/1"


def python(script: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", script)


def sleeper(before: str = "") -> tuple[str, ...]:
    """A shell that does something first, and then waits until it is ended. It does not start another process."""
    return ("sh", "-c", f"{before}\nexec sleep {FOREVER:g}")


def command(folder: Path, arguments: tuple[str, ...], **other: Any) -> AgentCommand:
    """An agent in a folder, with a lease of its own and its output in the file `output`."""
    settings = {"grace": 0.2, "lease": new_lease(), "environ": dict(os.environ), **other}
    return AgentCommand(arguments, str(folder), output=str(folder / "output"), **settings)


def start(folder: Path, arguments: tuple[str, ...], **other: Any) -> SupervisedAgent:
    """Start an agent that may run for as long as it likes."""
    return SupervisedAgent(command(folder, arguments, **other), boot_seconds() + FOREVER)


def ending(agent: SupervisedAgent) -> AgentEnding:
    found = agent.wait(LIMIT_SECONDS)
    assert found is not None, "it did not end"
    return found


def started(agent: SupervisedAgent) -> int:
    """Wait until an agent has started, and return its process id."""
    return int(until(lambda: agent.pid))


def is_frozen(cgroup: str, pids: list[int]) -> bool:
    """Return whether the kernel has stopped these processes of an agent, which may have a control group."""
    if cgroup:
        return "frozen 1" in Path(cgroup, "cgroup.events").read_text(encoding="utf-8")
    return all(state(pid) == "T" for pid in pids)


def pid_in(path: Path) -> int:
    """Wait until a process has written its id to a file, and return it."""
    return int(until(lambda: path.exists() and path.read_text(encoding="utf-8").strip()))


def touch(path: Path) -> str:
    """A shell command that makes a file."""
    return f": > {shlex.quote(str(path))}"


def wait_for(path: Path) -> str:
    """A shell command that waits for a file."""
    return f"until [ -e {shlex.quote(str(path))} ]; do sleep 0.02; done"


def waiter(path: Path, code: int) -> tuple[str, ...]:
    """An agent that waits for a file, and then ends with an exit code. It starts no process.

    A shell may wait for a child that executes a program just now. If the child is stopped, it waits uninterruptibly
    and cannot be stopped itself.
    """
    return python(f"import os, sys, time\nwhile not os.path.exists({str(path)!r}): time.sleep(0.02)\nsys.exit({code})")
