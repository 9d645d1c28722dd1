"""What becomes of a folder of session files when things go wrong around it: nothing that was acknowledged is lost."""

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import islice, pairwise
from pathlib import Path

import pytest

from tests.plans import session_on
from tests.stores.contract import chain, ids, planned
from tests.stores.jsonl_programs import BATCH, ended, started
from tests.stores.processes import wait_for
from tildone.core.plan import Plan
from tildone.dialects import plan_in_entry
from tildone.errors import HeadMoved, StoreBusy, StoreDamaged, StoreError, StoreTooNew, UnknownEvent
from tildone.files import durable, lock
from tildone.log.events import Event, PlanChanged
from tildone.log.health import Health
from tildone.log.tree import SessionHead
from tildone.stores.pi.store import JsonlStore

WRITERS, CHANGES = 8, 500
KILLS = 200

unix_only = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks, limits and permissions are Unix's")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


@pytest.fixture
def store(folder: Path) -> JsonlStore:
    return opened(folder)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter, which pytest's own are not."""
    with tempfile.TemporaryDirectory() as name:
        made = Path(name) / "sessions"
        made.parent.chmod(0o755)
        yield made


@pytest.mark.slow
def test_eight_processes_at_once_lose_nothing(folder: Path, store: JsonlStore) -> None:
    """Each makes 500 changes to one plan, as an agent or as a person. None fails, and none undoes another's."""
    todos = [{"text": f"of worker {worker}"} for worker in range(WRITERS)]
    session_on(store).call("write_todos", {"mode": "replace", "todos": todos})

    with ExitStack() as block:
        workers = [block.enter_context(started("toggle", folder, worker, CHANGES)) for worker in range(WRITERS)]
        for worker in workers:
            ended(worker)

    written = list(store.history("s"))[::-1]
    wanted = [f"{worker}-{number}" for worker in range(WRITERS) for number in range(CHANGES)]
    assert sorted(ids(written)) == sorted(["e0", *wanted])
    for before, after in pairwise(written):
        assert changed_positions(plan_in(before), plan_in(after)) == [int(after.id.partition("-")[0])]
    assert ids(store.events("s")) == ids(written)
    assert oddities(store) == []


@pytest.mark.slow
@unix_only
def test_a_writer_may_be_killed_at_any_moment(folder: Path, store: JsonlStore) -> None:
    """Two hundred times over: the file can be read, and holds every change that a writer was told was written."""
    with started("killed", folder, "append", KILLS, 20261115) as killing:
        told = ended(killing).split()

    written = ids(store.history("s"))
    assert len(told) >= KILLS / 2
    assert set(told) <= set(written)
    assert written == ids(store.events("s"))[::-1]
    assert plan_in(next(store.history("s"))).tasks[0].text == written[0]
    assert [finding.what for finding in store.check() if finding.health is Health.BAD] == []


@pytest.mark.slow
@unix_only
def test_who_is_killed_while_taking_over_has_taken_over_all_or_nothing(folder: Path, store: JsonlStore) -> None:
    """Sixty times over, twenty events each time."""
    chain(store, "s", "begun")

    with started("killed", folder, "adopt", 60, 20261115) as killing:
        told = ended(killing).split()

    known = set(ids(store.events("s")))
    batches = {event_id.rpartition("-")[0] for event_id in known - {"begun"}}
    assert {f"{batch}-{each}" for batch in batches for each in range(BATCH)} == known - {"begun"}
    assert {event_id.rpartition("-")[0] for event_id in told} <= batches
    assert [finding.what for finding in store.check() if finding.health is Health.BAD] == []


def test_many_who_begin_the_same_session_begin_one(folder: Path, store: JsonlStore) -> None:
    """The first to come makes the file, the others find it."""
    with ExitStack() as block:
        makers = [block.enter_context(started("make", folder, name)) for name in "abcd"]
        for maker in makers:
            wait_for("ready", maker)
        for maker in makers:
            ended(maker)

    assert len(list(folder.glob("*.jsonl"))) == 1
    assert sorted(ids(store.history("s"))) == ["a", "b", "c", "d"]


