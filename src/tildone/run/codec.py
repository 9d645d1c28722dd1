"""Messages, entries and events as the JSON objects of pi. Events are never decoded.

Decoding never fails: a message that lacks a required field becomes an `UnknownMessage`, so a damaged or foreign record
is preserved but shown to nobody. Encoding a decoded record restores its fields and values; only missing content
becomes an empty list, and the text content of an assistant message or tool result a list with one block.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from tildone.base import replace
from tildone.run import events
from tildone.run.events import (
    BlockDelta,
    BlockEnd,
    BlockEvent,
    BlockKind,
    BlockStart,
    BranchSummaryEntry,
    CompactionEntry,
    ContextEditEntry,
    ConversationInfoEntry,
    CustomEntry,
    CustomMessageEntry,
    Entry,
    EntryBody,
    LabelEntry,
    MessageEntry,
    ModelChangeEntry,
    PublicEvent,
    UnknownEntry,
)
from tildone.run.kit.definition import ToolResult, result_to_json
from tildone.run.messages import (
    AssistantMessage,
    BashExecutionMessage,
    Block,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    Content,
    Cost,
    CustomMessage,
    DeveloperMessage,
    Fields,
    ImageBlock,
    JsonObject,
    Message,
    Shape,
    Shapes,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultMessage,
    UnknownBlock,
    UnknownMessage,
    Usage,
    UserMessage,
    WireField,
)
from tildone.stores.pi.session_file import format_timestamp, parse_timestamp

# Pi preserves unknown fields of a block and sends them to no provider.
_STATE = WireField("provider_state", Fields.object, wire="tildone")

BLOCKS: Shapes[Block] = Shapes(
    "type",
    {
        "text": Shape(TextBlock, WireField("text", needed=True), WireField("signature", wire="textSignature"), _STATE),
        "thinking": Shape(
            ThinkingBlock,
            WireField("thinking", needed=True),
            WireField("signature", wire="thinkingSignature"),
            WireField("redacted", Fields.flag),
            _STATE,
        ),
        "image": Shape(ImageBlock, WireField("data", needed=True), WireField("mime_type", needed=True)),
        "toolCall": Shape(
            ToolCallBlock,
            WireField("id", needed=True),
            WireField("name", needed=True),
            WireField("arguments", Fields.object, needed=True),
            WireField("raw_arguments"),
            WireField("signature", wire="thoughtSignature"),
            _STATE,
        ),
    },
)

_COUNTS = ("input", "output", "cache_read", "cache_write")
_COST = Shape(Cost, *(WireField(name, Fields.number) for name in (*_COUNTS, "total")))
_USAGE = Shape(
    Usage,
    *(WireField(name, Fields.number) for name in (*_COUNTS, "total_tokens")),
    WireField("cost", _COST.nested, write=_COST.encode),
    WireField("reasoning", Fields.number),
)


def decode_blocks(content: object) -> tuple[Block, ...]:
    """Return content as blocks, whether it is a string, a list of blocks, or missing."""
    if isinstance(content, str):
        return (TextBlock(content),)
    return tuple(map(decode_block, content)) if isinstance(content, list) else ()


def encode_blocks(content: Iterable[Block]) -> list[JsonObject]:
    return [encode_block(block) for block in content]


def decode_block(record: object) -> Block:
    if not isinstance(record, dict):
        return UnknownBlock({"type": "unknown", "value": record})
    block = BLOCKS.decode(record)
    return UnknownBlock(record) if block is None else block


def encode_block(block: Block) -> JsonObject:
    return block.record if isinstance(block, UnknownBlock) else BLOCKS.encode(block)


def decode_usage(record: JsonObject) -> Usage:
    return _USAGE.decode(Fields(record)) or Usage()


def encode_usage(usage: Usage) -> JsonObject:
    return _USAGE.encode(usage)


def decode_message(record: JsonObject) -> Message:
    message = MESSAGES.decode(record)
    return UnknownMessage(record) if message is None else message


def encode_message(message: Message) -> JsonObject:
    return message.record if isinstance(message, UnknownMessage) else MESSAGES.encode(message)


def decode_custom(fields: Fields) -> CustomMessage | None:
    """Return the custom message in the fields of a message or of an entry; None if a required field is missing."""
    return _CUSTOM.decode(fields)


def encode_custom(message: CustomMessage) -> JsonObject:
    """Return the fields that a custom message and its entry have in common."""
    return _CUSTOM.encode(replace(message, timestamp=None))


def _content(fields: Fields, name: str) -> Content | None:
    content = fields.anything(name)
    if isinstance(content, str):
        return content
    return decode_blocks(content) if isinstance(content, list) else None


def _content_or_none(fields: Fields, name: str) -> Content:
    content = _content(fields, name)
    return () if content is None else content


def _blocks(fields: Fields, name: str) -> tuple[Block, ...]:
    return decode_blocks(fields.anything(name))


def _usage(fields: Fields, name: str) -> Usage | None:
    usage = fields.object(name)
    return None if usage is None else decode_usage(usage)


def _encode_content(content: Content) -> str | list[JsonObject]:
    return content if isinstance(content, str) else encode_blocks(content)


_AT = WireField("timestamp", Fields.number)
_CONTENT = WireField("content", _content, write=_encode_content, needed=True)
_CUSTOM_FIELDS = (
    WireField("custom_type", needed=True),
    _CONTENT,
    WireField("display", Fields.flag),
    WireField("details", Fields.not_null),
    _AT,
)
_CUSTOM = Shape(CustomMessage, *_CUSTOM_FIELDS)

MESSAGES: Shapes[Message] = Shapes(
    "role",
    {
        "user": Shape(UserMessage, WireField("content", _content_or_none, write=_encode_content), _AT),
        "assistant": Shape(
            AssistantMessage,
            WireField("content", _blocks, write=encode_blocks),
            *(WireField(name) for name in ("api", "provider", "model")),
            WireField("usage", _usage, write=encode_usage),
            WireField("stop_reason"),
            _AT,
            *(WireField(name) for name in ("error_message", "response_id", "response_model", "raw_stop_reason")),
        ),
        "toolResult": Shape(
            ToolResultMessage,
            WireField("tool_call_id", needed=True),
            WireField("tool_name", needed=True),
            WireField("content", _blocks, write=encode_blocks),
            WireField("details", Fields.not_null),
            WireField("is_error", Fields.flag),
            _AT,
        ),
        "custom": Shape(CustomMessage, *_CUSTOM_FIELDS),
        "developer": Shape(DeveloperMessage, _CONTENT, WireField("attribution"), _AT),
        "bashExecution": Shape(
            BashExecutionMessage,
            WireField("command", needed=True),
            WireField("output", needed=True),
            WireField("exit_code", Fields.number),
            WireField("cancelled", Fields.flag),
            WireField("truncated", Fields.flag),
            WireField("full_output_path"),
            WireField("exclude_from_context", Fields.flag),
            _AT,
        ),
        "branchSummary": Shape(BranchSummaryMessage, WireField("summary", needed=True), WireField("from_id"), _AT),
        "compactionSummary": Shape(
            CompactionSummaryMessage, WireField("summary", needed=True), WireField("tokens_before", Fields.number), _AT
        ),
    },
)


_COMMON = ("id", "parentId", "timestamp")
CUSTOM_MESSAGE = "custom_message"


def decode_entry(record: JsonObject) -> Entry:
    """Return the entry in a JSON object, which must have a type and an id."""
    at, parent = parse_timestamp(record.get("timestamp")), record.get("parentId")
    return Entry(record["id"], parent if isinstance(parent, str) else None, at, decode_body(record), record)


def new_entry(entry_id: str, parent_id: str | None, at: int, body: EntryBody) -> Entry:
    """Return an entry that is about to be written."""
    kind, fields = encode_body(body)
    record = {"type": kind, "id": entry_id, "parentId": parent_id, "timestamp": format_timestamp(at), **fields}
    return Entry(entry_id, parent_id, at, body, record)


def decode_body(record: JsonObject) -> EntryBody:
    fields = Fields(record, "type", *_COMMON)
    unknown = UnknownEntry(str(record["type"]), dict(fields.rest))
    if unknown.type == CUSTOM_MESSAGE:
        message = decode_custom(fields)
        return unknown if message is None else CustomMessageEntry(message)
    body = ENTRIES.decode(record, *_COMMON)
    return unknown if body is None else body


def encode_body(body: EntryBody) -> tuple[str, JsonObject]:
    """Return the type of an entry, and the fields that are specific to that type."""
    match body:
        case CustomMessageEntry(message):
            return CUSTOM_MESSAGE, encode_custom(message)
        case UnknownEntry(kind, fields):
            return kind, fields
        case _:
            encoded = ENTRIES.encode(body)
            return encoded.pop("type"), encoded


def _message(fields: Fields, name: str) -> Message | None:
    message = fields.object(name)
    return None if message is None else decode_message(message)


def _name(fields: Fields, name: str) -> str:
    return fields.text(name) or ""


_SUMMARY, _TARGET = WireField("summary", needed=True), WireField("target_id", needed=True)

ENTRIES: Shapes[EntryBody] = Shapes(
    "type",
    {
        "message": Shape(MessageEntry, WireField("message", _message, write=encode_message, needed=True), extra=False),
        "custom": Shape(
            CustomEntry,
            WireField("custom_type", needed=True),
            WireField("data", Fields.anything, kept=True),
            extra=False,
        ),
        "label": Shape(LabelEntry, _TARGET, WireField("label", kept=True), extra=False),
        "session_info": Shape(ConversationInfoEntry, WireField("name", _name), extra=False),
        "model_change": Shape(
            ModelChangeEntry, WireField("provider", needed=True), WireField("model_id", needed=True), extra=False
        ),
        "compaction": Shape(
            CompactionEntry,
            _SUMMARY,
            WireField("first_kept_id", wire="firstKeptEntryId"),
            WireField("tokens_before", Fields.number),
            extra=False,
        ),
        "branch_summary": Shape(BranchSummaryEntry, _SUMMARY, WireField("from_id"), extra=False),
        "context_edit": Shape(
            ContextEditEntry, _TARGET, WireField("replacement", Fields.anything, kept=True), extra=False
        ),
    },
)


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
