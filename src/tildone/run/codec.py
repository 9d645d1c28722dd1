"""Messages, entries and events as the JSON objects of pi. Events are never decoded.

Decoding never fails: a message that lacks a required field becomes an `UnknownMessage`, so a damaged or foreign record
is preserved but shown to nobody. Encoding a decoded record restores it: a field that is unknown, or whose value has an
unexpected type, stays in `Fields.rest` and is written back unchanged. A known field that is absent is read as None, and
None is not written. Only missing content becomes an empty list, and the text content of an assistant message or tool
result a list with one block.

How a field is read and written follows from its annotation in the class of the record (`CODINGS`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar, assert_never

from tildone.base import replace
from tildone.run import events, messages
from tildone.run.events import BlockDelta, BlockEnd, BlockEvent, BlockKind, BlockStart, Entry, EntryBody, PublicEvent
from tildone.run.kit.definition import ToolResult
from tildone.run.messages import (
    NO_EXTRA,
    Block,
    Content,
    CustomMessage,
    Extra,
    JsonObject,
    JsonValue,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    UnknownBlock,
    UnknownMessage,
    Usage,
)
from tildone.stores.pi.session_file import format_timestamp, parse_timestamp

R = TypeVar("R")


class Fields:
    """The fields of one JSON object.

    Each accessor removes a field from `rest` and returns its value, or returns None if the field is absent or has
    another type.
    """

    def __init__(self, record: Extra, *known: str) -> None:
        self.rest = {name: value for name, value in record.items() if name not in known}

    def text(self, name: str) -> str | None:
        return self.rest.pop(name) if isinstance(self.rest.get(name), str) else None

    def number(self, name: str) -> int | None:
        """Take a number. One with a fraction stays a float, so that it is written back unchanged."""
        value = self.rest.get(name)
        return self.rest.pop(name) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def flag(self, name: str) -> bool | None:
        return self.rest.pop(name) if isinstance(self.rest.get(name), bool) else None

    def object(self, name: str) -> JsonObject | None:
        return self.rest.pop(name) if isinstance(self.rest.get(name), dict) else None

    def anything(self, name: str) -> JsonValue:
        return self.rest.pop(name, None)

    def not_null(self, name: str) -> JsonValue:
        return self.rest.pop(name) if self.rest.get(name) is not None else None


class Shape(Generic[R]):
    """The fields of one kind of record in JSON.

    Their names are those of the attributes in camel case, unless `wire` has others. A record without a field that
    cannot be None is none, unless `reads` has a function that says what takes its place. A field that is None is left
    out, unless it is `kept`. Unknown fields are in the attribute `extra`, if the class has it.
    """

    def __init__(
        self,
        kind: Callable[..., R],
        wire: Mapping[str, str] | None = None,
        *,
        reads: Mapping[str, Callable[[Fields, str], JsonValue]] | None = None,
        kept: str = "",
    ) -> None:
        self.kind = kind
        self._kept = kept
        types: dict[str, str] = dict(vars(kind)["__annotations__"])
        self._has_extra = types.pop("extra", None) is not None
        self._needed = {name for name, of in types.items() if " | None" not in of and of != "JsonValue"} - set(
            reads or ()
        )
        codings = {name: CODINGS[of.removesuffix(" | None")] for name, of in types.items()}
        self._reads = {name: read for name, (read, _) in codings.items()} | dict(reads or {})
        self._writes = {name: write for name, (_, write) in codings.items()}
        self._wire = {name: camel_case(name) for name in types} | dict(wire or {})

    def decode(self, fields: Fields) -> R | None:
        """Return the record in these fields; None if a needed one is missing."""
        found = {}
        for name, read in self._reads.items():
            found[name] = item = read(fields, self._wire[name])
            if item is None and name in self._needed:
                return None
        return self.kind(**found, extra=fields.rest) if self._has_extra else self.kind(**found)

    def encode(self, record: object) -> JsonObject:
        encoded: JsonObject = {}
        for name, write in self._writes.items():
            item = getattr(record, name)
            if item is not None or name == self._kept:
                encoded[self._wire[name]] = write(item) if write else item
        return encoded | dict(getattr(record, "extra", NO_EXTRA))


class Shapes(Generic[R]):
    """The shapes of a union by the value of the field `tag`."""

    def __init__(self, tag: str, shapes: Mapping[str, Shape[R]]) -> None:
        self._tag = tag
        self._shapes = shapes
        self.kinds: dict[object, str] = {shape.kind: kind for kind, shape in shapes.items()}

    def decode(self, record: Extra, *common: str) -> R | None:
        """Return the record in a JSON object, but for the fields that all records have in common."""
        kind = record.get(self._tag)
        shape = self._shapes.get(kind) if isinstance(kind, str) else None
        return shape.decode(Fields(record, self._tag, *common)) if shape else None

    def encode(self, record: object) -> JsonObject:
        kind = self.kinds[type(record)]
        return {self._tag: kind, **self._shapes[kind].encode(record)}


def camel_case(name: str) -> str:
    return re.sub("_([a-z])", lambda letter: letter[1].upper(), name)


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


def reported_usage(record: JsonValue) -> Usage | None:
    """Return the usage that an event or the details of a result report; None if they have none."""
    used = record.get("usage") if isinstance(record, dict) else None
    return decode_usage(used) if isinstance(used, dict) else None


def encode_usage(usage: Usage) -> JsonObject:
    return _USAGE.encode(usage)


def decode_message(record: JsonObject) -> Message:
    message = MESSAGES.decode(record)
    return UnknownMessage(record) if message is None else message


def encode_message(message: Message) -> JsonObject:
    return message.record if isinstance(message, UnknownMessage) else MESSAGES.encode(message)


def encode_custom(message: CustomMessage) -> JsonObject:
    """Return the fields that a custom message and its entry have in common."""
    return _CUSTOM.encode(replace(message, timestamp=None))


def _content(fields: Fields, name: str) -> Content | None:
    content = fields.anything(name)
    if isinstance(content, str):
        return content
    return decode_blocks(content) if isinstance(content, list) else None


def _nested(decode: Callable[[JsonObject], object]) -> Callable[[Fields, str], JsonValue]:
    """Return a function that takes the record in the object that a field holds."""
    return lambda fields, name: None if (record := fields.object(name)) is None else decode(record)


CODINGS: dict[str, tuple[Callable[[Fields, str], JsonValue], Callable[[JsonValue], JsonValue] | None]] = {
    "str": (Fields.text, None),
    "int": (Fields.number, None),
    "float": (Fields.number, None),
    "bool": (Fields.flag, None),
    "JsonObject": (Fields.object, None),
    "JsonValue": (Fields.not_null, None),
    "Content": (_content, lambda content: content if isinstance(content, str) else encode_blocks(content)),
    "tuple[Block, ...]": (lambda fields, name: decode_blocks(fields.anything(name)), encode_blocks),
    "Message": (_nested(decode_message), encode_message),
    "Usage": (_nested(decode_usage), encode_usage),
}
"""How a field of a type is taken from the fields of a record, and how its value is written if that is not JSON."""

# Pi preserves unknown fields of a block and sends them to no provider.
_STATE = {"provider_state": "tildone"}

BLOCKS: Shapes[Block] = Shapes(
    "type",
    {
        "text": Shape(TextBlock, {"signature": "textSignature", **_STATE}),
        "thinking": Shape(ThinkingBlock, {"signature": "thinkingSignature", **_STATE}),
        "image": Shape(messages.ImageBlock),
        "toolCall": Shape(ToolCallBlock, {"signature": "thoughtSignature", **_STATE}),
    },
)
_CUSTOM, _COST = Shape(CustomMessage), Shape(messages.Cost)
CODINGS["Cost"] = (_nested(lambda record: _COST.decode(Fields(record))), _COST.encode)
_USAGE = Shape(Usage)

MESSAGES: Shapes[Message] = Shapes(
    "role",
    {
        "user": Shape(
            messages.UserMessage,
            reads={"content": lambda fields, name: () if (content := _content(fields, name)) is None else content},
        ),
        "assistant": Shape(messages.AssistantMessage),
        "toolResult": Shape(messages.ToolResultMessage),
        "custom": Shape(CustomMessage),
        "developer": Shape(messages.DeveloperMessage),
        "bashExecution": Shape(messages.BashExecutionMessage),
        "branchSummary": Shape(messages.BranchSummaryMessage),
        "compactionSummary": Shape(messages.CompactionSummaryMessage),
    },
)
ENTRIES: Shapes[EntryBody] = Shapes(
    "type",
    {
        "message": Shape(events.MessageEntry),
        "custom": Shape(events.CustomEntry, kept="data"),
        "label": Shape(events.LabelEntry, kept="label"),
        "session_info": Shape(
            events.ConversationInfoEntry, reads={"name": lambda fields, name: fields.text(name) or ""}
        ),
        "model_change": Shape(events.ModelChangeEntry),
        "compaction": Shape(events.CompactionEntry, {"first_kept_id": "firstKeptEntryId"}),
        "branch_summary": Shape(events.BranchSummaryEntry),
        "context_edit": Shape(events.ContextEditEntry, kept="replacement"),
    },
)
_COMMON = ("id", "parentId", "timestamp")
CUSTOM_MESSAGE = "custom_message"


def decode_entry(record: JsonObject) -> Entry:
    """Return the entry in a JSON object, which must have a type and an id."""
    at, parent = parse_timestamp(record.get("timestamp")), record.get("parentId")
    return Entry(record["id"], parent if isinstance(parent, str) else None, at, decode_body(record), record)


def new_entry(entry_id: str, parent_id: str | None, at: int, body: EntryBody) -> Entry:
    kind, fields = encode_body(body)
    record = {"type": kind, "id": entry_id, "parentId": parent_id, "timestamp": format_timestamp(at), **fields}
    return Entry(entry_id, parent_id, at, body, record)


def decode_body(record: JsonObject) -> EntryBody:
    fields = Fields(record, "type", *_COMMON)
    unknown = events.UnknownEntry(str(record["type"]), dict(fields.rest))
    if unknown.type == CUSTOM_MESSAGE:
        message = _CUSTOM.decode(fields)
        return unknown if message is None else events.CustomMessageEntry(message)
    body = ENTRIES.decode(record, *_COMMON)
    return unknown if body is None else body


def encode_body(body: EntryBody) -> tuple[str, JsonObject]:
    """Return the type of an entry, and the fields that are specific to that type."""
    match body:
        case events.CustomMessageEntry(message):
            return CUSTOM_MESSAGE, encode_custom(message)
        case events.UnknownEntry(kind, fields):
            return kind, fields
        case _:
            encoded = ENTRIES.encode(body)
            return encoded.pop("type"), encoded


_EVENT_FIELDS = {"call_id": "toolCallId", "extension": "extensionPath"}
"""The fields of events that pi calls otherwise."""


def encode_event(event: PublicEvent) -> JsonObject:
    match event:
        case events.CustomEvent(kind, fields):
            return {"type": kind, **fields}
        case events.MessageUpdate(usage, progress):
            fields = {"usage": encode_usage(usage), "assistantMessageEvent": encode_block_event(progress)}
        case events.RetryEnd(attempt, error):
            fields = {"success": error is None, "attempt": attempt}
            fields |= {} if error is None else {"finalError": error}
        case _:
            given = {name: getattr(event, name) for name in event.__match_args__}
            fields = {_EVENT_FIELDS.get(name) or camel_case(name): _encoded(item) for name, item in given.items()}
    return {"type": event.type, **fields}


def _encoded(item: object) -> JsonValue:
    match item:
        case ToolResult():
            # Without the error flag: records have that in a field of their own.
            return {"content": encode_blocks(messages.result_blocks(item)), "details": item.details}
        case Entry(record=record):
            return record
        case list() | tuple():
            return [_encoded(each) for each in item]
        case _:
            return encode_message(item) if isinstance(item, Message) else item


def encode_block_event(event: BlockEvent) -> JsonObject:
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
