"""Importing the history of a plan from a session file of pi, and exporting it to one."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.stores.contract import WILD, chain, ids, planned
from tildone.base.errors import NotFound, StoreDamaged, StoreError, StoreTooNew, UnknownEvent
from tildone.plan.dialects import dialect_named, plan_in_entry
from tildone.plan.events import Actor, Bound, Call, Event, Labelled, Nudged, PlanChanged, SessionHead, Tripped
from tildone.plan.model import Plan
from tildone.stores.pi.drafts import PiHistory, read_history, write_history
from tildone.stores.pi.store import JsonlStore

OLD = Path(__file__).parent / "old_sessions"
TRACES = sorted((Path(__file__).parents[1] / "traces").glob("*.json"))
HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-02T03:04:05.006Z", "cwd": "/p"}

Entry = dict[str, Any]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "s.jsonl")


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.stem)
def test_a_recorded_session_survives_a_round_trip(trace: Path, tmp_path: Path) -> None:
    """Opened, appended to, exported and read again, every entry and event is unchanged."""
    recordings = json.loads(trace.read_text(encoding="utf-8"))["session_files"]
    assert recordings
    for number, recorded in enumerate(recordings):
        folder = tmp_path / str(number)
        folder.mkdir()
        file, copy = folder / recorded["name"].rpartition("/")[2], tmp_path / f"copy-{number}.jsonl"
        file.write_text(lines(*recorded["entries"]), encoding="utf-8")
        session = recorded["entries"][0]["id"]
        store = JsonlStore(folder, plan_in_entry)
        recovered = dialect_named("indexed").recover(recorded["entries"])

        before = read_history(str(file), plan_in_entry)
        [added] = chain(store, session, "added")
        after = read_history(str(file), plan_in_entry)
        write_history(str(copy), after.session, after.cwd, after.events, after.session_head)

        assert as_json(file)[:-1] == recorded["entries"]
        assert as_json(file)[-1]["parentId"] == recorded["entries"][-1]["id"]
        assert [event.fact.plan for event in before.events if isinstance(event.fact, PlanChanged)][-1:] == (
            [] if recovered is None else [recovered]
        )
        assert after.events == (*before.events, added)
        assert read_history(str(copy), plan_in_entry) == PiHistory(
            session, after.cwd, after.events, after.session_head, ()
        )


def test_skipped_entries_are_counted_by_type(path: str) -> None:
    """The most frequent first; entries that move the head are not counted."""
    trace = json.loads((TRACES[0].parent / "resume.json").read_text(encoding="utf-8"))
    entries = trace["session_files"][0]["entries"]
    Path(path).write_text(lines(*entries), encoding="utf-8")

    history = read_history(path, plan_in_entry)

    assert history.skipped_entries == (
        ("message", 11),
        ("custom_message", 2),
        ("model_change", 1),
        ("thinking_level_change", 1),
    )
    assert len(history.events) == 4
    assert all(isinstance(event.fact, PlanChanged) and event.fact.call for event in history.events)
    assert history.session_head == SessionHead(history.events[-1].id)
    assert history.cwd == entries[0]["cwd"]


def test_a_result_is_matched_with_its_call(path: str) -> None:
    """Even among parallel calls."""
    trace = json.loads((TRACES[0].parent / "parallel-calls.json").read_text(encoding="utf-8"))
    entries = trace["session_files"][0]["entries"]
    Path(path).write_text(lines(*entries), encoding="utf-8")
    made = {
        part["id"]: Call(part["name"], json.dumps(part["arguments"], separators=(",", ":")))
        for entry in entries
        if entry["type"] == "message" and entry["message"]["role"] == "assistant"
        for part in entry["message"]["content"]
        if part["type"] == "toolCall"
    }
    answered = {entry["id"]: entry["message"].get("toolCallId") for entry in entries if entry["type"] == "message"}

    events = read_history(path, plan_in_entry).events

    assert [made[answered[event.id]] for event in events] == [
        event.fact.call for event in events if isinstance(event.fact, PlanChanged)
    ]


@pytest.mark.parametrize(("version", "left_out"), [(1, 4), (2, 2)])
def test_older_versions_are_read_and_unchanged(version: int, left_out: int) -> None:
    file = OLD / f"version-{version}.jsonl"
    before = file.read_bytes()

    history = read_history(str(file), plan_in_entry)

    assert [len(history.events), len(history.skipped_entries)] == [2, left_out]
    assert history.cwd == "/home/me/project"
    assert history.session_head == SessionHead(history.events[-1].id)
    assert isinstance(history.events[0].fact, PlanChanged)
    assert history.events[0].fact.call
    assert file.read_bytes() == before


def test_every_event_survives_a_round_trip(path: str) -> None:
    """Of every kind, on every branch, with any id; the head is the same."""
    events = [
        planned("a", None, "one \ud800"),
        Event("b", "a", -5, Actor.TIMER, Nudged(4, 5)),
        Event("c", "b", 10**15, Actor.IMPORT, Tripped(Bound.DRIFT, 60)),
        Event("d", "a", 3, Actor.USER, Labelled("b", "x")),
        Event("e", None, 4, Actor.USER, Labelled("nowhere", "")),
        Event("f", "d", 5, Actor.AGENT, PlanChanged(Plan(), Call("edit_todos", '{"a": 1}'), 3)),
        *(planned(f"w{name}", "f", name) for name in WILD),
        planned("", "f", "no name"),
    ]

    write_history(path, "any \ud800 name", "/p", events, SessionHead("b", ("c", "nowhere")))

    history = read_history(path, plan_in_entry)
    assert history == PiHistory("any \ud800 name", "/p", tuple(events), SessionHead("b", ("c", "nowhere")), ())


@pytest.mark.parametrize("place", [SessionHead(), SessionHead("a"), SessionHead("b"), SessionHead(None, ("b", "a"))])
def test_an_exported_session_opens_at_the_same_head(path: str, tmp_path: Path, place: SessionHead) -> None:
    """It can be continued in a store."""
    write_history(path, "s", "/p", [planned("a", None, "x"), planned("b", "a", "y")], place)

    store = JsonlStore(tmp_path, plan_in_entry)
    assert store.session_head("s") == place
    store.append("s", planned("c", place.head, "z"))

    assert ids(store.events("s")) == ["a", "b", "c"]


def test_an_empty_history_can_be_written_and_read(path: str) -> None:
    write_history(path, "s", "/p", [], SessionHead())

    assert read_history(path, plan_in_entry) == PiHistory("s", "/p", (), SessionHead(), ())
    assert as_json(Path(path)) == [{**HEADER, "timestamp": "1970-01-01T00:00:00.000Z"}]


def test_an_existing_file_is_not_overwritten(path: str) -> None:
    Path(path).write_text("precious", encoding="utf-8")

    with pytest.raises(StoreError, match=r"s\.jsonl exists already"):
        write_history(path, "s", "/p", [planned("a", None, "x")], SessionHead("a"))

    assert Path(path).read_text(encoding="utf-8") == "precious"
    assert os.listdir(Path(path).parent) == ["s.jsonl"]


@pytest.mark.parametrize(
    ("events", "place"),
    [
        ([planned("b", "a", "x")], SessionHead("b")),
        ([planned("a", None, "x")], SessionHead("b")),
        ([], SessionHead("a")),
    ],
)
def test_an_inconsistent_history_is_not_written(path: str, events: list[Event], place: SessionHead) -> None:
    """A parent or a head is missing."""
    with pytest.raises(UnknownEvent):
        write_history(path, "s", "/p", events, place)

    assert not Path(path).exists()


def test_missing_folders_are_created(tmp_path: Path) -> None:
    write_history(str(tmp_path / "new" / "s.jsonl"), "s", "/p", [], SessionHead())
    (tmp_path / "file").write_text("in the way", encoding="utf-8")

    with pytest.raises(StoreError, match="file"):
        write_history(str(tmp_path / "file" / "s.jsonl"), "s", "/p", [], SessionHead())

    assert (tmp_path / "new" / "s.jsonl").exists()


@pytest.mark.parametrize(
    ("text", "wrong", "said"),
    [
        (None, NotFound, "no session file"),
        ("Dear diary,\n", StoreDamaged, "not a session header"),
        (json.dumps({**HEADER, "version": 4}), StoreTooNew, "format version 4"),
        (json.dumps({**HEADER, "version": "3"}), StoreDamaged, "'3' is not a format version"),
        (json.dumps({**HEADER, "version": 0}), StoreDamaged, "0 is not a format version"),
    ],
)
def test_a_file_that_is_not_a_session_file_is_an_error(
    path: str, text: str | None, wrong: type[Exception], said: str
) -> None:
    if text is not None:
        Path(path).write_text(text, encoding="utf-8")

    with pytest.raises(wrong, match=said):
        read_history(path, plan_in_entry)


def test_a_folder_instead_of_a_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot read"):
        read_history(str(tmp_path), plan_in_entry)


def test_an_event_below_an_unparsable_line_is_an_error(path: str) -> None:
    """The error names the line."""
    write_history(path, "s", "/p", [planned("a", None, "x"), planned("b", "a", "y")], SessionHead("b"))
    text = Path(path).read_text(encoding="utf-8").splitlines()
    Path(path).write_text("\n".join([text[0], "garbage", text[2], ""]), encoding="utf-8")

    with pytest.raises(StoreDamaged, match=r"s\.jsonl, line 2 cannot be read, and line 3 depends on it"):
        read_history(path, plan_in_entry)


def lines(*records: Entry) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


def as_json(path: Path) -> list[Entry]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]
