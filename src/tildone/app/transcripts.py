"""What agents said: their transcripts, which are files of other programs with an object on each line, or their ends.

The formats are those of Claude Code, Codex, Gemini CLI, pi and `tildone run`; objects of another format are passed
over. So is what these agents print as JSON.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import Any

from tildone.base import replace, value
from tildone.base.json import parse
from tildone.plan.names import FileName
from tildone.plan.runs import Lease

MAX_ENTRIES, MAX_TAIL_BYTES = 2000, 256 * 1024
"""How many lines of a transcript are read, few of which are messages, and how much of a file to find its last lines."""

ROLES = ("user", "assistant", "gemini")
CALLS, RESULTS = ("tool_use", "function_call", "toolCall"), ("tool_result", "function_call_output", "functionResponse")
CALL, RESULT, ERROR = "call", "result", "error"
LAST_WORDS = ("assistant", ERROR)

REPEATED = ("message_start", "turn_end")
"""The kinds of the events of `tildone run` that have a message which another one has, too."""


@value
class TranscriptItem:
    """A message, a call of a tool or its result. `who` is `user`, `assistant`, CALL, RESULT or ERROR, or empty.

    The text of a call is the name of its tool. Texts are as they were written: they may contain control characters.
    """

    who: str
    text: str
    arguments: object = None


def items_in(transcript: str) -> Iterator[TranscriptItem]:
    """Yield what the end of a transcript says, the oldest first; nothing if the file is none, or cannot be read."""
    # An agent may have named the file: nothing but a transcript is passed on.
    if not transcript.endswith((".jsonl", ".json")) or not os.path.isfile(transcript):
        return
    yield from items_of(last_lines(transcript, MAX_ENTRIES))


def newest_output(home: str, lease: Lease) -> str:
    """Return the newest output of an agent of a hand here, that of the highest epoch; empty if there is none."""
    name = FileName.of(lease.run, lease.hand)
    outputs = (os.path.join(home, "runs", f"{name}.{epoch}.output") for epoch in range(lease.epoch, 0, -1))
    return next(filter(os.path.exists, outputs), "")


def agent_items(output: str) -> list[TranscriptItem]:
    """Return all that an agent of a fleet said and did, the oldest first, given the file with its output."""
    return list(items_of(output_lines(output)))


def entry_text(item: TranscriptItem) -> str:
    """Return an entry as text. Lines after its first are indented, so that none looks like another entry."""
    return item_text(item).replace("\n", "\n  ") if item.who else item.text


def output_lines(path: str) -> Iterator[str]:
    """Yield the lines of a file, and before them those of what it was before it began anew. Raises OSError."""
    for part in (f"{path}.1", path):
        if os.path.exists(part):
            with open(part, encoding="utf-8", errors="replace") as file:
                yield from (line.removesuffix("\n") for line in file)


def items_of(lines: Iterable[str]) -> Iterator[TranscriptItem]:
    """Yield what lines say. One that is no entry of a transcript is a message of nobody."""
    begun: TranscriptItem | None = None
    for line in lines:
        try:
            entry = parse(line)
        except ValueError:
            entry = None
        parts = list(_parts(entry)) if isinstance(entry, dict) else [TranscriptItem("", line)]
        if isinstance(entry, dict) and entry.get("delta") is True and len(parts) == 1:
            # Gemini CLI prints a message in pieces.
            begun = replace(parts[0], text=begun.text + parts[0].text) if begun else parts[0]
            continue
        yield from [begun] if begun else []
        begun = None
        yield from parts
    yield from [begun] if begun else []


def last_lines(path: str, count: int) -> list[str]:
    """Return the last lines of a file, and of what it was before it began anew, unchanged."""
    text = _tail(path)
    if len(text) < MAX_TAIL_BYTES:
        text = _tail(f"{path}.1") + text
    lines = text.decode("utf-8", "replace").removesuffix("\n").split("\n")
    return lines[-count:] if text else []


def last_words(path: str, count: int) -> list[str]:
    """Return the last lines of an output. Of entries of a transcript, only what the agent said last is meant."""
    items = list(items_of(last_lines(path, count)))
    last = max((at for at, item in enumerate(items) if item.who in LAST_WORDS), default=None)
    shown = (item for at, item in enumerate(items) if not item.who or at == last)
    return [line for item in shown for line in item_text(item).split("\n")][-count:]


def item_text(item: TranscriptItem) -> str:
    given = item.arguments
    arguments = "" if item.who != CALL else f" {given if isinstance(given, str) else json.dumps(given)}"
    return f"{item.who}: {item.text}{arguments}".removeprefix(": ")


def _tail(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - MAX_TAIL_BYTES))
            return file.read()
    except OSError:
        return b""


def _parts(entry: dict[str, Any]) -> Iterator[TranscriptItem]:
    if isinstance(entry.get("payload"), dict):
        # Codex repeats the items of responses as events.
        message = entry["payload"] if entry.get("type") == "response_item" else {}
    else:
        message = entry["message"] if isinstance(entry.get("message"), dict) else entry
    role = message.get("role") or message.get("type")
    if entry.get("type") in REPEATED:
        return
    if isinstance(entry.get("item"), dict):
        yield from _item(entry["item"]) if entry.get("type") == "item.completed" else ()
    elif role == ERROR or isinstance(entry.get("error"), dict):
        yield TranscriptItem(ERROR, str((entry.get("error") or entry).get("message")))
    elif role == "result" and entry.get("is_error"):
        errors = entry.get("errors")
        texts = errors if isinstance(errors, list) else [entry.get("result") or entry.get("subtype")]
        yield TranscriptItem(ERROR, "\n".join(map(str, texts)))
    elif role == "toolResult":
        yield TranscriptItem(RESULT, _text(message.get("content", "")))
    elif role in (*CALLS, *RESULTS):
        yield from _block(message, "")
    elif role in ROLES:
        content, calls = message.get("content"), message.get("toolCalls")
        blocks = content if isinstance(content, list) else [{"text": content}]
        for block in (*blocks, *(calls if isinstance(calls, list) else [])):
            if isinstance(block, dict):
                yield from _block(block, "assistant" if role == "gemini" else str(role))


def _item(item: dict[str, Any]) -> Iterator[TranscriptItem]:
    """Yield what an item says that Codex prints."""
    kind, told = str(item.get("type")), {name: given for name, given in item.items() if name not in ("id", "type")}
    if kind in ("agent_message", "error"):
        yield TranscriptItem(
            "assistant" if kind == "agent_message" else ERROR, str(told.get("text", told.get("message")))
        )
    else:
        output = told.pop("aggregated_output", None)
        yield TranscriptItem(CALL, kind, told)
        yield from [TranscriptItem(RESULT, output)] if isinstance(output, str) else []


def _block(block: dict[str, Any], role: str) -> Iterator[TranscriptItem]:
    kind = block.get("type") or next((name for name in RESULTS if name in block), "")
    given = next((block[key] for key in ("input", "arguments", "args", "parameters") if key in block), None)
    if kind in RESULTS:
        result = next((block[key] for key in ("content", "output", "functionResponse") if key in block), "")
        yield TranscriptItem(RESULT, _text(result))
    elif kind in CALLS or given is not None:
        yield TranscriptItem(CALL, str(block.get("name") or block.get("tool_name", "")), given)
    elif isinstance(block.get("text"), str) and block["text"]:
        yield TranscriptItem(role, block["text"])


def _text(result: object) -> str:
    if isinstance(result, list):
        return " ".join(str(block.get("text", "")) for block in result if isinstance(block, dict))
    return result if isinstance(result, str) else json.dumps(result)
