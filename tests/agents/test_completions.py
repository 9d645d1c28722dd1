"""The log of finished plans, on a real disk."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.plans import plan_of
from tildone.agents.completions import CompletionLog
from tildone.dialects.declared import DECLARED
from tildone.session import Session
from tildone.stores.memory import MemoryStore

FIRST, SECOND = "20250102-030405", "20250102-030406"
FILE = f"memory/todos/todoList-{FIRST}.md"


def log_in(root: Path, *stamps: str) -> CompletionLog:
    """A log whose clock shows these times, one an entry."""
    times: Iterator[str] = iter(stamps)
    return CompletionLog(str(root), lambda: next(times))


def entry(text: str = "body") -> Callable[[int, str], str]:
    return lambda number, stamp: f"# {number} {stamp}\n{text}\n"


def test_the_first_entry_makes_the_folders_and_the_file(tmp_path: Path) -> None:
    """Told by its path below the root, with forward slashes everywhere."""
    log = log_in(tmp_path, FIRST)

    assert log.add(entry()) == FILE
    assert (tmp_path / FILE).read_bytes() == f"# 1 {FIRST}\nbody\n".encode()
    assert log.last_error is None


def test_nothing_is_made_before_there_is_an_entry(tmp_path: Path) -> None:
    """A session that finishes nothing leaves no trace in the project."""
    log_in(tmp_path, FIRST)

    assert list(tmp_path.iterdir()) == []


def test_later_entries_follow_in_the_same_file(tmp_path: Path) -> None:
    """Two empty lines apart, numbered on, each with its own time."""
    log = log_in(tmp_path, FIRST, SECOND)
    log.add(entry("one"))

    assert log.add(entry("two")) == FILE
    assert (tmp_path / FILE).read_text(encoding="utf-8") == (f"# 1 {FIRST}\none\n\n\n# 2 {SECOND}\ntwo\n")


def test_a_new_log_in_the_same_second_goes_on_in_the_file_and_counts_anew(tmp_path: Path) -> None:
    """What another session wrote stays as it is."""
    log_in(tmp_path, FIRST).add(entry("one"))

    log_in(tmp_path, FIRST).add(entry("two"))

    assert (tmp_path / FILE).read_text(encoding="utf-8") == f"# 1 {FIRST}\none\n\n\n# 1 {FIRST}\ntwo\n"


def test_a_place_that_cannot_be_written_is_no_error_of_the_agent(tmp_path: Path) -> None:
    """The entry is lost, the reason is kept for whoever looks."""
    (tmp_path / "memory").write_text("in the way", encoding="utf-8")
    log = log_in(tmp_path, FIRST)

    assert log.add(entry()) is None
    assert isinstance(log.last_error, OSError)
    assert (tmp_path / "memory").read_text(encoding="utf-8") == "in the way"


def test_an_entry_that_failed_has_used_up_its_number_but_not_the_name(tmp_path: Path) -> None:
    """The file is named by the first entry that was written."""
    (tmp_path / "memory").write_text("in the way", encoding="utf-8")
    log = log_in(tmp_path, FIRST, SECOND)
    log.add(entry())
    (tmp_path / "memory").unlink()

    assert log.add(entry()) == f"memory/todos/todoList-{SECOND}.md"
    assert log.last_error is None
    assert f"# 2 {SECOND}" in (tmp_path / f"memory/todos/todoList-{SECOND}.md").read_text(encoding="utf-8")


def test_a_file_that_was_deleted_is_begun_again(tmp_path: Path) -> None:
    """Under its name, without a gap at the top."""
    log = log_in(tmp_path, FIRST, SECOND)
    log.add(entry("one"))
    (tmp_path / FILE).unlink()

    assert log.add(entry("two")) == FILE
    assert (tmp_path / FILE).read_text(encoding="utf-8") == f"# 2 {SECOND}\ntwo\n"


def test_a_failure_later_on_leaves_what_was_written(tmp_path: Path) -> None:
    """And the log goes on when the place is back."""
    log = log_in(tmp_path, FIRST, SECOND, SECOND)
    log.add(entry("one"))
    folder = tmp_path / "memory" / "todos"
    folder.rename(tmp_path / "aside")
    folder.write_text("in the way", encoding="utf-8")

    missed = log.add(entry("two"))
    folder.unlink()
    (tmp_path / "aside").rename(folder)
    log.add(entry("three"))

    assert missed is None
    assert (tmp_path / FILE).read_text(encoding="utf-8") == (f"# 1 {FIRST}\none\n\n\n# 3 {SECOND}\nthree\n")


def test_an_entry_is_on_disk_before_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written out whole at the moment in which the system is asked to keep it."""
    kept: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda _: kept.append((tmp_path / FILE).read_text(encoding="utf-8")))

    log_in(tmp_path, FIRST).add(entry())

    assert kept == [f"# 1 {FIRST}\nbody\n"]


def test_half_a_surrogate_pair_is_spelled_out(tmp_path: Path) -> None:
    """One bad character does not cost the entry."""
    log = log_in(tmp_path, FIRST)

    assert log.add(entry("half \ud83d")) == FILE
    assert "half \\ud83d" in (tmp_path / FILE).read_text(encoding="utf-8")


@pytest.mark.parametrize("writable", [True, False])
def test_a_session_tells_where_a_finished_list_was_logged(tmp_path: Path, *, writable: bool) -> None:
    """A list that could not be logged is finished all the same."""
    if not writable:
        (tmp_path / "memory").write_text("in the way", encoding="utf-8")
    log = log_in(tmp_path, FIRST)
    session = Session(MemoryStore(), "s", DECLARED, now=lambda: 0, new_id=lambda: "e", completions=log)

    reply = session.call("TodoWrite", {"summary": "s", "todos": [{"content": "a", "status": "completed"}]})

    assert reply.details["data"].get("persisted_to") == (FILE if writable else None)
    assert (tmp_path / FILE).exists() is writable
    assert [task.text for task in session.plan.tasks] == [task.text for task in plan_of("a").tasks]
