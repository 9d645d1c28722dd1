"""Many agents at once, each with a supervisor: some in every run, and more among the slow tests."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fleet.agents import ending, is_running, new_lease, processes_of, sleeper, start, started, stop_all
from tests.project.source import ROOT
from tests.suite.waiting import until
from tildone.fleet.process_tree import boot_seconds
from tildone.fleet.supervision import AgentEnding, How

MANY = [8, pytest.param(200, marks=pytest.mark.slow)]


@pytest.mark.parametrize("count", MANY)
def test_many_agents_are_started_frozen_continued_and_ended(count: int, tmp_path: Path) -> None:
    leases = [new_lease() for _ in range(count)]
    began = boot_seconds()
    agents = [start(_folder(tmp_path, lease), sleeper(), lease=lease) for lease in leases]
    for agent in agents:
        started(agent)
    seconds = boot_seconds() - began

    for agent in agents:
        agent.renew(began)
    until(lambda: all(agent.frozen for agent in agents))
    for agent in agents:
        agent.renew(boot_seconds() + 3600)
    until(lambda: not any(agent.frozen for agent in agents))
    memory = [_own_memory(agent.supervisor_pid) for agent in agents]
    stop_all(agents)

    assert [ending(agent) for agent in agents] == [AgentEnding(How.STOPPED)] * count
    assert not any(is_running(agent.pid) or is_running(agent.supervisor_pid) for agent in agents)
    assert all(processes_of(lease) == [] for lease in leases[:3])
    print(f"{count} agents: {seconds * 1000 / count:.0f} ms to start each, {max(memory)} kB at most for a supervisor")


OPEN_FILES = """
import os, sys
from pathlib import Path
from tests.fleet.agents import ending, start

def open_files_after(count):
    for _ in range(count):
        ending(start(Path(sys.argv[1]), ("true",)))
    return len(os.listdir("/proc/self/fd"))

print(open_files_after(1), open_files_after(5))
"""


def test_agents_leave_no_open_files_in_the_worker(tmp_path: Path) -> None:
    """In a process of its own: in this one, what earlier tests have left is closed at any time."""
    words = [sys.executable, "-c", OPEN_FILES, str(tmp_path)]
    done = subprocess.run(words, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True, capture_output=True, text=True)

    before, after = done.stdout.split()
    assert before == after


def test_a_descriptor_beyond_those_that_select_can_wait_for_is_no_problem(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 1200:
        pytest.skip("too few files may be open here")
    assert hard >= soft or hard == resource.RLIM_INFINITY
    taken = [os.open(os.devnull, os.O_RDONLY) for _ in range(1050)]
    try:
        assert ending(start(tmp_path, ("true",))) == AgentEnding(How.EXIT, 0)
    finally:
        for descriptor in taken:
            os.close(descriptor)


def _folder(above: Path, lease: str) -> Path:
    folder = above / lease.replace("/", "-")
    folder.mkdir()
    return folder


def _own_memory(pid: int) -> int:
    """The memory of a process that it shares with no other, in kB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))
