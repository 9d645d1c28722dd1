"""A running shell command and everything it has started.

Theory of operation. The shell is started in a process session of its own, with both outputs in one pipe. Two daemon
threads, one reading the pipe and one waiting for the exit, report to the event loop, so no amount of output blocks it.
The command is over when the shell exits, the timeout expires or the abort signal is set, whichever is first; in the
last two cases the whole process tree is ended. After an exit, background processes may still hold the pipe: output is
collected until it is quiet for a moment, and no longer than a second.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from threading import Thread
from typing import TypeVar

from tildone.host.tools.command_output import CommandOutput
from tildone.host.tools.process_tree import ProcessInfo, ProcessTree
from tildone.host.tools.shell_syntax import WINDOWS
from tildone.host.tools.tool_failure import ToolFailure
from tildone.kit.signal import AbortSignal

T = TypeVar("T")
ENVIRONMENT = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat"}
"""Keeps programs from starting a pager or drawing on a terminal."""

UPDATE_INTERVAL_SECONDS = 0.2

_QUIET_SECONDS = 0.2
_DRAIN_TIMEOUT_SECONDS = 1.0
_CHUNK_BYTES = 65536


class Ending(Enum):
    """Why a command is over."""

    EXIT = "exit"
    TIMEOUT = "timeout"
    ABORT = "abort"


class ShellCommand:
    """One command, started when it is created."""

    def __init__(self, line: str, cwd: str, output: CommandOutput, environ: Mapping[str, str]) -> None:
        """Start the command with these environment variables.

        Raises:
            ToolFailure: the command cannot be started.
        """
        self._loop = asyncio.get_running_loop()
        self._output = output
        self._exited: asyncio.Future[int] = self._loop.create_future()
        self._drained: asyncio.Future[None] = self._loop.create_future()
        self._output_arrived = asyncio.Event()
        self._pipe, self._process = _start_process(line, cwd, {**environ, **ENVIRONMENT})
        self._tree = ProcessTree(self._process.pid)
        # Daemon threads, because a background process may keep its end of the pipe open forever.
        Thread(target=self._read_output, daemon=True).start()
        Thread(target=self._await_exit, daemon=True).start()

    async def wait(self, seconds: float, signal: AbortSignal | None, on_output: Callable[[], None]) -> Ending:
        """Wait until the command exits, or end it on timeout or abort; call `on_output` regularly while output arrives.

        When this returns or raises, the shell has ended. Unless it exited by itself, so have all processes it started.
        """
        updating = asyncio.ensure_future(self._update(on_output))
        try:
            ending = await self._ending(seconds, signal)
            if ending is not Ending.EXIT:
                await self._tree.terminate()
            await self._drain()
        except BaseException:
            self._tree.kill()
            raise
        finally:
            updating.cancel()
            self._output.close()
        return ending

    @property
    def exit_code(self) -> int | None:
        """The shell's exit code; negative if a signal ended the shell itself."""
        return self._exited.result() if self._exited.done() else None

    def running_processes(self) -> list[ProcessInfo]:
        """Return the processes that the command started and that are still running."""
        return self._tree.alive()

    async def _ending(self, seconds: float, signal: AbortSignal | None) -> Ending:
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
                while not self._drained.done() and (self._output.size > before or self._readable()):
                    before = self._output.size
                    await asyncio.wait({self._drained}, timeout=_QUIET_SECONDS)

    async def _update(self, on_output: Callable[[], None]) -> None:
        while True:
            await self._output_arrived.wait()
            self._output_arrived.clear()
            on_output()
            await asyncio.sleep(UPDATE_INTERVAL_SECONDS)

    def _readable(self) -> bool:
        """Return whether the pipe contains unread output; always False on Windows."""
        if sys.platform == "win32":
            return False
        waiting = select.poll()
        waiting.register(self._pipe, select.POLLIN)
        return any(event & select.POLLIN for _, event in waiting.poll(0))

    def _read_output(self) -> None:
        with contextlib.suppress(OSError):
            while data := os.read(self._pipe, _CHUNK_BYTES):
                self._output.feed(data)
                if not self._output_arrived.is_set():
                    self._report(self._output_arrived.set)
        os.close(self._pipe)
        self._report(partial(_set_result, self._drained, None))

    def _await_exit(self) -> None:
        self._report(partial(_set_result, self._exited, self._process.wait()))

    def _report(self, callback: Callable[[], object]) -> None:
        """Call back on the event loop, unless it is closed."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback)


def _set_result(future: asyncio.Future[T], result: T) -> None:
    if not future.done():
        future.set_result(result)


def _start_process(line: str, cwd: str, environ: dict[str, str]) -> tuple[int, subprocess.Popen[bytes]]:
    """Start the process; return the read end of its output pipe, and the process."""
    read, write = os.pipe()
    try:
        return read, subprocess.Popen(  # noqa: S603  running given commands is its purpose; see `permissions`
            _arguments(line),
            cwd=cwd,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=write,
            stderr=write,
            start_new_session=True,
            shell=WINDOWS,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
    except (OSError, ValueError) as error:
        os.close(read)
        if not os.path.isdir(cwd):
            raise ToolFailure(f"The working directory {cwd} is not there") from error
        raise ToolFailure(f"The command cannot be started: {getattr(error, 'strerror', None) or error}") from error
    finally:
        os.close(write)


def _arguments(line: str) -> str | list[str]:
    if WINDOWS:
        return line
    return [shutil.which("bash", path="/bin:/usr/bin") or shutil.which("bash") or "/bin/sh", "-c", line]
