"""Pi's records, decoded and encoded: nothing is lost, whoever wrote them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tildone.host.entries import UnknownEntry
from tildone.host.entry_codec import decode_entry, encode_body
from tildone.host.message_codec import decode_message, encode_message
from tildone.host.messages import AssistantMessage, ToolResultMessage, UnknownMessage

Json = dict[str, Any]
TRACES = sorted((Path(__file__).parents[1] / "traces").glob("*.json"))


def recorded_entries(trace: Path) -> list[Json]:
    files = json.loads(trace.read_text(encoding="utf-8"))["session_files"]
    return [entry for file in files for entry in file["entries"] if entry["type"] != "session"]


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.stem)
def test_entries_that_pi_wrote_survive_a_round_trip(trace: Path) -> None:
    """The record is kept as it is, and the typed body encodes to the same fields."""
    for record in recorded_entries(trace):
        entry = decode_entry(record)
        common = {name: record[name] for name in ("id", "parentId", "timestamp")}
        kind, fields = encode_body(entry.body)

        assert entry.record == record
        assert {"type": kind, **common, **fields} == record


def test_an_entry_of_an_unknown_type_is_kept_verbatim() -> None:
    record = {"type": "thinking_level_change", "id": "a", "parentId": None, "timestamp": "x", "level": {"deep": [1]}}

    entry = decode_entry(record)

    assert entry.body == UnknownEntry("thinking_level_change", {"level": {"deep": [1]}})
    assert json.dumps(entry.record) == json.dumps(record)


@pytest.mark.parametrize(
    "record",
    [
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
        {"content": "no role"},
    ],
)
def test_fields_that_are_not_known_survive_a_round_trip(record: Json) -> None:
    """In messages and in their blocks."""
    assert encode_message(decode_message(record)) == record


def test_a_message_that_lacks_a_required_field_is_shown_to_nobody() -> None:
    """It is kept, and has no type that anything acts on."""
    assert isinstance(decode_message({"role": "toolResult", "toolName": "t"}), UnknownMessage)


def test_a_field_of_another_type_is_left_as_it_is() -> None:
    """The typed field is empty, and the record keeps what it had."""
    record = {"role": "assistant", "content": [], "stopReason": 7, "model": ["a"]}

    message = decode_message(record)

    assert isinstance(message, AssistantMessage)
    assert (message.stop_reason, message.model) == (None, None)
    assert encode_message(message) == record


def test_content_that_a_file_has_lost_is_empty() -> None:
    message = decode_message({"role": "toolResult", "toolCallId": "c", "toolName": "t", "content": None})

    assert message == ToolResultMessage("c", "t", ())
