"""The tools that a model called in one message: each carried out, in an order that keeps exclusive ones alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from tildone.host import messages
from tildone.host.messages import Message
from tildone.host.port import HostPort
from tildone.kit.definition import ToolDefinition, ToolResult, error_result, result_to_json
from tildone.kit.schema import SchemaProblem, coerce_arguments, schema_problems
from tildone.kit.signal import Aborted, AbortSignal

Call = dict[str, Any]


async def execute_calls(host: HostPort, calls: Sequence[Call], signal: AbortSignal) -> list[Message]:
    """The results, in the order of the calls; neighbours run side by side unless one of them is exclusive."""
    results: list[Message] = []
    numbered = list(enumerate(calls))
    for _, group in groupby(numbered, key=lambda item: _lane(host, *item)):
        together = [_one(host, call, signal) for _, call in group]
        results.extend(await asyncio.gather(*together))
    return results


def _lane(host: HostPort, position: int, call: Call) -> int:
    """Calls of the same lane run together: an exclusive one has a lane of its own."""
    tool = host.tools.get(call["name"])
    return position if tool is not None and tool.exclusive else -1


async def _one(host: HostPort, call: Call, signal: AbortSignal) -> Message:
    named = {"toolCallId": call["id"], "toolName": call["name"]}
    await host.emit({"type": "tool_execution_start", **named, "args": call["arguments"]})
    result, is_error = await _outcome(host, call, signal)
    for answer in await host.bus.emit(
        {"type": "tool_result", **named, "result": result, "isError": is_error}, host.ctx
    ):
        result, is_error = answer.get("result", result), answer.get("isError", is_error)
    shown = _shown(result)
    await host.emit({"type": "tool_execution_end", **named, "result": shown, "isError": is_error})
    return messages.tool_result(
        call["id"], call["name"], shown["content"], result.details, is_error=is_error, at=host.now()
    )


async def _outcome(host: HostPort, call: Call, signal: AbortSignal) -> tuple[ToolResult, bool]:
    tool = host.tools.get(call["name"])
    if tool is None or tool.name in host.inactive:
        known = ", ".join(offered.name for offered in host.offered())
        return error_result(f"Error: unknown tool {call['name']!r}; known are {known}"), True
    arguments, wrong = _read(tool, messages.arguments_of(call))
    if wrong:
        refusal = tool.refuse(wrong, arguments) if tool.refuse else None
        return refusal or error_result(f"Error: {'; '.join(map(str, wrong))}"), True
    event = {"type": "tool_call", "toolCallId": call["id"], "toolName": tool.name, "input": arguments}
    for answer in await host.bus.emit(event, host.ctx):
        if answer.get("block"):
            return error_result(answer.get("reason", "Error: this call was blocked")), True
        arguments = answer.get("input", arguments)
    return await _executed(host, tool, call["id"], arguments, signal)


def _read(tool: ToolDefinition, arguments: Any) -> tuple[Any, Sequence[SchemaProblem]]:
    """The arguments as the tool takes them, and what is wrong with them."""
    if tool.meant is not None:
        return tool.meant(arguments)
    if not tool.strict:
        arguments = coerce_arguments(tool.parameters, arguments)
    return arguments, schema_problems(tool.parameters, arguments) or tool.demands(arguments)


async def _executed(
    host: HostPort, tool: ToolDefinition, call_id: str, arguments: Any, signal: AbortSignal
) -> tuple[ToolResult, bool]:
    def on_update(partial: ToolResult) -> None:
        named = {"toolCallId": call_id, "toolName": tool.name, "args": arguments}
        host.tell({"type": "tool_execution_update", **named, "partialResult": _shown(partial)})

    try:
        signal.raise_if_aborted()
        result = await tool.execute(call_id, arguments, signal, on_update, host.ctx)
    except Aborted:
        return error_result("Error: aborted"), True
    except Exception as error:  # noqa: BLE001  a tool that raises has failed, and says why: that is its contract
        return error_result(str(error) or type(error).__name__), True
    return result, result.is_error


def _shown(result: ToolResult) -> dict[str, Any]:
    """A result as pi's records hold it; whether it is an error is said beside it."""
    shown = result_to_json(result)
    return {"content": shown["content"], "details": shown["details"]}
