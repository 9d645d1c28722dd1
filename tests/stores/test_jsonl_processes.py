"""Folders of session files: processes, torn lines, the change feed, records beside the log, and their addresses."""

import json
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import pytest

from tests.stores.contract import QUESTION, WORKING, chain, ids, planned, told
from tests.stores.jsonl_files import as_pi_reads, begin, file_of, garble, lines, message, oddities, opened, result
from tests.stores.processes import finish, run, run_at_once, started, wait_for
from tests.stores.programs import BATCH
from tests.suite.forking import PROGRAM
from tests.trusted import write_trusted
from tildone.app.opening import dialect_of_session, open_session, open_store
from tildone.app.settings import Settings, load
from tildone.base import StoreDamaged, StoreError, UsageError
from tildone.base import durable as lock
from tildone.base.durable import FolderLock
from tildone.log.kept import KeptSummary, Severity
from tildone.plan.dialects import BY_HAND, plan_in_entry
from tildone.plan.events import SessionChange, SessionHead
from tildone.run.hosting import open_conversations
from tildone.stores import parse_address
from tildone.stores.pi.history import History
from tildone.stores.pi.store import NEEDS, PRESENCES, SUMMARIES, JsonlStore

SKIPPED = "nothing to do: it is skipped"
unix_only = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks, limits and permissions are Unix's")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


@pytest.fixture
def store(folder: Path) -> JsonlStore:
    return opened(folder)


@unix_only
@pytest.mark.parametrize("kills", [6, pytest.param(60, marks=pytest.mark.slow)])
def test_a_killed_import_takes_effect_completely_or_not_at_all(folder: Path, store: JsonlStore, kills: int) -> None:
    chain(store, "s", "begun")

    told = run("killed", f"jsonl:{folder}", kills, 20261115, "adopt").stdout.split()

    known = set(ids(store.events("s")))
    batches = {event_id.rpartition("-")[0] for event_id in known - {"begun"}}
    assert {f"{batch}-{each}" for batch in batches for each in range(BATCH)} == known - {"begun"}
    assert {event_id.rpartition("-")[0] for event_id in told} <= batches
    assert [finding.what for finding in store.check() if finding.severity is Severity.ERROR] == []


def test_processes_that_create_the_same_session_share_one_file(folder: Path, store: JsonlStore) -> None:
    run_at_once("make", [(f"jsonl:{folder}", name) for name in "abc"])

    assert len(list(folder.glob("*.jsonl"))) == 1
    assert sorted(ids(store.history("s"))) == ["a", "b", "c"]


def test_waiting_for_the_lock_does_not_block_readers(folder: Path, store: JsonlStore) -> None:
    chain(store, "s", "a")

    with started("hold", f"jsonl:{folder}") as holder, ThreadPoolExecutor(1) as pool:
        wait_for("held", holder)
        writing = pool.submit(chain, store, "s", "b")
        while not writing.running():
            pass
        read = [store.session_head("s") for _ in range(100)]
        finish([holder])
        writing.result()

    assert set(read) == {SessionHead("a")}
    assert store.session_head("s") == SessionHead("b")