def test_a_waiter_hears_of_other_processes(folder: Path, store: JsonlStore) -> None:
    """As soon as it looks again."""
    session_on(store).call("write_todos", {"mode": "replace", "todos": [{"text": "one"}]})

    with started("toggle", folder, 0, 1) as other:
        heard = store.wait("s", "e0", 60)
        ended(other)

    assert heard
    assert store.session_head("s").head == "0-0"


def test_a_last_line_that_was_cut_off_anywhere_is_not_believed(folder: Path, store: JsonlStore) -> None:
    """At every byte. What comes after it is kept, pi can read the file, and no byte of it was lost."""
    store.append("s", planned("a", None, "one"))
    whole = file_of(folder).read_bytes()
    store.append("s", planned("b", "a", 'quotes "whole":true}} \\ and ]}}'))
    line = file_of(folder).read_bytes()[len(whole) :]

    for cut in range(len(line) - 1):
        file_of(folder).write_bytes(whole + line[:cut])
        torn = JsonlStore(folder, plan_in_entry)
        assert torn.session_head("s") == SessionHead("a")
        assert ids(torn.events("s")) == ["a"]
        torn.append("s", planned("c", "a", "after"))
        assert ids(opened(folder).events("s")) == ids(torn.events("s")) == ["a", "c"]
        assert torn.leaves("s") == ["c"]
        assert file_of(folder).read_bytes().startswith(whole + line[:cut])
        assert as_pi_reads(folder)[-1]["parentId"] == "a"


def test_a_last_line_that_lacks_only_its_end_is_believed(folder: Path, store: JsonlStore) -> None:
    """As pi believes it: what can be parsed is whole. What comes after it begins a line of its own."""
    chain(store, "s", "a", "b")
    file_of(folder).write_bytes(file_of(folder).read_bytes().rstrip())

    place = opened(folder).session_head("s")
    chain(store, "s", "c")

    assert place == SessionHead("b")
    assert ids(opened(folder).history("s")) == ["c", "b", "a"]
    assert [entry["id"] for entry in as_pi_reads(folder)[1:]] == ["a", "b", "c"]


def test_an_end_that_was_cut_off_is_told(folder: Path, store: JsonlStore) -> None:
    """And that nothing has to be done about it."""
    chain(store, "s", "a")
    with file_of(folder).open("ab") as file:
        file.write(b'{"type":"message","id":"m","par')

    [finding] = [finding for finding in store.check() if finding.health is not Health.FINE]

    assert finding.what == f"{file_of(folder).name}: its last line is incomplete (line 3)"
    assert finding.remedy == "nothing to do: it is skipped"


def test_a_line_is_not_believed_before_it_is_whole(folder: Path, store: JsonlStore) -> None:
    """One who reads while another writes sees it when it is there, and nothing else before."""
    chain(store, "s", "a", "b")
    text = file_of(folder).read_bytes()
    start = text.rindex(b"{", 0, text.index(b'"id":"b"'))
    file_of(folder).write_bytes(text[:start])
    reader = opened(folder)

    seen = []
    for end in range(start, len(text) + 1, 7):
        with file_of(folder).open("ab") as file:
            file.write(text[max(end - 7, start) : end])
        seen.append(reader.session_head("s").head)
    with file_of(folder).open("ab") as file:
        file.write(text[end:])

    assert set(seen) <= {"a", "b"}
    assert seen[0] == "a"
    assert reader.session_head("s").head == "b"


@pytest.mark.parametrize("garbage", [b"garbage", b"{", b'{"type":"custom","id":', b"\xff\xfe", b"[1]", b"null", b"NaN"])
def test_garbage_that_nothing_hangs_on_is_passed_over_and_told(folder: Path, store: JsonlStore, garbage: bytes) -> None:
    """As pi passes over it. The line is named by whoever examines the store."""
    chain(store, "s", "a", "b")
    with file_of(folder).open("ab") as file:
        file.write(garbage + b"\n")

    chain(store, "s", "c")

    again = opened(folder)
    assert ids(again.history("s")) == ["c", "b", "a"]
    assert oddities(again) == [f"{file_of(folder).name}: cannot be parsed: line 4"]


