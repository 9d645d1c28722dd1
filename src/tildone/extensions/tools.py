"""Converts the tools of a dialect into tool definitions of the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tildone.dialects.base import Reply, Tool
from tildone.extensions.awaited_checks import with_checks
from tildone.host.extension_context import ExtensionContext
from tildone.kit.components import Component, Text, stacked
from tildone.kit.definition import TextContent, ToolDefinition, ToolResult
from tildone.kit.schema import SchemaProblem
from tildone.kit.theme import Role
from tildone.session import Session

Execute = Callable[[Session, Tool, dict[str, Any], ExtensionContext], Reply]
Refuse = Callable[[Tool, Sequence[SchemaProblem], object], Reply]

REFUSALS = "refusals"
"""The key in the details of a result for what the call did not do. It marks the call as failed, see `ToolResult`."""


def definition(
    tool: Tool, run: Execute, session: Callable[[], Session], refuse: Refuse | None = None, **options: Any
) -> ToolDefinition:
    """Return the definition of a tool that is executed by `run`, one call at a time.

    `session` returns the session that it works on, whose checks are awaited. `refuse` replies to invalid arguments in
    the dialect's wording. `options` are further fields of the definition.
    """

    async def execute(
        _call_id: str, params: dict[str, Any], signal: Any, _update: Any, ctx: ExtensionContext
    ) -> ToolResult:
        return _result(await with_checks(session(), lambda own: run(own, tool, params, ctx), ctx, signal))

    return ToolDefinition(
        name=tool.name,
        label=tool.label,
        description=tool.description,
        parameters=tool.parameters,
        execute=execute,
        demands=tool.demands,
        interpret=tool.interpret,
        refuse=None if refuse is None else lambda problems, given: _result(refuse(tool, problems, given)),
        prompt_snippet=tool.snippet,
        prompt_guidelines=tool.guidelines,
        exclusive=True,
        **{"strict": tool.strict, **options},
    )


def with_refusals(plan: Component, result: ToolResult) -> Component:
    """Return the plan after a call, and below it what the call did not do."""
    refusals = result.details.get(REFUSALS) if isinstance(result.details, dict) else None
    if not isinstance(refusals, list):
        return plan
    return stacked(plan, *(Text(str(refusal), Role.ERROR) for refusal in refusals))


def _result(reply: Reply) -> ToolResult:
    details = {**reply.details, REFUSALS: [*reply.refusals]} if reply.refusals else reply.details
    return ToolResult((TextContent(reply.text),), details, is_error=reply.is_error)
