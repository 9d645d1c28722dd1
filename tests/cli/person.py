"""Someone at a command line: runs the installed program, over pipes or at a terminal, in a folder of their own."""

import contextlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.suite.forking import PROGRAM, take_terminal

CTRL_C = b"\x03"
NAME = "Ada"
HANG_SECONDS = 120
"""A command that takes longer counts as hanging. No test depends on how long one takes."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class Person:
    """Their folder, what they have set in their environment, and how wide their terminal is."""

    folder: Path
    home: Path
    environ: dict[str, str] = field(default_factory=dict)
    columns: int = 80

    def sets(self, settings: str) -> None:
        """Write the person's own settings file."""
        file = self.home / ".config" / "tildone" / "config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(settings, encoding="utf-8")

    def run(self, *argv: str, given: str | bytes = b"", **environ: str) -> Answer:
        """Run a command over pipes."""
        done = subprocess.run(
            [PROGRAM, *argv],
            cwd=self.folder,
            env=self.environment(environ),
            input=given.encode() if isinstance(given, str) else given,
            capture_output=True,
            timeout=HANG_SECONDS,
            check=False,
        )
        return Answer(done.returncode, done.stdout.decode(), done.stderr.decode())

    def says(self, *argv: str, given: str = "", **environ: str) -> str:
        """What a command that succeeds prints."""
        answer = self.run(*argv, given=given, **environ)
        assert (answer.code, answer.err) == (0, ""), answer
        return answer.out

    def refused(self, code: int, *argv: str, given: str | bytes = b"", **environ: str) -> str:
        """What a command that ends with this exit code says, on standard error alone."""
        answer = self.run(*argv, given=given, **environ)
        assert (answer.code, answer.out) == (code, ""), answer
        return answer.err

    def shell(self, script: str) -> Answer:
        """Run a script of a POSIX shell, where `tildone` is on PATH."""
        environ = self.environment({"PATH": f"{PROGRAM.parent}{os.pathsep}{os.environ.get('PATH', '')}"})
        done = subprocess.run(
            ["sh", "-c", script], cwd=self.folder, env=environ, capture_output=True, timeout=HANG_SECONDS, check=False
        )
        return Answer(done.returncode, done.stdout.decode(), done.stderr.decode())

    def python(self, script: str, *argv: str) -> Answer:
        """Run a script of Python, in a new interpreter."""
        command = [sys.executable, "-c", script, *argv]
        environ = self.environment({})
        done = subprocess.run(
            command, cwd=self.folder, env=environ, capture_output=True, timeout=HANG_SECONDS, check=False
        )
        return Answer(done.returncode, done.stdout.decode(), done.stderr.decode())

    def at_terminal(self, *argv: str, **environ: str) -> "Terminal":
        """Run a command at a terminal of its own. Without pseudo-terminals, the test is skipped."""
        if os.name == "nt":
            pytest.skip("needs a pseudo-terminal")
        return Terminal(self, argv, environ)

    def environment(self, more: dict[str, str]) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("TILDONE_", "XDG_", "PYTHON"))
            and name not in {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "VISUAL", "EDITOR", "DISPLAY", "WAYLAND_DISPLAY"}
        }
        kept["PATH"] = f"{PROGRAM.parent}{os.pathsep}{kept.get('PATH', '')}"
        home = {name: str(self.home) for name in ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA")}
        return kept | home | {"TERM": "xterm-256color", "TILDONE_USER": NAME} | self.environ | more


def new_person(folder: Path, **environ: str) -> Person:
    """Somebody with a new project and an empty home."""
    project, home = folder / "project", folder / "home"
    (project / ".git").mkdir(parents=True)
    home.mkdir()
    return Person(project, home, environ)


class Terminal:
    """A program at a pseudo-terminal, of which it is told the width."""

    def __init__(self, person: Person, argv: tuple[str, ...], environ: dict[str, str]) -> None:
        # Windows has no pseudo-terminals of this kind; what needs one is skipped there.
        import fcntl  # noqa: PLC0415  see above
        import pty  # noqa: PLC0415  see above
        import struct  # noqa: PLC0415  see above
        import termios  # noqa: PLC0415  see above

        self._shown = b""
        self.fd, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, person.columns, 0, 0))
        self.process = subprocess.Popen(
            [PROGRAM, *argv],
            cwd=person.folder,
            env=person.environment(environ),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            # Makes it the terminal that Ctrl-C is typed at.
            preexec_fn=take_terminal,  # noqa: PLW1509  it only calls the system
        )
        os.close(theirs)

    def until(self, words: str) -> None:
        """Read on until the words have been shown."""
        while words.encode() not in self._shown:
            chunk = self._read()
            assert chunk, f"{words!r} was never shown: {self._shown!r}"

    def until_after(self, earlier: str, words: str) -> None:
        """Read on until the words have been shown after the last of the earlier words."""
        while words.encode() not in self._shown.rpartition(earlier.encode())[2]:
            chunk = self._read()
            assert chunk, f"{words!r} was not shown after {earlier!r}: {self._shown!r}"

    def type(self, keys: bytes) -> None:
        os.write(self.fd, keys)

    def say(self, line: str, answer: str = "") -> None:
        """Type a line, and read on until the answer to it has been shown."""
        self.type(f"{line}\r".encode())
        self.until(answer)

    def end(self, keys: bytes = b"") -> Answer:
        """Type the last keys and wait for the program; everything it has shown, in whichever stream."""
        if keys:
            self.type(keys)
        while self._read():
            pass
        os.close(self.fd)
        return Answer(self.process.wait(timeout=HANG_SECONDS), self._shown.decode().replace("\r\n", "\n"), "")

    def _read(self) -> bytes:
        chunk = b""
        # Linux says that a terminal is gone with an error.
        with contextlib.suppress(OSError):
            chunk = os.read(self.fd, 65536)
        self._shown += chunk
        return chunk