@pytest.mark.parametrize("keep", [0, 5, 20, 60])
def test_garbage_that_an_event_hangs_on_is_named(folder: Path, store: JsonlStore, keep: int) -> None:
    """With the file and the line: what was there is not known, so nothing is made up."""
    chain(store, "s", "a", "b", "c")
    garble(file_of(folder), 3, keep)

    damaged = opened(folder)

    assert damaged.session_head("s") == SessionHead("c")
    with pytest.raises(StoreDamaged, match=r"\.jsonl, line 3 cannot be read, and line 4 depends on it"):
        list(damaged.history("s"))
    with pytest.raises(StoreDamaged, match="line 3"):
        list(damaged.events("s"))
    with pytest.raises(StoreDamaged, match="line 3"):
        damaged.leaves("s")
    [bad] = [finding for finding in damaged.check() if finding.health is Health.BAD]
    assert "line 3 cannot be read" in bad.what


def test_a_history_is_told_as_far_as_it_can_be(folder: Path, store: JsonlStore) -> None:
    """The plan is among it: what is newest is what counts."""
    chain(store, "s", *"abcdef")
    garble(file_of(folder), 2)
    history = opened(folder).history("s")
    told = ids(islice(history, 4))

    with pytest.raises(StoreDamaged, match="line 2"):
        next(history)
    assert told == ["f", "e", "d", "c"]


def test_a_result_that_begins_well_and_cannot_be_read_is_named(folder: Path, store: JsonlStore) -> None:
    """If something hangs on it: the plan may have been changed there. If nothing does, it is passed over."""
    chain(store, "s", "a")
    bad = '"message":{"role":"toolResult","toolCallId":"c","toolName":"write_todos",}}'
    for number, parent in enumerate(("a", "a")):
        with file_of(folder).open("a", encoding="utf-8") as file:
            file.write(f'{{"type":"message","id":"m{number}","parentId":"{parent}","timestamp":"t",{bad}\n')
    passed_over = opened(folder)
    assert ids(passed_over.events("s")) == ["a"]
    assert passed_over.session_head("s") == SessionHead("a")

    with file_of(folder).open("a", encoding="utf-8") as file:
        file.write('{"type":"message","id":"n","parentId":"m1","timestamp":"t","message":{"role":"user"}}\n')

    with pytest.raises(StoreDamaged, match=r"line 4 cannot be read, and later entries depend on it"):
        opened(folder).session_head("s")


def test_garbage_between_the_last_entry_and_the_head_is_named(folder: Path, store: JsonlStore) -> None:
    """Where the session stands cannot be known then, and nothing is written on a guess."""
    chain(store, "s", "a", "b")
    store.move_head("s", SessionHead("a", ("b",)), expected="b")
    garble(file_of(folder), 2)

    damaged = opened(folder)
    for work in (
        lambda: damaged.session_head("s"),
        lambda: damaged.append("s", planned("x", None, "x")),
        lambda: damaged.move_head("s", SessionHead(None), expected=None),
    ):
        with pytest.raises(StoreDamaged, match=r"line 2 cannot be read"):
            work()


def test_an_entry_that_was_taken_out_is_missed(folder: Path, store: JsonlStore) -> None:
    """The line that hangs under it is named."""
    chain(store, "s", "a", "b", "c")
    lines = file_of(folder).read_bytes().splitlines(keepends=True)
    file_of(folder).write_bytes(b"".join(lines[:2] + lines[3:]))

    with pytest.raises(StoreDamaged, match=r"\.jsonl, line 3 has parent 'b', which is not in the file"):
        list(opened(folder).history("s"))


