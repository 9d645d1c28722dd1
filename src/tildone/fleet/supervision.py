"""The worker's side of a supervisor: agents that are started, kept running by deadlines, stopped, watched to their end.

The pipe to a supervisor must be open in no other process, or it does not notice that the worker is gone: a worker must
not fork without executing another program.

What a killed supervisor leaves behind is found by the environment of processes. Every process of an agent has its lease
in the variable `TILDONE_LEASE`, unless it has removed it. Only `/proc` shows the environment of another process, and
only to its user. While a process executes another program, its environment is empty for a moment: it is read again
then, or a process that is to be ended would be missed.
"""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from math import inf
from threading import Event, Lock, Thread

from tildone.base import TildoneError, value
from tildone.fleet.process_tree import Cgroup, Containment
from tildone.plan.runs import LEASE_VARIABLE
from tildone.stores.agents import ENV_END, ENV_START, FLAGS, START_CODE, START_TIME, STATE, process_stat

_PAUSE = 0.01
_STOPPED, _ENDED = (b"T", b"t"), (b"Z", b"X")
"""States of processes (proc(5))."""

_KERNEL_THREAD = 0x00200000
"""The flag `PF_KTHREAD` of the kernel."""

_EXEC_PAUSE, _EXEC_SECONDS = 0.001, 1.0
"""The pause before the environment of a process that executes a program is read again, and how long it is tried."""


class Unsupported(TildoneError):
    """This system lacks what a fleet needs."""


@value
class LeasedProcess:
    """A process with a lease in its environment.

    `name` is the name of its program, which it chooses itself: it may contain control characters. `started` is its
    start time in clock ticks since boot, and `stopped` whether it has been stopped by a signal.
    """

    pid: int
    lease: str
    name: str
    started: int
    stopped: bool


def orphans(living: Collection[str]) -> list[LeasedProcess]:
    """Return this user's processes whose lease is not among the living ones. Raises Unsupported without `/proc`."""
    if not os.path.exists("/proc/self/environ"):
        raise Unsupported("processes of lost leases cannot be found: this system has no /proc")
    return [process for process in _leased_processes() if process.lease not in living]


def end_processes(lease: str, seconds: float) -> bool:
    """Kill the processes of a lease until none is left, for a limited time; return whether none is left.

    Without `/proc`, none is found.
    """
    until = time.monotonic() + seconds
    while found := [process for process in _leased_processes() if process.lease == lease]:
        if time.monotonic() > until:
            return False
        for process in found:
            _kill(process)
        time.sleep(_PAUSE)
    return True


def _leased_processes() -> Iterator[LeasedProcess]:
    for entry in os.listdir("/proc") if os.path.isdir("/proc") else ():
        lease = _lease_of(entry) if entry.isdigit() else ""
        name, fields = process_stat(int(entry)) if lease else ("", [])
        if fields and fields[STATE] not in _ENDED:
            yield LeasedProcess(int(entry), lease, name, int(fields[START_TIME]), fields[STATE] in _STOPPED)


def _lease_of(entry: str) -> str:
    """The lease of a process of this user; empty if it has none or has ended."""
    until = time.monotonic() + _EXEC_SECONDS
    while not (variables := _environ(entry)) and _may_have_variables(int(entry)) and time.monotonic() < until:
        time.sleep(_EXEC_PAUSE)
    prefix = f"{LEASE_VARIABLE}=".encode()
    found = next((variable for variable in variables.split(b"\0") if variable.startswith(prefix)), prefix)
    return found.removeprefix(prefix).decode("utf-8", "replace")


def _environ(entry: str) -> bytes:
    """The variables of a process; a single separator if they are not for this user or the process has ended."""
    try:
        if os.stat(f"/proc/{entry}").st_uid != os.geteuid():
            return b"\0"
        with open(f"/proc/{entry}/environ", "rb") as file:
            return file.read()
    except OSError:
        return b"\0"


def _may_have_variables(pid: int) -> bool:
    """Whether a process without variables may have some: they are not in place yet, or were replaced meanwhile.

    The addresses of a new program are set last: as long as that of its code is 0, those of its variables are not valid.
    """
    fields = process_stat(pid)[1]
    if len(fields) <= ENV_END or fields[STATE] in _ENDED or int(fields[FLAGS]) & _KERNEL_THREAD:
        return False
    return fields[START_CODE] == b"0" or fields[ENV_START] != fields[ENV_END]


