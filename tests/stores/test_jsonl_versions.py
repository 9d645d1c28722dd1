"""Session files of older format versions: read as they are, upgraded before the first append."""

import json
import shutil
from pathlib import Path

import pytest

from tests.stores.contract import chain
from tests.stores.jsonl_entries import Entry, entries_of
from tests.stores.jsonl_files import oddities
from tildone.dialects import plan_in_entry
from tildone.log.tree import SessionHead
from tildone.stores.pi.store import JsonlStore

OLD = Path(__file__).parent / "old_sessions"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


@pytest.fixture
def store(folder: Path) -> JsonlStore:
    return JsonlStore(folder, plan_in_entry)


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_file_is_read_as_it_is(folder: Path, store: JsonlStore, version: int) -> None:
    """Nothing is written for that, and its events are called the same whenever it is read."""
    path, name = old(folder, version)
    before = path.read_bytes()

    events = list(store.events(name))

    assert [len(events), events[0].parent, events[1].parent] == [2, None, events[0].id]
    assert store.session_head(name) == SessionHead(events[1].id)
    assert list(JsonlStore(folder, plan_in_entry).events(name)) == events
    assert path.read_bytes() == before
    assert oddities(store) == []


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_file_is_raised_when_something_is_added(folder: Path, store: JsonlStore, version: int) -> None:
    """What it was is kept beside it, and everything in it means the same as before."""
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


def test_what_older_versions_said_otherwise_is_said_anew(folder: Path, store: JsonlStore) -> None:
    """Where a compaction begins to keep, and whose message a hook's is."""
    for version in (1, 2):
        _, name = old(folder, version)
        chain(store, name, "new")

    first, second = (entries_of(folder, f"{version}")[1:] for version in (1, 2))
    [compaction] = [entry for entry in first if entry["type"] == "compaction"]
    assert compaction["firstKeptEntryId"] == first[4]["id"]
    assert "firstKeptEntryIndex" not in compaction
    assert second[1]["message"]["role"] == "custom"


def test_what_can_not_be_read_in_an_older_file_is_kept_when_it_is_raised(folder: Path, store: JsonlStore) -> None:
    """At its place, to the byte; a backup that is there already stays."""
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
    """A file of an older version, and the session in it."""
    folder.mkdir(exist_ok=True)
    path = folder / f"version-{version}.jsonl"
    shutil.copyfile(OLD / path.name, path)
    with path.open(encoding="utf-8") as file:
        return path, json.loads(file.readline())["id"]


def without_links(entry: Entry) -> Entry:
    """What an entry says, apart from what raising it changes."""
    changed = ("id", "parentId", "firstKeptEntryIndex", "firstKeptEntryId")
    kept = {key: held for key, held in entry.items() if key not in changed}
    if entry.get("message", {}).get("customType"):
        kept["message"] = {key: held for key, held in entry["message"].items() if key != "role"}
    return kept
