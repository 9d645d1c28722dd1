"""The transcript of a conversation in pi's format."""

import itertools

import pytest

from tests.host.records import Json, add, said_in
from tildone.base.errors import StoreError, UnknownEvent
from tildone.run.codec import decode_entry
from tildone.run.transcript import Transcript
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
