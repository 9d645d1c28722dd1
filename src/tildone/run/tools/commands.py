"""A running command and everything it has started.

Theory of operation. The process is started in a process session of its own, with one pipe for both outputs, or one for
each. Daemon threads, one for each pipe and one waiting for the exit, report to the event loop, so no amount of output
blocks it. The command is over when the process exits, the timeout expires or the abort signal is set, whichever is
first; in the last two cases the whole process tree is ended. After an exit, background processes may still hold a pipe:
output is collected until it is quiet for a moment, and no longer than a second.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from functools import partial
from signal import SIGTERM
from threading import Lock, Thread
from typing import BinaryIO, TypeVar

from tildone.base import value
from tildone.base.secrets import Redactor, StreamRedactor, command_environment
from tildone.run.kit.definition import MAX_BYTES, MAX_LINES, AbortSignal, keep_tail
from tildone.run.tools.files import ToolFailure

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def on_signals(callback: Callable[[int], object]) -> Iterator[None]:
    """Call back with the number of a signal; event loops without signal handlers keep Python's own."""
    loop = asyncio.get_running_loop()
    numbers = [number for name in SIGNALS if (number := getattr(signal, name, None)) is not None]
    with suppress(NotImplementedError):
        for number in numbers:
            loop.add_signal_handler(number, callback, number)
    try:
        yield
    finally:
        with suppress(NotImplementedError):
            for number in numbers:
                loop.remove_signal_handler(number)


MAX_FILE_BYTES = 100_000_000
"""The size limit of the file, so that a command that never stops writing does not fill the disk."""

_TAIL_BYTES = 2 * MAX_BYTES

# Escape sequences, and control characters other than tabs and line ends.
_ESCAPES = re.compile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[@-Z\\\\^_])")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")

CreateFile = Callable[[], tuple[BinaryIO, str]]


@value
class OutputExcerpt:
    """The tail of an output and its totals; if it is truncated, `path` is a file with the first `file_bytes` bytes."""

    text: str
    total_lines: int
    total_bytes: int
    lines: int
    path: str | None
    file_bytes: int


class CommandOutput:
    def __init__(self, create_file: CreateFile, redactor: Redactor) -> None:
        self._create_file = create_file
        self._stream = StreamRedactor(redactor)
        self._lock = Lock()
        self._fed = 0
        self._tail = bytearray()
        self._line_feeds = 0
        self._bytes = 0
        self._file: BinaryIO | None = None
        self._path: str | None = None
        self._file_bytes = 0
        self._closed = False

    @property
    def size(self) -> int:
        return self._fed

    def feed(self, data: bytes) -> None:
        """Add bytes; they are discarded once the output is closed."""
        with self._lock:
            if self._closed:
                return
            self._fed += len(data)
            self._keep(self._stream.feed(data))

    def excerpt(self) -> OutputExcerpt:
        """Return the current tail, as text without control characters."""
        with self._lock:
            end, whole_lines, total = bytes(self._tail) + self._stream.preview(), self._line_feeds, self._bytes
            path, kept = self._path, self._file_bytes
            closed = self._closed
        # A character may be split between two reads: an incomplete one is left out until the output is closed.
        text = codecs.getincrementaldecoder("utf-8")("replace").decode(end, final=closed)
        part = keep_tail(_CONTROLS.sub("\ufffd", _ESCAPES.sub("", text)))
        total_lines = whole_lines + (not end.endswith(b"\n") and bool(end))
        return OutputExcerpt(part.content, total_lines, total, part.output_lines, path, kept)

    def close(self) -> None:
        """Close the file; later output is discarded."""
        with self._lock:
            if self._closed:
                return
            self._keep(self._stream.finish())
            self._closed = True
            if self._file is not None:
                self._file.close()

    def _keep(self, data: bytes) -> None:
        self._bytes += len(data)
        self._line_feeds += data.count(b"\n")
        self._tail += data
        if self._file is not None:
            self._save(data)
        elif self._bytes > MAX_BYTES or self._line_feeds > MAX_LINES:
            self._file, self._path = self._create_file()
            self._save(bytes(self._tail))
        if len(self._tail) > 2 * _TAIL_BYTES:
            del self._tail[:-_TAIL_BYTES]

    def _save(self, data: bytes) -> None:
        if self._file is not None and self._file_bytes < MAX_FILE_BYTES:
            self._file_bytes += self._file.write(data[: MAX_FILE_BYTES - self._file_bytes])


