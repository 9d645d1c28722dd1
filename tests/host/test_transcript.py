"""Conversations in pi's format.

Written, read by other programs, started, found and forked, with nothing lost or added.
"""

import itertools
import json
from pathlib import Path
from types import UnionType
from typing import Any, get_args

import pytest

from tests.host import records as messages
from tests.host.records import Json, add, said_in
from tildone.base import NotFound, Refused, StoreError, UnknownEvent
from tildone.run.codec import (
    BLOCKS,
    ENTRIES,
    MESSAGES,
    Shapes,
    decode_entry,
    decode_message,
    encode_body,
    encode_message,
)
from tildone.run.events import CustomMessageEntry, EntryBody, UnknownEntry
from tildone.run.messages import AssistantMessage, Block, Message, ToolResultMessage, UnknownBlock, UnknownMessage
from tildone.run.transcript import Conversations, Transcript
from tildone.stores.pi.session_file import format_timestamp, header


def transcript(*entries: Json) -> tuple[Transcript, list[Json]]:
    """Return a transcript and the records that it writes."""
    written: list[Json] = []
    ids = itertools.count()
    made = Transcript(
        header("s", "/p", 0), entries, now=lambda: 1500, new_id=lambda: f"e{next(ids)}", write=written.append
    )
    return made, written


def said(text: str) -> Json:
    return {"role": "user", "content": text}


def test_a_new_entry_is_a_child_of_the_leaf_and_becomes_the_leaf() -> None:
    """It is written unchanged."""
    kept, written = transcript()

    add(kept, "message", message=said("a"))
    add(kept, "custom", customType="x", data=1)

    assert [(entry.id, entry.parent_id) for entry in kept.entries] == [("e0", None), ("e1", "e0")]
    assert written == [entry.record for entry in kept.branch()] == [entry.record for entry in kept.entries]
    assert written[0]["timestamp"] == "1970-01-01T00:00:01.500Z"
    assert kept.leaf == "e1"


def test_an_id_is_used_once() -> None:
    """Random ids may repeat."""
    ids = iter(["a", "a", "a", "b"])
    kept = Transcript(header("s", "/p", 0), now=lambda: 1, new_id=lambda: next(ids))

    made = [add(kept, "custom", customType="x")["id"] for _ in range(2)]

    assert made == ["a", "b"]
    assert len(kept.entries) == 2


def test_an_entry_that_cannot_be_written_is_not_added() -> None:
    """It would be missing from the file, and later entries would have no parent."""
    written: list[Json] = []
    ids = itertools.count()

    def write(entry: Json) -> None:
        if entry["type"] == "too_large":
            raise StoreError
        written.append(entry)

    kept = Transcript(header("s", "/p", 0), now=lambda: 1, new_id=lambda: f"e{next(ids)}", write=write)
    add(kept, "custom", customType="x")
    with pytest.raises(StoreError):
        add(kept, "too_large")
    add(kept, "custom", customType="x")

    assert [(entry["id"], entry["parentId"]) for entry in written] == [("e0", None), ("e2", "e0")]


def test_moving_the_leaf_starts_a_branch() -> None:
    """The other branch remains."""
    kept, _ = transcript()
    for text in "abc":
        add(kept, "message", message=said(text))

    kept.move("e0")
    add(kept, "message", message=said("other"))

    assert [message["content"] for message in said_in(kept)] == ["a", "other"]
    assert len(kept.entries) == 4
    kept.move(None)
    assert kept.branch() == []
    with pytest.raises(UnknownEvent, match="nowhere"):
        kept.move("nowhere")


def test_only_entries_for_models_become_messages() -> None:
    """Custom messages do, with the entry's timestamp; custom entries, labels and the system prompt do not."""
    kept, _ = transcript()
    add(kept, "message", message={"role": "system", "content": "s"})
    add(kept, "message", message=said("a"))
    add(kept, "custom", customType="x", data=1)
    add(kept, "label", targetId="e1", label="l")
    add(kept, "custom_message", customType="hint", content="h", display=False)
    add(kept, "branch_summary", summary="tried b", fromId="e9")

    assert said_in(kept) == [
        said("a"),
        {"role": "custom", "customType": "hint", "content": "h", "display": False, "timestamp": 1500},
        {"role": "branchSummary", "summary": "tried b", "fromId": "e9", "timestamp": 1500},
    ]


def test_a_compaction_replaces_the_entries_before_those_it_kept() -> None:
    """The newest compaction counts, even if it kept no entries."""
    kept, _ = transcript()
    for text in "abc":
        add(kept, "message", message=said(text))
    add(kept, "compaction", summary="old", firstKeptEntryId="e0", tokensBefore=9)
    add(kept, "compaction", summary="a and b", firstKeptEntryId="e2", tokensBefore=10)
    add(kept, "message", message=said("d"))

    summary, *rest = said_in(kept)

    assert summary == {"role": "compactionSummary", "summary": "a and b", "tokensBefore": 10, "timestamp": 1500}
    assert [message["content"] for message in rest] == ["c", "d"]
    add(kept, "compaction", summary="all", firstKeptEntryId="itself", tokensBefore=11)
    assert [message["summary"] for message in said_in(kept)] == ["all"]


