"""A supervisor: the process between a worker and an agent, which stops the agent when the worker cannot.

Theory of operation. A worker holds a lease and renews it. The agent that it started must not work on when the lease may
be someone else's: if the worker is dead, stopped, or cut off from the database. So every agent is the child of a
supervisor of its own, which needs nothing but its pipe to the worker and the clock.

- The worker's pipe is standard input. It begins with the command of the agent (`orders`). After that, each line is a
  new deadline in `boot_seconds`, or `stop`. The end of the pipe means that the worker is gone.
- The agent is started when the first deadline is in the future. When the deadline passes, the agent and all its
  descendants are frozen; a later deadline lets them continue. They are ended after `stop`, at the end of the pipe, and
  when the agent itself has ended: they are asked to end, and killed after the grace period, until none is left.
- An agent may be frozen for a limited time: then it is killed, without a moment in which it could go on. It might have
  been frozen while it held the lock of a SQLite file. Nobody could then renew or take any lease, ever.
- If the worker is gone, the supervisor then runs the release command, which gives the lease back. If that fails, the
  lease lapses.
- Standard output tells the worker `started PID [CGROUP]`, `frozen` and `continued`, and last of all how the agent
  ended: `exit N`, `signal N`, `ended told`, `ended worker gone`, `ended frozen` or `failed REASON`. Without such a
  line, the supervisor was killed.

What can go wrong. The supervisor is killed: the kernel kills the agent with it, and the worker ends the rest
(`supervision`). The supervisor is stopped: the worker continues it with every message. The supervisor ignores the
signals of a terminal and SIGTERM, which are meant for the worker; the agent does not inherit that. The machine sleeps:
the deadline is compared at least once a second, so it is noticed within a second after waking up.

The command of the agent is a length in decimal digits, a newline, and fields `NAME=VALUE`, separated by NUL, which no
argument, path or environment variable can contain. JSON would double the time that a supervisor takes to start.

The process is started as `python -I -S`, has a single thread, and imports only what it needs: it must start fast, and
there is one for each agent.
"""

import os
import select
from math import inf

from tildone.base import value
from tildone.base.private import open_private
from tildone.fleet.process_tree import ContainedTree, Program, StartFailed, boot_seconds, signal


@value
class Orders:
    """The agent to run, the file for its output, and the command that gives the lease back if the worker is gone.

    `max_output` is the size in bytes at which the output file is rotated. `grace` is the time in seconds between asking
    processes to end and killing them. `release_seconds` is the time limit of the release command, which is run in the
    worker's environment and folder; without a command, nothing is run. `containment` is the strongest means that may be
    used to hold the processes together. An agent that is frozen for `max_frozen` seconds is killed.
    """

    agent: Program
    output: str
    max_output: int
    grace: float
    release: list[bytes]
    release_seconds: float
    containment: str
    max_frozen: float = inf


def decode_orders(body: bytes) -> Orders:
    """Return the orders from the fields, without the length: see `encode_orders` of `supervision`."""
    found: dict[bytes, list[bytes]] = {}
    for field in body.split(b"\0"):
        name, _, text = field.partition(b"=")
        found.setdefault(name, []).append(text)
    variables = (variable.partition(b"=") for variable in found.get(b"variable", []))
    return Orders(
        Program(found[b"argument"], found[b"folder"][0], {name: text for name, _, text in variables}),
        os.fsdecode(found[b"output"][0]),
        int(found[b"max_output"][0]),
        float(found[b"grace"][0]),
        found.get(b"release", []),
        float(found[b"release_seconds"][0]),
        found[b"containment"][0].decode(),
        float(found[b"max_frozen"][0]),
    )


CONTROL, REPORTS = 0, 1
"""The file descriptors of the pipes from and to the worker."""

LOOK_SECONDS = 1.0
"""How often the clock is compared with the deadline: timeouts do not count the time that the machine sleeps."""

