"""Spans: what happened, as intervals of a trace. Their ids follow from what they are about.

Two processes that tell of the same task or attempt therefore use the same ids without asking each other, and what one
of them tells again is recognised as the same span.
"""

from __future__ import annotations

from hashlib import sha256

from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Attribute = str | int | float | bool | Sequence[str]
    ShownText = Callable[[str], str] | None
    """Makes a text of a plan fit to leave the machine; None if such texts stay here."""

TRACE_BYTES, SPAN_BYTES = 16, 8

INTERRUPTED = "interrupted"
"""The status of a task whose agent ended while it was in progress."""


@value
class TraceSpan:
    """An interval of a trace. Times are in milliseconds since 1970; `parent` is 0 for the root of a trace.

    `error` says that it failed, in a word. `is_client` marks a request to another system.
    """

    name: str
    trace: int
    id: int
    parent: int
    start: int
    end: int
    attributes: Mapping[str, Attribute]
    error: str = ""
    is_client: bool = False


@value
class SpanPlace:
    """Where spans belong: a trace, and the span that is their parent."""

    trace: int
    parent: int

    @property
    def traceparent(self) -> str:
        """The place in the form of the header and the environment variable `traceparent` of W3C Trace Context."""
        return f"00-{self.trace:032x}-{self.parent:016x}-01"


def trace_id(*about: object) -> int:
    return _digest(TRACE_BYTES, about)


def span_id(*about: object) -> int:
    return _digest(SPAN_BYTES, about)


def place_in(text: str) -> SpanPlace | None:
    """Return the place in a `traceparent`; None if the text has another form."""
    parts = text.strip().split("-")
    sizes = (1, TRACE_BYTES, SPAN_BYTES, 1)
    if len(parts) < len(sizes) or any(not _is_hex(part, size) for part, size in zip(parts, sizes, strict=False)):
        return None
    trace, parent = int(parts[1], 16), int(parts[2], 16)
    return SpanPlace(trace, parent) if trace and parent and parts[0] != "ff" else None


def _is_hex(text: str, size: int) -> bool:
    return len(text) == 2 * size and not set(text) - set("0123456789abcdef")


def _digest(size: int, about: tuple[object, ...]) -> int:
    # Length and separator, so that different parts never make the same text.
    text = "".join(f"{len(str(part))}:{part}" for part in about)
    # An id of 0 is not valid; this digest is one with a probability of 2 to the power of -64.
    return int.from_bytes(sha256(text.encode("utf-8", "surrogatepass")).digest()[:size], "big") or 1
