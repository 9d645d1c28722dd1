"""The worker's side of a minder: agents that are started, kept running by deadlines, stopped, and watched to their end.

The pipe to a minder must be open in no other process, or the minder does not notice that the worker is gone: a worker
must not fork without executing another program.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from enum import Enum
from math import inf
from threading import Event, Lock, Thread

from tildone.errors import TildoneError
from tildone.fleet.cgroup import Cgroup
from tildone.fleet.leftovers import LEASE_VARIABLE, Unsupported, end_processes
from tildone.fleet.orders import Orders, encode_orders
from tildone.fleet.processes import Containment
from tildone.fleet.starting import Program
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

GRACE_SECONDS = 5.0
RELEASE_SECONDS = 10.0
MAX_OUTPUT_BYTES = 10_000_000
ORDER_SECONDS = 60.0
"""How long a minder may take to start and read its orders."""

REMAINS_SECONDS = 10.0
"""How long the processes of a killed minder are looked for and killed."""

_BOOT = "import sys; sys.path.append(sys.argv[1]); from tildone.fleet.minder import main; main()"
_PACKAGES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class MinderFailed(TildoneError):
    """A minder cannot be started."""


class How(Enum):
    """The ways in which an agent ends."""

    EXIT = "exit"
    SIGNAL = "signal"
    TOLD = "ended told"
    WORKER_GONE = "ended worker gone"
    FROZEN = "ended frozen"
    FAILED = "failed"
    MINDER_GONE = "minder gone"


@value
class AgentEnding:
    """How an agent ended. `number` is its exit code or signal; `reason` says why it was not started."""

    how: How
    number: int = 0
    reason: str = ""


@value
class AgentCommand:
    """An agent to run for a lease. `output` is the file for its output, which `last_lines` reads.

    `release` is the command that gives the lease back; the minder runs it if the worker is gone, with the environment
    of the worker. For the other fields, see `Orders`.
    """

    arguments: tuple[str, ...]
    folder: str
    environ: Mapping[str, str]
    lease: str
    output: str
    release: tuple[str, ...] = ()
    release_seconds: float = RELEASE_SECONDS
    grace: float = GRACE_SECONDS
    max_output: int = MAX_OUTPUT_BYTES
    containment: str = Containment.CGROUP
    max_frozen: float = inf


class MindedAgent:
    """An agent under a minder of its own. The methods may be called in any thread.

    `pid` is the process id of the agent, 0 until it is started, and `cgroup` the folder of its control group, if it has
    one. `frozen` is set while its deadline has passed.
    """

    def __init__(self, command: AgentCommand, deadline: float) -> None:
        """Start the minder, which starts the agent if the deadline (see `renew`) is in the future.

        Raises:
            MinderFailed: the minder cannot be started. An agent that cannot be started is an `AgentEnding`.
            Unsupported: the system is Windows.
        """
        if sys.platform == "win32":
            raise Unsupported("a fleet needs Linux or macOS: on Windows, the processes of an agent cannot be frozen")
        self.pid = 0
        self.frozen = False
        self._command, self.cgroup = command, ""
        self._ending: AgentEnding | None = None
        self._over, self._lock = Event(), Lock()
        self._process = _start_minder(_orders(command), deadline)
        Thread(target=self._watch, daemon=True).start()

    @property
    def minder_pid(self) -> int:
        return self._process.pid

    def renew(self, deadline: float) -> None:
        """Let the agent run until a new deadline, in `boot_seconds`. At the deadline it is frozen.

        The deadline is the time before the lease was renewed, plus the length of the lease, less a margin of at least
        the grace period and a second.
        """
        # If the pipe is full, the minder does not read; the deadline is then too late anyway.
        self._send(f"{deadline!r}\n")

    def stop(self) -> None:
        """Have the agent ended: asked to end, and killed after the grace period."""
        if not self._send("stop\n"):
            self.kill()

    def kill(self) -> None:
        """Kill the minder, and with it the agent. For a minder that does not answer: `stop` is better."""
        with self._lock:
            self._process.kill()

    def wait(self, seconds: float | None = None) -> AgentEnding | None:
        """Wait until the agent and all its descendants have ended, and return how; None after so many seconds."""
        self._over.wait(seconds)
        return self._ending

    def _send(self, message: str) -> bool:
        """Send a message, and return whether it was sent or is no longer needed. It never blocks."""
        with self._lock:
            if self._ending:
                return True
            # A minder that somebody has stopped could not act on it.
            self._process.send_signal(signal.SIGCONT)
            try:
                os.write(_writing_end(self._process), message.encode())
            except BrokenPipeError:
                return True
            except BlockingIOError:
                return False
            return True

    def _watch(self) -> None:
        """Read the reports of the minder to the end."""
        reports, last = self._process.stdout, ""
        for line in reports or ():
            last = os.fsdecode(line).rstrip("\n")
            word, _, rest = last.partition(" ")
            if word == "started":
                pid, _, self.cgroup = rest.partition(" ")
                self.pid = int(pid)
            self.frozen = word == "frozen"
        self._process.wait()
        ending = _parse_ending(last) or self._end_remains()
        with self._lock:
            self._ending = ending
            for pipe in (self._process.stdin, reports):
                if pipe:
                    pipe.close()
        self._over.set()

    def _end_remains(self) -> AgentEnding:
        """End what a killed minder has left."""
        if self.cgroup:
            _end_cgroup(Cgroup(self.cgroup))
        elif self.pid and sys.platform != "linux":
            _kill_group(self.pid)
        is_clean = end_processes(self._command.lease, REMAINS_SECONDS)
        return AgentEnding(How.MINDER_GONE, reason="" if is_clean else "processes of the agent are still running")


def drain(agents: Iterable[MindedAgent], seconds: float | None = None) -> list[MindedAgent]:
    """Wait until agents have ended by themselves, for a limited time; return those that have not."""
    until = None if seconds is None else time.monotonic() + seconds
    return [agent for agent in agents if agent.wait(None if until is None else until - time.monotonic()) is None]


def stop_all(agents: Iterable[MindedAgent], seconds: float) -> None:
    """End agents together, and kill the minders that have not done it in time: more than the grace period."""
    stopping = list(agents)
    for agent in stopping:
        agent.stop()
    left = drain(stopping, seconds)
    for agent in left:
        agent.kill()
    drain(left)


def _orders(command: AgentCommand) -> Orders:
    environ = {**command.environ, LEASE_VARIABLE: command.lease}
    return Orders(
        Program(
            [os.fsencode(argument) for argument in command.arguments],
            os.fsencode(command.folder),
            {os.fsencode(name): os.fsencode(text) for name, text in environ.items()},
        ),
        os.path.abspath(command.output),
        command.max_output,
        command.grace,
        [os.fsencode(argument) for argument in command.release],
        command.release_seconds,
        command.containment,
        command.max_frozen,
    )


def _start_minder(orders: Orders, deadline: float) -> subprocess.Popen[bytes]:
    """Start a minder and give it its orders, out of reach of the signals of a terminal."""
    try:
        message = encode_orders(orders) + f"{deadline!r}\n".encode()
        process = subprocess.Popen(  # noqa: S603  our own program
            [sys.executable, "-I", "-S", "-c", _BOOT, _PACKAGES],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise MinderFailed(f"the minder of an agent cannot be started: {error}") from error
    os.set_blocking(_writing_end(process), False)
    try:
        _write(_writing_end(process), message)
    except OSError as error:
        process.kill()
        process.communicate()
        raise MinderFailed(f"the minder of an agent does not take its orders: {error}") from error
    return process


def _writing_end(process: subprocess.Popen[bytes]) -> int:
    return process.stdin.fileno() if process.stdin else -1


def _write(pipe: int, message: bytes) -> None:
    """Write a message of any length to a pipe that does not block.

    Raises:
        OSError: the pipe is closed, or not read for too long.
    """
    until = time.monotonic() + ORDER_SECONDS
    writable = select.poll()
    writable.register(pipe, select.POLLOUT)
    while message:
        if not writable.poll(max(0, until - time.monotonic()) * 1000):
            raise TimeoutError(f"it has read nothing for {ORDER_SECONDS:g} s")
        message = message[os.write(pipe, message[: select.PIPE_BUF]) :]


def _parse_ending(line: str) -> AgentEnding | None:
    """How an agent ended, from the last report of its minder; None if that is not the report of an end."""
    if line in (How.TOLD.value, How.WORKER_GONE.value, How.FROZEN.value):
        return AgentEnding(How(line))
    word, _, rest = line.partition(" ")
    if word == How.FAILED.value:
        return AgentEnding(How.FAILED, reason=rest)
    return AgentEnding(How(word), int(rest)) if word in (How.EXIT.value, How.SIGNAL.value) else None


def _end_cgroup(group: Cgroup) -> None:
    """Kill the processes of a control group and remove it, if it is still there."""
    until = time.monotonic() + REMAINS_SECONDS
    try:
        group.kill()
        while not group.remove() and time.monotonic() < until:
            time.sleep(0.01)
    except OSError:
        return


def _kill_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
