"""A running command and everything it has started.

Theory of operation. The process is started in a process session of its own, with one pipe for both outputs, or one for
each. Daemon threads, one for each pipe and one waiting for the exit, report to the event loop, so no amount of output
blocks it. The command is over when the process exits, the timeout expires or the abort signal is set, whichever is
first; in the last two cases the whole process tree is ended. After an exit, background processes may still hold a pipe:
output is collected until it is quiet for a moment, and no longer than a second.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from threading import Thread
from typing import Protocol, TypeVar

from tildone.host.tools.command_patterns import WINDOWS
from tildone.host.tools.process_tree import ProcessInfo, ProcessTree
from tildone.host.tools.tool_failure import ToolFailure
from tildone.kit.signal import AbortSignal

T = TypeVar("T")
ENVIRONMENT = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat"}
"""Keeps programs from starting a pager or drawing on a terminal."""

UPDATE_INTERVAL_SECONDS = 0.2

_QUIET_SECONDS = 0.2
_DRAIN_TIMEOUT_SECONDS = 1.0
_EXIT_TIMEOUT_SECONDS = 1.0
_CHUNK_BYTES = 65536


class Ending(Enum):
    """Why a command is over."""

    EXIT = "exit"
    TIMEOUT = "timeout"
    ABORT = "abort"


class OutputSink(Protocol):
    """Where the output of a command goes."""

    @property
    def size(self) -> int:
        """The number of bytes fed so far."""

    def feed(self, data: bytes) -> None:
        """Take bytes, in a thread of their own."""

    def close(self) -> None:
        """Take no more bytes."""


class RunningCommand:
    """One command, started when it is created."""

    def __init__(
        self, arguments: str | Sequence[str], cwd: str, environ: Mapping[str, str], *outputs: OutputSink
    ) -> None:
        """Start the program and its arguments, or a line for the shell of Windows, with these environment variables.

        The first output gets standard output, and the last one standard error.

        Raises:
            ToolFailure: the command cannot be started.
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
        """Return the processes that the command started and that are still running."""
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

    def _read_output(self, pipe: int, output: OutputSink, drained: asyncio.Future[None]) -> None:
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
    if WINDOWS:
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
