"""What tildone adds to the requests of a coding agent, in the four protocols that models are asked in.

A request carries tools, instructions and messages. What tildone adds is found by comparison with a request of the same
agent without tildone (tools, and lines of instructions and messages before the first answer), and by its kind in the
rest of the conversation: calls of our tool, their results, and the prompts of the gate. Text is counted as it is sent,
with everything that the agent puts around it; the JSON around messages is not, because each provider turns it into
tokens of its own.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
MESSAGES = ("messages", "input", "contents")
INSTRUCTIONS = ("system", "instructions", "systemInstruction")
TOOL = "todo"
GATE = "is not done"
CALL, RESULT, NUDGE, OTHER = "call", "result", "nudge", "other"


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a conversation: its kind, its text, and the id that joins a call and its result."""

    kind: str
    text: str
    id: str = ""


def added_tools(request: Json, plain: Json) -> list[str]:
    """Return the definitions of the tools that only the first request has, as compact JSON."""
    return list((Counter(_tools(request)) - Counter(_tools(plain))).elements())


def added_context(request: Json, plain: Json) -> list[str]:
    """Return the lines of instructions and messages that only the first request has."""
    return list((Counter(_lines(request)) - Counter(_lines(plain))).elements())


def conversation(request: Json) -> list[Piece]:
    """Return the calls of our tool, their results, the prompts of the gate and the rest, in the order of a request.

    Results of other tools are part of the rest.
    """
    pieces = [piece for message in _messages(request) for piece in _pieces(message)]
    ours = {piece.id for piece in pieces if piece.kind == CALL}
    return [piece if piece.kind != RESULT or piece.id in ours else Piece(OTHER, piece.text) for piece in pieces]


def compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _tools(request: Json) -> Iterator[str]:
    for tool in request.get("tools") or ():
        yield from map(compact, tool.get("functionDeclarations", [tool]))


def _messages(request: Json) -> Sequence[Json]:
    return next((request[key] for key in MESSAGES if key in request), ())


def _lines(request: Json) -> Iterator[str]:
    for key in INSTRUCTIONS:
        yield from "\n".join(_texts(request.get(key))).splitlines()
    for message in _messages(request):
        yield from "\n".join(_texts(message)).splitlines()


def _pieces(message: Json) -> Iterator[Piece]:
    for part in _parts(message):
        match part:
            case {"type": "tool_use", "id": str(key), "name": str(name), "input": given}:
                yield _call(name, given, key)
            case {"functionCall": {"name": str(name), "args": given, "id": str(key)}}:
                yield _call(name, given, key)
            case {"type": "function_call", "name": str(name), "arguments": str(given), "call_id": str(key)}:
                yield _call(f"{part['namespace']}.{name}" if part.get("namespace") else name, json.loads(given), key)
            case {"type": "function", "function": {"name": str(name), "arguments": str(given)}, "id": str(key)}:
                yield _call(name, json.loads(given), key)
            case (
                {"tool_use_id": str(key), "content": held}
                | {"tool_call_id": str(key), "content": held}
                | {"call_id": str(key), "output": held}
                | {"functionResponse": {"id": str(key), "response": held}}
            ):
                yield Piece(RESULT, "\n".join(_texts(held)), key)
            case _:
                text = "\n".join(_texts(part))
                yield Piece(NUDGE if GATE in text else OTHER, text)


def _parts(message: Json) -> Iterator[Json]:
    """Return the parts of a message that can differ in kind."""
    if "tool_call_id" in message or message.get("type") in ("function_call", "function_call_output"):
        yield message
        return
    yield from message.get("tool_calls") or ()
    held = message.get("parts") or message.get("content") or ()
    yield from [{"text": held}] if isinstance(held, str) else held


def _call(name: str, given: object, key: str) -> Piece:
    kind = CALL if name.endswith(TOOL) else OTHER
    return Piece(kind, compact({"name": name, "arguments": given}), key)


def _texts(held: object) -> Iterator[str]:
    """Return the texts in a value, without names, ids and kinds."""
    match held:
        case str(text):
            yield text
        case list(items):
            for item in items:
                yield from _texts(item)
        case dict(fields):
            for key in ("text", "content", "parts", "output"):
                yield from _texts(fields.get(key))
