"""The conversation of a session, as pi keeps it."""

import itertools

import pytest

from tildone.errors import StoreError, UnknownEvent
from tildone.host.entries import Entry
from tildone.host.transcript import Transcript
from tildone.stores.pi.session_file import header, iso


def transcript(*entries: Entry) -> tuple[Transcript, list[Entry]]:
    """A conversation, and what it writes down."""
    written: list[Entry] = []
    ids = itertools.count()
    made = Transcript(
        header("s", "/p", 0), entries, now=lambda: 1500, new_id=lambda: f"e{next(ids)}", write=written.append
    )
    return made, written


def said(text: str) -> Entry:
    return {"role": "user", "content": text}


def test_an_entry_hangs_under_the_leaf_and_becomes_the_leaf() -> None:
    """And is written down as it is."""
    kept, written = transcript()

    kept.append("message", message=said("a"))
    kept.append("custom", customType="x", data=1)

    assert [(entry["id"], entry["parentId"]) for entry in kept.entries] == [("e0", None), ("e1", "e0")]
    assert written == kept.branch() == kept.entries
    assert written[0]["timestamp"] == "1970-01-01T00:00:01.500Z"
    assert kept.leaf == "e1"


def test_an_id_is_used_once() -> None:
    """Chance may give one again."""
    ids = iter(["a", "a", "a", "b"])
    kept = Transcript(header("s", "/p", 0), now=lambda: 1, new_id=lambda: next(ids))

    made = [kept.append("custom")["id"] for _ in range(2)]

    assert made == ["a", "b"]
    assert len(kept.entries) == 2


def test_what_cannot_be_written_is_not_gone_on_from() -> None:
    """It would be missing from the file, and all that follows would hang under nothing."""
    written: list[Entry] = []
    ids = itertools.count()

    def write(entry: Entry) -> None:
        if entry["type"] == "too_large":
            raise StoreError
        written.append(entry)

    kept = Transcript(header("s", "/p", 0), now=lambda: 1, new_id=lambda: f"e{next(ids)}", write=write)
    kept.append("custom")
    with pytest.raises(StoreError):
        kept.append("too_large")
    kept.append("custom")

    assert [(entry["id"], entry["parentId"]) for entry in written] == [("e0", None), ("e2", "e0")]


def test_moving_the_leaf_begins_a_branch() -> None:
    """The other one is still there."""
    kept, _ = transcript()
    for text in "abc":
        kept.append("message", message=said(text))

    kept.move("e0")
    kept.append("message", message=said("other"))

    assert [message["content"] for message in kept.messages()] == ["a", "other"]
    assert len(kept.entries) == 4
    kept.move(None)
    assert kept.branch() == []
    with pytest.raises(UnknownEvent, match="nowhere"):
        kept.move("nowhere")


def test_only_what_a_model_may_read_is_a_message() -> None:
    """Custom messages are, with the moment of their entry; custom entries, labels and the system prompt are not."""
    kept, _ = transcript()
    kept.append("message", message={"role": "system", "content": "s"})
    kept.append("message", message=said("a"))
    kept.append("custom", customType="x", data=1)
    kept.append("label", targetId="e1", label="l")
    kept.append("custom_message", customType="hint", content="h", display=False)
    kept.append("branch_summary", summary="tried b", fromId="e9")

    assert kept.messages() == [
        said("a"),
        {"role": "custom", "customType": "hint", "content": "h", "display": False, "timestamp": 1500},
        {"role": "branchSummary", "summary": "tried b", "fromId": "e9", "timestamp": 1500},
    ]


def test_a_compaction_stands_for_what_came_before_what_it_kept() -> None:
    """The newest one counts; one that kept nothing stands alone."""
    kept, _ = transcript()
    for text in "abc":
        kept.append("message", message=said(text))
    kept.append("compaction", summary="old", firstKeptEntryId="e0", tokensBefore=9)
    kept.append("compaction", summary="a and b", firstKeptEntryId="e2", tokensBefore=10)
    kept.append("message", message=said("d"))

    summary, *rest = kept.messages()

    assert summary == {"role": "compactionSummary", "summary": "a and b", "tokensBefore": 10, "timestamp": 1500}
    assert [message["content"] for message in rest] == ["c", "d"]
    kept.append("compaction", summary="all", firstKeptEntryId="itself", tokensBefore=11)
    assert [message["summary"] for message in kept.messages()] == ["all"]


def test_an_edit_of_the_context_replaces_or_hides_what_was_said() -> None:
    """The entry itself stays as it was; an edit that makes no sense changes nothing."""
    kept, _ = transcript()
    for text in "abc":
        kept.append("message", message=said(text))
    kept.append("context_edit", targetId="e0", replacement=None)
    kept.append("context_edit", targetId="e1", replacement={"content": "B"})
    kept.append("context_edit", targetId="e2", replacement="C")

    assert [message["content"] for message in kept.messages()] == ["B", "c"]
    assert kept.entry("e0")["message"]["content"] == "a"


def test_an_edited_answer_is_a_list_of_blocks() -> None:
    """As answers and results always are."""
    kept, _ = transcript()
    kept.append("message", message={"role": "assistant", "content": []})
    kept.append("context_edit", targetId="e0", replacement={"content": "short"})

    [answer] = kept.messages()

    assert answer["content"] == [{"type": "text", "text": "short"}]


def test_what_a_file_has_lost_is_empty() -> None:
    """Content that is null, a moment that cannot be read, a summary of nothing."""
    kept, _ = transcript()
    kept.append("message", message={"role": "user", "content": None})
    kept.append("custom_message", customType="hint", content="h", display=False)["timestamp"] = "yesterday"
    kept.append("branch_summary", fromId="e9")

    assert kept.messages() == [
        {"role": "user", "content": []},
        {"role": "custom", "customType": "hint", "content": "h", "display": False},
    ]


def test_the_newest_name_is_the_sessions_name() -> None:
    """None until somebody gives it one, and again when it is taken away."""
    kept, _ = transcript()
    names = [kept.name]

    for name in ("first", " second ", ""):
        kept.append("session_info", name=name)
        names.append(kept.name)

    assert names == [None, "first", "second", None]


def test_moments_are_written_as_pi_writes_them() -> None:
    """Milliseconds, and a Z."""
    assert iso(1794703543432) == "2026-11-15T00:45:43.432Z"
    assert header("s", "/p", 0, "/q.jsonl")["parentSession"] == "/q.jsonl"