TERM_GRACE_SECONDS = 0.3
"""The time between SIGTERM and SIGKILL."""

_KILL_TIMEOUT_SECONDS = 0.5
_POLL_SECONDS = 0.02
_MAX_KILL_ROUNDS = 5
_PROC = "/proc"
_ENDED_STATES = b"ZX"


@value
class ProcessInfo:
    pid: int
    parent: int
    group: int
    session: int
    name: str


class ProcessTree:
    """The process with id `root`, which leads a session, and all its descendants.

    Theory of operation. The root leads a session of its own, so most descendants are found by their session id. A
    descendant may call `setsid` and leave; it is found as the child of a known process, and its new session is
    remembered, so that its own children are found even after it has died. The table in `/proc` is a snapshot: a process
    may fork while it is read, so termination repeats reading and signalling until no process is left. Without `/proc`
    only the process group of the root is known.
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._sessions = {root}

    def alive(self) -> list[ProcessInfo]:
        """Return the live processes; without `/proc`, the root represents its process group."""
        if not os.path.isdir(_PROC):
            return [ProcessInfo(self._root, 0, self._root, self._root, "")] if self._group_exists() else []
        table = list(_table())
        members: dict[int, ProcessInfo] = {}
        grown = True
        while grown:
            found = {
                row.pid: row
                for row in table
                if row.session in self._sessions or row.parent in members or row.parent == self._root
            }
            grown = len(found) > len(members)
            members = found
            # A process that started a session of its own leads it; its children are found there.
            self._sessions.update(row.session for row in found.values())
        return list(members.values())

    async def terminate(self) -> None:
        self._signal(signal.SIGTERM)
        if not await self._wait_until_gone(TERM_GRACE_SECONDS):
            await self._wait_until_gone(_KILL_TIMEOUT_SECONDS, kill=True)

    def kill(self) -> None:
        """Send SIGKILL until no process is left, including those that are started meanwhile."""
        for _ in range(_MAX_KILL_ROUNDS):
            self._signal(_KILL)
            if not self.alive():
                return

    async def _wait_until_gone(self, seconds: float, *, kill: bool = False) -> bool:
        for _ in range(round(seconds / _POLL_SECONDS)):
            if kill:
                self._signal(_KILL)
            if not self.alive():
                return True
            await asyncio.sleep(_POLL_SECONDS)
        return False

    def _signal(self, number: signal.Signals) -> None:
        if sys.platform == "win32":
            tree = ["taskkill", "/T", "/F", "/PID", str(self._root)]
            subprocess.run(tree, capture_output=True, check=False)  # noqa: S603  fixed arguments and a number
            return
        others = [process for process in self.alive() if process.group != self._root]
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._root, number)
        for process in others:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, number)

    def _group_exists(self) -> bool:
        if sys.platform == "win32":
            return False
        try:
            os.killpg(self._root, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return True


def _table() -> Iterator[ProcessInfo]:
    """Read the process table, without zombies."""
    for entry in os.listdir(_PROC):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError), open(f"{_PROC}/{entry}/stat", "rb") as file:
            # The name is in parentheses, and may contain spaces and parentheses.
            front, _, rest = file.read().rpartition(b")")
            state, parent, group, session = rest.split()[:4]
            if state not in _ENDED_STATES:
                name = front.partition(b"(")[2].decode("utf-8", "replace")
                yield ProcessInfo(int(entry), int(parent), int(group), int(session), name)


_KILL = signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL


T = TypeVar("T")
ENVIRONMENT = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat"}
"""Keeps programs from starting a pager or drawing on a terminal."""

UPDATE_INTERVAL_SECONDS = 0.2

_QUIET_SECONDS = 0.2
_DRAIN_TIMEOUT_SECONDS = 1.0
_EXIT_TIMEOUT_SECONDS = 1.0
_CHUNK_BYTES = 65536


class Ending(Enum):
    EXIT = "exit"
    TIMEOUT = "timeout"
    ABORT = "abort"


class RunningCommand:
    """One command, started when it is created."""

    def __init__(
        self, arguments: str | Sequence[str], cwd: str, environ: Mapping[str, str], *outputs: CommandOutput | _Beginning
    ) -> None:
        """Start the program and its arguments, or a line for the shell of Windows, with these environment variables.

        The first output gets standard output, and the last one standard error. Raises ToolFailure if the command cannot
        be started.
        """
        self._loop = asyncio.get_running_loop()
        self._outputs = outputs
        self._exited: asyncio.Future[int] = self._loop.create_future()
        self._drained: list[asyncio.Future[None]] = [self._loop.create_future() for _ in outputs]
        self._output_arrived = asyncio.Event()
        self._pipes, self._process = _start_process(arguments, cwd, environ, len(outputs))
        self._tree = ProcessTree(self._process.pid)
        # Daemon threads, because a background process may keep its end of a pipe open forever.
        for reading in zip(self._pipes, outputs, self._drained, strict=True):
            Thread(target=self._read_output, args=reading, daemon=True).start()
        Thread(target=self._await_exit, daemon=True).start()

    async def wait(self, seconds: float | None, signal: AbortSignal | None, on_output: Callable[[], None]) -> Ending:
        """Wait until the command exits, or end it on timeout or abort; call `on_output` while output arrives.

        When this returns or raises, the process has ended. So have all it started, unless it exited by itself.
        """
        updating = asyncio.ensure_future(self._update(on_output))
        try:
            ending = await self._ending(seconds, signal)
            if ending is not Ending.EXIT:
                await self._tree.terminate()
                # The thread that waits for the exit may report it a moment later.
                await asyncio.wait({self._exited}, timeout=_EXIT_TIMEOUT_SECONDS)
            await self._drain()
        except BaseException:
            self._tree.kill()
            raise
        finally:
            updating.cancel()
            for output in self._outputs:
                output.close()
        return ending

    @property
    def exit_code(self) -> int | None:
        """The exit code of the process; negative if a signal ended it."""
        return self._exited.result() if self._exited.done() else None

    def running_processes(self) -> list[ProcessInfo]:
        return self._tree.alive()

    async def _ending(self, seconds: float | None, signal: AbortSignal | None) -> Ending:
        aborted: asyncio.Future[int] = self._loop.create_future()
        unsubscribe = signal.on_abort(partial(_set_result, aborted, 0)) if signal else lambda: None
        either = {self._exited, aborted}
        try:
            done, _ = await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            unsubscribe()
        return Ending.EXIT if self._exited in done else Ending.ABORT if aborted in done else Ending.TIMEOUT

    async def _drain(self) -> None:
        """Collect the rest of the output, without waiting for background processes that write nothing."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_TIMEOUT_SECONDS):
                before = -1
                while pending := {each for each in self._drained if not each.done()}:
                    size = sum(output.size for output in self._outputs)
                    if size <= before and not self._readable():
                        break
                    before = size
                    await asyncio.wait(pending, timeout=_QUIET_SECONDS)

    async def _update(self, on_output: Callable[[], None]) -> None:
        while True:
            await self._output_arrived.wait()
            self._output_arrived.clear()
            on_output()
            await asyncio.sleep(UPDATE_INTERVAL_SECONDS)

    def _readable(self) -> bool:
        """Return whether a pipe contains unread output; always False on Windows."""
        if sys.platform == "win32":
            return False
        waiting = select.poll()
        for pipe, drained in zip(self._pipes, self._drained, strict=True):
            if not drained.done():
                waiting.register(pipe, select.POLLIN)
        return any(event & select.POLLIN for _, event in waiting.poll(0))

    def _read_output(self, pipe: int, output: CommandOutput | _Beginning, drained: asyncio.Future[None]) -> None:
        with contextlib.suppress(OSError):
            while data := os.read(pipe, _CHUNK_BYTES):
                output.feed(data)
                if not self._output_arrived.is_set():
                    self._report(self._output_arrived.set)
        os.close(pipe)
        self._report(partial(_set_result, drained, None))

    def _await_exit(self) -> None:
        self._report(partial(_set_result, self._exited, self._process.wait()))

    def _report(self, callback: Callable[[], object]) -> None:
        """Call back on the event loop, unless it is closed."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback)


def _set_result(future: asyncio.Future[T], result: T) -> None:
    if not future.done():
        future.set_result(result)


def shell_arguments(line: str) -> str | list[str]:
    if sys.platform == "win32":
        return line
    return [shutil.which("bash", path="/bin:/usr/bin") or shutil.which("bash") or "/bin/sh", "-c", line]


def _start_process(
    arguments: str | Sequence[str], cwd: str, environ: Mapping[str, str], outputs: int
) -> tuple[list[int], subprocess.Popen[bytes]]:
    """Start the process; return the read ends of its output pipes, and the process."""
    pipes = [os.pipe() for _ in range(outputs)]
    read, write = [pipe[0] for pipe in pipes], [pipe[1] for pipe in pipes]
    try:
        return read, subprocess.Popen(  # noqa: S603  running given commands is its purpose; see `permissions`
            arguments,
            cwd=cwd,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=write[0],
            stderr=write[-1],
            start_new_session=True,
            shell=isinstance(arguments, str),
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
    except (OSError, ValueError) as error:
        for end in read:
            os.close(end)
        if not os.path.isdir(cwd):
            raise ToolFailure(f"The working directory {cwd} is not there") from error
        raise ToolFailure(f"The command cannot be started: {getattr(error, 'strerror', None) or error}") from error
    finally:
        for end in write:
            os.close(end)


MAX_OUTPUT_BYTES = 10_000_000
"""How much of each output is kept."""


@value
class ExecResult:
    """How a program ended.

    `code` is its exit code, or the negative number of the signal that ended it. `killed` is set after an abort or a
    timeout. Of `truncated` outputs, only the beginning was kept. Bytes that are not UTF-8 are replaced.
    """

    stdout: str
    stderr: str
    code: int
    killed: bool
    truncated: bool = False


async def execute_command(
    arguments: Sequence[str], cwd: str, signal: AbortSignal | None, seconds: float | None
) -> ExecResult:
    """Run a program to its end, an abort or a timeout. A program is not started if the signal is set already.

    Raises ToolFailure if the program cannot be started.
    """
    if signal is not None and signal.aborted:
        return ExecResult("", "", -SIGTERM, killed=True)
    stdout, stderr = _Beginning(), _Beginning()
    command = RunningCommand(arguments, cwd, command_environment(os.environ), stdout, stderr)
    ending = await command.wait(seconds, signal, lambda: None)
    code = -SIGTERM if command.exit_code is None else command.exit_code
    truncated = stdout.truncated or stderr.truncated
    return ExecResult(stdout.text(), stderr.text(), code, ending is not Ending.EXIT, truncated)


class _Beginning:
    """The beginning of an output. The rest is read, so that the program does not wait, and counted."""

    def __init__(self) -> None:
        self.size = 0
        self._kept = bytearray()
        self._closed = False

    @property
    def truncated(self) -> bool:
        return self.size > len(self._kept)

    def feed(self, data: bytes) -> None:
        if not self._closed:
            self._kept += data[: MAX_OUTPUT_BYTES - len(self._kept)]
            self.size += len(data)

    def close(self) -> None:
        self._closed = True

    def text(self) -> str:
        return bytes(self._kept).decode("utf-8", "replace")
