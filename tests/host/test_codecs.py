"""Decoding and encoding pi's records loses and adds nothing, whichever program wrote them."""

import json
from pathlib import Path
from types import UnionType
from typing import Any, get_args

import pytest

from tildone.run.codec import (
    BLOCKS,
    ENTRIES,
    MESSAGES,
    decode_entry,
    decode_message,
    decode_usage,
    encode_body,
    encode_message,
)
from tildone.run.events import CustomMessageEntry, EntryBody, UnknownEntry
from tildone.run.messages import (
    AssistantMessage,
    Block,
    Cost,
    Message,
    Shapes,
    ToolResultMessage,
    UnknownBlock,
    UnknownMessage,
    Usage,
    add_usage,
)
from tildone.run.transcript import Transcript

Json = dict[str, Any]
TRACES = sorted((Path(__file__).parents[1] / "traces").glob("*.json"))


def recorded_entries(trace: Path) -> list[Json]:
    files = json.loads(trace.read_text(encoding="utf-8"))["session_files"]
    return [entry for file in files for entry in file["entries"] if entry["type"] != "session"]


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.stem)
def test_entries_that_pi_wrote_survive_a_round_trip(trace: Path) -> None:
    """The record is unchanged, and the typed body encodes to the same fields."""
    for record in recorded_entries(trace):
        entry = decode_entry(record)
        common = {name: record[name] for name in ("id", "parentId", "timestamp")}
        kind, fields = encode_body(entry.body)

        assert entry.record == record
        assert {"type": kind, **common, **fields} == record


def test_an_entry_of_an_unknown_type_is_preserved_verbatim() -> None:
    record = {"type": "thinking_level_change", "id": "a", "parentId": None, "timestamp": "x", "level": {"deep": [1]}}

    entry = decode_entry(record)

    assert entry.body == UnknownEntry("thinking_level_change", {"level": {"deep": [1]}})
    assert json.dumps(entry.record) == json.dumps(record)


UNKNOWN_FIELDS: list[Json] = [
    {"role": "user", "content": "Go", "timestamp": 1, "mood": "fine"},
    {"role": "user", "content": [{"type": "text", "text": "Go", "lang": "en"}, {"type": "video", "url": "u"}]},
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "redacted": True, "by": "them"}]},
    {"role": "assistant", "content": [], "stopReason": "tired", "diagnostics": [{"a": 1}], "timestamp": 2},
    {"role": "toolResult", "toolCallId": "c", "toolName": "t", "content": [], "isError": True, "addedBy": "x"},
    {"role": "custom", "customType": "note", "content": "x", "display": True, "details": [1], "more": None},
    {"role": "developer", "attribution": "agent", "content": "x", "why": "because"},
    {"role": "compactionSummary", "summary": "s", "tokensBefore": 4, "files": ["a"]},
    {"role": "somebodyElses", "content": 7},
    {"role": "toolResult", "content": "a result that lacks its call"},
    {"role": "toolResult", "toolCallId": "c", "toolName": "t", "content": [], "details": None, "isError": False},
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "redacted": False}]},
    {"content": "no role"},
]


def test_unknown_fields_survive_a_round_trip() -> None:
    """Both in messages and in their blocks."""
    assert [encode_message(decode_message(record)) for record in UNKNOWN_FIELDS] == UNKNOWN_FIELDS


ABSENT_FIELDS: list[Json] = [
    {"role": "assistant", "content": [], "usage": {}},
    {"role": "assistant", "content": [], "usage": {"input": 3, "cost": {}}},
    {"role": "assistant", "content": [], "usage": {"output": 0, "cost": {"total": 0.5}}},
    {"role": "toolResult", "toolCallId": "c", "toolName": "t", "content": []},
    {"role": "custom", "customType": "note", "content": "x"},
    {"role": "bashExecution", "command": "ls", "output": ""},
    {"role": "bashExecution", "command": "ls", "output": "", "cancelled": True, "excludeFromContext": False},
]


def test_fields_that_are_absent_stay_absent() -> None:
    """No number becomes 0 and no flag becomes false in records of other programs."""
    assert [encode_message(decode_message(record)) for record in ABSENT_FIELDS] == ABSENT_FIELDS


def test_a_custom_message_of_a_file_gains_no_fields() -> None:
    """RPC clients and the JSON mode receive the fields that the entry has."""
    record = {"type": "custom_message", "id": "a", "parentId": None, "customType": "note", "content": "x"}
    transcript = Transcript({"id": "c"}, [record], now=lambda: 0, new_id=lambda: "b")

    assert list(map(encode_message, transcript.messages())) == [
        {"role": "custom", "customType": "note", "content": "x"}
    ]


def test_missing_numbers_count_as_zero() -> None:
    total = add_usage(decode_usage({"input": 3}), decode_usage({"input": 4, "cost": {"total": 0.5}}))

    assert total == Usage(input=7, cost=Cost(total=0.5))


def test_a_message_that_lacks_a_required_field_is_unknown() -> None:
    """It is preserved, and nothing acts on it."""
    assert isinstance(decode_message({"role": "toolResult", "toolName": "t"}), UnknownMessage)


def test_a_field_of_an_unexpected_type_is_preserved() -> None:
    """The typed field is None, and the encoded record has the original value."""
    record = {"role": "assistant", "content": [], "stopReason": 7, "model": ["a"]}

    message = decode_message(record)

    assert isinstance(message, AssistantMessage)
    assert (message.stop_reason, message.model) == (None, None)
    assert encode_message(message) == record


def test_missing_content_is_empty() -> None:
    message = decode_message({"role": "toolResult", "toolCallId": "c", "toolName": "t", "content": None})

    assert message == ToolResultMessage("c", "t", (), is_error=None)


@pytest.mark.parametrize(
    ("union", "shapes", "apart"),
    [
        (Block, BLOCKS, {UnknownBlock}),
        (Message, MESSAGES, {UnknownMessage}),
        (EntryBody, ENTRIES, {UnknownEntry, CustomMessageEntry}),
    ],
)
def test_every_member_of_a_union_has_a_shape(union: UnionType, shapes: Shapes[Any], apart: set[type]) -> None:
    assert set(get_args(union)) == {*shapes.kinds} | apart
