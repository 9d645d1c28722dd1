"""Times of the transcript in a real terminal: a key while text is streamed, a page up, and opening a conversation."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from statistics import median, quantiles
from time import perf_counter, sleep

from bench.measure import Row
from bench.transcript_app import line

KEY_AIM, PAGE_AIM, OPEN_AIM = 6.0, 2.0, 1.5
FEW_LINES = 200
ROWS, COLUMNS = 40, 120
SECONDS_BETWEEN_KEYS = 0.25
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
CLEAR_FIELD, PAGE_UP = b"\x15", b"\x1b[5~"
ANY_LINE = "line 0"
PATIENCE_SECONDS, QUIET_SECONDS = 60, 1.0


def rows(lines: int, keys: int, pages: int, starts: int) -> Iterator[Row]:
    """Three rows."""
    few = f"{FEW_LINES} lines"
    key = Row(f"transcript: a key, {lines:,} lines streamed", "nothing streamed", KEY_AIM)
    page = Row(f"transcript: page up in {lines:,} lines", few, PAGE_AIM)
    start = Row(f"transcript: opening {lines:,} lines", few, OPEN_AIM)
    if os.name == "nt" or find_spec("textual") is None:
        reason = "there is no pseudo-terminal" if os.name == "nt" else "textual is not installed"
        yield from (replace(row, skipped=reason) for row in (key, page, start))
        return
    idle, loaded = typing(FEW_LINES, "idle", keys), typing(lines, "streamed", keys)
    yield replace(key, took=loaded, base_took=idle)
    yield replace(page, took=paging(lines, pages), base_took=paging(FEW_LINES, min(pages, 4)))
    short, long = (median(opening(count) for _ in range(starts)) for count in (FEW_LINES, lines))
    yield replace(start, took=long, base_took=short)


def typing(lines: int, mode: str, keys: int) -> float:
    """The 95th percentile of the time from a key to its echo."""
    terminal = BenchTerminal(lines, mode)
    # What is streamed may have scrolled on before the first paint.
    terminal.until(ANY_LINE if mode == "streamed" else line(lines))
    times = []
    for number in range(keys):
        letter = LETTERS[number % len(LETTERS)]
        if letter == LETTERS[0]:
            terminal.type(CLEAR_FIELD)
        sleep(SECONDS_BETWEEN_KEYS)
        times.append(terminal.answer_time(letter.encode(), letter))
    terminal.end()
    return quantiles(times, n=20)[-1]


def paging(lines: int, pages: int) -> float:
    """The median time from a key to the page that it shows."""
    terminal = BenchTerminal(lines, "shown")
    terminal.until(line(lines))
    terminal.settle()
    # A row of the field's three, an empty row between two messages, and a row that stays visible are not counted: the
    # line is one that is on the next page in any case.
    times = []
    for page in range(1, pages + 1):
        times.append(terminal.answer_time(PAGE_UP, line(lines - ROWS * page)))
        terminal.settle(SECONDS_BETWEEN_KEYS)
    terminal.end()
    return median(times)


def opening(lines: int) -> float:
    """The time from the start of the program until the end of the conversation is shown."""
    begun = perf_counter()
    terminal = BenchTerminal(lines, "shown")
    terminal.until(line(lines))
    taken = perf_counter() - begun
    terminal.end()
    return taken


class BenchTerminal:
    """The program at a pseudo-terminal."""

    def __init__(self, lines: int, mode: str) -> None:
        # Windows has no pseudo-terminals of this kind.
        import fcntl  # noqa: PLC0415  see above
        import pty  # noqa: PLC0415  see above
        import struct  # noqa: PLC0415  see above
        import termios  # noqa: PLC0415  see above

        self._fd, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        environ = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        for name in ("SSH_CONNECTION", "COLUMNS", "LINES"):
            environ.pop(name, None)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.transcript_app", str(lines), mode],
            env=environ,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)

    def type(self, keys: bytes) -> None:
        os.write(self._fd, keys)

    def until(self, words: str) -> None:
        """Read on until the words are shown."""
        from select import select  # noqa: PLC0415  Windows has it for sockets only

        shown = b""
        while words.encode() not in shown:
            if not select([self._fd], [], [], PATIENCE_SECONDS)[0]:
                self.end()
                raise TimeoutError(f"the program did not show {words!r}")
            shown = shown[-len(words) :] + os.read(self._fd, 65536)

    def answer_time(self, keys: bytes, words: str) -> float:
        """The time from these keys to these words, which are on the screen only then."""
        self.settle(0)
        begun = perf_counter()
        self.type(keys)
        self.until(words)
        return perf_counter() - begun

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._fd)

    def settle(self, seconds: float = QUIET_SECONDS) -> None:
        """Read what is shown until nothing was for so long: a first layout may be followed by a second."""
        from select import select  # noqa: PLC0415  see `until`

        while select([self._fd], [], [], seconds)[0]:
            os.read(self._fd, 65536)