def test_a_deleted_lock_file_is_replaced(folder: Path, store: JsonlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process could create a new one: a writer whose lock file is gone takes the new one."""
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


def test_an_incomplete_last_line_is_ignored(folder: Path, store: JsonlStore) -> None:
    """Cut at every third byte. The check says so; later entries are read, pi can read the file, no byte is lost."""
    store.append("s", planned("a", None, "one"))
    whole = file_of(folder).read_bytes()
    store.append("s", planned("b", "a", 'quotes "whole":true}} \\ and ]}}'))
    line = file_of(folder).read_bytes()[len(whole) :]

    for cut in range(0, len(line) - 1, 3):
        file_of(folder).write_bytes(whole + line[:cut])
        torn = JsonlStore(folder, plan_in_entry)
        assert torn.session_head("s") == SessionHead("a")
        assert ids(torn.events("s")) == ["a"]
        found = [(each.what, each.remedy) for each in torn.check() if each.severity is not Severity.OK]
        assert found == [(f"{file_of(folder).name}: its last line is incomplete (line 3)", SKIPPED)][: bool(cut)]
        torn.append("s", planned("c", "a", "after"))
        assert ids(opened(folder).events("s")) == ids(torn.events("s")) == ["a", "c"]
        assert torn.leaves("s") == ["c"]
        assert file_of(folder).read_bytes().startswith(whole + line[:cut])
        assert as_pi_reads(folder)[-1]["parentId"] == "a"


def test_a_last_line_without_a_newline_counts(folder: Path, store: JsonlStore) -> None:
    """As in pi, because it can be parsed. The next entry begins a new line."""
    chain(store, "s", "a", "b")
    file_of(folder).write_bytes(file_of(folder).read_bytes().rstrip())

    place = opened(folder).session_head("s")
    chain(store, "s", "c")

    assert place == SessionHead("b")
    assert ids(opened(folder).history("s")) == ["c", "b", "a"]
    assert [entry["id"] for entry in as_pi_reads(folder)[1:]] == ["a", "b", "c"]


def test_a_reader_ignores_a_line_until_it_is_complete(folder: Path, store: JsonlStore) -> None:
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
def test_unparsable_lines_without_children_are_skipped_and_reported(
    folder: Path, store: JsonlStore, garbage: bytes
) -> None:
    chain(store, "s", "a", "b")
    with file_of(folder).open("ab") as file:
        file.write(garbage + b"\n")

    chain(store, "s", "c")

    again = opened(folder)
    assert ids(again.history("s")) == ["c", "b", "a"]
    assert oddities(again) == [f"{file_of(folder).name}: cannot be parsed: line 4"]


@pytest.mark.parametrize("keep", [0, 5, 20, 60])
def test_an_unparsable_parent_is_an_error(folder: Path, store: JsonlStore, keep: int) -> None:
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
    [bad] = [finding for finding in damaged.check() if finding.severity is Severity.ERROR]
    assert "line 3 cannot be read" in bad.what


def test_a_history_is_read_up_to_the_first_unreadable_event(folder: Path, store: JsonlStore) -> None:
    """That includes the plan, which is the newest."""
    chain(store, "s", *"abcdef")
    garble(file_of(folder), 2)
    history = opened(folder).history("s")
    told = ids(islice(history, 4))

    with pytest.raises(StoreDamaged, match="line 2"):
        next(history)
    assert told == ["f", "e", "d", "c"]


def test_an_unparsable_tool_result_with_children_is_an_error(folder: Path, store: JsonlStore) -> None:
    """The plan may have been changed there. Without children it is skipped."""
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


def test_an_unparsable_entry_above_the_last_one_is_an_error(folder: Path, store: JsonlStore) -> None:
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


def test_a_removed_parent_is_an_error(folder: Path, store: JsonlStore) -> None:
    chain(store, "s", "a", "b", "c")
    lines = file_of(folder).read_bytes().splitlines(keepends=True)
    file_of(folder).write_bytes(b"".join(lines[:2] + lines[3:]))

    with pytest.raises(StoreDamaged, match=r"\.jsonl, line 3 has parent 'b', which is not in the file"):
        list(opened(folder).history("s"))


def test_a_broken_branch_of_other_entries_is_harmless(folder: Path, store: JsonlStore) -> None:
    chain(store, "s", "a")
    with file_of(folder).open("a", encoding="utf-8") as file:
        file.write('{"type":"message","id":"m","parentId":"lost","timestamp":"t","message":{"role":"user"}}\n')
        file.write('{"type":"model_change","id":"n","parentId":"a","timestamp":"t"}\n')

    chain(store, "s", "b")

    assert ids(store.history("s")) == ["b", "a"]
    assert oddities(store) == [f"{file_of(folder).name}: entries whose parent is not in the file: line 3"]


def test_only_the_first_errors_of_a_file_are_reported(folder: Path, store: JsonlStore) -> None:
    chain(store, "s", *(f"e{number}" for number in range(30)))
    for number in range(2, 30, 2):
        garble(file_of(folder), number)

    bad = [finding.what for finding in opened(folder).check() if finding.severity is Severity.ERROR]

    assert len(bad) == 9
    assert bad[-1].endswith("there are more errors")


def test_an_incomplete_batch_is_ignored(folder: Path, store: JsonlStore) -> None:
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
        assert oddities(reader) == [f"{file_of(folder).name}: entries of incomplete batches: {kept}"]

    file_of(folder).write_bytes(whole + b"".join(lines[:2]))
    waiting = opened(folder)
    assert waiting.session_head("s") == SessionHead("a")
    file_of(folder).write_bytes(whole + b"".join(lines))
    assert waiting.session_head("s") == SessionHead("y", ("z",))


def test_what_another_program_appends_is_told(folder: Path, store: JsonlStore) -> None:
    """A conversation without a plan is no session yet; with the first plan it is one, until the plan is deleted."""
    begin_told = store.records.revision()
    begin(folder, message("m1", None))
    without = told(store, begin_told)

    with file_of(folder).open("a", encoding="utf-8") as file:
        file.write(lines(result("r1", "m1", "write_todos", "c", todos=[{"text": "one", "status": "not_started"}])))
    written = told(store, store.records.revision() - 1)
    before = store.records.revision()
    store.delete("s", expected="r1")

    assert (without, written) == ([("s", None, False)], [("s", "r1", True)])
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
    before = store.records.revision()
    folder.mkdir()
    (folder / "notes.jsonl").write_text("none of ours\n")
    nothing = store.records.changed(before)
    chain(store, "one", "a")
    written = store.records.revision()
    path = file_of(folder, "one")

    path.write_text(path.read_text().replace('"id":"one"', '"id":"two"'))

    assert nothing == []
    assert [(session, exists) for session, _, exists in told(store, written)] == [("one", False), ("two", True)]


def test_only_files_that_changed_are_read(store: JsonlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes between two looks are in the order of the files."""
    begun = store.records.revision()
    for number in (1, 3, 0):
        chain(store, f"session-{number}", "a")
    assert [session for session, *_ in told(store, begun)] == ["session-1", "session-3", "session-0"]
    before = store.records.revision()
    chain(store, "session-3", "b")
    read: list[str] = []
    refresh = History.refresh

    def recorded(history: History) -> bool:
        read.append(os.path.basename(history.outline.path))
        return refresh(history)

    monkeypatch.setattr(History, "refresh", recorded)

    assert told(store, before) == [("session-3", "b", True)]
    assert {name.partition("_")[2] for name in read} == {"session-3.jsonl"}


def test_a_revision_of_an_earlier_object_is_behind_everything(folder: Path, store: JsonlStore) -> None:
    """The numbers of an object say nothing of what happened before it."""
    chain(store, "s", "a")
    earlier = store.records.revision()

    later = opened(folder)

    assert earlier < later.records.revision()
    assert [change.session for change in later.records.changed(earlier)] == ["s"]


SUMMARY = KeptSummary("a", "0/1")


@pytest.fixture
def quick_store(tmp_path: Path) -> JsonlStore:
    opened = JsonlStore(tmp_path / "sessions", plan_in_entry, timeout=1)
    chain(opened, "s", "a")
    return opened


def test_session_files_stay_as_they_are_and_only_the_user_reads_the_records(
    quick_store: JsonlStore, tmp_path: Path
) -> None:
    folder = tmp_path / "sessions"
    [session] = folder.glob("*.jsonl")
    before = session.read_bytes()

    quick_store.records.beat(WORKING)
    quick_store.records.ask(QUESTION)
    quick_store.records.keep_summaries({"s": SUMMARY})

    assert session.read_bytes() == before
    assert [*folder.glob("*.jsonl")] == [session]
    for name in (PRESENCES, NEEDS, SUMMARIES):
        assert os.name == "nt" or stat.S_IMODE((folder / name).stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"", b"{", b"[]\n7\nnull\n", b"\xff\xfe", b'{"agent":3}\n["s",7,"x"]\n'])
