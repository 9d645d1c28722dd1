"""Processes that are found and ended by the lease in their environment."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fleet.agents import FOREVER, is_running, new_lease, state, stop
from tests.suite.waiting import LIMIT_SECONDS, until
from tildone.fleet import supervision as leftovers
from tildone.fleet.supervision import Unsupported, end_processes, orphans

Leave = Callable[..., subprocess.Popen[bytes]]
SCANS = 20
KERNEL_THREAD = b"S 0 0 0 0 -1 2129984 0 0 0 0 0 4 0 0 20 0 1 0 7".split() + [b"0"] * 30
"""The fields of `/proc/PID/stat` of a kernel thread, which has no addresses. A container shows none of them."""


@pytest.fixture
def leave() -> Iterator[Leave]:
    """Start a process with a lease, which sleeps."""
    left: list[subprocess.Popen[bytes]] = []

    def start(lease: str, script: str = "exec sleep 3600") -> subprocess.Popen[bytes]:
        environ = {**os.environ, "TILDONE_LEASE": lease} if lease else dict(os.environ)
        left.append(subprocess.Popen(["sh", "-c", script], env=environ))
        return left[-1]

    yield start
    for process in left:
        process.kill()
        process.wait()


def test_a_process_whose_lease_is_not_alive_is_an_orphan(leave: Leave) -> None:
    lost, held = new_lease(), new_lease()
    orphan, child = leave(lost), leave(held)
    leave("")
    until(lambda: _name(orphan.pid) == "sleep")

    found = {process.pid: process for process in orphans({held})}

    assert child.pid not in found
    assert os.getpid() not in found
    assert (found[orphan.pid].lease, found[orphan.pid].name, found[orphan.pid].stopped) == (lost, "sleep", False)
    assert found[orphan.pid].started > 0
    assert {held, lost} <= {process.lease for process in orphans(())}


def test_a_process_is_found_while_it_executes_another_program(leave: Leave, tmp_path: Path) -> None:
    """Meanwhile, its environment is empty. This one does nothing else."""
    lease, script = new_lease(), tmp_path / "again.sh"
    script.write_text('exec sh "$0"\n', encoding="utf-8")
    process = leave(lease, f"exec sh '{script}'")

    found = [[each.pid for each in orphans(()) if each.lease == lease] for _ in range(SCANS)]

    assert found == [[process.pid]] * SCANS


@pytest.mark.parametrize("is_kernel_thread", [False, True])
def test_a_process_that_has_no_variables_is_not_waited_for(
    leave: Leave, monkeypatch: pytest.MonkeyPatch, *, is_kernel_thread: bool
) -> None:
    process = leave(new_lease(), "exec env -i sleep 3600")
    until(lambda: _name(process.pid) == "sleep")
    pauses, pause = iter(range(5000)), time.sleep
    monkeypatch.setattr(leftovers, "_EXEC_SECONDS", FOREVER)
    monkeypatch.setattr(time, "sleep", lambda seconds: pause(seconds + 0 * next(pauses)))
    if is_kernel_thread:
        monkeypatch.setattr(leftovers, "process_stat", lambda _pid: ("kthreadd", KERNEL_THREAD))

    assert [found for found in orphans(()) if found.pid == process.pid] == []


def test_an_orphan_that_is_stopped_is_reported_as_such(leave: Leave) -> None:
    process = leave(new_lease())
    stop(process.pid)

    assert [found.stopped for found in orphans(()) if found.pid == process.pid] == [True]


def test_a_process_that_has_ended_is_no_orphan(leave: Leave) -> None:
    """It may be a zombie for a while."""
    process = leave(new_lease(), "exit 0")
    until(lambda: state(process.pid) == "Z")

    assert [found for found in orphans(()) if found.pid == process.pid] == []


def test_the_processes_of_a_lease_are_ended_and_no_others(leave: Leave) -> None:
    lost, held = new_lease(), new_lease()
    orphan, child = leave(lost, "trap '' TERM; sleep 3600 & wait"), leave(held)

    assert end_processes(lost, LIMIT_SECONDS)

    assert not is_running(orphan.pid)
    assert is_running(child.pid)
    assert [found for found in orphans(()) if found.lease == lost] == []


def test_ending_the_processes_of_a_lease_gives_up_in_time(leave: Leave, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process may be impossible to kill."""
    process = leave(new_lease())
    monkeypatch.setattr(leftovers, "_kill", lambda _process: None)
    lease = next(found.lease for found in orphans(()) if found.pid == process.pid)

    assert not end_processes(lease, 0)


def test_processes_of_other_users_are_not_looked_at(leave: Leave, monkeypatch: pytest.MonkeyPatch) -> None:
    process = leave(new_lease())
    monkeypatch.setattr(os, "geteuid", lambda: 54321)

    assert [found for found in orphans(()) if found.pid == process.pid] == []


def test_without_proc_orphans_cannot_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "exists", lambda _path: False)

    with pytest.raises(Unsupported, match="has no /proc"):
        orphans(())


def _name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