_PAUSE, _MAX_PAUSE, _DOUBLINGS = 0.001, 0.1, 10
"""The pause after the first round of killing or freezing, in seconds. It grows with every round: by itself up to the
maximum for killing, to its double at most so many times for freezing."""

_IGNORED = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGTSTP")
_CHUNK = 65536
_MAX_PIPE_BYTES = 1 << 20
"""The size to which a program can enlarge a pipe, unless the system is set up otherwise."""


def main() -> None:
    for name in _IGNORED:
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    control = Control()
    orders = control.read_orders()
    if orders is None:
        return
    try:
        file = OutputFile(orders.output, orders.max_output)
    except OSError as error:
        report(f"failed the output file {orders.output} cannot be opened: {error.strerror}")
        return
    Supervisor(orders, control, file).run()


def report(line: str) -> bool:
    """Tell the worker something, and return whether it can still be told."""
    try:
        os.write(REPORTS, os.fsencode(line.replace("\n", " ") + "\n"))
    except OSError:
        return False
    return True


class Control:
    """What the worker has said: the newest deadline, whether the agent is to be ended, and whether it is gone."""

    def __init__(self) -> None:
        self.deadline = -inf
        self.stops = self.gone = False
        self._unread = b""

    def read_orders(self) -> Orders | None:
        """Wait for the orders; None if the worker is gone before they are complete."""
        while b"\n" not in self._unread:
            if not self._receive():
                return None
        length, _, body = self._unread.partition(b"\n")
        parts, missing = [body], int(length) - len(body)
        while missing > 0:
            self._unread = b""
            if not self._receive():
                return None
            parts.append(self._unread)
            missing -= len(self._unread)
        body = b"".join(parts)
        self._unread = body[int(length) :]
        os.set_blocking(CONTROL, False)
        self._obey()
        return decode_orders(body[: int(length)])

    def read(self) -> None:
        try:
            self._receive()
        except BlockingIOError:
            return
        self._obey()

    def _receive(self) -> bool:
        data = os.read(CONTROL, _CHUNK)
        self._unread += data
        self.gone = not data
        return bool(data)

    def _obey(self) -> None:
        *lines, self._unread = self._unread.split(b"\n")
        for line in lines:
            if line == b"stop":
                self.stops = True
            else:
                self.deadline = float(line)


class OutputFile:
    """A file that the output of an agent is appended to; nobody but its owner can read it.

    A full file is renamed to `NAME.1`, which replaces the one before, and a new one is begun: at most twice the limit
    is kept. An agent is not held up by a full disk: what cannot be written is dropped. Raises OSError if it cannot be
    opened.
    """

    def __init__(self, path: str, limit: int) -> None:
        self._path, self._limit = path, limit
        self._file = self._open()
        self._size = os.fstat(self._file).st_size

    def fileno(self) -> int:
        return self._file

    def write(self, data: bytes) -> None:
        """Append to the file, or begin a new one if this one is full."""
        try:
            if self._size and self._size + len(data) > self._limit:
                os.replace(self._path, f"{self._path}.1")
                full, self._file = self._file, self._open()
                os.close(full)
                self._size = 0
            while data:
                written = os.write(self._file, data)
                self._size += written
                data = data[written:]
        except OSError:
            return

    def _open(self) -> int:
        return open_private(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)


