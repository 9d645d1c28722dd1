"""A shell command at work: started in a session of its own, listened to, and ended with everything it started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Callable
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
"""Nobody is there to turn pages."""

BETWEEN_UPDATES = 0.2

_QUIET = 0.2
_STILL_TALKING = 1.0
_CHUNK = 65536


class Ending(Enum):
    """Why a command is over."""

    EXIT = "exit"
    TIMEOUT = "timeout"
    ABORT = "abort"


class ShellCommand:
    """One command. Its output is read by a thread of its own, so that no amount of it holds up the event loop."""

    def __init__(self, line: str, cwd: str, output: CommandOutput) -> None:
        """Start it.

        Raises:
            Failed: it cannot be started.
        """
        self._loop = asyncio.get_running_loop()
        self._output = output
        self._exited: asyncio.Future[int] = self._loop.create_future()
        self._drained: asyncio.Future[None] = self._loop.create_future()
        self._news = asyncio.Event()
        self._pipe, self._process = _started(line, cwd)
        self._family = ProcessTree(self._process.pid)
        # Daemons: what a command leaves in the background may hold its end of the pipe for as long as it likes.
        Thread(target=self._listen, daemon=True).start()
        Thread(target=self._wait, daemon=True).start()

    async def over(self, seconds: float, signal: AbortSignal | None, tell: Callable[[], None]) -> Ending:
        """Wait for the end, or bring it about; `tell` is called now and then while there is news.

        However this is left, the command is over, and unless it came to its end by itself nothing of it is left.
        """
        telling = asyncio.ensure_future(self._tell(tell))
        try:
            ending = await self._ending(seconds, signal)
            if ending is not Ending.EXIT:
                await self._family.end()
            await self._heard()
        except BaseException:
            self._family.kill()
            raise
        finally:
            telling.cancel()
            self._output.close()
        return ending

    @property
    def exit_code(self) -> int | None:
        """As the shell gave it; below zero is the number of the signal that ended the shell itself."""
        return self._exited.result() if self._exited.done() else None

    def left_behind(self) -> list[ProcessInfo]:
        """What the command started and did not wait for."""
        return self._family.alive()

    async def _ending(self, seconds: float, signal: AbortSignal | None) -> Ending:
        aborted: asyncio.Future[int] = self._loop.create_future()
        forget = signal.on_abort(partial(_settle, aborted, 0)) if signal else lambda: None
        either = {self._exited, aborted}
        try:
            done, _ = await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            forget()
        return Ending.EXIT if self._exited in done else Ending.ABORT if aborted in done else Ending.TIMEOUT

    async def _heard(self) -> None:
        """Wait for the rest of the output, but not for what runs on in the background and says nothing."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_STILL_TALKING):
                before = -1
                while not self._drained.done() and (self._output.size > before or self._readable()):
                    before = self._output.size
                    await asyncio.wait({self._drained}, timeout=_QUIET)

    async def _tell(self, tell: Callable[[], None]) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            tell()
            await asyncio.sleep(BETWEEN_UPDATES)

    def _readable(self) -> bool:
        """Whether the pipe holds something that the thread has not come to; not every system says."""
        if sys.platform == "win32":
            return False
        waiting = select.poll()
        waiting.register(self._pipe, select.POLLIN)
        return any(event & select.POLLIN for _, event in waiting.poll(0))

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while data := os.read(self._pipe, _CHUNK):
                self._output.feed(data)
                if not self._news.is_set():
                    self._report(self._news.set)
        os.close(self._pipe)
        self._report(partial(_settle, self._drained, None))

    def _wait(self) -> None:
        self._report(partial(_settle, self._exited, self._process.wait()))

    def _report(self, what: Callable[[], object]) -> None:
        """Tell the event loop, if it is still there to be told."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(what)


def _settle(future: asyncio.Future[T], result: T) -> None:
    if not future.done():
        future.set_result(result)


def _started(line: str, cwd: str) -> tuple[int, subprocess.Popen[bytes]]:
    """The end of a pipe to listen at, and the process that writes into the other."""
    read, write = os.pipe()
    try:
        return read, subprocess.Popen(  # noqa: S603  running what it is given is what this is for; see `confine`
            _arguments(line),
            cwd=cwd,
            env=os.environ | ENVIRONMENT,
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
