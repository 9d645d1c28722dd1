"""Start `tildone` by forking a process that has imported it, instead of starting an interpreter.

A test of a command line costs what the interpreter and the imports cost: 50 ms for a verb, seconds for a host with a
model library. Here a *nursery* is started once per worker of the tests. It imports tildone and then waits. For each
command it forks: the child has its own arguments, environment, folder, umask, session, standard streams and signal
handlers, as if the command had been typed, and runs the program's own entry point. It is a real process with a real
exit status; only the start of the interpreter is missing. A real start of each verb is tested in
`tests/cli/test_program.py`, and what a start imports in `tests/test_hot_modules.py`.

Protocol: the worker sends one message over a socket, a JSON object with the standard streams and the write end of a
*status pipe* as file descriptors. The child answers with its pid when it has become what was asked for. The nursery
writes the exit status and the CPU seconds to the status pipe when the child has ended. When the worker is gone, the
socket is closed: the nursery then kills its children and ends.

An interpreter is started as usual for another program, for inherited file descriptors, for a function to call before
the start, and for variables that the interpreter itself reads at its start.
"""

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = str(Path(__file__).parents[2])
PROGRAM = Path(sys.executable).with_name("tildone.exe" if os.name == "nt" else "tildone")
MAX_MESSAGE = 1 << 20

VERBS = (
    "tildone.cli.*",
    "tildone.agents.hooks.*",
    "tildone.stores.sqlite.*",
    "tildone.plan.dialects.*",
    "tildone.app.*",
)
HOSTS = (
    *("tildone.screens.*", "tildone.run.*"),
    *("pydantic_ai.models.openai", "pydantic_ai.models.anthropic", "uvicorn"),
)
NURSERIES = {"verbs": VERBS, "hosts": (*VERBS, *HOSTS)}
"""What each nursery imports. That of the hosts is larger, so forking it takes longer."""

HOSTING = {"run", "board", "watch"}
READ_AT_START = ("PYTHON", "LC_", "LANG", "MALLOC")
"""How the names of the variables begin that an interpreter reads when it starts."""


def take_terminal() -> None:
    """Make standard input the controlling terminal. The one `preexec_fn` that a fork knows."""
    import fcntl  # noqa: PLC0415  does not exist on Windows
    import termios  # noqa: PLC0415  the same

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Nursery:
    """The worker's end: a process to fork from."""

    def __init__(self, modules: tuple[str, ...]) -> None:
        self._lock = threading.Lock()
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MAX_MESSAGE)
        command = [sys.executable, __file__, str(theirs.fileno()), *modules]
        self._process = REAL_POPEN(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, cwd="/")
        theirs.close()

    def fork(self, wanted: dict[str, Any], streams: list[int]) -> int:
        message = json.dumps(wanted).encode("utf-8", "surrogateescape")
        with self._lock:
            socket.send_fds(self.socket, [message], streams)
            return int(self.socket.recv(64))

    def close(self) -> None:
        self.socket.close()
        before = children_seconds()
        self._process.wait()
        # Its children are counted already, each in the test that asked for it.
        CPU_SECONDS[0] -= children_seconds() - before


def children_seconds() -> float:
    """CPU seconds of the ended processes that this one started, and of theirs."""
    used = os.times()
    return used.children_user + used.children_system


REAL_POPEN = subprocess.Popen
CPU_SECONDS = [0.0]
"""What the forked processes that have ended used."""

_nurseries: dict[str, Nursery] = {}
_starting = threading.Lock()
"""Held while a nursery is started: the first commands of a test may come from two threads."""


class ForkingPopen(REAL_POPEN[Any]):
    """A `Popen` that forks if the program is tildone."""

    _status: int | None = None

    def _execute_child(self, args: Any, *others: Any) -> None:
        executable, preexec_fn, _, pass_fds, cwd, env, _, _, shell, *rest = others
        streams, (_, gid, gids, uid, umask, session, group) = rest[:6], rest[6:]
        words = words_of(args)
        environment = dict(os.environ if env is None else env)
        is_unusual = (
            executable not in (None, str(PROGRAM), sys.executable)
            or (shell, gid, gids, uid) != (False, None, None, None)
            or bool(pass_fds)
            or preexec_fn not in (None, take_terminal)
            or {umask, group} != {-1}
        )
        if words is None or is_unusual or not same_interpreter(environment):
            super()._execute_child(args, *others)  # type: ignore[misc]  # the stubs of the base class lack this method
            return
        kind = "hosts" if HOSTING.intersection(words[:2]) else "verbs"
        with _starting:
            if kind not in _nurseries:
                _nurseries[kind] = Nursery(NURSERIES[kind])
        folder = os.path.abspath(cwd or ".")
        if not os.path.isdir(folder):
            raise FileNotFoundError(folder)
        wanted = {
            "words": words,
            "environment": {os.fsdecode(name): os.fsdecode(value) for name, value in environment.items()},
            "folder": os.fsdecode(folder),
            "umask": current_umask(),
            "session": session,
            "terminal": preexec_fn is take_terminal,
        }
        standard = [own if given == -1 else given for own, given in enumerate((streams[0], streams[3], streams[5]))]
        self._status, status = os.pipe()
        try:
            self.pid = _nurseries[kind].fork(wanted, [*standard, status])
        finally:
            os.close(status)
        self._child_created = True
        self._close_pipe_fds(*streams)  # type: ignore[attr-defined]  # as above

    def _internal_poll(self, *others: Any, **named: Any) -> int | None:
        if self._status is None or self.returncode is not None:
            return super()._internal_poll(*others, **named)  # type: ignore[misc, no-any-return]  # as above
        pid, status = self._try_wait(os.WNOHANG)
        if pid:
            self._handle_exitstatus(status)  # type: ignore[attr-defined]  # as above
        return self.returncode

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if self._status is None:
            return super()._try_wait(wait_flags)  # type: ignore[misc, no-any-return]  # as above
        if wait_flags & os.WNOHANG and not select.select([self._status], [], [], 0)[0]:
            return 0, 0
        ended = os.read(self._status, 64).split()
        os.close(self._status)
        self._status = None
        if not ended:
            return self.pid, 0
        CPU_SECONDS[0] += float(ended[1])
        return self.pid, int(ended[0])