def test_a_lost_branch_of_others_harms_no_plan(folder: Path, store: JsonlStore) -> None:
    """It is told, with its line."""
    chain(store, "s", "a")
    with file_of(folder).open("a", encoding="utf-8") as file:
        file.write('{"type":"message","id":"m","parentId":"lost","timestamp":"t","message":{"role":"user"}}\n')
        file.write('{"type":"model_change","id":"n","parentId":"a","timestamp":"t"}\n')

    chain(store, "s", "b")

    assert ids(store.history("s")) == ["b", "a"]
    assert oddities(store) == [f"{file_of(folder).name}: entries whose parent is not in the file: line 3"]


def test_of_many_flaws_some_are_told(folder: Path, store: JsonlStore) -> None:
    """With so many, what is to be done is the same as with more."""
    chain(store, "s", *(f"e{number}" for number in range(30)))
    for number in range(2, 30, 2):
        garble(file_of(folder), number)

    bad = [finding.what for finding in opened(folder).check() if finding.health is Health.BAD]

    assert len(bad) == 9
    assert bad[-1].endswith("there are more errors")


def test_an_event_of_a_newer_tildone_is_named(folder: Path, store: JsonlStore) -> None:
    """Rather than read wrongly."""
    chain(store, "s", "a", "b")
    file_of(folder).write_bytes(file_of(folder).read_bytes().replace(b'"v":1,"id":"b"', b'"v":9,"id":"b"'))

    with pytest.raises(StoreDamaged, match=r"line 3 is damaged: not an event of version"):
        opened(folder).history("s")


def test_a_newer_format_is_left_alone(folder: Path, store: JsonlStore) -> None:
    """This tildone can't know what it would break; other sessions are not touched by that."""
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
def test_a_file_that_is_something_else_is_left_alone(folder: Path, store: JsonlStore, text: str) -> None:
    """It is told by whoever examines the store; sessions are found as if it were not there."""
    folder.mkdir()
    (folder / "notes.jsonl").write_text(text, encoding="utf-8")

    chain(store, "notes", "a")

    assert [info.name for info in store.sessions()] == ["notes"]
    assert (folder / "notes.jsonl").read_text(encoding="utf-8") == text
    assert oddities(store) == ["notes.jsonl is not a session file: its first line is not a session header"]


@unix_only
def test_what_is_no_file_is_not_opened(folder: Path, store: JsonlStore) -> None:
    """A pipe would never end, and a folder is none."""
    folder.mkdir()
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "folder.jsonl").mkdir()

    chain(store, "s", "a")

    assert [info.name for info in store.sessions()] == ["s"]
    assert oddities(store) == []


def test_who_waits_for_another_process_keeps_nobody_from_reading(folder: Path, store: JsonlStore) -> None:
    """Of the same process: a screen goes on being drawn."""
    chain(store, "s", "a")

    with started("hold", folder) as holder, ThreadPoolExecutor(1) as pool:
        wait_for("held", holder)
        writing = pool.submit(chain, store, "s", "b")
        while not writing.running():
            pass
        read = [store.session_head("s") for _ in range(100)]
        ended(holder)
        writing.result()

    assert set(read) == {SessionHead("a")}
    assert store.session_head("s") == SessionHead("b")


def test_a_session_whose_header_is_broken_does_not_begin_anew(folder: Path, store: JsonlStore) -> None:
    """The name of the file tells that it was there."""
    chain(store, "s", "a")
    garble(file_of(folder), 1)

    broken = opened(folder)

    with pytest.raises(StoreDamaged, match="its first line is not a session header"):
        broken.append("s", planned("b", None, "x"))
    assert len(list(folder.glob("*.jsonl"))) == 1
    assert [finding.health for finding in broken.check()].count(Health.BAD) == 1


def test_a_file_in_the_place_of_the_folder_is_named(folder: Path) -> None:
    folder.write_text("in the way", encoding="utf-8")

    with pytest.raises(StoreError, match=r"cannot open .*sessions: .*[Nn]ot a directory"):
        opened(folder)


@pytest.mark.parametrize("name", ["file/sessions", "nul\0"])
def test_a_path_that_can_not_be_is_named(tmp_path: Path, name: str) -> None:
    """A file where a folder would have to be, or a name that no folder can have."""
    (tmp_path / "file").write_text("in the way", encoding="utf-8")

    with pytest.raises(StoreError, match="cannot open"):
        JsonlStore(f"{tmp_path}/{name}", plan_in_entry).sessions()


