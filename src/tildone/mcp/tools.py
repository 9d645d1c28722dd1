"""A dialect's tools as MCP lists them, and its replies as the results of tool calls."""

from __future__ import annotations

import mcp_types as types

from tildone.dialects.base import Reply, Tool
from tildone.mcp.callers import Request, client_name
from tildone.mcp.clients import is_text_only
from tildone.mcp.surrogates import encodable, replace_surrogates


def wants_structured(request: Request) -> bool:
    """Return whether the client is sent structured content in addition to text."""
    return not is_text_only(client_name(request))


def tool_listing(tool: Tool, *, structured: bool) -> types.Tool:
    """Return a tool in the form of MCP. Every text in it that models read comes from the dialect."""
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
    """Return a reply as the result of a call, with its details if the tool has a schema for them."""
    with_details = structured and bool(reply.details) and tool.output_schema is not None
    return types.CallToolResult(
        content=[types.TextContent(text=replace_surrogates(reply.text))],
        structured_content=encodable(reply.details) if with_details else None,
        is_error=reply.failed,
    )
