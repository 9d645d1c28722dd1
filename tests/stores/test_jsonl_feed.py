"""The change feed of a folder of session files beyond the contract: other programs, damage, costs, other processes."""

import os
from pathlib import Path

import pytest

from tests.stores.contract import chain
from tests.stores.jsonl_entries import begin, lines, message, result
from tests.stores.jsonl_files import file_of, opened
from tildone.plan.events import SessionChange
from tildone.stores.pi.history import History
from tildone.stores.pi.store import JsonlStore


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


@pytest.fixture
def store(folder: Path) -> JsonlStore:
    return opened(folder)


def test_what_another_program_appends_is_told(folder: Path, store: JsonlStore) -> None:
    """A conversation without a plan is no session yet; with the first plan it is one."""
    before = store.records.revision()
    begin(folder, message("m1", None))
    without = store.records.changed(before)

    with file_of(folder).open("a", encoding="utf-8") as file:
        file.write(lines(result("r1", "m1", "write_todos", "c", todos=[{"text": "one", "status": "not_started"}])))
    written = store.records.changed(store.records.revision() - 1)

    assert [(change.session, change.exists) for change in without] == [("s", False)]
    assert [(change.session, change.head, change.exists) for change in written] == [("s", "r1", True)]


def test_a_conversation_whose_plan_is_deleted_is_told_as_deleted(folder: Path, store: JsonlStore) -> None:
    """Its file stays."""
    begin(folder, message("m1", None))
    chain(store, "s", "a")
    before = store.records.revision()

    store.delete("s", expected="a")

    assert store.records.changed(before) == [SessionChange("s", None, store.records.revision(), exists=False)]
    assert file_of(folder).exists()


def test_a_file_that_cannot_be_read_is_told_and_hides_no_other(folder: Path, store: JsonlStore) -> None:
    """Whoever reads its session gets the error."""
    chain(store, "newer", "a", "b")
    before = store.records.revision()
    path = file_of(folder, "newer")
    path.write_text(path.read_text().replace('"version":3', '"version":9'))
    changed = store.records.revision()
    chain(store, "s", "a")

    told = store.records.changed(before)

    assert told == [SessionChange("newer", None, changed), SessionChange("s", "a", store.records.revision())]


def test_files_without_a_session_are_no_changes(folder: Path, store: JsonlStore) -> None:
    """One that becomes that of another session is a change of both."""
    before = store.records.revision()
    folder.mkdir()
    (folder / "notes.jsonl").write_text("none of ours\n")
    nothing = store.records.changed(before)
    chain(store, "one", "a")
    written = store.records.revision()
    path = file_of(folder, "one")

    path.write_text(path.read_text().replace('"id":"one"', '"id":"two"'))

    assert nothing == []
    assert [(change.session, change.exists) for change in store.records.changed(written)] == [
        ("one", False),
        ("two", True),
    ]


def test_changes_between_two_looks_are_in_the_order_of_the_files(store: JsonlStore) -> None:
    before = store.records.revision()
    for name in ("b", "c", "a"):
        chain(store, name, "x")

    assert [change.session for change in store.records.changed(before)] == ["b", "c", "a"]


def test_only_files_that_changed_are_read(store: JsonlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        chain(store, f"session-{number}", "a")
    before = store.records.revision()
    chain(store, "session-3", "b")
    read: list[str] = []
    refresh = History.refresh

    def recorded(history: History) -> bool:
        read.append(os.path.basename(history.outline.path))
        return refresh(history)

    monkeypatch.setattr(History, "refresh", recorded)

    told = store.records.changed(before)

    assert [change.session for change in told] == ["session-3"]
    assert {name.partition("_")[2] for name in read} == {"session-3.jsonl"}


def test_a_revision_of_an_earlier_object_is_behind_everything(folder: Path, store: JsonlStore) -> None:
    """The numbers of an object say nothing of what happened before it."""
    chain(store, "s", "a")
    earlier = store.records.revision()

    later = opened(folder)

    assert earlier < later.records.revision()
    assert [change.session for change in later.records.changed(earlier)] == ["s"]
