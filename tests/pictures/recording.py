"""Records a program at a terminal: the screen at each mark of a storyboard.

A mark waits until a pattern is on the screen and the text has been the same for a moment. What the program waits for,
such as the next answer of a model, is released only after the mark was recorded, so that a recording has the same
screens on a fast and on a slow machine. Frames are kept as JSON: a picture can be drawn again without a recording.
"""

import json
import os
import pty
import re
import select
import struct
import subprocess
import tempfile
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from fcntl import ioctl
from pathlib import Path
from typing import Any

import pyte

from tests.cli.person import Person

COUNTDOWN = re.compile("(by itself in TIME) [━─]+")
WORKED = re.compile("^( scripted .*?) · TIME", re.MULTILINE)
"""How long the agent has worked, in the line of the model. It is not shown in the first second."""

VARYING = re.compile(r"\d+(\.\d+)? ?(ms|min|m|s|h)\b|\d+:\d\d")
READ_SECONDS = 0.05
STEADY_SECONDS = 0.5
MARK_LIMIT_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Cell:
    """The look of a piece of text: colours as names or as six hexadecimal digits."""

    foreground: str = "default"
    background: str = "default"
    bold: bool = False
    strike: bool = False
    italic: bool = False


Row = tuple[tuple[str, Cell], ...]
"""Pieces of text, each with its look. The end of a row without text and without a background is left out."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A screen, and for how many seconds it is shown."""

    rows: tuple[Row, ...]
    seconds: float

    @property
    def text(self) -> str:
        """The screen without looks, and without what differs from run to run: times, and signs that turn."""
        text = "\n".join("".join(text for text, _ in row).rstrip() for row in self.rows)
        return _steady(text)


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment of a storyboard: what has to be on the screen, how long the frame is shown, and what happens then."""

    pattern: str
    seconds: float
    then: Callable[["Recording"], object] = lambda _: None
    steady_seconds: float = STEADY_SECONDS


def _steady(text: str) -> str:
    """Return a text without times, signs that turn, the scroll bar, and the bar of a countdown."""
    text = re.sub(r" +", " ", re.sub("[⠁-⣿▁-█]", " ", VARYING.sub("TIME", text)))
    return WORKED.sub(r"\1", COUNTDOWN.sub(r"\1", text))


class Recording:
    """A program at a terminal of its own."""

    def __init__(
        self, argv: Sequence[str | Path], folder: Path, environ: Mapping[str, str], size: tuple[int, int]
    ) -> None:
        columns, rows = size
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self._terminal, end = pty.openpty()
        ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        given = {name: each for name, each in environ.items() if name not in {"LINES", "COLUMNS"}}
        self._process = subprocess.Popen(
            argv, cwd=folder, env=given, stdin=end, stdout=end, stderr=end, start_new_session=True
        )
        os.close(end)

    def frames(self, marks: Sequence[Mark]) -> list[Frame]:
        found = []
        for mark in marks:
            self._wait_for(mark)
            found.append(Frame(tuple(self._row(number) for number in range(self.screen.lines)), mark.seconds))
            mark.then(self)
        return found

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._terminal)

    def _wait_for(self, mark: Mark) -> None:
        until = time.monotonic() + MARK_LIMIT_SECONDS
        shown, since = "", 0.0
        while time.monotonic() < until:
            self._read(READ_SECONDS)
            text = _steady("\n".join(self.screen.display))
            if text != shown:
                shown, since = text, time.monotonic()
            is_steady = time.monotonic() - since >= mark.steady_seconds
            if is_steady and re.search(mark.pattern, "\n".join(self.screen.display)):
                return
        raise AssertionError(f"{mark.pattern!r} did not appear on the screen:\n{shown}")

    def _read(self, seconds: float) -> None:
        """Show what the program has written."""
        if select.select([self._terminal], [], [], seconds)[0]:
            try:
                self._stream.feed(os.read(self._terminal, 65_536))
            except OSError:
                # The program has ended.
                time.sleep(seconds)

    def _row(self, number: int) -> Row:
        pieces: list[tuple[str, Cell]] = []
        for column in range(self.screen.columns):
            char = self.screen.buffer[number][column]
            fore, back = (char.bg, char.fg) if char.reverse else (char.fg, char.bg)
            if char.reverse:
                fore, back = (fore if fore != "default" else "ground"), (back if back != "default" else "text")
            look = Cell(fore, back, char.bold, char.strikethrough, char.italics)
            if pieces and pieces[-1][1] == look:
                pieces[-1] = (pieces[-1][0] + char.data, look)
            else:
                pieces.append((char.data, look))
        while pieces and pieces[-1][1].background == "default" and not pieces[-1][0].strip():
            pieces.pop()
        return tuple(pieces)


def record_in_project(
    start: Callable[[Path, Path], Sequence[str | Path]],
    marks: Sequence[Mark],
    size: tuple[int, int],
    environ: Mapping[str, str] | None = None,
) -> list[Frame]:
    """Record a program in an empty project. `start` gets that folder and a home, and returns what to run."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, home = Path(scratch, "project"), Path(scratch, "home")
        folder.mkdir()
        home.mkdir()
        given = Person(folder, home).environment({"COLORTERM": "truecolor", **(environ or {})})
        recording = Recording(start(folder, home), folder, given, size)
        try:
            return recording.frames(marks)
        finally:
            recording.stop()


def write_frames(path: Path, frames: Sequence[Frame]) -> None:
    """Write frames, one row per line. Each look is written once."""
    looks = list(dict.fromkeys(look for frame in frames for row in frame.rows for _, look in row))
    rows = list(dict.fromkeys(row for frame in frames for row in frame.rows))
    lines = ["{", f' "looks": {_json([astuple(look) for look in looks])},', ' "rows": [']
    drawn = [_json([[text, looks.index(look)] for text, look in row]) for row in rows]
    lines += [f"  {row}{',' if number < len(rows) - 1 else ''}" for number, row in enumerate(drawn)]
    shown = [[frame.seconds, [rows.index(row) for row in frame.rows]] for frame in frames]
    lines += [" ],", f' "frames": {_json(shown)}', "}"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_frames(path: Path) -> list[Frame]:
    """Read what `write_frames` has written."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    looks = [Cell(*look) for look in stored["looks"]]
    rows = [tuple((text, looks[look]) for text, look in row) for row in stored["rows"]]
    return [Frame(tuple(rows[row] for row in shown), seconds) for seconds, shown in stored["frames"]]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
