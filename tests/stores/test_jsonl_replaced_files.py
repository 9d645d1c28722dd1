"""Session files that are deleted, replaced, rewritten or renamed while a store is open."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stores.contract import chain, ids, planned
from tests.stores.jsonl_files import file_of, opened
from tildone.base.errors import HeadMoved, UnknownEvent
from tildone.plan.dialects import plan_in_entry
from tildone.plan.events import SessionHead
from tildone.stores.pi.store import JsonlStore


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


@pytest.fixture
def store(folder: Path) -> JsonlStore:
    return opened(folder)


def test_a_deleted_file_is_created_again(folder: Path, store: JsonlStore) -> None:
    """Changes written to the deleted file would be lost although they were acknowledged."""
    chain(store, "s", "a", "b")
    file_of(folder).unlink()

    with pytest.raises(HeadMoved):
        store.append("s", planned("c", "b", "x"))
    chain(store, "s", "d")

    assert ids(store.history("s")) == ids(opened(folder).history("s")) == ["d"]


@pytest.mark.parametrize("put_back", [shutil.move, shutil.copyfile], ids=["replaced", "rewritten"])
def test_a_replaced_file_is_read_again(
    folder: Path, store: JsonlStore, tmp_path: Path, put_back: Callable[[Path, Path], object]
) -> None:
    """As when a backup is restored while an agent runs; the new file may be shorter or longer."""
    backup = tmp_path / "backup"
    chain(store, "s", "a", "b")
    shutil.copyfile(file_of(folder), backup)
    chain(store, "s", "c", "d")
    reader = opened(folder)
    assert ids(reader.history("s")) == ["d", "c", "b", "a"]

    put_back(backup, file_of(folder))
    assert reader.session_head("s") == SessionHead("b")
    chain(store, "s", "next")

    assert ids(reader.history("s")) == ids(store.history("s")) == ["next", "b", "a"]


def test_a_file_overwritten_with_a_longer_one_is_read_again(folder: Path, store: JsonlStore) -> None:
    """Only the bytes at the end of the last scan reveal it."""
    chain(store, "s", "a", "b")
    header = file_of(folder).read_bytes().splitlines(keepends=True)[0]
    other = JsonlStore(folder.with_name("other"), plan_in_entry)
    chain(other, "s", "x", "y", "z", "and more")
    entries = file_of(folder.with_name("other")).read_bytes().splitlines(keepends=True)[1:]

    file_of(folder).write_bytes(header + b"".join(entries))

    assert ids(store.history("s")) == ["and more", "z", "y", "x"]


def test_a_replacement_with_the_same_size_and_last_line_is_read_again(folder: Path, store: JsonlStore) -> None:
    chain(store, "s", "a", "b", "c")
    assert store.session_head("s") == SessionHead("c")
    other = JsonlStore(folder.with_name("other"), plan_in_entry)
    chain(other, "s", "x", "b", "c")
    os.replace(file_of(folder.with_name("other")), file_of(folder))

    assert ids(store.events("s")) == ["x", "b", "c"]


def test_a_file_that_becomes_another_sessions_is_dropped(folder: Path, store: JsonlStore) -> None:
    """Its events do not count as this session's."""
    chain(store, "s", "a")
    assert store.session_head("s") == SessionHead("a")
    file_of(folder).write_bytes(file_of(folder).read_bytes().replace(b'"id":"s"', b'"id":"t"'))

    assert store.session_head("s") == SessionHead()
    assert store.session_head("t") == SessionHead("a")


def test_a_renamed_file_is_found_by_its_header(folder: Path, store: JsonlStore) -> None:
    chain(store, "s", "a")
    file_of(folder).rename(folder / "any name.jsonl")

    chain(store, "s", "b")

    assert ids(opened(folder).history("s")) == ["b", "a"]


def test_reading_continues_in_the_replacement(folder: Path, store: JsonlStore) -> None:
    """An event that no longer exists is unknown."""
    chain(store, "s", *map(str, range(10)))
    history = store.history("s")
    newest = next(history)
    other = JsonlStore(folder.with_name("other"), plan_in_entry)
    chain(other, "s", "x", "9")
    os.replace(file_of(folder.with_name("other")), file_of(folder))

    with pytest.raises(UnknownEvent, match="8"):
        next(history)

    assert newest.id == "9"
    assert ids(store.history("s")) == ["9", "x"]
