"""Tools made from other tools or functions: wrapping with changes, and dispatch by action."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tildone.kit.definition import Execute, OnUpdate, ToolDefinition, ToolResult
from tildone.kit.signal import AbortSignal
from tildone.kit.validation import validated
from tildone.value import replace, value


@value
class Invocation:
    """The five arguments of `execute`, by name."""

    tool_call_id: str
    params: Any
    signal: AbortSignal | None
    on_update: OnUpdate | None
    ctx: Any


Delegate = Callable[[Invocation], Awaitable[ToolResult]]
Around = Callable[[Invocation, Delegate], Awaitable[ToolResult]]


def wrap_tool(inner: ToolDefinition, around: Around | None = None, **changes: Any) -> ToolDefinition:
    """Return a copy of the tool with some fields changed and, if given, `around` called in place of `execute`.

    `around` receives the invocation and a `delegate` that executes the inner tool.

    Raises:
        InvalidDefinition: the resulting definition is not valid.
    """
    changed = replace(inner, **changes)
    return validated(changed if around is None else replace(changed, execute=_wrapped_execute(changed.execute, around)))


def dispatch_by_action(actions: Mapping[str, Execute]) -> Execute:
    """Return an `execute` that calls the function registered for the `action` argument.

    Raises:
        ValueError: when called with an unknown action.
    """

    async def execute(
        tool_call_id: str, params: Any, signal: AbortSignal | None, on_update: OnUpdate | None, ctx: Any
    ) -> ToolResult:
        action = params.get("action")
        if not isinstance(action, str) or action not in actions:
            raise ValueError(f"Unknown action: {action}; known are {', '.join(actions)}")
        return await actions[action](tool_call_id, params, signal, on_update, ctx)

    return execute


def _wrapped_execute(execute: Execute, around: Around) -> Execute:
    async def delegate(call: Invocation) -> ToolResult:
        return await execute(call.tool_call_id, call.params, call.signal, call.on_update, call.ctx)

    async def wrapped(
        tool_call_id: str, params: Any, signal: AbortSignal | None, on_update: OnUpdate | None, ctx: Any
    ) -> ToolResult:
        return await around(Invocation(tool_call_id, params, signal, on_update, ctx), delegate)

    return wrapped
