"""Incomplete lines, garbage and incomplete batches in session files."""

from itertools import islice
from pathlib import Path

import pytest

from tests.stores.contract import chain, ids, planned
from tests.stores.jsonl_files import as_pi_reads, file_of, garble, oddities, opened
from tildone.base.errors import StoreDamaged
from tildone.log.kept import Severity
from tildone.plan.dialects import plan_in_entry
from tildone.plan.events import SessionHead
from tildone.stores.pi.store import JsonlStore


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


@pytest.fixture
def store(folder: Path) -> JsonlStore:
    return opened(folder)


def test_an_incomplete_last_line_is_ignored(folder: Path, store: JsonlStore) -> None:
    """Cut at every third byte. Later entries are read, pi can read the file, and no byte is lost."""
    store.append("s", planned("a", None, "one"))
    whole = file_of(folder).read_bytes()
    store.append("s", planned("b", "a", 'quotes "whole":true}} \\ and ]}}'))
    line = file_of(folder).read_bytes()[len(whole) :]

    for cut in range(0, len(line) - 1, 3):
        file_of(folder).write_bytes(whole + line[:cut])
        torn = JsonlStore(folder, plan_in_entry)
        assert torn.session_head("s") == SessionHead("a")
        assert ids(torn.events("s")) == ["a"]
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


def test_the_check_reports_an_incomplete_last_line(folder: Path, store: JsonlStore) -> None:
    """And that nothing has to be done about it."""
    chain(store, "s", "a")
    with file_of(folder).open("ab") as file:
        file.write(b'{"type":"message","id":"m","par')

    [finding] = [finding for finding in store.check() if finding.severity is not Severity.OK]

    assert finding.what == f"{file_of(folder).name}: its last line is incomplete (line 3)"
    assert finding.remedy == "nothing to do: it is skipped"


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
    """As in pi. The check names the line."""
    chain(store, "s", "a", "b")
    with file_of(folder).open("ab") as file:
        file.write(garbage + b"\n")

    chain(store, "s", "c")

    again = opened(folder)
    assert ids(again.history("s")) == ["c", "b", "a"]
    assert oddities(again) == [f"{file_of(folder).name}: cannot be parsed: line 4"]


@pytest.mark.parametrize("keep", [0, 5, 20, 60])
def test_an_unparsable_parent_is_an_error(folder: Path, store: JsonlStore, keep: int) -> None:
    """The error names file and line; nothing is guessed."""
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
    """The head is unknown then, and nothing is written."""
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
    """The error names the line of the child."""
    chain(store, "s", "a", "b", "c")
    lines = file_of(folder).read_bytes().splitlines(keepends=True)
    file_of(folder).write_bytes(b"".join(lines[:2] + lines[3:]))

    with pytest.raises(StoreDamaged, match=r"\.jsonl, line 3 has parent 'b', which is not in the file"):
        list(opened(folder).history("s"))


def test_a_broken_branch_of_other_entries_is_harmless(folder: Path, store: JsonlStore) -> None:
    """The check reports it, with its line."""
    chain(store, "s", "a")
    with file_of(folder).open("a", encoding="utf-8") as file:
        file.write('{"type":"message","id":"m","parentId":"lost","timestamp":"t","message":{"role":"user"}}\n')
        file.write('{"type":"model_change","id":"n","parentId":"a","timestamp":"t"}\n')

    chain(store, "s", "b")

    assert ids(store.history("s")) == ["b", "a"]
    assert oddities(store) == [f"{file_of(folder).name}: entries whose parent is not in the file: line 3"]


def test_only_the_first_errors_of_a_file_are_reported(folder: Path, store: JsonlStore) -> None:
    """More would not change the remedy."""
    chain(store, "s", *(f"e{number}" for number in range(30)))
    for number in range(2, 30, 2):
        garble(file_of(folder), number)

    bad = [finding.what for finding in opened(folder).check() if finding.severity is Severity.ERROR]

    assert len(bad) == 9
    assert bad[-1].endswith("there are more errors")


def test_an_incomplete_batch_is_ignored(folder: Path, store: JsonlStore) -> None:
    """Wherever it ends, and whether or not another entry follows."""
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
