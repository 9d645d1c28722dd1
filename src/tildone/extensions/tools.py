"""A dialect's tools as tool definitions of the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tildone.dialects.base import Reply, Tool
from tildone.host.extension_context import ExtensionContext
from tildone.kit.definition import TextContent, ToolDefinition, ToolResult
from tildone.kit.schema import SchemaProblem

Carry = Callable[[Tool, dict[str, Any], ExtensionContext], Reply]
Refuse = Callable[[Tool, Sequence[SchemaProblem], object], Reply]


def definition(tool: Tool, carry: Carry, refuse: Refuse | None = None, **more: Any) -> ToolDefinition:
    """The tool as a definition, executed by `carry`, one call at a time.

    `refuse` phrases, in the dialect's words, why arguments were refused.
    """

    async def execute(
        _call_id: str, params: dict[str, Any], _signal: Any, _update: Any, ctx: ExtensionContext
    ) -> ToolResult:
        return _result(carry(tool, params, ctx))

    return ToolDefinition(
        name=tool.name,
        label=tool.label,
        description=tool.description,
        parameters=tool.parameters,
        execute=execute,
        demands=tool.demands,
        interpret=tool.interpret,
        refuse=None if refuse is None else lambda wrong, given: _result(refuse(tool, wrong, given)),
        prompt_snippet=tool.snippet,
        prompt_guidelines=tool.guidelines,
        exclusive=True,
        **{"strict": tool.strict, **more},
    )


def _result(reply: Reply) -> ToolResult:
    return ToolResult((TextContent(reply.text),), reply.details, is_error=reply.is_error)
