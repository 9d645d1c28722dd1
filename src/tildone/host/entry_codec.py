"""Converts entries from pi's JSON objects and back.

Decoding never fails: an entry that lacks a required field becomes an `UnknownEntry`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

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
from tildone.host.wire import Fields, JsonObject, present
from tildone.stores.pi.session_file import format_timestamp, parse_timestamp

_COMMON = ("type", "id", "parentId", "timestamp")


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
    """Return the body of the entry in a JSON object."""
    kind, fields = str(record["type"]), Fields(record, *_COMMON)
    unknown = UnknownEntry(kind, dict(fields.rest))
    decode = _DECODERS.get(kind)
    body = decode(fields) if decode else None
    return unknown if body is None else body


def encode_body(body: EntryBody) -> tuple[str, JsonObject]:
    """Return the type of an entry, and the fields that are specific to that type."""
    match body:
        case MessageEntry(message):
            return "message", {"message": encode_message(message)}
        case CustomEntry(custom_type, data):
            return "custom", {"customType": custom_type, "data": data}
        case CustomMessageEntry(message):
            return "custom_message", encode_custom(message)
        case LabelEntry(target_id, label):
            return "label", {"targetId": target_id, "label": label}
        case ConversationInfoEntry(name):
            return "session_info", {"name": name}
        case ModelChangeEntry(provider, model_id):
            return "model_change", {"provider": provider, "modelId": model_id}
        case CompactionEntry(summary, first_kept_id, tokens_before):
            kept = present(firstKeptEntryId=first_kept_id, tokensBefore=tokens_before)
            return "compaction", {"summary": summary, **kept}
        case BranchSummaryEntry(summary, from_id):
            return "branch_summary", {"summary": summary, **present(fromId=from_id)}
        case ContextEditEntry(target_id, replacement):
            return "context_edit", {"targetId": target_id, "replacement": replacement}
        case UnknownEntry(kind, fields):
            return kind, fields
        case _:
            assert_never(body)


def _decode_message(fields: Fields) -> MessageEntry | None:
    message = fields.object("message")
    return None if message is None else MessageEntry(decode_message(message))


def _decode_custom_message(fields: Fields) -> CustomMessageEntry | None:
    message = decode_custom(fields)
    return None if message is None else CustomMessageEntry(message)


def _decode_custom(fields: Fields) -> CustomEntry | None:
    custom_type = fields.text("customType")
    return None if custom_type is None else CustomEntry(custom_type, fields.anything("data"))


def _decode_label(fields: Fields) -> LabelEntry | None:
    target = fields.text("targetId")
    return None if target is None else LabelEntry(target, fields.text("label"))


def _decode_model_change(fields: Fields) -> ModelChangeEntry | None:
    provider, model = fields.text("provider"), fields.text("modelId")
    return None if provider is None or model is None else ModelChangeEntry(provider, model)


def _decode_compaction(fields: Fields) -> CompactionEntry | None:
    summary = fields.text("summary")
    if summary is None:
        return None
    return CompactionEntry(summary, fields.text("firstKeptEntryId"), fields.number("tokensBefore"))


def _decode_branch_summary(fields: Fields) -> BranchSummaryEntry | None:
    summary = fields.text("summary")
    return None if summary is None else BranchSummaryEntry(summary, fields.text("fromId"))


def _decode_context_edit(fields: Fields) -> ContextEditEntry | None:
    target = fields.text("targetId")
    return None if target is None else ContextEditEntry(target, fields.anything("replacement"))


_DECODERS: dict[str, Callable[[Fields], EntryBody | None]] = {
    "message": _decode_message,
    "custom": _decode_custom,
    "custom_message": _decode_custom_message,
    "label": _decode_label,
    "session_info": lambda fields: ConversationInfoEntry(fields.text("name") or ""),
    "model_change": _decode_model_change,
    "compaction": _decode_compaction,
    "branch_summary": _decode_branch_summary,
    "context_edit": _decode_context_edit,
}