@unix_only
def test_what_may_only_be_read_is_read(open_folder: Path) -> None:
    """Writing says why it can't be done."""
    chain(opened(open_folder), "s", "a")
    open_folder.chmod(0o755)

    with started("unprivileged", open_folder) as program:
        answer = ended(program).splitlines()

    assert answer == ["read a", f"StoreError: {open_folder} can't be written: Permission denied"]


@unix_only
def test_a_file_that_may_only_be_read_is_named(open_folder: Path) -> None:
    chain(opened(open_folder), "s", "a")
    open_folder.chmod(0o777)
    (open_folder / lock.LOCK_FILE).chmod(0o666)

    with started("unprivileged", open_folder) as program:
        answer = ended(program).splitlines()

    assert answer == ["read a", f"StoreError: {file_of(open_folder)} can't be written: Permission denied"]


@unix_only
def test_a_file_that_may_not_be_read_is_named(open_folder: Path) -> None:
    """It is not taken for one that is not there, and the session does not begin anew."""
    chain(opened(open_folder), "s", "a")
    open_folder.chmod(0o777)
    file_of(open_folder).chmod(0)

    with started("unprivileged", open_folder) as program:
        [answer] = ended(program).splitlines()

    assert answer == f"StoreError: cannot read {file_of(open_folder)}: Permission denied"


@unix_only
def test_what_permissions_forbid_is_found(open_folder: Path) -> None:
    """By whoever examines the store."""
    for name in ("read", "written", "neither"):
        chain(opened(open_folder), name, "a")
    for name, mode in (("read", 0o444), ("written", 0o666), ("neither", 0)):
        file_of(open_folder, name).chmod(mode)
    open_folder.chmod(0o755)

    with started("examined", open_folder) as program:
        found = ended(program).splitlines()

    read, neither = (file_of(open_folder, name).name for name in ("read", "neither"))
    assert [line for line in found if not line.startswith("fine")] == [
        "odd: the folder is not writable",
        f"bad: {neither}: Permission denied",
        f"odd: {read} is not writable",
    ]


