"""The first or the last part of a text that is too long: whole lines, within a number of lines and of bytes.

Bytes are those of UTF-8. A line ends with its line feed, so the line ends of Windows count as one; a last line
needs none.
"""

from __future__ import annotations

from tildone.value import value

MAX_LINES = 2000
MAX_BYTES = 50_000

_FEED = b"\n"
_LINE_END = b"\r\n"
_CONTINUING = range(0x80, 0xC0)


@value
class TruncationResult:
    """What was kept of a text, and how much there was."""

    content: str
    truncated: bool
    total_lines: int
    total_bytes: int
    output_lines: int
    output_bytes: int


def keep_head(text: str, max_lines: int = MAX_LINES, max_bytes: int = MAX_BYTES) -> TruncationResult:
    """The beginning of the text: as many whole lines as fit. Only of a first line that is too long is a part kept."""
    data = _encoded(text)
    end = lines = 0
    while end < len(data) and lines < max_lines:
        line_end = data.find(_FEED, end) + 1 or len(data)
        if line_end > max_bytes:
            break
        end, lines = line_end, lines + 1
    if end == 0 and max_lines > 0:
        end = _before(data, max_bytes)
    return _truncation(data, data[:end])


def keep_tail(text: str, max_lines: int = MAX_LINES, max_bytes: int = MAX_BYTES) -> TruncationResult:
    """The end of the text: as many whole lines as fit. Only of a last line that is too long is a part kept."""
    data = _encoded(text)
    start, lines = len(data), 0
    while start > 0 and lines < max_lines:
        line_start = data.rfind(_FEED, 0, start - 1) + 1
        if len(data) - line_start > max_bytes:
            break
        start, lines = line_start, lines + 1
    if start == len(data) and max_lines > 0:
        start = _after(data, len(data) - max_bytes)
    return _truncation(data, data[start:])


def _encoded(text: str) -> bytes:
    """Half surrogate pairs, which models do write, pass as three bytes each."""
    return text.encode("utf-8", "surrogatepass")


def _truncation(whole: bytes, kept: bytes) -> TruncationResult:
    return TruncationResult(
        content=kept.decode("utf-8", "surrogatepass"),
        truncated=len(kept) < len(whole),
        total_lines=_lines(whole),
        total_bytes=len(whole),
        output_lines=_lines(kept),
        output_bytes=len(kept),
    )


def _lines(data: bytes) -> int:
    return data.count(_FEED) + (not data.endswith(_FEED) and bool(data))


def _before(data: bytes, end: int) -> int:
    """The last place up to `end` where neither a character nor a line end is cut in two."""
    end = min(max(end, 0), len(data))
    while _cuts(data, end):
        end -= 1
    return end


def _after(data: bytes, start: int) -> int:
    """The first such place from `start` on."""
    start = min(max(start, 0), len(data))
    while _cuts(data, start):
        start += 1
    return start


def _cuts(data: bytes, place: int) -> bool:
    if place in (0, len(data)):
        return False
    return data[place] in _CONTINUING or data.startswith(_LINE_END, place - 1)
