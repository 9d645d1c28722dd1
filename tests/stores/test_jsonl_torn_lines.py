"""Incomplete lines, garbage and incomplete batches in session files."""

from itertools import islice
from pathlib import Path

import pytest

from tests.stores.contract import chain, ids, planned
from tests.stores.jsonl_files import as_pi_reads, file_of, garble, oddities, opened
from tildone.dialects import plan_in_entry
from tildone.errors import StoreDamaged
from tildone.log.health import Health
from tildone.log.tree import SessionHead
from tildone.stores.pi.store import JsonlStore


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


@pytest.fixture
def store(folder: Path) -> JsonlStore:
    return opened(folder)


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
        assert oddities(reader) == [f"{file_of(folder).name}: entries of incomplete batches: {kept}"]

    file_of(folder).write_bytes(whole + b"".join(lines[:2]))
    waiting = opened(folder)
    assert waiting.session_head("s") == SessionHead("a")
    file_of(folder).write_bytes(whole + b"".join(lines))
    assert waiting.session_head("s") == SessionHead("y", ("z",))
