"""What an agent said and did last, for its heir: the end of its transcript, or else of what it printed.

Hooks of several agents name the file with the transcript of the conversation, one JSON object on each line. The hook
writes that name to the file that `TRANSCRIPT_VARIABLE` names. The formats are those of Claude Code, Codex, Gemini CLI
and pi; lines that have another form are passed over.
"""

from __future__ import annotations

import json
import os

from tildone.fleet.output_file import last_lines
from tildone.typing import TYPE_CHECKING
from tildone.views.limits import clipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

MAX_ENTRIES = 2000
"""How many lines of a transcript are read; few of them are messages."""

MAX_SAID, MAX_CHARACTERS = 30, 400
"""How many messages and calls an heir is told of, and how much of each."""

MARK = "The end of the conversation:"
"""The line of a checkpoint's message after which these lines follow."""

ROLES = ("user", "assistant", "gemini")
CALLS, RESULTS = ("tool_use", "function_call", "toolCall"), ("tool_result", "function_call_output", "functionResponse")


def last_messages(note: str, output: str) -> list[str]:
    """Return the last messages and calls of an agent, a line for each.

    `note` is the file that names its transcript, `output` the one with what it printed.
    """
    transcript = _named(note)
    said = list(_messages(last_lines(transcript, MAX_ENTRIES))) if transcript else []
    return (said or list(_messages(last_lines(output, MAX_SAID))))[-MAX_SAID:]


def with_messages(message: str, said: Iterable[str]) -> str:
    """Return the message of a checkpoint with such lines."""
    lines = list(said)
    return "\n".join([message, "", MARK, *lines]) if lines else message


def messages_in(message: str) -> list[str]:
    """Return the lines that the message of a checkpoint has."""
    _, mark, rest = message.partition(f"\n{MARK}\n")
    return rest.strip().splitlines() if mark else []


def _named(note: str) -> str:
    """Return the transcript that a hook has noted; empty if there is none."""
    try:
        with open(note, encoding="utf-8", errors="surrogateescape") as file:
            path = file.read()
    except OSError:
        return ""
    # The agent has written it: nothing but a transcript is passed on.
    return path if path.endswith((".jsonl", ".json")) and os.path.isfile(path) else ""


def _messages(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            entry = line
        for text in _parts(entry) if isinstance(entry, dict) else [str(entry)]:
            words = " ".join(text.split())
            if words:
                yield clipped(words, MAX_CHARACTERS)


def _parts(entry: dict[str, Any]) -> Iterator[str]:
    """Yield what an entry of a transcript says: messages, calls of tools, and their results."""
    if isinstance(entry.get("payload"), dict):
        # Codex repeats the items of responses as events.
        message = entry["payload"] if entry.get("type") == "response_item" else {}
    else:
        message = entry["message"] if isinstance(entry.get("message"), dict) else entry
    role = message.get("role") or message.get("type")
    if role in (*CALLS, *RESULTS):
        yield from _block(message, "")
    elif role in ROLES:
        content = message.get("content")
        blocks = content if isinstance(content, list) else [{"text": content}]
        for block in (*blocks, *_listed(message.get("toolCalls"))):
            if isinstance(block, dict):
                yield from _block(block, "assistant" if role == "gemini" else str(role))


def _block(block: dict[str, Any], role: str) -> Iterator[str]:
    kind = block.get("type") or next((name for name in RESULTS if name in block), "")
    given = next((block[key] for key in ("input", "arguments", "args") if key in block), None)
    if kind in RESULTS:
        result = next((block[key] for key in ("content", "output", "functionResponse") if key in block), "")
        yield f"result: {_text(result)}"
    elif kind in CALLS or given is not None:
        yield f"call: {block.get('name', '')} {given if isinstance(given, str) else json.dumps(given)}"
    elif isinstance(block.get("text"), str) and block["text"]:
        yield f"{role}: {block['text']}"


def _text(result: object) -> str:
    """Return the text of a result, which may be in several blocks."""
    if isinstance(result, list):
        return " ".join(str(block.get("text", "")) for block in result if isinstance(block, dict))
    return result if isinstance(result, str) else json.dumps(result)


def _listed(found: object) -> list[object]:
    return found if isinstance(found, list) else []