def test_files_that_cannot_be_decoded_are_read_as_empty(
    quick_store: JsonlStore, tmp_path: Path, content: bytes
) -> None:
    records = quick_store.records
    for name in (PRESENCES, NEEDS, SUMMARIES):
        (tmp_path / "sessions" / name).write_bytes(content)

    assert (records.presences(), records.needs(), records.kept_summaries()) == ([], [], {})
    records.ask(QUESTION)
    records.beat(WORKING)
    records.keep_summaries({"s": SUMMARY})
    assert (records.presences(), records.needs(), records.kept_summaries()) == ([WORKING], [QUESTION], {"s": SUMMARY})


def test_a_folder_that_is_missing_or_cannot_be_written_keeps_no_summary(
    quick_store: JsonlStore, tmp_path: Path
) -> None:
    """A folder is in the place of each file. A summary waits for no other writer either."""
    with FolderLock(str(tmp_path / "sessions"), 1):
        quick_store.records.keep_summaries({"s": SUMMARY})
    assert quick_store.records.kept_summaries() == {}
    for name in (PRESENCES, NEEDS, SUMMARIES):
        (tmp_path / "sessions" / name).mkdir()

    quick_store.records.keep_summaries({"s": SUMMARY})

    assert quick_store.records.kept_summaries() == {}
    with pytest.raises(StoreError, match="presence"):
        quick_store.records.beat(WORKING)
    with pytest.raises(StoreError, match="needs"):
        quick_store.records.ask(QUESTION)

    reader = JsonlStore(tmp_path / "none", plan_in_entry)
    reader.records.keep_summaries({"s": SUMMARY})
    reader.records.leave("claude:1")
    assert (reader.records.presences(), reader.records.needs()) == ([], [])
    assert not (tmp_path / "none").exists()


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_DATA_HOME": str(tmp_path / "data")}