def test_a_context_edit_replaces_or_hides_a_message() -> None:
    """The entry itself is unchanged; an invalid edit has no effect."""
    kept, _ = transcript()
    for text in "abc":
        add(kept, "message", message=said(text))
    add(kept, "context_edit", targetId="e0", replacement=None)
    add(kept, "context_edit", targetId="e1", replacement={"content": "B"})
    add(kept, "context_edit", targetId="e2", replacement="C")

    assert [message["content"] for message in said_in(kept)] == ["B", "c"]
    assert kept.entry("e0").record["message"]["content"] == "a"


def test_an_edited_answer_is_a_list_of_blocks() -> None:
    """Answers and results always are lists of blocks."""
    kept, _ = transcript()
    add(kept, "message", message={"role": "assistant", "content": []})
    add(kept, "context_edit", targetId="e0", replacement={"content": "short"})

    [answer] = said_in(kept)

    assert answer["content"] == [{"type": "text", "text": "short"}]


def test_missing_data_is_empty() -> None:
    """Null content, an invalid timestamp, an empty summary."""
    kept, _ = transcript()
    add(kept, "message", message={"role": "user", "content": None})
    hint = {"type": "custom_message", "customType": "hint", "content": "h", "display": False}
    kept.adopt([decode_entry({**hint, "id": "h", "parentId": kept.leaf, "timestamp": "yesterday"})])
    add(kept, "branch_summary", fromId="e9")

    assert said_in(kept) == [
        {"role": "user", "content": []},
        {"role": "custom", "customType": "hint", "content": "h", "display": False},
    ]


def test_the_newest_name_is_the_name_of_the_conversation() -> None:
    """It is None before the first name and after an empty one."""
    kept, _ = transcript()
    names = [kept.name]

    for name in ("first", " second ", ""):
        add(kept, "session_info", name=name)
        names.append(kept.name)

    assert names == [None, "first", "second", None]


def test_timestamps_have_the_format_of_pi() -> None:
    """Milliseconds, and a Z."""
    assert format_timestamp(1794703543432) == "2026-11-15T00:45:43.432Z"
    assert header("s", "/p", 0, "/q.jsonl")["parentSession"] == "/q.jsonl"


def conversations(folder: Path | None) -> Conversations:
    ids = itertools.count()
    clock = itertools.count(1000)
    where = str(folder) if folder else None
    return Conversations(where, "/p", now=lambda: next(clock), new_conversation_id=lambda: f"session{next(ids)}")


def test_a_conversation_can_be_found_again(tmp_path: Path) -> None:
    """It is found as the newest one, by its path, or by a part of its name."""
    kept = conversations(tmp_path)
    begun = kept.new()
    messages.add(begun, "message", message=messages.user("hello", 0))
    assert begun.file

    for found in (kept.latest(), kept.load(begun.file), kept.find("session0"), kept.find(begun.file)):
        assert found is not None
        assert found.id == begun.id
        assert found.messages() == begun.messages()


def test_a_continued_conversation_is_written_to_the_same_file(tmp_path: Path) -> None:
    """No entry is written twice."""
    kept = conversations(tmp_path)
    begun = kept.new()
    messages.add(begun, "message", message=messages.user("one", 0))
    again = kept.latest()
    assert again

    messages.add(again, "message", message=messages.user("two", 0))

    assert begun.file
    assert [messages.text_of(said) for said in messages.said_in(kept.load(begun.file))] == ["one", "two"]


def test_without_a_folder_nothing_is_stored() -> None:
    """Nothing is found, either."""
    kept = conversations(None)
    messages.add(kept.new(), "message", message=messages.user("gone", 0))

    assert kept.latest() is None
    with pytest.raises(NotFound, match="there is no conversation 'x'"):
        kept.find("x")


def test_an_ambiguous_name_is_refused(tmp_path: Path) -> None:
    """The message asks for more of the id."""
    kept = conversations(tmp_path)
    for _ in range(2):
        messages.add(kept.new(), "message", message=messages.user("a", 0))

    with pytest.raises(NotFound, match="matches 2 conversations"):
        kept.find("session")


def test_a_fork_branches_off_before_a_message(tmp_path: Path) -> None:
    """Earlier entries are copied unchanged, and the source is not modified."""
    kept = conversations(tmp_path)
    source = kept.new()
    messages.add(source, "message", message=messages.user("one", 0))
    second = messages.add(source, "message", message=messages.user("two", 0))
    messages.add(source, "custom", customType="x", data=1)
    leaf = source.leaf

    fork, text = kept.fork(source, second["id"])

    assert text == "two"
    assert [messages.text_of(said) for said in messages.said_in(fork)] == ["one"]
    assert fork.header["parentSession"] == source.file
    assert fork.file
    assert kept.load(fork.file).messages() == fork.messages()
    assert source.leaf == leaf
    with pytest.raises(Refused, match="not a message of yours"):
        kept.fork(source, leaf or "")


def test_a_subagents_conversation_names_its_parent_and_is_not_found_among_the_others(tmp_path: Path) -> None:
    """Neither as the latest nor by its id; its path finds it."""
    folder = conversations(tmp_path)
    parent = folder.new()
    messages.add(parent, "message", message=messages.user("hello", 0))
    child = folder.new_of_subagent(parent)
    messages.add(child, "message", message=messages.user("count", 0))

    assert child.parent_id == parent.id
    assert child.file is not None
    assert (folder.find(child.file).id, [each.id for each in folder.newest_first()]) == (child.id, [parent.id])
    with pytest.raises(NotFound):
        folder.find(child.id)
    assert conversations(None).new_of_subagent(conversations(None).new()).file is None


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
