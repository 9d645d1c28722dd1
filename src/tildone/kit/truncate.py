"""Truncation of long text to its head or its tail: whole lines, within limits on lines and on UTF-8 bytes.

A line ends with a line feed, so CRLF counts as one line end; the last line needs none.
"""

from __future__ import annotations

from tildone.value import value

MAX_LINES = 2000
MAX_BYTES = 50_000

_FEED = b"\n"
_LINE_END = b"\r\n"
_CONTINUATION_BYTES = range(0x80, 0xC0)


@value
class TruncationResult:
    """The part of a text that was kept, and the size of the whole."""

    content: str
    truncated: bool
    total_lines: int
    total_bytes: int
    output_lines: int
    output_bytes: int


def keep_head(text: str, max_lines: int = MAX_LINES, max_bytes: int = MAX_BYTES) -> TruncationResult:
    """Return the first lines that fit into the limits. A first line that is too long by itself is cut."""
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
    """Return the last lines that fit into the limits. A last line that is too long by itself is cut."""
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
    """UTF-8; lone surrogates, which models may write, take three bytes each."""
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
    """The last position up to `end` that splits neither a character nor a CRLF."""
    end = min(max(end, 0), len(data))
    while _splits(data, end):
        end -= 1
    return end


def _after(data: bytes, start: int) -> int:
    """The first such position from `start` on."""
    start = min(max(start, 0), len(data))
    while _splits(data, start):
        start += 1
    return start


def _splits(data: bytes, position: int) -> bool:
    if position in (0, len(data)):
        return False
    return data[position] in _CONTINUATION_BYTES or data.startswith(_LINE_END, position - 1)
