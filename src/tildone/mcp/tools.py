"""A dialect's tools as MCP lists them, and its replies as the results of tool calls."""

from __future__ import annotations

from tildone.dialects.base import Reply
from tildone.kit.schema import SchemaProblem
from tildone.mcp.bounded_data import bounded_data
from tildone.mcp.clients import is_text_only
from tildone.mcp.reporting import client_message
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import safe_text

if TYPE_CHECKING:
    from typing import Any

    from tildone.dialects.base import Dialect, Tool
    from tildone.mcp.request import Request

ALWAYS_LOADED = {"anthropic/alwaysLoad": True}
"""Claude Code puts a tool with this `_meta` in every request; others are found only by its tool search."""


def wants_structured(request: Request) -> bool:
    """Return whether the client is sent structured content in addition to text."""
    return not is_text_only(request.client)


def tool_listing(tool: Tool, *, structured: bool) -> dict[str, Any]:
    """Return a tool in the form of MCP. Every text in it that models read comes from the dialect."""
    listing: dict[str, Any] = {
        "name": tool.name,
        "title": tool.label,
        "description": tool.description,
        "inputSchema": tool.parameters,
    }
    if structured and tool.output_schema:
        listing["outputSchema"] = tool.output_schema
    listing["annotations"] = {
        "title": tool.label,
        "readOnlyHint": tool.hints.read_only,
        "destructiveHint": tool.hints.destructive,
        "idempotentHint": tool.hints.idempotent,
        "openWorldHint": False,
    }
    listing["_meta"] = ALWAYS_LOADED
    return listing


def tool_result(tool: Tool, reply: Reply, *, structured: bool) -> dict[str, Any]:
    """Return a reply as the result of a call, with its details if the tool has a schema for them.

    A refusal that a dialect reports as a normal result is one here, too. Texts may contain lone surrogates, which every
    transport replaces when it encodes them.
    """
    result: dict[str, Any] = {
        "content": [{"type": "text", "text": safe_text(reply.text)}],
        "isError": reply.is_error,
    }
    if structured and reply.details and tool.output_schema is not None:
        result["structuredContent"] = bounded_data(reply.details)
    return result


def error_reply(
    dialect: Dialect, tool_name: str, arguments: object, error: Exception, *, repeated: bool = False
) -> Reply:
    """Return an error that is not the model's fault as a reply, phrased by the dialect. See `client_message`."""
    tool = dialect.tool(tool_name)
    message = client_message(error, repeated=repeated)
    if tool is None:
        return Reply(message, {}, is_error=True)
    return dialect.refuse(tool, [SchemaProblem("", message)], arguments)
