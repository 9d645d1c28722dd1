"""A shell in a real terminal of 80×24, which tmux emulates and whose screen can be read.

Theory of operation. A tmux server of our own runs one bash in one pane. This process is attached in control mode: tmux
reports the output of the pane as lines, and answers commands between `%begin` and `%end`. The prompts of bash contain
an invisible title, the first prompt with the number of the command, so the end of a command and the wish for another
line are seen in the output: nothing sleeps, and nothing is polled. tmux handles what it reads in order, so a capture
after that shows everything the command printed.
"""

import os
import shutil
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

COLUMNS, ROWS = 80, 24
TIMEOUT_SECONDS = 240.0
PROMPT = "$ "


def why_not() -> str | None:
    """Return why there is no such terminal on this machine, or None if there is one."""
    missing = [program for program in ("tmux", "bash") if shutil.which(program) is None]
    return f"{' and '.join(missing)} not installed; the walks need a terminal" if missing else None


class Terminal:
    """A terminal in a folder; it is open inside a `with` statement."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self._folder = TemporaryDirectory(prefix="walk-")
        self._tmux = ["tmux", "-S", os.path.join(self._folder.name, "socket"), "-f", os.devnull]
        self._output = ""
        self._prompts = 0
        prompts = {"PS1": rf"\[\e]2;prompt\#;\a\]{PROMPT}", "PS2": r"\[\e]2;more;\a\]> "}
        shell = {**prompts, "HISTFILE": "", "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
        inherited = {name: value for name, value in environ.items() if name not in ("COLUMNS", "LINES", "TMUX")}
        size = ["-x", str(COLUMNS), "-y", str(ROWS)]
        command = [*self._tmux, "-C", "new-session", *size, "bash", "--norc", "-i"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, cwd=folder, env={**inherited, **shell}, stdin=pipe, stdout=pipe)
        self._alarm = threading.Timer(TIMEOUT_SECONDS, self._process.kill)

    def __enter__(self) -> Self:
        self._alarm.start()
        self._wait_for_prompt()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._alarm.cancel()
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, check=False, timeout=30)
        self._process.communicate()
        self._folder.cleanup()

    def type(self, command: str) -> str:
        """Type a command and wait for the next prompt; return what was printed in between."""
        start = self._line_of_cursor()
        lines = command.split("\n")
        for line in lines[:-1]:
            self._send(line)
            self._wait_for("more")
        self._send(lines[-1])
        self._wait_for_prompt()
        first = start - self._number("history_size")
        printed = self._run(f"capture-pane -p -J -S {first}")[len(lines) :]
        text = "\n".join(line.rstrip() for line in printed).rstrip("\n")
        assert text.endswith(PROMPT.rstrip()), f"{command} ended without a prompt: {text}"
        return text.removesuffix(PROMPT.rstrip()).rstrip("\n")

    @property
    def screen(self) -> str:
        """The lines that are visible now."""
        return "\n".join(line.rstrip() for line in self._run("capture-pane -p")).rstrip("\n")

    def _send(self, line: str) -> None:
        codes = " ".join(f"{byte:02x}" for byte in f"{line}\r".encode())
        self._run(f"send-keys -H {codes}")

    def _line_of_cursor(self) -> int:
        return self._number("history_size") + self._number("cursor_y")

    def _number(self, variable: str) -> int:
        [shown] = self._run(f"display-message -p '#{{{variable}}}'")
        return int(shown)

    def _run(self, command: str) -> list[str]:
        """Run a tmux command; return the lines of its answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n".encode())
        self._process.stdin.flush()
        while not self._next_line().startswith("%begin"):
            pass
        answer: list[str] = []
        while not (line := self._next_line()).startswith(("%end", "%error")):
            answer.append(line)
        assert line.startswith("%end"), answer
        return answer

    def _wait_for_prompt(self) -> None:
        self._prompts += 1
        self._wait_for(f"prompt{self._prompts}")

    def _wait_for(self, title: str) -> None:
        """Wait until bash has set this title of the terminal, which it does in its prompts."""
        while f"]2;{title};" not in self._output:
            self._next_line()
        self._output = ""

    def _next_line(self) -> str:
        """Read a line from tmux; the output of the pane is kept."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline().decode()
        assert line, f"the terminal ended, or a command took longer than {TIMEOUT_SECONDS} seconds"
        line = line.removesuffix("\n")
        if line.startswith("%output "):
            self._output += line.split(" ", 2)[2]
        return line
