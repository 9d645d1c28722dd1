"""Encodes events as the JSON objects of pi's event stream, which are never decoded."""

from __future__ import annotations

from typing import assert_never

from tildone.host import events
from tildone.host.content import TextBlock, ThinkingBlock, ToolCallBlock
from tildone.host.content_codec import encode_block, encode_usage
from tildone.host.events import PublicEvent
from tildone.host.message_codec import encode_message
from tildone.host.stream_events import BlockDelta, BlockEnd, BlockEvent, BlockKind, BlockStart
from tildone.host.wire import JsonObject
from tildone.kit.definition import ToolResult, result_to_json


def encode_event(event: PublicEvent) -> JsonObject:
    return {"type": event.type, **_fields(event)}


def encode_result(result: ToolResult) -> JsonObject:
    """Return the JSON object of a tool's result, without the error flag: records have that in a field of their own."""
    record = result_to_json(result)
    return {"content": record["content"], "details": record["details"]}


def _fields(event: PublicEvent) -> JsonObject:
    match event:
        case events.AgentStart() | events.AgentSettled() | events.TurnStart():
            return {}
        case events.AgentEnd(added, will_retry):
            return {"messages": [encode_message(message) for message in added], "willRetry": will_retry}
        case events.TurnEnd(message, results):
            return {"message": encode_message(message), "toolResults": [encode_message(result) for result in results]}
        case events.MessageStart(message) | events.MessageEnd(message):
            return {"message": encode_message(message)}
        case events.MessageUpdate(usage, progress):
            return {"usage": encode_usage(usage), "assistantMessageEvent": encode_block_event(progress)}
        case events.ToolExecutionStart() | events.ToolExecutionUpdate() | events.ToolExecutionEnd():
            return {"toolCallId": event.call_id, "toolName": event.tool_name, **_execution_fields(event)}
        case events.EntryAppended(entry):
            return {"entry": entry.record}
        case events.CustomEvent(_, fields):
            return fields
        case _:
            return _report_fields(event)


def _execution_fields(
    event: events.ToolExecutionStart | events.ToolExecutionUpdate | events.ToolExecutionEnd,
) -> JsonObject:
    match event:
        case events.ToolExecutionStart(args=args):
            return {"args": args}
        case events.ToolExecutionUpdate(args=args, partial_result=partial):
            return {"args": args, "partialResult": encode_result(partial)}
        case events.ToolExecutionEnd(result=result, is_error=is_error):
            return {"result": encode_result(result), "isError": is_error}
        case _:
            assert_never(event)


def _report_fields(
    event: events.QueueUpdate
    | events.RetryStart
    | events.RetryEnd
    | events.ConversationRenamed
    | events.ExtensionError,
) -> JsonObject:
    match event:
        case events.QueueUpdate(steering, follow_up):
            return {"steering": list(steering), "followUp": list(follow_up)}
        case events.RetryStart(attempt, max_attempts, delay_ms, error):
            return {"attempt": attempt, "maxAttempts": max_attempts, "delayMs": delay_ms, "errorMessage": error}
        case events.RetryEnd(attempt, None):
            return {"success": True, "attempt": attempt}
        case events.RetryEnd(attempt, error):
            return {"success": False, "attempt": attempt, "finalError": error}
        case events.ConversationRenamed(name):
            return {"name": name}
        case events.ExtensionError(extension, name, error):
            return {"extensionPath": extension, "event": name, "error": error}
        case _:
            assert_never(event)


def encode_block_event(event: BlockEvent) -> JsonObject:
    """Return the progress of a block as pi's `assistantMessageEvent`."""
    match event:
        case BlockStart(BlockKind.TOOL_CALL, index, call_id, tool_name):
            return {"type": "toolcall_start", "contentIndex": index, "id": call_id, "toolName": tool_name}
        case BlockStart(kind, index):
            return {"type": f"{kind}_start", "contentIndex": index}
        case BlockDelta(kind, index, delta):
            return {"type": f"{kind}_delta", "contentIndex": index, "delta": delta}
        case BlockEnd(kind, index, ToolCallBlock() as call):
            return {"type": f"{kind}_end", "contentIndex": index, "toolCall": encode_block(call)}
        case BlockEnd(kind, index, TextBlock(text) | ThinkingBlock(text)):
            return {"type": f"{kind}_end", "contentIndex": index, "content": text}
        case BlockEnd(kind, index, block):
            return {"type": f"{kind}_end", "contentIndex": index, "content": encode_block(block)}
        case _:
            assert_never(event)
