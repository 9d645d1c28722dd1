"""Conversations in pi's format: written, read by other programs, started, found and forked; nothing is lost."""

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


def saying(*texts: str) -> Transcript:
    """Return a transcript with a message of the person for each text, e0, e1 and so on."""
    kept, _ = transcript()
    for text in texts:
        add(kept, "message", message=said(text))
    return kept


def contents(kept: Transcript) -> list[Any]:
    return [message["content"] for message in said_in(kept)]


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

    assert [add(kept, "custom", customType="x")["id"] for _ in range(2)] == ["a", "b"]
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
    kept = saying(*"abc")

    kept.move("e0")
    add(kept, "message", message=said("other"))

    assert (contents(kept), len(kept.entries)) == (["a", "other"], 4)
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
    kept = saying(*"abc")
    add(kept, "compaction", summary="old", firstKeptEntryId="e0", tokensBefore=9)
    add(kept, "compaction", summary="a and b", firstKeptEntryId="e2", tokensBefore=10)
    add(kept, "message", message=said("d"))

    summary, *rest = said_in(kept)

    assert summary == {"role": "compactionSummary", "summary": "a and b", "tokensBefore": 10, "timestamp": 1500}
    assert [message["content"] for message in rest] == ["c", "d"]
    add(kept, "compaction", summary="all", firstKeptEntryId="itself", tokensBefore=11)
    assert [message["summary"] for message in said_in(kept)] == ["all"]


def test_a_context_edit_replaces_or_hides_a_message() -> None:
    """The entry itself is unchanged; an invalid edit has no effect. Answers always are lists of blocks."""
    kept = saying(*"abc")
    add(kept, "message", message={"role": "assistant", "content": []})
    for target, replacement in enumerate([None, {"content": "B"}, "C", {"content": "short"}]):
        add(kept, "context_edit", targetId=f"e{target}", replacement=replacement)

    assert contents(kept) == ["B", "c", [{"type": "text", "text": "short"}]]
    assert kept.entry("e0").record["message"]["content"] == "a"


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


def begin(kept: Conversations, text: str, parent: Transcript | None = None) -> Transcript:
    """Return a new conversation with a message."""
    begun = kept.new_of_subagent(parent) if parent else kept.new()
    add(begun, "message", message=messages.user(text, 0))
    return begun


def texts(kept: Transcript) -> list[str]:
    return [messages.text_of(each) for each in said_in(kept)]


def test_a_conversation_can_be_found_again_and_continued_in_the_same_file(tmp_path: Path) -> None:
    """It is found as the newest one, by its path, or by a part of its name. No entry is written twice."""
    kept = conversations(tmp_path)
    begun = begin(kept, "one")
    assert begun.file

    for found in (kept.latest(), kept.load(begun.file), kept.find("session0"), kept.find(begun.file)):
        assert found is not None
        assert (found.id, found.messages()) == (begun.id, begun.messages())
    add(kept.find("session0"), "message", message=messages.user("two", 0))

    assert texts(kept.load(begun.file)) == ["one", "two"]


def test_without_a_folder_nothing_is_stored() -> None:
    """Nothing is found, either."""
    kept = conversations(None)
    begin(kept, "gone")

    assert kept.latest() is None
    with pytest.raises(NotFound, match="there is no conversation 'x'"):
        kept.find("x")
    assert kept.new_of_subagent(kept.new()).file is None


def test_an_ambiguous_name_is_refused(tmp_path: Path) -> None:
    """The message asks for more of the id."""
    kept = conversations(tmp_path)
    for _ in range(2):
        begin(kept, "a")

    with pytest.raises(NotFound, match="matches 2 conversations"):
        kept.find("session")


def test_a_fork_branches_off_before_a_message(tmp_path: Path) -> None:
    """Earlier entries are copied unchanged, and the source is not modified."""
    kept = conversations(tmp_path)
    source = begin(kept, "one")
    second = add(source, "message", message=messages.user("two", 0))
    add(source, "custom", customType="x", data=1)
    leaf = source.leaf

    fork, text = kept.fork(source, second["id"])

    assert fork.file
    assert (text, texts(fork), kept.load(fork.file).messages()) == ("two", ["one"], fork.messages())
    assert (fork.header["parentSession"], source.leaf) == (source.file, leaf)
    with pytest.raises(Refused, match="not a message of yours"):
        kept.fork(source, leaf or "")


def test_a_subagents_conversation_names_its_parent_and_is_not_found_among_the_others(tmp_path: Path) -> None:
    """Neither as the latest nor by its id; its path finds it."""
    folder = conversations(tmp_path)
    parent = begin(folder, "hello")
    child = begin(folder, "count", parent)

    assert child.parent_id == parent.id
    assert child.file is not None
    assert (folder.find(child.file).id, [each.id for each in folder.newest_first()]) == (child.id, [parent.id])
    with pytest.raises(NotFound):
        folder.find(child.id)


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


MESSAGES_OF_OTHERS = Path(__file__).with_name("messages.jsonl").read_text(encoding="utf-8").splitlines()
"""Messages of other programs, with unknown fields and without fields that ours have."""


def test_messages_of_other_programs_survive_a_round_trip() -> None:
    """Unknown fields stay, in messages and in their blocks; those that are absent stay absent.

    No number becomes 0 and no flag becomes false. A custom message of a file gains no fields either.
    """
    record = {"type": "custom_message", "id": "a", "parentId": None, "customType": "note", "content": "x"}
    kept = Transcript({"id": "c"}, [record], now=lambda: 0, new_id=lambda: "b")
    given = [json.loads(line) for line in MESSAGES_OF_OTHERS]

    assert [encode_message(decode_message(message)) for message in given] == given
    assert said_in(kept) == [{"role": "custom", "customType": "note", "content": "x"}]


def test_a_field_of_an_unexpected_type_is_preserved() -> None:
    """The typed field is None, and the encoded record has the original value."""
    record = {"role": "assistant", "content": [], "stopReason": 7, "model": ["a"]}

    message = decode_message(record)

    assert isinstance(message, AssistantMessage)
    assert (message.stop_reason, message.model) == (None, None)
    assert encode_message(message) == record


def test_missing_content_is_empty_and_a_message_that_lacks_a_required_field_is_unknown() -> None:
    """It is preserved, and nothing acts on it."""
    message = decode_message({"role": "toolResult", "toolCallId": "c", "toolName": "t", "content": None})

    assert message == ToolResultMessage("c", "t", (), is_error=None)
    assert isinstance(decode_message({"role": "toolResult", "toolName": "t"}), UnknownMessage)


def test_every_member_of_a_union_has_a_shape() -> None:
    unions: list[tuple[UnionType, Shapes[Any], set[type]]] = [
        (Block, BLOCKS, {UnknownBlock}),
        (Message, MESSAGES, {UnknownMessage}),
        (EntryBody, ENTRIES, {UnknownEntry, CustomMessageEntry}),
    ]
    for union, shapes, apart in unions:
        assert set(get_args(union)) == {*shapes.kinds} | apart
