"""Session files: names, order and deletion, other formats and versions, permissions, full disks, replaced files."""

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.plans import plan_of, session_on
from tests.stores.contract import WILD, chain, ids, planned
from tests.stores.jsonl_files import (
    Entry,
    as_pi_reads,
    begin,
    entries_of,
    file_of,
    garble,
    message,
    oddities,
    opened,
    result,
)
from tests.stores.processes import run
from tildone.base import HeadMoved, StoreDamaged, StoreError, StoreTooNew, UnknownEvent, durable
from tildone.base import durable as lock
from tildone.log.kept import Severity
from tildone.plan.dialects import plan_in_entry
from tildone.plan.events import Actor, Event, Labelled, SessionHead
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
    monkeypatch.setattr(folders, "crc32", lambda _: 0)

    for name in WILD:
        chain(store, name, "a", "b")

    again = JsonlStore(folder, plan_in_entry)
    assert {info.name: info.events for info in again.sessions()} == dict.fromkeys(WILD, 2)
    assert all(ids(again.history(name)) == ["b", "a"] for name in WILD)


def test_a_session_begins_in_the_folder_it_is_named_by_or_the_working_folder_unless_that_is_deleted(
    folder: Path, store: JsonlStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    chain(store, "s", "a")
    chain(store, str(tmp_path), "a")
    monkeypatch.chdir(tmp_path)

    assert entries_of(folder, "_s")[0]["cwd"] == ""
    assert {json.loads(path.read_text().splitlines()[0])["cwd"] for path in folder.glob("*.jsonl")} == {
        "",
        str(tmp_path),
    }


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


def test_deleting_a_session_without_a_plan_changes_nothing(folder: Path, store: JsonlStore) -> None:
    """And that of a plan without a conversation removes its file."""
    begin(folder, message("m1", None))
    before = file_of(folder).read_bytes()

    store.delete("s", expected=None)
    store.move_head("s", SessionHead(None, ("x",)), expected=None)
    store.import_events("s", [], SessionHead(None, ("x",)))

    assert file_of(folder).read_bytes() == before

    chain(store, "alone", "a", "b")
    store.move_head("alone", SessionHead("a"), expected="b")
    store.append("alone", Event("l", "a", 1, Actor.USER, Labelled("a", "x")))
    store.delete("alone", expected="l")
    assert len(list(folder.glob("*.jsonl"))) == 1


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
    assert store.sessions() == []
    assert oddities(store) == []
    assert not folder.exists()


unix_only = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks, limits and permissions are Unix's")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        made = Path(name) / "sessions"
        made.parent.chmod(0o755)
        yield made


def test_an_event_of_a_newer_tildone_is_an_error(folder: Path, store: JsonlStore) -> None:
    chain(store, "s", "a", "b")
    file_of(folder).write_bytes(file_of(folder).read_bytes().replace(b'"v":1,"id":"b"', b'"v":9,"id":"b"'))

    with pytest.raises(StoreDamaged, match=r"line 3 is damaged: not an event of version"):
        opened(folder).history("s")


def test_a_file_of_a_newer_format_is_refused_and_unchanged(folder: Path, store: JsonlStore) -> None:
    chain(store, "s", "a")
    chain(store, "other", "a")
    path = file_of(folder, "s")
    path.write_bytes(path.read_bytes().replace(b'"version":3', b'"version":4'))
    before = path.read_bytes()

    newer = opened(folder)
    for work in (lambda: newer.session_head("s"), lambda: newer.append("s", planned("b", "a", "x"))):
        with pytest.raises(StoreTooNew, match="has format version 4; this tildone reads up to 3"):
            work()

    assert path.read_bytes() == before
    assert [info.name for info in newer.sessions()] == ["other"]
    assert "format version 4" in oddities(newer)[0]


@pytest.mark.parametrize("text", ["", "Dear diary,\n", "[]\n", '{"type":"message","id":"a"}\n', '{"type":"session"}\n'])
def test_a_file_that_is_not_a_session_file_is_skipped(folder: Path, store: JsonlStore, text: str) -> None:
    """Pipes and folders are not opened."""
    folder.mkdir()
    (folder / "notes.jsonl").write_text(text, encoding="utf-8")
    (folder / "folder.jsonl").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "pipe.jsonl")

    chain(store, "notes", "a")

    assert [info.name for info in store.sessions()] == ["notes"]
    assert (folder / "notes.jsonl").read_text(encoding="utf-8") == text
    assert oddities(store) == ["notes.jsonl is not a session file: its first line is not a session header"]


