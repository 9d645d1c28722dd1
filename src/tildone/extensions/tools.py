"""A dialect's tools as a host takes them."""

from collections.abc import Callable
from typing import Any

from tildone.dialects.base import Reply, Tool
from tildone.host.context import Context
from tildone.kit.definition import TextContent, ToolDefinition, ToolResult

Carry = Callable[[Tool, dict[str, Any], Context], Reply]


def definition(tool: Tool, carry: Carry, **more: Any) -> ToolDefinition:
    """The tool, carried out by `carry`; a plan is changed by one call at a time."""

    async def execute(_call_id: str, params: dict[str, Any], _signal: Any, _update: Any, ctx: Context) -> ToolResult:
        reply = carry(tool, params, ctx)
        return ToolResult((TextContent(reply.text),), reply.details, is_error=reply.is_error)

    return ToolDefinition(
        name=tool.name,
        label=tool.label,
        description=tool.description,
        parameters=tool.parameters,
        execute=execute,
        demands=tool.demands,
        prompt_snippet=tool.snippet,
        prompt_guidelines=tool.guidelines,
        exclusive=True,
        **more,
    )
