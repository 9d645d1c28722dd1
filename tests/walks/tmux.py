"""A program in a real terminal, which tmux emulates and whose screen can be read.

Theory of operation. A tmux server of our own runs one program in one pane. This process is attached in control mode:
tmux reports the output of the pane as lines, and answers commands between `%begin` and `%end`. A thread reads these
lines, so that waiting for one has a time limit. The server, the program and all their descendants run under the
supervisor of `tests/clients/supervisor.py`, so none outlives the test.

`Terminal` runs bash. Its prompts contain an invisible title, the first prompt with the number of the command, so the
end of a command and the wish for another line are seen in the output: nothing sleeps, and nothing is polled. tmux
handles what it reads in order, so a capture after that shows everything the command printed.
"""

import os
import queue
import shutil
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

from tests.clients.supervisor import supervised

COLUMNS, ROWS = 80, 24
TIMEOUT_SECONDS = 240.0
PROMPT = "$ "
SHELL = {"SHELL": "/bin/sh"}
"""tmux starts commands with the login shell, which some users do not have."""


class TimedOut(AssertionError):
    """Nothing came from the terminal for too long, or it ended."""


def why_not() -> str | None:
    """Return why there is no such terminal on this machine, or None if there is one."""
    missing = [program for program in ("tmux", "bash") if shutil.which(program) is None]
    return f"{' and '.join(missing)} not installed; the walks need a terminal" if missing else None


class Pane:
    """A program in a terminal; it runs inside a `with` statement."""

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        environ: Mapping[str, str],
        *,
        size: tuple[int, int] = (COLUMNS, ROWS),
        seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self._exits = ExitStack()
        self._socket = TemporaryDirectory(prefix="tmux-")
        self._deadline = time.monotonic() + seconds
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._last_line = ""
        inherited = {name: value for name, value in environ.items() if name not in ("COLUMNS", "LINES", "TMUX")} | SHELL
        tmux = ["tmux", "-S", os.path.join(self._socket.name, "socket"), "-f", os.devnull]
        start = [*tmux, "-C", "new-session", "-x", str(size[0]), "-y", str(size[1]), *command]
        pipe = subprocess.PIPE
        self._supervised = supervised(start, seconds=seconds, cwd=folder, env=inherited, stdin=pipe, stdout=pipe)

    def __enter__(self) -> Self:
        self._exits.callback(self._socket.cleanup)
        self._process = self._exits.enter_context(self._supervised)
        threading.Thread(target=self._read, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._exits.close()

    @property
    def screen(self) -> str:
        """The lines that are visible now."""
        return "\n".join(line.rstrip() for line in self.tmux("capture-pane -p")).rstrip("\n")

    def send(self, keys: str) -> None:
        """Send these characters, as a keyboard does."""
        codes = " ".join(f"{byte:02x}" for byte in keys.encode())
        self.tmux(f"send-keys -H {codes}")

    def tmux(self, command: str) -> list[str]:
        """Run a tmux command; return the lines of its answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n".encode())
        self._process.stdin.flush()
        # The answer to the command that started tmux has the flag 0.
        while not ((line := self.next_line()).startswith("%begin") and line.endswith(" 1")):
            pass
        answer: list[str] = []
        while not (line := self.next_line()).startswith(("%end", "%error")):
            answer.append(line)
        assert line.startswith("%end"), answer
        return answer

    def next_line(self, deadline: float | None = None) -> str:
        """Return the next line from tmux.

        Raises:
            TimedOut: There is none before the deadline, or tmux has ended.
        """
        end = self._deadline if deadline is None else min(deadline, self._deadline)
        try:
            line = self._lines.get(timeout=max(end - time.monotonic(), 0))
        except queue.Empty:
            raise TimedOut("the terminal printed nothing more in the time that it has") from None
        if not line:
            raise TimedOut(f"the terminal ended: {self._last_line}")
        self._last_line = line = line.removesuffix("\n")
        self.on_line(line)
        return line

    def on_line(self, line: str) -> None:
        """Take note of a line from tmux."""

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.decode(errors="replace"))
        self._lines.put("")


class Terminal(Pane):
    """A bash of 80×24 in a folder."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        prompts = {"PS1": rf"\[\e]2;prompt\#;\a\]{PROMPT}", "PS2": r"\[\e]2;more;\a\]> "}
        shell = {**prompts, "HISTFILE": "", "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
        super().__init__(["bash", "--norc", "-i"], folder, {**environ, **shell})
        self._output = ""
        self._prompts = 0

    def __enter__(self) -> Self:
        super().__enter__()
        self._wait_for_prompt()
        return self

    def type(self, command: str) -> str:
        """Type a command and wait for the next prompt; return what was printed in between."""
        start = self._line_of_cursor()
        lines = command.split("\n")
        for line in lines[:-1]:
            self.send(f"{line}\r")
            self._wait_for("more")
        self.send(f"{lines[-1]}\r")
        self._wait_for_prompt()
        first = start - self._number("history_size")
        printed = self.tmux(f"capture-pane -p -J -S {first}")[len(lines) :]
        text = "\n".join(line.rstrip() for line in printed).rstrip("\n")
        assert text.endswith(PROMPT.rstrip()), f"{command} ended without a prompt: {text}"
        return text.removesuffix(PROMPT.rstrip()).rstrip("\n")

    def on_line(self, line: str) -> None:
        if line.startswith("%output "):
            self._output += line.split(" ", 2)[2]

    def _line_of_cursor(self) -> int:
        return self._number("history_size") + self._number("cursor_y")

    def _number(self, variable: str) -> int:
        [shown] = self.tmux(f"display-message -p '#{{{variable}}}'")
        return int(shown)

    def _wait_for_prompt(self) -> None:
        self._prompts += 1
        self._wait_for(f"prompt{self._prompts}")

    def _wait_for(self, title: str) -> None:
        """Wait until bash has set this title of the terminal, which it does in its prompts."""
        while f"]2;{title};" not in self._output:
            self.next_line()
        self._output = ""
