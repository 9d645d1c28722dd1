"""Session files and folders that cannot be read or written: other formats, permissions, full disks."""

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stores.contract import chain, ids, planned
from tests.stores.jsonl_files import as_pi_reads, file_of, garble, oddities, opened
from tests.stores.jsonl_programs import ended, started
from tildone.base import durable
from tildone.base import durable as lock
from tildone.base.errors import StoreDamaged, StoreError, StoreTooNew
from tildone.log.kept import Severity
from tildone.plan.dialects import plan_in_entry
from tildone.plan.events import SessionHead
from tildone.stores.pi.store import JsonlStore

unix_only = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks, limits and permissions are Unix's")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


@pytest.fixture
def store(folder: Path) -> JsonlStore:
    return opened(folder)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        made = Path(name) / "sessions"
        made.parent.chmod(0o755)
        yield made


def test_an_event_of_a_newer_tildone_is_an_error(folder: Path, store: JsonlStore) -> None:
    """It is not misread."""
    chain(store, "s", "a", "b")
    file_of(folder).write_bytes(file_of(folder).read_bytes().replace(b'"v":1,"id":"b"', b'"v":9,"id":"b"'))

    with pytest.raises(StoreDamaged, match=r"line 3 is damaged: not an event of version"):
        opened(folder).history("s")


def test_a_file_of_a_newer_format_is_refused_and_unchanged(folder: Path, store: JsonlStore) -> None:
    """Other sessions can still be used."""
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
    """The check reports it; sessions are found as if it did not exist."""
    folder.mkdir()
    (folder / "notes.jsonl").write_text(text, encoding="utf-8")

    chain(store, "notes", "a")

    assert [info.name for info in store.sessions()] == ["notes"]
    assert (folder / "notes.jsonl").read_text(encoding="utf-8") == text
    assert oddities(store) == ["notes.jsonl is not a session file: its first line is not a session header"]


@unix_only
def test_pipes_and_folders_are_not_opened(folder: Path, store: JsonlStore) -> None:
    """Reading a pipe would block."""
    folder.mkdir()
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "folder.jsonl").mkdir()

    chain(store, "s", "a")

    assert [info.name for info in store.sessions()] == ["s"]
    assert oddities(store) == []


def test_a_broken_header_does_not_restart_the_session(folder: Path, store: JsonlStore) -> None:
    """The name of the file shows that the session exists."""
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
    """A file where a folder is needed, or an invalid name."""
    (tmp_path / "file").write_text("in the way", encoding="utf-8")

    with pytest.raises(StoreError, match="cannot open"):
        JsonlStore(f"{tmp_path}/{name}", plan_in_entry).sessions()


@unix_only
def test_a_read_only_folder_can_be_read(open_folder: Path) -> None:
    """Writing raises an error with the reason."""
    chain(opened(open_folder), "s", "a")
    file_of(open_folder).chmod(0o444)
    (open_folder / lock.LOCK_FILE).chmod(0o444)
    open_folder.chmod(0o555)

    with started("unprivileged", open_folder) as program:
        answer = ended(program).splitlines()

    assert answer == ["read a", f"StoreError: {open_folder} can't be written: Permission denied"]


@unix_only
def test_a_read_only_file_is_an_error_on_writing(open_folder: Path) -> None:
    chain(opened(open_folder), "s", "a")
    open_folder.chmod(0o777)
    (open_folder / lock.LOCK_FILE).chmod(0o666)
    file_of(open_folder).chmod(0o444)

    with started("unprivileged", open_folder) as program:
        answer = ended(program).splitlines()

    assert answer == ["read a", f"StoreError: {file_of(open_folder)} can't be written: Permission denied"]


@unix_only
def test_an_unreadable_file_is_an_error(open_folder: Path) -> None:
    """It does not count as missing, and the session does not begin again."""
    chain(opened(open_folder), "s", "a")
    open_folder.chmod(0o777)
    file_of(open_folder).chmod(0)

    with started("unprivileged", open_folder) as program:
        [answer] = ended(program).splitlines()

    assert answer == f"StoreError: cannot read {file_of(open_folder)}: Permission denied"


@unix_only
def test_the_check_reports_missing_permissions(open_folder: Path) -> None:
    for name in ("read", "written", "neither"):
        chain(opened(open_folder), name, "a")
    for name, mode in (("read", 0o444), ("written", 0o666), ("neither", 0)):
        file_of(open_folder, name).chmod(mode)
    open_folder.chmod(0o555)

    with started("examined", open_folder) as program:
        found = ended(program).splitlines()

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
    """Files are created, never overwritten, and copied before an upgrade."""

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
    with started("cramped", folder) as program:
        out, err = program.communicate(timeout=60)

    told = out.split()
    assert err == f"StoreError: {file_of(folder)} can't grow: the system allows no larger file\n"
    assert told[-3:] == ["free-0", "free-1", "free-2"]
    assert ids(store.events("s")) == told
    assert ids(store.history("s")) == told[::-1]
    assert [entry["id"] for entry in as_pi_reads(folder)[1:]] == told


@pytest.mark.parametrize("code", ["ENOSPC", "EDQUOT"])
def test_a_full_disk_is_an_error(folder: Path, store: JsonlStore, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Even in the middle of a line. Writing continues when there is space again."""
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
    chain(store, "s", "c")

    assert isinstance(caught.value.__cause__, OSError)
    assert ids(opened(folder).history("s")) == ids(store.history("s")) == ["c", "a"]


def test_a_session_that_cannot_be_created_leaves_no_file(
    folder: Path, store: JsonlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_file: int, _data: memoryview) -> int:
        raise OSError(28, "full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(StoreError, match="disk is full"):
            store.append("s", planned("a", None, "x"))

    assert [path.name for path in folder.iterdir()] == [lock.LOCK_FILE]


def test_acknowledged_changes_are_on_disk(folder: Path, store: JsonlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file and, if it is new, its folder are synced before the call returns."""
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