def words_of(args: Any) -> list[str] | None:
    """Return the arguments of tildone; None if another program is meant."""
    if isinstance(args, str | bytes | os.PathLike):
        return None
    words = [os.fsdecode(word) for word in args]
    if words[0] == str(PROGRAM):
        return words[1:]
    if words[:3] == [sys.executable, "-m", "tildone"]:
        return words[3:]
    return None


def same_interpreter(environment: dict[str, str]) -> bool:
    """Return whether the variables that an interpreter reads at its start are those of the nursery."""
    return read_at_start(environment) <= read_at_start(dict(os.environ))


def read_at_start(environment: dict[str, str]) -> set[tuple[str, str]]:
    return {(name, value) for name, value in environment.items() if name.startswith(READ_AT_START)}


def current_umask() -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith("Umask:"):
            return int(line.split()[1], 8)
    raise LookupError("Umask")


@contextlib.contextmanager
def forking() -> Iterator[None]:
    """Let `subprocess` fork tildone."""
    if sys.platform != "linux":
        yield
        return
    subprocess.Popen = ForkingPopen  # type: ignore[misc]  # as long as the tests of a folder run
    try:
        yield
    finally:
        subprocess.Popen = REAL_POPEN  # type: ignore[misc]  # as it was


@contextlib.contextmanager
def starting() -> Iterator[None]:
    """Let `subprocess` start interpreters, as it does by itself."""
    before, subprocess.Popen = subprocess.Popen, REAL_POPEN  # type: ignore[misc]  # in a block
    try:
        yield
    finally:
        subprocess.Popen = before  # type: ignore[misc]  # as it was


def close_nurseries() -> None:
    while _nurseries:
        _nurseries.popitem()[1].close()


def serve(control: socket.socket) -> Callable[[], Any]:
    """Fork for each message, until the worker is gone. In a child, return what it is to run."""
    status_of: dict[int, int] = {}
    wake, awake = os.pipe2(os.O_NONBLOCK)
    signal.set_wakeup_fd(awake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([control.fileno(), wake], [], [])
        if wake in ready:
            os.read(wake, 4096)
            reap(status_of)
        if control.fileno() not in ready:
            continue
        message, files, _, _ = socket.recv_fds(control, MAX_MESSAGE, 4)
        if not message:
            for pid in status_of:
                with contextlib.suppress(ProcessLookupError, ChildProcessError):
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
            sys.exit()
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            for file in (wake, awake, files.pop(), *status_of.values()):
                os.close(file)
            program = become(json.loads(message.decode("utf-8", "surrogateescape")), files)
            control.send(str(os.getpid()).encode())
            control.close()
            return program
        status_of[pid] = files.pop()
        for file in files:
            os.close(file)


def reap(status_of: dict[int, int]) -> None:
    """Tell the exit status of each child that has ended."""
    while status_of:
        pid, status, used = os.wait4(-1, os.WNOHANG)
        if pid == 0:
            return
        if pid in status_of:
            pipe = status_of.pop(pid)
            with contextlib.suppress(BrokenPipeError):
                os.write(pipe, f"{status} {used.ru_utime + used.ru_stime}".encode())
            os.close(pipe)


def become(wanted: dict[str, Any], files: list[int]) -> Callable[[], Any]:
    """Turn this fork into the process that was asked for."""
    for number, file in enumerate(files):
        os.dup2(file, number)
    for file in set(files) - {0, 1, 2}:
        os.close(file)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if wanted["session"]:
        os.setsid()
    if wanted["terminal"]:
        take_terminal()
    os.chdir(wanted["folder"])
    os.umask(wanted["umask"])
    os.environ.clear()
    os.environ.update(wanted["environment"])
    time.tzset()
    open_streams()
    sys.argv = [str(PROGRAM), *wanted["words"]]
    from tildone.cli import main  # noqa: PLC0415  imported by the nursery before it forks

    return main


def open_streams() -> None:
    """Open the standard streams as the interpreter does. They stay open until it ends."""
    assert sys.__stdout__
    encoding, errors = sys.__stdout__.encoding, sys.__stdout__.errors
    buffering = 1 if os.isatty(1) else -1
    stdin = os.fdopen(0, "r", -1, encoding, errors, closefd=False)
    stdout = os.fdopen(1, "w", buffering, encoding, errors, "\n", closefd=False)
    stderr = os.fdopen(2, "w", 1, encoding, "backslashreplace", "\n", closefd=False)
    sys.stdin, sys.stdout, sys.stderr = stdin, stdout, stderr
    # These names are constants for type checkers.
    sys.__dict__.update(__stdin__=stdin, __stdout__=stdout, __stderr__=stderr)


def bear(control: int, modules: list[str]) -> None:
    """Import, wait, and run what a message asks for."""
    # A program's own folder comes first on the path, and this is not the program's.
    sys.path[0] = str(PROGRAM.parent)
    for name in modules:
        package = importlib.import_module(name.removesuffix(".*"))
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.") if name.endswith("*") else ():
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    gc.collect()
    gc.freeze()
    run = serve(socket.socket(fileno=control))
    sys.exit(run())


if __name__ == "__main__":
    bear(int(sys.argv[1]), sys.argv[2:])
