"""Executes the tool calls of one message.

Neighbouring calls run concurrently, except those of `exclusive` tools, which run alone. Every call gets a result, in
the order of the calls: unknown tools, arguments that do not fit the schema, calls that an extension blocks, tools that
raise, return something else or are aborted all produce an error result for the model.

An aborted call ends in time. Its tool gets the signal, and a grace period to end by itself; then its task is
cancelled, and has the same time to clean up. A call that ignores both is left behind, as is work in a thread: the model
reads that it was aborted, and whatever the tool still does or reports has no effect on the conversation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import groupby

from tildone.host.content import ToolCallBlock, arguments_of
from tildone.host.dispatcher import Dispatcher
from tildone.host.events import ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from tildone.host.extension_context import ExtensionContext
from tildone.host.extension_events import BlockCall, ChangeArguments, ReplaceResult, ToolCallRequest, ToolResultReady
from tildone.host.messages import ToolResultMessage, tool_result_message
from tildone.host.parameters import checked
from tildone.host.runtime import Runtime
from tildone.host.tool_results import result_problem, sound_result
from tildone.host.wire import JsonValue
from tildone.kit.definition import ToolDefinition, ToolResult, error_result
from tildone.kit.schema import SchemaProblem, without_nulls
from tildone.kit.signal import Aborted, AbortSignal

ABORTED_CALL = "Error: aborted"
Outcome = tuple[ToolResult, bool]
"""A result, and whether it is an error."""


class ToolExecutor:
    """Executes calls with the tools of one host."""

    def __init__(self, runtime: Runtime, dispatcher: Dispatcher, ctx: ExtensionContext) -> None:
        self._runtime = runtime
        self._dispatcher = dispatcher
        self._ctx = ctx
        self._left_behind: set[asyncio.Task[Outcome]] = set()

    async def execute(self, calls: Sequence[ToolCallBlock], signal: AbortSignal) -> list[ToolResultMessage]:
        """Execute the calls, and return their results in the order of the calls."""
        results: list[ToolResultMessage] = []
        for _, group in groupby(enumerate(calls), key=lambda numbered: self._lane(*numbered)):
            concurrent = [self._result(call, signal) for _, call in group]
            results.extend(await asyncio.gather(*concurrent))
        return results

    def _lane(self, position: int, call: ToolCallBlock) -> int:
        """Return the lane of a call: neighbouring calls in one lane run concurrently, an exclusive call has its own."""
        tool = self._runtime.tools.get(call.name)
        return position if tool is not None and tool.exclusive else -1

    async def _result(self, call: ToolCallBlock, signal: AbortSignal) -> ToolResultMessage:
        await self._dispatcher.emit(ToolExecutionStart(call.id, call.name, call.arguments))
        result, is_error = await self._outcome_in_time(call, signal)
        for reply in await self._dispatcher.emit(ToolResultReady(call.id, call.name, result, is_error)):
            if isinstance(reply, ReplaceResult):
                result = sound_result(reply.result)
                is_error = result_problem(reply.result) != "" or (
                    is_error if reply.is_error is None else reply.is_error
                )
        await self._dispatcher.emit(ToolExecutionEnd(call.id, call.name, result, is_error))
        return tool_result_message(call, result, is_error=is_error, at=self._runtime.now())

    async def _outcome_in_time(self, call: ToolCallBlock, signal: AbortSignal) -> Outcome:
        grace, over = self._runtime.abort_grace, asyncio.Event()
        work = asyncio.ensure_future(self._outcome(call, signal, over))
        aborted = asyncio.get_running_loop().create_future()
        unsubscribe = signal.on_abort(lambda: aborted.set_result(None))
        try:
            await asyncio.wait({work, aborted}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                await asyncio.wait({work}, timeout=grace)
            if not work.done():
                work.cancel()
                await asyncio.wait({work}, timeout=grace)
        except asyncio.CancelledError:
            work.cancel()
            raise
        finally:
            unsubscribe()
            over.set()
        if work.done():
            return (error_result(ABORTED_CALL), True) if work.cancelled() else work.result()
        self._left_behind.add(work)
        work.add_done_callback(self._forget)
        return error_result(ABORTED_CALL), True

    def _forget(self, work: asyncio.Task[Outcome]) -> None:
        """Drop a call that was left behind, with its outcome."""
        self._left_behind.discard(work)
        if not work.cancelled():
            work.exception()  # so that it counts as seen

    async def _outcome(self, call: ToolCallBlock, signal: AbortSignal, over: asyncio.Event) -> Outcome:
        tool = self._runtime.callable_tool(call.name)
        if tool is None:
            known = ", ".join(offered.name for offered in self._runtime.offered_tools())
            return error_result(f"Error: unknown tool {call.name!r}; known are {known}"), True
        arguments, wrong = _read(tool, arguments_of(call))
        if wrong:
            refusal = tool.refuse(wrong, arguments) if tool.refuse else None
            return refusal or error_result(f"Error: {'; '.join(map(str, wrong))}"), True
        for reply in await self._dispatcher.emit(ToolCallRequest(call.id, tool.name, arguments)):
            match reply:
                case BlockCall(reason):
                    return error_result(reason), True
                case ChangeArguments(changed):
                    arguments = changed
        return await self._executed(tool, call.id, arguments, signal, over)

    async def _executed(
        self, tool: ToolDefinition, call_id: str, arguments: JsonValue, signal: AbortSignal, over: asyncio.Event
    ) -> Outcome:
        def on_update(partial: ToolResult) -> None:
            problem = result_problem(partial)
            if problem:
                raise TypeError(problem)
            if not over.is_set():
                update = ToolExecutionUpdate(call_id, tool.name, arguments, sound_result(partial))
                self._dispatcher.publish(update)

        try:
            signal.raise_if_aborted()
            result = sound_result(await tool.execute(call_id, arguments, signal, on_update, self._ctx))
        except Aborted:
            return error_result(ABORTED_CALL), True
        except asyncio.CancelledError:
            if _is_being_cancelled():
                raise
            # The tool awaited work of its own that was cancelled, such as by a callback of the signal.
            return error_result(ABORTED_CALL if signal.aborted else "Error: cancelled"), True
        except Exception as error:  # noqa: BLE001  by contract, a tool reports failure by raising any exception
            return error_result(str(error) or type(error).__name__), True
        return result, result.is_error


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _read(tool: ToolDefinition, arguments: JsonValue) -> tuple[JsonValue, Sequence[SchemaProblem]]:
    """Return the arguments in the form that the tool expects, and the problems with them."""
    if tool.interpret is not None:
        return tool.interpret(without_nulls(tool.schema, arguments))
    arguments, wrong = checked(tool.schema, arguments, strict=tool.strict)
    return arguments, wrong or tool.demands(arguments)