def test_a_broken_header_does_not_restart_the_session(folder: Path, store: JsonlStore) -> None:
    chain(store, "s", "a")
    garble(file_of(folder), 1)

    broken = opened(folder)

    with pytest.raises(StoreDamaged, match="its first line is not a session header"):
        broken.append("s", planned("b", None, "x"))
    assert len(list(folder.glob("*.jsonl"))) == 1
    assert [finding.severity for finding in broken.check()].count(Severity.ERROR) == 1


def test_a_file_instead_of_the_folder_is_an_error(folder: Path) -> None:
    folder.write_text("in the way", encoding="utf-8")

    with pytest.raises(StoreError, match=r"cannot open .*sessions: .*[Nn]ot a directory"):
        opened(folder)


@pytest.mark.parametrize("name", ["file/sessions", "nul\0"])
def test_an_impossible_path_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")

    with pytest.raises(StoreError, match="cannot open"):
        JsonlStore(f"{tmp_path}/{name}", plan_in_entry).sessions()


@unix_only
@pytest.mark.parametrize(
    ("modes", "told"),
    [
        ((0o555, 0o444, 0o444), "read a\nStoreError: {folder} can't be written: Permission denied\n"),
        ((0o777, 0o666, 0o444), "read a\nStoreError: {file} can't be written: Permission denied\n"),
        ((0o777, 0o666, 0), "StoreError: cannot read {file}: Permission denied\n"),
    ],
    ids=["a read-only folder", "a read-only file", "an unreadable file"],
)
def test_a_user_without_permission_is_told_so(open_folder: Path, modes: tuple[int, int, int], told: str) -> None:
    """An unreadable file does not count as missing: the session does not begin again."""
    chain(opened(open_folder), "s", "a")
    file = file_of(open_folder)
    for path, mode in zip((open_folder, open_folder / lock.LOCK_FILE, file), modes, strict=True):
        path.chmod(mode)

    assert run("unprivileged", f"jsonl:{open_folder}").stdout == told.format(folder=open_folder, file=file)


@unix_only
def test_the_check_reports_missing_permissions(open_folder: Path) -> None:
    for name in ("read", "written", "neither"):
        chain(opened(open_folder), name, "a")
    for name, mode in (("read", 0o444), ("written", 0o666), ("neither", 0)):
        file_of(open_folder, name).chmod(mode)
    open_folder.chmod(0o555)

    found = run("examined", f"jsonl:{open_folder}").stdout.splitlines()

    read, neither = (file_of(open_folder, name).name for name in ("read", "neither"))
    assert [line for line in found if not line.startswith("ok")] == [
        "warning: the folder is not writable",
        f"problem: {neither}: Permission denied",
        f"warning: {read} is not writable",
    ]