class Supervisor:
    """One agent, from its start to the end of its last descendant."""

    def __init__(self, orders: Orders, control: Control, file: OutputFile) -> None:
        self._orders, self._control, self._file = orders, control, file
        self._tree = ContainedTree(orders.containment)
        self._output, self._agent_output = os.pipe()
        self._started = self._frozen = False
        self._ending = ""
        self._frozen_at = self._kill_at = inf
        self._rounds = 0
        self._wakeup = _child_signals()
        self._poll = select.poll()
        for descriptor in (CONTROL, self._output, self._wakeup):
            os.set_blocking(descriptor, False)
            self._poll.register(descriptor, select.POLLIN)

    def run(self) -> None:
        while not self._is_over():
            self._wait(self._patience())
        self._tree.remove()
        self._copy_rest()
        if self._control.gone or not report(self._ending):
            self._release()
            report(self._ending)

    def _is_over(self) -> bool:
        """Do what is due, and return whether nothing is left to supervise."""
        is_empty, status = self._tree.is_empty(), self._tree.status
        if self._ending:
            if not is_empty and boot_seconds() >= self._kill_at:
                self._rounds += 1
                self._tree.kill()
            return is_empty
        if status is not None:
            self._end(f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}")
        elif self._control.stops:
            self._end("ended told")
        elif self._control.gone:
            self._end("ended worker gone")
        elif boot_seconds() < self._control.deadline:
            self._go()
        elif self._frozen and boot_seconds() >= self._frozen_at + self._orders.max_frozen:
            self._kill("ended frozen")
        elif self._started:
            self._tree.freeze()
            self._rounds += 1
            if not self._frozen:
                self._frozen, self._frozen_at = True, boot_seconds()
                report("frozen")
        return False

    def _go(self) -> None:
        if not self._started:
            self._started = True
            try:
                pid = self._tree.start(self._orders.agent, self._agent_output)
            except StartFailed as error:
                self._end(f"failed {error}")
            else:
                report(f"started {pid} {self._tree.cgroup}".rstrip())
            os.close(self._agent_output)
        elif self._frozen:
            self._frozen = False
            self._rounds = 0
            self._tree.thaw()
            report("continued")

    def _end(self, ending: str) -> None:
        """Ask everything that is left to end. It is killed after the grace period."""
        self._ending = ending
        self._rounds = 0
        self._kill_at = boot_seconds() + self._orders.grace
        self._tree.terminate()

    def _kill(self, ending: str) -> None:
        """Kill everything that is left at once."""
        self._ending = ending
        self._rounds = 0
        self._kill_at = boot_seconds()

    def _patience(self) -> float:
        """Return how many seconds may pass until something is due, if nothing arrives."""
        if self._ending:
            return min(self._rounds * _PAUSE or self._kill_at - boot_seconds(), _MAX_PAUSE)
        if self._frozen:
            return min(_PAUSE * (1 << min(self._rounds, _DOUBLINGS)), LOOK_SECONDS)
        left = self._control.deadline - boot_seconds()
        return left if 0 < left < LOOK_SECONDS else LOOK_SECONDS

    def _wait(self, seconds: float) -> None:
        """Wait until something arrives or a child ends, and take it in."""
        for descriptor, _ in self._poll.poll(max(0, seconds) * 1000 + 1):
            if descriptor == CONTROL:
                self._control.read()
                if self._control.gone:
                    self._poll.unregister(CONTROL)
            elif descriptor == self._wakeup:
                os.read(self._wakeup, _CHUNK)
            elif not self._copy():
                self._poll.unregister(self._output)

    def _copy(self) -> bool:
        """Copy output of the agent to its file, and return whether there may be more."""
        try:
            data = os.read(self._output, _CHUNK)
        except BlockingIOError:
            return False
        self._file.write(data)
        return bool(data)

    def _copy_rest(self) -> None:
        """Copy what is left in the pipe. A process that has escaped may write to it for ever."""
        for _ in range(_MAX_PIPE_BYTES // _CHUNK):
            if not self._copy():
                return

    def _release(self) -> None:
        """Run the command that gives the lease back, for a limited time."""
        if not self._orders.release:
            return
        tree = ContainedTree(self._orders.containment)
        try:
            tree.start(Program(self._orders.release, b".", dict(os.environb)), self._file.fileno())
        except StartFailed as error:
            self._file.write(os.fsencode(f"tildone: the lease is not given back: {error}\n"))
        until = boot_seconds() + self._orders.release_seconds
        while not tree.is_empty():
            if tree.status is not None or boot_seconds() >= until:
                tree.kill()
            self._wait(_MAX_PAUSE)
        tree.remove()


def _child_signals() -> int:
    """Return a pipe in which something arrives whenever a child ends."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    return reading
