"""Process queries: the process of an agent, the start time of a process, and whether it is still running.

Theory of operation. A coding agent starts our hooks and our MCP server, and both must find its process. Other programs
may stand in between: a shell that the coding agent uses, a script that a person wrote, `uvx`, `timeout`. Going up from
our parent process, a process is passed over if

- its program is one of `WRAPPERS`: the file that it executes counts, because a script carries its own name; or
- it has our standard input and output: a coding agent gives its children pipes of their own, so whoever has the same
  ones has passed them on.

A program that reads and writes for us (a relay) has other pipes. It is passed over if its own input and output are
pipes, too, and the coding agent is found above it by name.

Every hook does this. Reading the links of a process takes microseconds, and its status or command line a hundred times
as long, so links decide as far as they can.

Without `/proc`, the agent's process is the parent process, because most shells replace themselves to run a single
command.
"""

from __future__ import annotations

import os
import sys

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_SHELLS = ("ash", "bash", "busybox", "dash", "fish", "ksh", "sh", "zsh")
WRAPPERS = frozenset(
    {"doas", "env", "ionice", "nice", "nohup", "setsid", "stdbuf", "sudo", "time", "timeout", "uv", "uvx", *_SHELLS}
)
"""Programs that start another program and are not the agent themselves."""

MAX_RELAYS = 4
STATE, PARENT, FLAGS, START_TIME, START_CODE, ENV_START, ENV_END = 0, 1, 6, 19, 23, 47, 48
"""Positions in `/proc/PID/stat` (proc(5)), counted after the command name."""

_STANDARD_STREAMS = ("0", "1")


def agent_process(hosts: Collection[str] = ()) -> int:
    """Return the process of the agent that started this one; 0 if it cannot be determined.

    `hosts` are the programs that the agent may be: they are recognised behind a relay.
    """
    if not os.path.exists("/proc/self/stat"):
        return os.getppid()
    own, nearest = _pipes("self"), 0
    for pid in _ancestors(os.getppid()):
        if _is_wrapper(pid):
            continue
        nearest = nearest or pid
        pipes = _pipes(pid)
        if not own or pipes != own:
            return (_host_behind_relays(pid, hosts) if pipes else 0) or pid
    return nearest


def processes_above() -> list[int]:
    """Return the processes that have started this one, the nearest first; none without `/proc`."""
    return list(_ancestors(os.getppid())) if os.path.exists("/proc/self/stat") else []


def began_with(pid: int, variables: Collection[str]) -> bool:
    """Return whether a process was started with one of these variables in its environment; False without `/proc`."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            settings = os.fsdecode(file.read()).split("\0")
    except OSError:
        return False
    return any(name in variables and text for name, _, text in (each.partition("=") for each in settings))


def start_time(pid: int) -> int:
    """Return when a process started, in clock ticks since boot; 0 if that cannot be determined."""
    fields = process_stat(pid)[1] if pid else []
    return int(fields[START_TIME]) if len(fields) > START_TIME else 0


def is_running(pid: int) -> bool:
    """Return whether a process with this id exists. Not for Windows, where signal 0 would interrupt the process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        # It exists and belongs to another user.
        return True
    return True


def has_ended(pid: int, started: int) -> bool:
    """Return whether a process of this machine has certainly ended; `started` is its start time, 0 if unknown.

    A process that has ended keeps its id until its parent asks for its exit code, which some never do.
    """
    if sys.platform == "win32":
        return False
    is_zombie = process_stat(pid)[1][STATE : STATE + 1] == [b"Z"]
    return is_zombie or not is_running(pid) or bool(started and start_time(pid) != started)


def runs_program(pid: int, names: Collection[str]) -> bool:
    """Return whether a process runs one of these programs or packages, itself or in an interpreter. Not for Windows."""
    if os.path.exists("/proc/self/stat"):
        return _is_host(pid, names)
    # Late, because it is slow to import and needed only without `/proc`.
    import subprocess  # noqa: PLC0415  see above

    command = ["ps", "-o", "args=", "-p", str(pid)]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  a number is its input
    words = [word for word in listed.stdout.split() if not word.startswith("-")]
    return not {os.path.splitext(os.path.basename(word))[0] for word in words[:2]}.isdisjoint(names)


def process_stat(pid: int) -> tuple[str, list[bytes]]:
    """Return the command name and the fields after it from `/proc/PID/stat`; empty if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            command, _, rest = file.read().partition(b"(")[2].rpartition(b")")
    except OSError:
        return "", []
    return command.decode("utf-8", "replace"), rest.split()


def machine_name() -> str:
    """Return the name of this machine."""
    return os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")


def _ancestors(pid: int) -> Iterator[int]:
    """The process and the processes above it, except for the first of the system."""
    while pid > 1:
        yield pid
        fields = process_stat(pid)[1]
        pid = int(fields[PARENT]) if len(fields) > PARENT else 0


def _host_behind_relays(relay: int, hosts: Collection[str]) -> int:
    """Return the process of a known host above relays and wrappers; 0 if there is none."""
    relays = 0
    for pid in _ancestors(relay):
        if _is_host(pid, hosts):
            return pid
        if _is_wrapper(pid):
            continue
        relays += 1
        if relays > MAX_RELAYS or not _pipes(pid):
            return 0
    return 0


def _is_wrapper(pid: int) -> bool:
    return (_program(pid) or process_stat(pid)[0]) in WRAPPERS


def _is_host(pid: int, hosts: Collection[str]) -> bool:
    """Whether a process runs one of these programs, itself or in an interpreter."""
    if _program(pid) in hosts or process_stat(pid)[0] in hosts:
        return True
    paths = _program_arguments(pid)
    names = {os.path.splitext(os.path.basename(path))[0] for path in paths}
    # A package is named by the folder that its script is in.
    return not names.isdisjoint(hosts) or any(f"/{host}/" in path for host in hosts if host for path in paths)


def _pipes(pid: int | str) -> tuple[str, ...]:
    """The standard input and output of a process, if both are pipes or sockets; else nothing."""
    targets = tuple(_link(f"/proc/{pid}/fd/{stream}") for stream in _STANDARD_STREAMS)
    return targets if all(target.startswith(("pipe:", "socket:")) for target in targets) else ()


def _program(pid: int) -> str:
    """The name of the file that a process executes: the interpreter of a script. Empty if it cannot be read."""
    return os.path.basename(_link(f"/proc/{pid}/exe")).removesuffix(" (deleted)")


def _program_arguments(pid: int) -> list[str]:
    """The program as it was called, and its first argument that is no option."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            arguments = os.fsdecode(file.read()).split("\0")
    except OSError:
        return []
    program, *rest = arguments
    script = next((argument for argument in rest if not argument.startswith("-")), "")
    return [program, script]


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
