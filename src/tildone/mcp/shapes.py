"""A dialect's tools as MCP lists them."""

from __future__ import annotations

import mcp_types as types

from tildone.dialects.base import Tool


def described(tool: Tool, *, structured: bool) -> types.Tool:
    """A tool as a client lists it. What models read of it is the dialect's, as it stands there."""
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