def test_a_relative_folder_is_resolved_where_it_was_set(tmp_path: Path, home: dict[str, str]) -> None:
    """Against the folder of the settings file, else against the working folder; a tilde is the home folder.

    A store without a folder is refused: session files are not created in whatever the working folder is.
    """
    deep = tmp_path / "deep"
    deep.mkdir()
    (tmp_path / ".git").mkdir()
    write_trusted(tmp_path / "tildone.toml", 'store = "jsonl:plans"\n', home)

    assert str(load({}, home, str(deep)).store) == f"jsonl:{tmp_path / 'plans'}"
    assert str(load({}, home | {"TILDONE_STORE": "jsonl:../mine"}, str(deep)).store) == f"jsonl:{tmp_path / 'mine'}"
    assert str(load({"store": "jsonl:~/x"}, home, str(deep)).store) == f"jsonl:{Path.home() / 'x'}"
    with pytest.raises(UsageError, match="jsonl: needs a path after the colon"):
        load({"store": "jsonl:"}, home, str(tmp_path))


def test_the_configured_store_is_opened(tmp_path: Path) -> None:
    """It can read the plans of every dialect."""
    settings = Settings(store=parse_address(f"jsonl:{tmp_path}"), session="s", project="/p")
    header = {"type": "session", "version": 3, "id": "s"}
    told = {"role": "toolResult", "toolName": "todo_write", "details": {"phases": [{"name": "A", "tasks": []}]}}
    entry = {"type": "message", "id": "r", "parentId": None, "message": told}
    (tmp_path / "any.jsonl").write_text(f"{json.dumps(header)}\n{json.dumps(entry)}\n", encoding="utf-8")

    store = open_store(settings)

    assert isinstance(store, JsonlStore)
    assert dialect_of_session(settings, store).name == "phased"
    assert [phase.name for phase in open_session(settings, BY_HAND, store).plan.phases] == ["A"]


def test_conversations_are_not_stored_in_the_folder_of_plans(tmp_path: Path) -> None:
    """Each would take the entries of the other for an abandoned branch."""
    settings = Settings(store=parse_address(f"jsonl:{tmp_path}"), session="s", project="/p", session_dir=str(tmp_path))

    with pytest.raises(UsageError, match="can't be both the store and the session-dir"):
        open_conversations(settings, str(tmp_path))
    open_conversations(settings, str(tmp_path), kept=False)


def test_a_command_loads_no_other_kind_of_store(tmp_path: Path) -> None:
    """Nor any module that is slow to import."""
    run = """
import atexit, sys
atexit.register(lambda: print(*sorted(sys.modules), sep='\\n', file=sys.stderr))
sys.argv[1:] = ['call', 'write_todos', '{"mode": "replace", "todos": [{"text": "one"}]}']
from tildone.cli import main
sys.exit(main())
"""
    environ = os.environ | {"TILDONE_STORE": f"jsonl:{tmp_path}", "TILDONE_SESSION": "s"}

    answer = subprocess.run([sys.executable, "-I", "-c", run], env=environ, capture_output=True, text=True, check=True)

    heavy = {"apsw", "argparse", "asyncio", "datetime", "inspect", "logging", "pathlib"}
    assert {name.split(".")[0] for name in answer.stderr.split()} & heavy == set()
    assert "tildone.stores.pi.examination" not in answer.stderr
    assert len(list(tmp_path.glob("*.jsonl"))) == 1


def test_commands_work_on_a_session_of_pi(tmp_path: Path) -> None:
    """The plan that an agent in pi wrote is shown, edited and undone; the conversation stays."""
    trace = Path(__file__).parents[1] / "traces" / "early-stop.json"
    [recorded] = json.loads(trace.read_text(encoding="utf-8"))["session_files"]
    text = "".join(f"{json.dumps(entry)}\n" for entry in recorded["entries"])
    (tmp_path / "pi.jsonl").write_text(text, encoding="utf-8")
    environ = os.environ | {"TILDONE_STORE": f"jsonl:{tmp_path}", "TILDONE_SESSION": recorded["entries"][0]["id"]}

    def says(*words: str) -> str:
        done = subprocess.run([PROGRAM, *words], env=environ, capture_output=True, text=True, check=True, timeout=60)
        return done.stdout

    shown = says("todo")
    says("todo", "append", "Write a test")
    changed = says("todo")
    says("undo")

    assert "Write schema" in shown
    assert "Write a test" in changed
    assert says("todo") == shown
    assert (tmp_path / "pi.jsonl").read_text(encoding="utf-8").startswith(text)
