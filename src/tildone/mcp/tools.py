"""A dialect's tools as MCP lists them, and its replies as the results of tool calls."""

from __future__ import annotations

import mcp_types as types

from tildone.dialects.base import Reply, Tool
from tildone.mcp.callers import Request, client_name
from tildone.mcp.clients import is_text_only
from tildone.mcp.surrogates import encodable, replace_surrogates


def wants_structured(request: Request) -> bool:
    """Whether the client gets structured content beside the text."""
    return not is_text_only(client_name(request))


def tool_listing(tool: Tool, *, structured: bool) -> types.Tool:
    """A tool as a client lists it. Everything that models read of it is the dialect's own."""
    return types.Tool(
        name=tool.name,
        title=tool.label,
        description=tool.description,
        input_schema=dict(tool.parameters),
        output_schema=dict(tool.output_schema) if structured and tool.output_schema else None,
        annotations=types.ToolAnnotations(
            title=tool.label,
            read_only_hint=tool.hints.read_only,
            destructive_hint=tool.hints.destructive,
            idempotent_hint=tool.hints.idempotent,
            open_world_hint=False,
        ),
    )


def tool_result(tool: Tool, reply: Reply, *, structured: bool) -> types.CallToolResult:
    """A reply as the result of a call; its details only where the tool has a schema for them."""
    shown = structured and bool(reply.details) and tool.output_schema is not None
    return types.CallToolResult(
        content=[types.TextContent(text=replace_surrogates(reply.text))],
        structured_content=encodable(reply.details) if shown else None,
        is_error=reply.failed,
    )
