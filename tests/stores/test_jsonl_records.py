"""Records beside the log in a folder of session files: small private files that pi does not read."""

import os
import stat
from pathlib import Path

import pytest

from tests.stores.contract import chain
from tests.stores.records_contract import QUESTION, WORKING
from tildone.base.durable import FolderLock
from tildone.base.errors import StoreError
from tildone.log.kept import KeptSummary
from tildone.plan.dialects import plan_in_entry
from tildone.stores.pi.store import NEEDS, PRESENCES, SUMMARIES, JsonlStore

SUMMARY = KeptSummary("a", "0/1")


@pytest.fixture
def store(tmp_path: Path) -> JsonlStore:
    opened = JsonlStore(tmp_path / "sessions", plan_in_entry, timeout=1)
    chain(opened, "s", "a")
    return opened


def test_session_files_stay_as_they_are_and_only_the_user_reads_the_records(store: JsonlStore, tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    [session] = folder.glob("*.jsonl")
    before = session.read_bytes()

    store.records.beat(WORKING)
    store.records.ask(QUESTION)
    store.records.keep_summaries({"s": SUMMARY})

    assert session.read_bytes() == before
    assert [*folder.glob("*.jsonl")] == [session]
    for name in (PRESENCES, NEEDS, SUMMARIES):
        assert os.name == "nt" or stat.S_IMODE((folder / name).stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"", b"{", b"[]\n7\nnull\n", b"\xff\xfe", b'{"agent":3}\n["s",7,"x"]\n'])
def test_files_that_cannot_be_decoded_are_read_as_empty(store: JsonlStore, tmp_path: Path, content: bytes) -> None:
    for name in (PRESENCES, NEEDS, SUMMARIES):
        (tmp_path / "sessions" / name).write_bytes(content)

    assert (store.records.presences(), store.records.needs(), store.records.kept_summaries()) == ([], [], {})
    store.records.ask(QUESTION)
    store.records.beat(WORKING)
    store.records.keep_summaries({"s": SUMMARY})
    assert (store.records.presences(), store.records.needs(), store.records.kept_summaries()) == (
        [WORKING],
        [QUESTION],
        {"s": SUMMARY},
    )


def test_a_folder_that_cannot_be_written_keeps_no_summary(store: JsonlStore, tmp_path: Path) -> None:
    """A folder is in the place of each file."""
    for name in (PRESENCES, NEEDS, SUMMARIES):
        (tmp_path / "sessions" / name).mkdir()

    store.records.keep_summaries({"s": SUMMARY})

    assert store.records.kept_summaries() == {}
    with pytest.raises(StoreError, match="presence"):
        store.records.beat(WORKING)
    with pytest.raises(StoreError, match="needs"):
        store.records.ask(QUESTION)


def test_a_summary_waits_for_no_other_writer(store: JsonlStore, tmp_path: Path) -> None:
    with FolderLock(str(tmp_path / "sessions"), 1):
        store.records.keep_summaries({"s": SUMMARY})

    assert store.records.kept_summaries() == {}


def test_a_reader_of_a_folder_that_does_not_exist_creates_none(tmp_path: Path) -> None:
    store = JsonlStore(tmp_path / "none", plan_in_entry)

    store.records.keep_summaries({"s": SUMMARY})
    store.records.leave("claude:1")

    assert (store.records.presences(), store.records.needs()) == ([], [])
    assert not (tmp_path / "none").exists()
