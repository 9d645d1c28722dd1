"""Session files of older format versions: read as they are, upgraded before the first append."""

import json
import shutil
from pathlib import Path

import pytest

from tests.stores.contract import chain
from tests.stores.jsonl_entries import Entry, entries_of
from tests.stores.jsonl_files import oddities
from tildone.plan.dialects import plan_in_entry
from tildone.plan.events import SessionHead
from tildone.stores.pi.store import JsonlStore

OLD = Path(__file__).parent / "old_sessions"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


@pytest.fixture
def store(folder: Path) -> JsonlStore:
    return JsonlStore(folder, plan_in_entry)


@pytest.mark.parametrize("version", [1, 2])
def test_reading_an_older_file_does_not_change_it(folder: Path, store: JsonlStore, version: int) -> None:
    """Its events have the same ids on every read."""
    path, name = old(folder, version)
    before = path.read_bytes()

    events = list(store.events(name))

    assert [len(events), events[0].parent, events[1].parent] == [2, None, events[0].id]
    assert store.session_head(name) == SessionHead(events[1].id)
    assert list(JsonlStore(folder, plan_in_entry).events(name)) == events
    assert path.read_bytes() == before
    assert oddities(store) == []


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_file_is_upgraded_before_an_append(folder: Path, store: JsonlStore, version: int) -> None:
    """A copy of it is kept, and its entries keep their meaning."""
    path, name = old(folder, version)
    before, events = path.read_bytes(), list(store.events(name))
    path.chmod(0o640)

    added = chain(store, name, "new")

    header, *entries = entries_of(folder)
    assert header["version"] == 3
    assert path.with_name(f"{path.name}.v{version}.bak").read_bytes() == before
    assert list(JsonlStore(folder, plan_in_entry).events(name)) == list(store.events(name)) == [*events, *added]
    assert [entry["parentId"] for entry in entries] == [None, *(entry["id"] for entry in entries[:-1])]
    was = [json.loads(line) for line in before.splitlines()][1:]
    assert [without_links(entry) for entry in entries[:-1]] == [without_links(entry) for entry in was]
    if version == 2:
        assert path.read_bytes().splitlines()[3:-1] == before.splitlines()[3:]
    assert path.stat().st_mode & 0o777 == 0o640


def test_renamed_fields_are_upgraded(folder: Path, store: JsonlStore) -> None:
    """The first entry that a compaction keeps, and the role of a hook's message."""
    for version in (1, 2):
        _, name = old(folder, version)
        chain(store, name, "new")

    first, second = (entries_of(folder, f"{version}")[1:] for version in (1, 2))
    [compaction] = [entry for entry in first if entry["type"] == "compaction"]
    assert compaction["firstKeptEntryId"] == first[4]["id"]
    assert "firstKeptEntryIndex" not in compaction
    assert second[1]["message"]["role"] == "custom"


def test_unparsable_lines_survive_an_upgrade(folder: Path, store: JsonlStore) -> None:
    """In place, to the byte; an existing backup is not overwritten."""
    path, name = old(folder, 1)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], b"\xffgarbage\n", *lines[3:], b'{"type":"message","mess']))
    path.with_name(f"{path.name}.v1.bak").write_text("precious", encoding="utf-8")

    chain(store, name, "new")

    raised = path.read_bytes().splitlines()
    assert raised[3] == b"\xffgarbage"
    assert raised[-2] == b'{"type":"message","mess'
    assert path.with_name(f"{path.name}.v1.bak").read_text(encoding="utf-8") == "precious"
    assert path.with_name(f"{path.name}.v1.bak.2").exists()
    assert len(list(store.events(name))) == 3


def old(folder: Path, version: int) -> tuple[Path, str]:
    """Return a file of an older version, and the session in it."""
    folder.mkdir(exist_ok=True)
    path = folder / f"version-{version}.jsonl"
    shutil.copyfile(OLD / path.name, path)
    with path.open(encoding="utf-8") as file:
        return path, json.loads(file.readline())["id"]


def without_links(entry: Entry) -> Entry:
    """Return the part of an entry that an upgrade does not change."""
    changed = ("id", "parentId", "firstKeptEntryIndex", "firstKeptEntryId")
    kept = {key: held for key, held in entry.items() if key not in changed}
    if entry.get("message", {}).get("customType"):
        kept["message"] = {key: held for key, held in entry["message"].items() if key != "role"}
    return kept
