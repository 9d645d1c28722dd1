"""The processes that have a store open, found by reading `/proc`."""

import sys
from pathlib import Path

import pytest

from tests.stores.processes import finish, start, wait_for
from tildone.base.processes import processes_with_open

linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has /proc")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plans.db"


@linux_only
def test_a_process_with_the_store_open_is_found_with_its_command(path: Path) -> None:
    """Also after the file was renamed, by the files that SQLite keeps beside it."""
    with start("keep_open", path) as process:
        wait_for("held-0", process)
        [found] = processes_with_open(str(path)) or []
        path.rename(path.with_name("elsewhere.db"))
        renamed = processes_with_open(str(path))
        path.with_name("elsewhere.db").unlink()
        finish([process])

    assert found.pid == process.pid
    assert "tests.stores.programs keep_open" in found.command
    assert not found.deleted
    assert [each.pid for each in renamed or []] == [process.pid]
    assert processes_with_open(str(path)) == []


@linux_only
def test_a_process_with_a_deleted_store_open_is_marked(path: Path) -> None:
    with start("keep_open", path) as process:
        wait_for("held-0", process)
        for suffix in ("", "-wal", "-shm"):
            Path(f"{path}{suffix}").unlink()
        found = processes_with_open(str(path))
        finish([process])

    assert [(each.pid, each.deleted) for each in found or []] == [(process.pid, True)]


def test_without_proc_the_answer_is_unknown(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")

    assert processes_with_open(str(path)) is None
