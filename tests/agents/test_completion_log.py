"""The log of completed plans, on a real disk."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.plans import plan_of
from tildone.app.completion_log import CompletionLog
from tildone.base import Refused
from tildone.log.session import Session
from tildone.plan.dialects.declared import DIALECT as DECLARED
from tildone.stores.memory import MemoryStore

FIRST, SECOND = "20250102-030405", "20250102-030406"
FILE = f"memory/todos/todoList-{FIRST}.md"


def log_in(root: Path, *stamps: str) -> CompletionLog:
    """A log whose clock shows these times, one per entry."""
    times: Iterator[str] = iter(stamps)
    return CompletionLog(str(root), lambda: next(times))


def entry(text: str = "body") -> Callable[[int, str], str]:
    return lambda number, stamp: f"# {number} {stamp}\n{text}\n"


def test_the_first_entry_creates_the_folders_and_the_file_and_later_ones_are_appended(tmp_path: Path) -> None:
    """Separated by two empty lines, numbered consecutively, each with its own timestamp."""
    log = log_in(tmp_path, FIRST, SECOND)
    assert list(tmp_path.iterdir()) == []

    # Its path is relative to the root, with forward slashes on every system.
    assert log.add(entry()) == FILE
    assert (tmp_path / FILE).read_bytes() == f"# 1 {FIRST}\nbody\n".encode()
    assert log.last_error is None
    assert log.add(entry("two")) == FILE
    assert (tmp_path / FILE).read_text(encoding="utf-8") == f"# 1 {FIRST}\nbody\n\n\n# 2 {SECOND}\ntwo\n"


def test_a_new_log_in_the_same_second_appends_to_the_file_and_starts_at_one(tmp_path: Path) -> None:
    log_in(tmp_path, FIRST).add(entry("one"))

    log_in(tmp_path, FIRST).add(entry("two"))

    assert (tmp_path / FILE).read_text(encoding="utf-8") == f"# 1 {FIRST}\none\n\n\n# 1 {FIRST}\ntwo\n"


def test_an_unwritable_folder_is_no_error_for_the_agent(tmp_path: Path) -> None:
    """The entry is lost, and the log keeps the reason; the file is named by the first entry that was written."""
    (tmp_path / "memory").write_text("in the way", encoding="utf-8")
    log = log_in(tmp_path, FIRST, SECOND)

    added, errors = [log.add(entry())], [log.last_error]
    assert (tmp_path / "memory").read_text(encoding="utf-8") == "in the way"
    (tmp_path / "memory").unlink()
    added, errors = [*added, log.add(entry())], [*errors, log.last_error]

    assert added == [None, f"memory/todos/todoList-{SECOND}.md"]
    assert [isinstance(error, OSError) for error in errors] == [True, False]
    assert f"# 2 {SECOND}" in (tmp_path / f"memory/todos/todoList-{SECOND}.md").read_text(encoding="utf-8")


def test_a_deleted_file_is_created_again(tmp_path: Path) -> None:
    log = log_in(tmp_path, FIRST, SECOND)
    log.add(entry("one"))
    (tmp_path / FILE).unlink()

    assert log.add(entry("two")) == FILE
    assert (tmp_path / FILE).read_text(encoding="utf-8") == f"# 2 {SECOND}\ntwo\n"


def test_a_later_failure_keeps_earlier_entries(tmp_path: Path) -> None:
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


def test_an_entry_is_durable_before_add_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda _: kept.append((tmp_path / FILE).read_text(encoding="utf-8")))

    log_in(tmp_path, FIRST).add(entry())

    assert kept == [f"# 1 {FIRST}\nbody\n"]


def test_a_lone_surrogate_is_escaped(tmp_path: Path) -> None:
    log = log_in(tmp_path, FIRST)

    assert log.add(entry("half \ud83d")) == FILE
    assert "half \\ud83d" in (tmp_path / FILE).read_text(encoding="utf-8")


@pytest.mark.parametrize("writable", [True, False])
def test_a_session_reports_where_a_completed_plan_was_logged(tmp_path: Path, *, writable: bool) -> None:
    """A plan that could not be logged is completed all the same."""
    if not writable:
        (tmp_path / "memory").write_text("in the way", encoding="utf-8")
    log = log_in(tmp_path, FIRST)
    session = Session(MemoryStore(), "s", DECLARED, now=lambda: 0, new_id=lambda: "e", completions=log)

    reply = session.call("TodoWrite", {"summary": "s", "todos": [{"content": "a", "status": "completed"}]})

    assert reply.details["data"].get("persisted_to") == (FILE if writable else None)
    assert (tmp_path / FILE).exists() is writable
    assert [task.text for task in session.plan.tasks] == [task.text for task in plan_of("a").tasks]


@pytest.mark.parametrize("link", ["memory", "memory/todos", FILE])
def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path, link: str) -> None:
    """A repository may contain one: nothing is written to where it leads."""
    project, outside = tmp_path / "project", tmp_path / "outside"
    (project / link).parent.mkdir(parents=True)
    outside.mkdir()
    (outside / "file").write_text("mine")
    (project / link).symlink_to(outside / "file" if link == FILE else outside)
    log = log_in(project, FIRST)

    assert log.add(entry()) is None
    assert isinstance(log.last_error, Refused)
    assert [path.name for path in outside.rglob("*")] == ["file"]
    assert (outside / "file").read_text() == "mine"


def test_all_processes_of_a_session_append_to_one_file_without_gaps_or_doubles(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom tildone.app.completion_log import CompletionLog\n"
        "log = CompletionLog(sys.argv[1], lambda: sys.argv[3], sys.argv[2])\n"
        "for _ in range(10): assert log.add(lambda number, stamp: f'# {number} {stamp}\\n')\n"
    )
    argv = [sys.executable, "-c", script, str(tmp_path), str(tmp_path / "data" / "record")]
    stamps = [f"20250102-03040{second}" for second in range(4)]

    processes = [subprocess.Popen([*argv, stamp]) for stamp in stamps]
    assert [process.wait(60) for process in processes] == [0] * 4

    [file] = (tmp_path / "memory" / "todos").iterdir()
    entries = [line.split() for line in file.read_text().splitlines() if line]
    assert [int(number) for _, number, _ in entries] == list(range(1, 41))
    assert sorted(stamp for *_, stamp in entries) == sorted(stamps * 10)


@pytest.mark.parametrize("content", [b"", b"x y", b"3 /etc/passwd", b"3 ../../x", b"\xff", b"3 memory/todos/gone.md"])
def test_a_log_that_is_gone_or_a_record_that_makes_no_sense_begins_a_new_log(tmp_path: Path, content: bytes) -> None:
    record = tmp_path / "data" / "record"
    record.parent.mkdir()
    record.write_bytes(content)

    assert CompletionLog(str(tmp_path), lambda: FIRST, str(record)).add(entry()) == FILE
    assert (tmp_path / FILE).read_text() == f"# 1 {FIRST}\nbody\n"