def _kill(process: LeasedProcess) -> None:
    try:
        os.kill(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


GRACE_SECONDS = 5.0
RELEASE_SECONDS = 10.0
MAX_OUTPUT_BYTES = 10_000_000
ORDER_SECONDS = 60.0
"""How long a supervisor may take to start and read its orders."""

REMAINS_SECONDS = 10.0
"""How long the processes of a killed supervisor are looked for and killed."""

_BOOT = "import sys; sys.path.append(sys.argv[1]); from tildone.fleet.supervisor import main; main()"
_PACKAGES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class SupervisorFailed(TildoneError):
    """A supervisor cannot be started."""


class How(Enum):
    """The ways in which an agent ends."""

    EXIT = "exit"
    SIGNAL = "signal"
    STOPPED = "ended told"
    WORKER_GONE = "ended worker gone"
    FROZEN = "ended frozen"
    FAILED = "failed"
    SUPERVISOR_GONE = "supervisor gone"


@value
class AgentEnding:
    """How an agent ended. `number` is its exit code or signal; `reason` says why it was not started."""

    how: How
    number: int = 0
    reason: str = ""


@value
class AgentCommand:
    """An agent to run for a lease. `output` is the file for its output, which `last_lines` reads.

    `release` is the command that gives the lease back; the supervisor runs it if the worker is gone, with the
    environment of the worker. For the other fields, see `Orders`.
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


class SupervisedAgent:
    """An agent under a supervisor of its own. The methods may be called in any thread.

    `pid` is the process id of the agent, 0 until it is started, and `cgroup` the folder of its control group, if it has
    one. `frozen` is set while its deadline has passed.
    """

    def __init__(self, command: AgentCommand, deadline: float) -> None:
        """Start the supervisor, which starts the agent if the deadline (see `renew`) is in the future.

        Raises SupervisorFailed if the supervisor cannot be started. An agent that cannot be started is an
        `AgentEnding`. Raises Unsupported if the system is Windows.
        """
        if sys.platform == "win32":
            raise Unsupported("a fleet needs Linux or macOS: on Windows, the processes of an agent cannot be frozen")
        self.pid = 0
        self.frozen = False
        self._command, self.cgroup = command, ""
        self._ending: AgentEnding | None = None
        self._over, self._lock = Event(), Lock()
        self._process = _start_supervisor(command, deadline)
        Thread(target=self._watch, daemon=True).start()

    @property
    def supervisor_pid(self) -> int:
        return self._process.pid

    def renew(self, deadline: float) -> None:
        """Let the agent run until a new deadline, in `boot_seconds`. At the deadline it is frozen.

        The deadline is the time before the lease was renewed, plus the length of the lease, less a margin of at least
        the grace period and a second.
        """
        # If the pipe is full, the supervisor does not read; the deadline is then too late anyway.
        self._send(f"{deadline!r}\n")

    def stop(self) -> None:
        """Have the agent ended: asked to end, and killed after the grace period."""
        if not self._send("stop\n"):
            self.kill()

    def kill(self) -> None:
        """Kill the supervisor, and with it the agent. For a supervisor that does not answer: `stop` is better."""
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
            # A supervisor that somebody has stopped could not act on it.
            self._process.send_signal(signal.SIGCONT)
            try:
                os.write(_writing_end(self._process), message.encode())
            except BrokenPipeError:
                return True
            except BlockingIOError:
                return False
            return True

    def _watch(self) -> None:
        """Read the reports of the supervisor to the end."""
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
        if self.cgroup:
            _end_cgroup(Cgroup(self.cgroup))
        elif self.pid and sys.platform != "linux":
            _kill_group(self.pid)
        is_clean = end_processes(self._command.lease, REMAINS_SECONDS)
        return AgentEnding(How.SUPERVISOR_GONE, reason="" if is_clean else "processes of the agent are still running")


def encode_orders(command: AgentCommand) -> bytes:
    """Return what a supervisor reads first. Raises ValueError if an argument or a variable contains NUL."""
    environ = {**command.environ, LEASE_VARIABLE: command.lease}
    fields = [
        *(("argument", argument) for argument in command.arguments),
        ("folder", command.folder),
        *(("variable", f"{name}={text}") for name, text in environ.items()),
        ("output", os.path.abspath(command.output)),
        ("max_output", str(command.max_output)),
        ("grace", repr(command.grace)),
        *(("release", argument) for argument in command.release),
        ("release_seconds", repr(command.release_seconds)),
        ("containment", command.containment),
        ("max_frozen", repr(command.max_frozen)),
    ]
    if any("\0" in text for _, text in fields):
        raise ValueError("the command or the environment of the agent contains a NUL character")
    body = os.fsencode("\0".join(f"{name}={text}" for name, text in fields))
    return b"%d\n" % len(body) + body


def _start_supervisor(command: AgentCommand, deadline: float) -> subprocess.Popen[bytes]:
    """Start a supervisor and give it its orders, out of reach of the signals of a terminal."""
    try:
        message = encode_orders(command) + f"{deadline!r}\n".encode()
        process = subprocess.Popen(  # noqa: S603  our own program
            [sys.executable, "-I", "-S", "-c", _BOOT, _PACKAGES],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise SupervisorFailed(f"the supervisor of an agent cannot be started: {error}") from error
    os.set_blocking(_writing_end(process), False)
    try:
        _write(_writing_end(process), message)
    except OSError as error:
        process.kill()
        process.communicate()
        raise SupervisorFailed(f"the supervisor of an agent does not take its orders: {error}") from error
    return process


def _writing_end(process: subprocess.Popen[bytes]) -> int:
    return process.stdin.fileno() if process.stdin else -1


def _write(pipe: int, message: bytes) -> None:
    """Write a message of any length to a pipe that does not block.

    Raises OSError if the pipe is closed, or not read for too long.
    """
    until = time.monotonic() + ORDER_SECONDS
    writable = select.poll()
    writable.register(pipe, select.POLLOUT)
    while message:
        if not writable.poll(max(0, until - time.monotonic()) * 1000):
            raise TimeoutError(f"it has read nothing for {ORDER_SECONDS:g} s")
        message = message[os.write(pipe, message[: select.PIPE_BUF]) :]


def _parse_ending(line: str) -> AgentEnding | None:
    """How an agent ended, from the last report of its supervisor; None if that is not the report of an end."""
    if line in (How.STOPPED.value, How.WORKER_GONE.value, How.FROZEN.value):
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