@pytest.mark.parametrize("version", [1, 2])
def test_where_a_file_can_have_one_name_only_all_works_as_well(
    folder: Path, store: JsonlStore, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    """Some file systems have no links: files are begun, are not begun twice, and are kept when they are raised."""

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


def test_a_file_that_cannot_be_stamped_is_written_all_the_same(
    store: JsonlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only its owner may: of a file that many share, others keep the system's stamp."""

    def not_yours(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "not yours")

    monkeypatch.setattr(os, "utime", not_yours)
    chain(store, "s", "a", "b")

    assert ids(store.history("s")) == ["b", "a"]


def test_a_lock_is_waited_for_and_then_named(folder: Path) -> None:
    """Reading goes on beside it, and writing after it."""
    store = JsonlStore(folder, plan_in_entry, timeout=0.05)
    chain(store, "s", "a")

    with started("hold", folder) as holder:
        wait_for("held", holder)
        with pytest.raises(StoreBusy, match="sessions is in use by another process"):
            store.append("s", planned("b", "a", "x"))
        with pytest.raises(StoreBusy):
            store.move_head("s", SessionHead(None), expected="a")
        read = ids(store.history("s"))
        ended(holder)
    chain(store, "s", "b")

    assert read == ["a"]
    assert ids(store.history("s")) == ["b", "a"]


def test_a_writer_has_the_patience_to_outlast_a_lock(folder: Path, store: JsonlStore) -> None:
    """Nobody is told of it, and other threads go on meanwhile: one of them ends the lock."""
    folder.mkdir()

    with started("hold", folder) as holder, ThreadPoolExecutor(1) as pool:
        wait_for("held", holder)
        writing = pool.submit(chain, store, "s", "a")
        ended(holder)
        writing.result()

    assert ids(store.history("s")) == ["a"]


def test_a_lock_that_was_deleted_is_not_held(folder: Path, store: JsonlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another could make a new one: who finds that theirs is gone takes part in the new one."""
    chain(store, "s", "a")
    taken = lock._try_lock  # noqa: SLF001  the moment between opening and locking is not to be had otherwise
    deleted: list[int] = []

    def lock_after_deletion(file: int) -> bool:
        if not deleted:
            deleted.append(file)
            (folder / lock.LOCK_FILE).unlink()
        return taken(file)

    monkeypatch.setattr(lock, "_try_lock", lock_after_deletion)
    chain(store, "s", "b")

    assert (folder / lock.LOCK_FILE).exists()
    assert ids(store.history("s")) == ["b", "a"]


@unix_only
def test_a_file_that_may_not_grow_is_named(folder: Path, store: JsonlStore) -> None:
    """A quota, or a limit on the size of files. What was cut off by it is not believed, and closed by the next."""
    with started("cramped", folder) as program:
        out, err = program.communicate(timeout=60)

    told = out.split()
    assert err == f"StoreError: {file_of(folder)} can't grow: the system allows no larger file\n"
    assert told[-3:] == ["free-0", "free-1", "free-2"]
    assert ids(store.events("s")) == told
    assert ids(store.history("s")) == told[::-1]
    assert [entry["id"] for entry in as_pi_reads(folder)[1:]] == told


@pytest.mark.parametrize("code", ["ENOSPC", "EDQUOT"])
def test_a_full_disk_is_named(folder: Path, store: JsonlStore, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """After half a line, too. Writing goes on when there is room."""
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


def test_a_session_that_can_not_be_begun_leaves_nothing_behind(
    folder: Path, store: JsonlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is made whole or not at all."""

    def full(_file: int, _data: memoryview) -> int:
        raise OSError(28, "full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(StoreError, match="disk is full"):
            store.append("s", planned("a", None, "x"))

    assert [path.name for path in folder.iterdir()] == [lock.LOCK_FILE]


def test_what_is_acknowledged_is_on_disk(folder: Path, store: JsonlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it, before anybody is told: the file, and when it is new, that it is in its folder."""
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


def test_what_a_killed_writer_has_left_half_made_harms_nobody(folder: Path, store: JsonlStore) -> None:
    """It may even be a second name of a session's file."""
    chain(store, "s", "a")
    os.link(file_of(folder), folder / durable.DRAFT_FILE)

    chain(store, "other", "a")

    assert ids(store.history("s")) == ["a"]
    assert not (folder / durable.DRAFT_FILE).exists()
    assert oddities(store) == []


def test_a_file_that_was_deleted_begins_anew(folder: Path, store: JsonlStore) -> None:
    """Writing on to a file that nobody can find again would lose what it acknowledges."""
    chain(store, "s", "a", "b")
    file_of(folder).unlink()

    with pytest.raises(HeadMoved):
        store.append("s", planned("c", "b", "x"))
    chain(store, "s", "d")

    assert ids(store.history("s")) == ids(opened(folder).history("s")) == ["d"]


@pytest.mark.parametrize("put_back", [shutil.move, shutil.copyfile], ids=["replaced", "rewritten"])
def test_a_file_that_was_replaced_is_the_new_one(
    folder: Path, store: JsonlStore, tmp_path: Path, put_back: Callable[[Path, Path], object]
) -> None:
    """As when a backup is put back while an agent runs; shorter than it was or longer."""
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


def test_a_file_that_was_rewritten_longer_is_read_anew(folder: Path, store: JsonlStore) -> None:
    """In place: only what it ends with tells."""
    chain(store, "s", "a", "b")
    header = file_of(folder).read_bytes().splitlines(keepends=True)[0]
    other = JsonlStore(folder.with_name("other"), plan_in_entry)
    chain(other, "s", "x", "y", "z", "and more")
    entries = file_of(folder.with_name("other")).read_bytes().splitlines(keepends=True)[1:]

    file_of(folder).write_bytes(header + b"".join(entries))

    assert ids(store.history("s")) == ["and more", "z", "y", "x"]


def test_a_file_that_was_replaced_by_one_that_ends_alike_is_read_anew(folder: Path, store: JsonlStore) -> None:
    """As long as it was, and with the same last line."""
    chain(store, "s", "a", "b", "c")
    assert store.session_head("s") == SessionHead("c")
    other = JsonlStore(folder.with_name("other"), plan_in_entry)
    chain(other, "s", "x", "b", "c")
    os.replace(file_of(folder.with_name("other")), file_of(folder))

    assert ids(store.events("s")) == ["x", "b", "c"]


def test_a_file_that_becomes_another_sessions_is_let_go(folder: Path, store: JsonlStore) -> None:
    """Its events are not taken for this session's."""
    chain(store, "s", "a")
    assert store.session_head("s") == SessionHead("a")
    file_of(folder).write_bytes(file_of(folder).read_bytes().replace(b'"id":"s"', b'"id":"t"'))

    assert store.session_head("s") == SessionHead()
    assert store.session_head("t") == SessionHead("a")


def test_a_file_that_was_renamed_is_found_again(folder: Path, store: JsonlStore) -> None:
    """By its header."""
    chain(store, "s", "a")
    file_of(folder).rename(folder / "any name.jsonl")

    chain(store, "s", "b")

    assert ids(opened(folder).history("s")) == ["b", "a"]


def test_who_reads_on_after_a_replacement_gets_what_is_there(folder: Path, store: JsonlStore) -> None:
    """One that is there no more is said to be unknown."""
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


def test_half_a_batch_is_not_believed(folder: Path, store: JsonlStore) -> None:
    """Whichever of its lines is the last that was written, and whether or not somebody wrote after it."""
    chain(store, "s", "a")
    whole = file_of(folder).read_bytes()
    events = [planned("x", "a", "x"), planned("y", "x", "y"), planned("z", "a", "z")]
    store.import_events("s", events, SessionHead("y", ("z",)))
    lines = file_of(folder).read_bytes()[len(whole) :].splitlines(keepends=True)
    assert len(lines) == 4

    for kept in range(1, 4):
        file_of(folder).write_bytes(whole + b"".join(lines[:kept]))
        reader = opened(folder)
        before = ids(reader.events("s")), reader.session_head("s")
        chain(reader, "s", "b")
        assert before == (["a"], SessionHead("a"))
        assert ids(opened(folder).events("s")) == ids(reader.events("s")) == ["a", "b"]
        assert oddities(reader) == [
            f"{file_of(folder).name}: entries of incomplete batches: {kept}"
        ]

    file_of(folder).write_bytes(whole + b"".join(lines[:2]))
    waiting = opened(folder)
    assert waiting.session_head("s") == SessionHead("a")
    file_of(folder).write_bytes(whole + b"".join(lines))
    assert waiting.session_head("s") == SessionHead("y", ("z",))


def garble(path: Path, number: int, keep: int = 0) -> None:
    """Make one line of a file unreadable, keeping how it begins."""
    lines = path.read_bytes().splitlines(keepends=True)
    lines[number - 1] = lines[number - 1][:keep] + b"\x00garbage\n"
    path.write_bytes(b"".join(lines))


def opened(folder: Path) -> JsonlStore:
    return JsonlStore(folder, plan_in_entry)


def file_of(folder: Path, session: str = "") -> Path:
    [path] = folder.glob(f"*{session}.jsonl")
    return path


def as_pi_reads(folder: Path) -> list[dict[str, str]]:
    """Every line that is JSON."""
    found = []
    for line in file_of(folder).read_bytes().split(b"\n"):
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def oddities(store: JsonlStore) -> list[str]:
    return [finding.what for finding in store.check() if finding.health is not Health.FINE]


def plan_in(event: Event) -> Plan:
    assert isinstance(event.fact, PlanChanged)
    return event.fact.plan


def changed_positions(before: Plan, after: Plan) -> list[int]:
    pairs = zip(before.tasks, after.tasks, strict=True)
    return [position for position, (old, new) in enumerate(pairs) if old != new]
