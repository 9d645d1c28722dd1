"""A reply of a dialect as the result of a tool call."""

from __future__ import annotations

import re
from typing import Any

import mcp_types as types

from tildone.dialects.base import Reply, Tool
from tildone.log import codec
from tildone.mcp.callers import Request, client_name

TEXT_ONLY = ("claude-code", "codex", "gemini", "qwen", "visual studio code")
"""Clients that give a model the structured results in place of the text, or besides, by how their names begin.

They would keep from it what the dialect has to say, a refusal even, and spend more tokens on what it knows.
"""

SURROGATE = r"\ud"
_HALVES = re.compile("[\ud800-\udfff]")


def wants_structure(asked: Request) -> bool:
    """Whether a client can be given structured results beside the text."""
    return not client_name(asked).startswith(TEXT_ONLY)


def tool_result(tool: Tool, reply: Reply, *, structured: bool) -> types.CallToolResult:
    """The reply for a client; its details are left out where they would say nothing."""
    shown = structured and bool(reply.details) and tool.output_schema is not None
    return types.CallToolResult(
        content=[types.TextContent(text=replace_surrogates(reply.text))],
        structured_content=_sendable(reply.details) if shown else None,
        is_error=reply.failed,
    )


def _sendable(details: dict[str, Any]) -> dict[str, Any]:
    """Details that can be sent. They are gone through, which takes longer, only where an escape hints at a half."""
    cleaned: dict[str, Any] = replace_surrogates(details) if SURROGATE in codec.dump(details) else details
    return cleaned


def replace_surrogates(told: Any) -> Any:
    """The same with nothing in it that can't be sent: half a surrogate pair has no UTF-8."""
    match told:
        case str():
            return told if told.isascii() else _HALVES.sub("\ufffd", told)
        case dict():
            return {replace_surrogates(key): replace_surrogates(held) for key, held in told.items()}
        case list() | tuple():
            return [replace_surrogates(held) for held in told]
        case _:
            return told
