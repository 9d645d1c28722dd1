"""The last message in the transcript of a conversation, for agents whose events do not have it.

The transcript is data of another program, which may be writing it at this moment, and a hook has little time. So only
its end is read, and what is not as expected is passed over. The path comes with the event: a model can run a hook with
any path, and learns nothing of the file but whether it was held; a file that could block is not read.
"""

from __future__ import annotations

import os
from time import monotonic, sleep

from tildone.agents.hooks.event import at_path
from tildone.base import TYPE_CHECKING
from tildone.base.json import parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from tildone.agents.hooks.event import HookEvent
    from tildone.agents.integrations import TranscriptFormat

MAX_BYTES = 256_000
"""How much of the end is read. A message that is longer than this is not found."""

MAX_WAIT_SECONDS, POLL_SECONDS = 1.0, 0.02
"""How long a line that comes after the message is waited for. Copilot CLI writes its lines 0.1 seconds late."""


def last_message(event: HookEvent, transcript: TranscriptFormat) -> str:
    """Return the text of the last message of the turn of the agent or subagent; empty if there is none at the end."""
    deadline = monotonic() + (MAX_WAIT_SECONDS if event.text("transcript") else 0)
    while True:
        message, is_complete = _at_end(event, transcript)
        if is_complete or monotonic() > deadline:
            return message
        sleep(POLL_SECONDS)


def _at_end(event: HookEvent, transcript: TranscriptFormat) -> tuple[str, bool]:
    """Return the last message that has been written, and whether it is known to be the last one of the turn."""
    path_of_mark, wanted = transcript.mark
    mark, subagent = at_path(event.payload, wanted), event.text("subagent")
    is_complete = mark is None
    for line in _lines_from_end(event.text("transcript")):
        if transcript.subagent and (at_path(line, transcript.subagent) or "") != subagent:
            continue
        if _has(line, transcript.message):
            return _text(at_path(line, transcript.text)), is_complete
        if transcript.prompt and _has(line, transcript.prompt):
            return "", is_complete
        is_complete = is_complete or at_path(line, path_of_mark) == mark
    return "", is_complete


def _lines_from_end(path: str) -> Iterator[Mapping[str, Any]]:
    """Yield the objects in the lines at the end of a file, the last one first. Lines that hold none are left out."""
    for line in reversed(_end_of(path).split(b"\n")):
        try:
            content = parse(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        if isinstance(content, dict):
            yield content


def _end_of(path: str) -> bytes:
    """Return the end of a file; nothing if it cannot be read, or has no end, as a pipe."""
    if not os.path.isabs(path):
        return b""
    try:
        # A pipe without a writer would block.
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return b""
    try:
        size = os.lseek(number, 0, os.SEEK_END)
        os.lseek(number, max(0, size - MAX_BYTES), os.SEEK_SET)
        # Another program may append meanwhile.
        return os.read(number, MAX_BYTES)
    except OSError:
        return b""
    finally:
        os.close(number)


def _has(line: Mapping[str, Any], wanted: Mapping[str, str]) -> bool:
    return all(at_path(line, path) == value for path, value in wanted.items())


def _text(content: object) -> str:
    """Return a text, or those of the parts of a message, such as `{"type": "text", "text": "…"}`."""
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        return "\n".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""
