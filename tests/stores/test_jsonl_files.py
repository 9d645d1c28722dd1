"""The files of a jsonl store: names, order, deletion, and how much of them is read."""

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.plans import plan_of, session_on
from tests.stores.contract import WILD, chain, ids, planned
from tests.stores.jsonl_entries import Entry, begin, entries_of, message, result
from tests.stores.jsonl_files import file_of, oddities
from tildone.base.errors import UnknownEvent
from tildone.plan.dialects import plan_in_entry
from tildone.plan.dialects.phased import phases_in
from tildone.plan.events import Actor, Event, Labelled, PlanChanged, SessionHead
from tildone.plan.model import Phase, Plan, Status, Task
from tildone.stores.pi import folder as folders
from tildone.stores.pi import outline
from tildone.stores.pi.session_file import parse_line
from tildone.stores.pi.store import JsonlStore

WHEN_MS = 1767323045006


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


@pytest.fixture
def store(folder: Path) -> JsonlStore:
    return JsonlStore(folder, plan_in_entry)


def test_files_are_named_as_in_pi(folder: Path, store: JsonlStore) -> None:
    """A session name that pi does not allow becomes its readable part and a digest."""
    at = WHEN_MS
    for name in ("0193-uuid", "/home/me/my project", "x" * 300, "ünï", "", "CON", "a.b_c", "-x-"):
        store.append(name, planned("a", None, "x", at=at))

    stamp = "2026-01-02T03-04-05-006Z_"
    names = {path.name.removeprefix(stamp).removesuffix(".jsonl") for path in folder.glob(f"{stamp}*.jsonl")}
    assert {"0193-uuid", "CON", "a.b_c"} < names
    assert any(name.startswith("home-me-my-project-") for name in names)
    assert max(map(len, names)) < 100
    assert len(names) == 8
    assert all(folders._VALID_ID.fullmatch(name) for name in names)  # noqa: SLF001  what pi takes for an id


