"""Converts entries from pi's JSON objects and back.

Decoding never fails: an entry that lacks a required field becomes an `UnknownEntry`.
"""

from __future__ import annotations

from tildone.host.entries import (
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
    UnknownEntry,
)
from tildone.host.message_codec import decode_custom, decode_message, encode_custom, encode_message
from tildone.host.messages import Message
from tildone.host.wire import Fields, JsonObject, Shape, Shapes, WireField
from tildone.stores.pi.session_file import format_timestamp, parse_timestamp

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
