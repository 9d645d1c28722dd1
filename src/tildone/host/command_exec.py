"""Programs that extensions run: `ExtensionAPI.exec`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from signal import SIGTERM

from tildone.agents.secrets import command_environment
from tildone.host.tools.running_command import Ending, RunningCommand
from tildone.kit.signal import AbortSignal
from tildone.value import value

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

    Raises:
        ToolFailure: the program cannot be started.
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