def test_sessions_with_equal_digests_are_told_apart(
    folder: Path, store: JsonlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the headers of their files."""
    monkeypatch.setattr(folders, "crc32", lambda _: 0)

    for name in WILD:
        chain(store, name, "a", "b")

    again = JsonlStore(folder, plan_in_entry)
    assert {info.name: info.events for info in again.sessions()} == dict.fromkeys(WILD, 2)
    assert all(ids(again.history(name)) == ["b", "a"] for name in WILD)


def test_a_session_named_by_a_folder_has_it_as_working_folder(folder: Path, store: JsonlStore, tmp_path: Path) -> None:
    """Sessions are listed in pi by their working folders."""
    chain(store, str(tmp_path), "a")

    assert entries_of(folder)[0]["cwd"] == str(tmp_path)


def test_a_session_can_begin_in_a_deleted_working_folder(
    folder: Path, store: JsonlStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    chain(store, "s", "a")
    monkeypatch.chdir(tmp_path)

    assert entries_of(folder)[0]["cwd"] == ""


def test_more_sessions_than_the_cache_holds_can_be_used(store: JsonlStore) -> None:
    names = [f"s{number}" for number in range(40)]
    for name in names:
        chain(store, name, "a")

    assert [store.session_head(name) for name in names] == [SessionHead("a")] * 40
    assert [chain(store, name, "b")[0].parent for name in names] == ["a"] * 40


def test_one_of_two_files_of_a_session_is_used(folder: Path, store: JsonlStore) -> None:
    """The one named for the session; the check reports the other."""
    chain(store, "s", "a")
    mine = file_of(folder)
    shutil.copyfile(mine, folder / "copy.jsonl")

    again = JsonlStore(folder, plan_in_entry)
    chain(again, "s", "b")

    assert [info.events for info in again.sessions()] == [2]
    assert oddities(again) == [f"several files contain session 's': {mine.name} is used, copy.jsonl not"]
    assert len(mine.read_bytes().splitlines()) == 3


def test_sessions_are_ordered_by_last_write_even_if_the_clock_stands_still(folder: Path) -> None:
    """Or is set back."""
    times = iter([50, 50, 50, 40, 30, 50, 50])
    store = JsonlStore(folder, plan_in_entry, clock=lambda: next(times) * 10**9)
    names: list[list[str]] = []
    for name in ("one", "two", "three", "four", "one"):
        chain(store, name, f"of {name} {len(names)}")
        names.append([info.name for info in store.sessions()])

    assert names[-1] == ["one", "four", "three", "two"]
    assert names[-2] == ["four", "three", "two", "one"]


def test_messages_of_pi_count_as_writing_to_a_session(folder: Path, store: JsonlStore) -> None:
    chain(store, "one", "a")
    chain(store, "two", "a")
    path = file_of(folder, "one")
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(message("m", "a")) + "\n")
    later = path.stat().st_mtime_ns + 10**9
    os.utime(path, ns=(later, later))

    assert [info.name for info in store.sessions()] == ["one", "two"]


def test_imported_events_are_placed_after_the_conversation(folder: Path, store: JsonlStore) -> None:
    """New roots follow the last message, other branches their own parents."""
    begin(folder, message("m1", None))
    theirs = [planned("a", None, "one"), planned("b", "a", "two"), planned("z", None, "three"), planned("c", "a", "x")]

    store.import_events("s", theirs, SessionHead("b", ("c",)))

    parents = {entry["id"]: entry["parentId"] for entry in entries_of(folder)[1:]}
    assert parents.items() >= {"a": "m1", "b": "a", "z": "m1", "c": "a"}.items()
    assert list(parents.values())[-1] == "b"
    assert list(JsonlStore(folder, plan_in_entry).events("s")) == theirs
    assert store.session_head("s") == SessionHead("b", ("c",))


def test_deleting_a_plan_keeps_the_conversation(folder: Path, store: JsonlStore) -> None:
    """No byte of the file is lost; oh-my-pi restores an empty list, and the session can begin again."""
    begin(
        folder,
        message("m1", None),
        result("r1", "m1", "write_todos", "c", todos=[{"text": "one", "status": "not_started"}]),
    )
    chain(store, "s", "a", "b")
    before = file_of(folder).read_bytes()

    store.delete("s", expected="b")
    forgotten = entries_of(folder)[-1]

    assert file_of(folder).read_bytes().startswith(before)
    assert forgotten["data"]["phases"] == []
    assert forgotten["parentId"] == "b"
    for each in (store, JsonlStore(folder, plan_in_entry)):
        assert (each.session_head("s"), list(each.events("s")), each.sessions()) == (SessionHead(), [], [])
        with pytest.raises(UnknownEvent):
            each.history("s", "r1")
    assert list(store.events("s")) == []
    assert chain(store, "s", "a") == list(JsonlStore(folder, plan_in_entry).events("s"))


def test_deleting_a_plan_without_a_conversation_removes_its_file(folder: Path, store: JsonlStore) -> None:
    """Entries for moves and labels count as tildone's own."""
    chain(store, "s", "a", "b")
    store.move_head("s", SessionHead("a"), expected="b")
    store.append("s", Event("l", "a", 1, Actor.USER, Labelled("a", "x")))

    store.delete("s", expected="l")

    assert list(folder.glob("*.jsonl")) == []


def test_deleting_a_session_without_a_plan_changes_nothing(folder: Path, store: JsonlStore) -> None:
    begin(folder, message("m1", None))
    before = file_of(folder).read_bytes()

    store.delete("s", expected=None)
    store.move_head("s", SessionHead(None, ("x",)), expected=None)
    store.import_events("s", [], SessionHead(None, ("x",)))

    assert file_of(folder).read_bytes() == before


@pytest.mark.parametrize("length", [5, 400])
def test_a_long_session_is_read_and_changed_by_parsing_few_lines(
    folder: Path, store: JsonlStore, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(folder, *(message(f"m{n}", f"m{n - 1}" if n else None) for n in range(length)))
    chain(store, "s", *(f"e{n}" for n in range(length)))
    looked_at: list[bytes] = []

    def looked(line: bytes) -> Entry | None:
        looked_at.append(line)
        return parse_line(line)

    monkeypatch.setattr(outline, "parse_line", looked)

    again = session_on(JsonlStore(folder, plan_in_entry), prefix="new")
    again.call("edit_todos", {"action": "start", "indices": [0]})
    again.undo()

    assert len(looked_at) < 12
    assert again.plan == plan_of(f"e{length - 1}")


def test_an_append_reads_only_the_end_of_the_file(folder: Path, store: JsonlStore) -> None:
    """Earlier lines are not read again."""
    chain(store, "s", *(f"e{n}" for n in range(50)))
    text = bytearray(file_of(folder).read_bytes())
    at = text.index(b'"e7"')
    seen = file_of(folder).stat()
    with file_of(folder).open("r+b") as file:
        file.seek(at)
        file.write(b'"eX"')
    os.utime(file_of(folder), ns=(seen.st_mtime_ns, seen.st_mtime_ns))

    chain(store, "s", "next")

    assert store.session_head("s") == SessionHead("next")
    assert next(store.history("s", "next")).parent == "e49"
    assert store._files._cache["s"].outline.tree.position("e7") is not None  # noqa: SLF001  what was read stays as read
    assert next(store.history("s", "e7")).id == "e7"
    assert store._files._cache["s"].outline.tree.position("e7") is None  # noqa: SLF001  until it is found to be otherwise


def test_a_missing_folder_is_empty_and_healthy(folder: Path, store: JsonlStore) -> None:
    """Reading does not create it."""
    assert store.sessions() == []
    assert oddities(store) == []
    assert not folder.exists()


def test_written_phases_are_read_by_the_phased_dialect(folder: Path, store: JsonlStore) -> None:
    """Store and dialect know oh-my-pi's format independently of each other."""
    plan = Plan((Phase("", (Task("a", Status.ABANDONED),)), Phase("B", (Task("b", notes=("n",)),))))

    store.append("s", Event("a", None, 1, Actor.USER, PlanChanged(plan)))

    assert phases_in(entries_of(folder)[1]["data"]["phases"]) == plan