@pytest.mark.parametrize("version", [1, 2])
def test_a_file_system_without_hard_links_is_supported(
    folder: Path, store: JsonlStore, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", no_links)
    folder.mkdir()
    old, kept = folder / "old.jsonl", folder / f"old.jsonl.v{version}.bak"
    shutil.copyfile(Path(__file__).parent / "old_sessions" / f"version-{version}.jsonl", old)
    before = old.read_bytes()
    session = json.loads(before.splitlines()[0])["id"]

    chain(store, session, "new")
    chain(store, "begun", "a")

    again = opened(folder)
    assert kept.read_bytes() == before
    assert again.session_head(session) == SessionHead("new")
    assert again.session_head("begun") == SessionHead("a")
    with pytest.raises(FileExistsError):
        durable.create(str(old), b"another", str(folder / durable.DRAFT_FILE))
    assert again.session_head(session) == SessionHead("new")


def test_a_file_whose_times_cannot_be_set_is_written(store: JsonlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the owner may set them: other users of a shared file leave the system's time."""

    def not_yours(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "not yours")

    monkeypatch.setattr(os, "utime", not_yours)
    chain(store, "s", "a", "b")

    assert ids(store.history("s")) == ["b", "a"]


@unix_only
def test_a_file_size_limit_is_an_error(folder: Path, store: JsonlStore) -> None:
    """The incomplete line is ignored, and the next write ends it."""
    done = run("cramped", f"jsonl:{folder}")

    told = done.stdout.split()
    assert done.stderr == f"StoreError: {file_of(folder)} can't grow: the system allows no larger file\n"
    assert told[-3:] == ["free-0", "free-1", "free-2"]
    assert ids(store.events("s")) == told
    assert ids(store.history("s")) == told[::-1]
    assert [entry["id"] for entry in as_pi_reads(folder)[1:]] == told


@pytest.mark.parametrize("code", ["ENOSPC", "EDQUOT"])
def test_a_full_disk_is_an_error(folder: Path, store: JsonlStore, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """The incomplete line is skipped. A session that cannot be created leaves no file."""
    chain(store, "s", "a")
    write = os.write
    left = [10]

    def write_a_little(file: int, data: memoryview) -> int:
        if not left:
            raise OSError(getattr(errno, code), "full")
        return write(file, data[: left.pop()])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write_a_little)
        with pytest.raises(StoreError, match=r"\.jsonl can't grow: the disk is full") as caught:
            store.append("s", planned("b", "a", "x"))
        with pytest.raises(StoreError, match="disk is full"):
            store.append("new", planned("a", None, "x"))
    chain(store, "s", "c")

    assert sorted(path.name for path in folder.iterdir()) == [lock.LOCK_FILE, file_of(folder, "s").name]

    assert isinstance(caught.value.__cause__, OSError)
    assert ids(opened(folder).history("s")) == ids(store.history("s")) == ["c", "a"]


def test_acknowledged_changes_are_on_disk(folder: Path, store: JsonlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[int, int]] = []
    sync = os.fsync

    def sync_and_tell(file: int) -> None:
        synced.append((os.fstat(file).st_ino, os.fstat(file).st_size))
        sync(file)

    monkeypatch.setattr(os, "fsync", sync_and_tell)
    told = []
    for work in (
        lambda: store.append("s", planned("a", None, "one")),
        lambda: store.append("s", planned("b", "a", "two")),
        lambda: store.move_head("s", SessionHead("a"), expected="b"),
        lambda: store.import_events("s", [planned("c", "a", "x"), planned("d", "b", "y")], SessionHead("c")),
    ):
        synced.clear()
        work()
        told.append([inode for inode, _ in synced])
        found = file_of(folder).stat()
        assert (found.st_ino, found.st_size) in synced

    assert told[0][-1] == folder.stat().st_ino
    store.delete("s", expected="c")
    assert synced[-1][0] == folder.stat().st_ino


def test_temporary_files_of_a_killed_writer_are_harmless(folder: Path, store: JsonlStore) -> None:
    """Such a file may be a second hard link to a session's file."""
    chain(store, "s", "a")
    os.link(file_of(folder), folder / durable.DRAFT_FILE)

    chain(store, "other", "a")

    assert ids(store.history("s")) == ["a"]
    assert not (folder / durable.DRAFT_FILE).exists()
    assert oddities(store) == []


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


@pytest.mark.parametrize(
    ("events", "overwritten"), [(("x", "y", "z", "and more"), True), (("x", "b", "c"), False)], ids=["longer", "alike"]
)
def test_a_file_with_other_events_is_read_again(
    folder: Path, store: JsonlStore, events: tuple[str, ...], *, overwritten: bool
) -> None:
    """Only the bytes at the end of the last scan reveal an overwritten file, and only the inode one that is alike."""
    chain(store, "s", "a", "b", "c")
    chain(JsonlStore(folder.with_name("other"), plan_in_entry), "s", *events)
    other = file_of(folder.with_name("other"))
    if overwritten:
        header = file_of(folder).read_bytes().splitlines(keepends=True)[0]
        file_of(folder).write_bytes(header + b"".join(other.read_bytes().splitlines(keepends=True)[1:]))
    else:
        os.replace(other, file_of(folder))

    assert ids(store.events("s")) == [*events]


def test_a_file_is_found_by_its_header_whatever_its_name(folder: Path, store: JsonlStore) -> None:
    """Also if that names another session than before."""
    chain(store, "s", "a")
    file_of(folder).rename(folder / "any name.jsonl")
    chain(store, "s", "b")
    assert ids(opened(folder).history("s")) == ["b", "a"]

    file_of(folder).write_bytes(file_of(folder).read_bytes().replace(b'"id":"s"', b'"id":"t"'))
    assert (store.session_head("s"), store.session_head("t")) == (SessionHead(), SessionHead("b"))


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


OLD = Path(__file__).parent / "old_sessions"


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_file_is_upgraded_before_an_append(folder: Path, store: JsonlStore, version: int) -> None:
    """Also fields that have been renamed since. Reading does not change it."""
    path, name = old(folder, version)
    before, events = path.read_bytes(), list(store.events(name))
    assert [(len(events), events[0].parent, events[1].parent)] == [(2, None, events[0].id)]
    assert store.session_head(name) == SessionHead(events[1].id)
    assert list(opened(folder).events(name)) == events
    assert oddities(store) == []
    assert path.read_bytes() == before
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
        assert entries[1]["message"]["role"] == "custom"
    else:
        [compaction] = [entry for entry in entries if entry["type"] == "compaction"]
        assert compaction["firstKeptEntryId"] == entries[4]["id"]
        assert "firstKeptEntryIndex" not in compaction
    assert path.stat().st_mode & 0o777 == 0o640


def test_unparsable_lines_survive_an_upgrade(folder: Path, store: JsonlStore) -> None:
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
