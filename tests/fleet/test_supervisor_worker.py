"""A supervisor and a worker that dies, is stopped, is interrupted, or whose supervisor is stopped."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.agents import (
    FOREVER,
    command,
    ending,
    is_frozen,
    is_running,
    new_lease,
    pid_in,
    processes_of,
    sleeper,
    started,
    state,
    stop,
    touch,
    wait_for,
    waiter,
)
from tests.project.source import ROOT
from tests.suite.waiting import until
from tildone.fleet.process_tree import boot_seconds
from tildone.fleet.supervision import AgentEnding, How, SupervisedAgent, orphans

Run = Callable[..., SupervisedAgent]
LEASE = 2.0
"""The time of a lease in seconds. A worker renews it twenty times as often, and an agent that freezes continues."""


class Worker:
    """A worker in a process of its own."""

    def __init__(self, folder: Path, arguments: tuple[str, ...], seconds: float = LEASE, **other: Any) -> None:
        fields = command(folder, arguments, **other)
        named = {name: getattr(fields, name) for name in type(fields).__match_args__}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.fleet.worker", str(seconds), json.dumps(named)],
            cwd=ROOT,
            env={**os.environ, "WORKERS_SECRET": "known"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            process_group=0,
        )
        self.supervisor, self.agent = map(int, self._line().split())

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def ending(self) -> str:
        return self._line().strip()

    def stop_agent(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("stop\n")
        self.process.stdin.flush()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        os.kill(self.supervisor, signal.SIGCONT)
        until(lambda: not is_running(self.supervisor))


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Callable[..., Worker]]:
    workers: list[Worker] = []

    def start(*arguments: Any, **other: Any) -> Worker:
        workers.append(Worker(tmp_path, *arguments, **other))
        return workers[-1]

    yield start
    for worker in workers:
        if is_running(worker.supervisor):
            worker.close()
        else:
            worker.process.kill()
            worker.process.communicate()


def test_the_agent_of_a_killed_worker_is_ended_and_then_the_lease_is_given_back(
    work: Callable[..., Worker], tmp_path: Path, means: str
) -> None:
    """The release command has the environment of the worker, which the agent has not."""
    look = "kill -0 $(cat pid) 2>/dev/null && echo alive || echo gone"
    release = (
        "sh",
        "-c",
        f'cd "{tmp_path}"; ({look}; echo "$WORKERS_SECRET") > released.new; mv released.new released',
    )
    script = 'trap "" TERM; echo $$ > pid; echo "$WORKERS_SECRET" > seen; sleep 3600 & wait; wait'
    worker = work(("sh", "-c", script), containment=means, release=release)
    pid_in(tmp_path / "pid")

    worker.process.kill()
    until((tmp_path / "released").exists)

    assert (tmp_path / "released").read_text(encoding="utf-8") == "gone\nknown\n"
    assert (tmp_path / "seen").read_text(encoding="utf-8") == "\n"
    until(lambda: not is_running(worker.supervisor))


def test_the_agent_of_a_stopped_worker_is_frozen_and_goes_on_when_the_worker_does(
    work: Callable[..., Worker], tmp_path: Path, means: str
) -> None:
    worker = work(waiter(tmp_path / "go", 4), containment=means)
    cgroup = Path(f"/proc/{worker.agent}/cgroup").read_text(encoding="utf-8")

    stop(worker.process.pid)
    until(lambda: _is_frozen(worker))
    (tmp_path / "go").touch()
    worker.process.send_signal(signal.SIGCONT)

    assert ("tildone-" in cgroup) is (means == "cgroup")
    assert worker.ending() == repr(AgentEnding(How.EXIT, 4))


def test_a_frozen_agent_is_ended_when_its_worker_is_killed(work: Callable[..., Worker], means: str) -> None:
    worker = work(sleeper("trap '' TERM"), containment=means)
    stop(worker.process.pid)
    until(lambda: _is_frozen(worker))

    worker.process.kill()

    until(lambda: not is_running(worker.agent))
    until(lambda: not is_running(worker.supervisor))


def _is_frozen(worker: Worker) -> bool:
    """Whether the kernel has stopped the agent: by a signal, or in its control group."""
    lines = Path(f"/proc/{worker.agent}/cgroup").read_text(encoding="utf-8").splitlines()
    group = next((line[3:] for line in lines if line.startswith("0::")), "")
    if "tildone-" not in group:
        return state(worker.agent) == "T"
    mounts = (line.split() for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines())
    root = next(fields[1] for fields in mounts if fields[2] == "cgroup2")
    return "frozen 1" in Path(root, group.lstrip("/"), "cgroup.events").read_text(encoding="utf-8")


def test_an_interrupt_of_the_foreground_group_reaches_neither_the_supervisor_nor_the_agent(
    work: Callable[..., Worker], tmp_path: Path
) -> None:
    """Ctrl-C is for the worker, which decides about its agents."""
    worker = work(("sh", "-c", f"{wait_for(tmp_path / 'go')}; exit 4"), seconds=FOREVER)

    os.killpg(worker.process.pid, signal.SIGINT)
    (tmp_path / "go").touch()

    assert worker.ending() == repr(AgentEnding(How.EXIT, 4))


def test_a_supervisor_is_in_no_group_or_session_of_its_worker(run: Run) -> None:
    """A signal to the whole group of the worker, even SIGKILL, does not reach it."""
    supervisor = run(sleeper()).supervisor_pid

    assert os.getsid(supervisor) == os.getpgid(supervisor) == supervisor


def test_an_agent_dies_with_its_supervisor_and_what_it_leaves_is_an_orphan(
    work: Callable[..., Worker], tmp_path: Path, strong_means: str
) -> None:
    """Even if the worker cannot do anything about it."""
    lease = new_lease()
    script = "setsid sleep 3600 & echo $! > left.new; mv left.new left; wait"
    worker = work(("sh", "-c", script), containment=strong_means, lease=lease)
    left = pid_in(tmp_path / "left")
    stop(worker.process.pid)

    os.kill(worker.supervisor, signal.SIGKILL)

    until(lambda: not is_running(worker.agent))
    assert left in [process.pid for process in orphans(()) if process.lease == lease]
    worker.process.send_signal(signal.SIGCONT)
    assert worker.ending() == repr(AgentEnding(How.SUPERVISOR_GONE))
    assert processes_of(lease) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP])
def test_a_supervisor_does_not_die_before_its_agent(number: signal.Signals, run: Run, tmp_path: Path) -> None:
    agent = run(("sh", "-c", f"{wait_for(tmp_path / 'go')}; exit 4"))
    started(agent)

    os.kill(agent.supervisor_pid, number)
    (tmp_path / "go").touch()

    assert ending(agent) == AgentEnding(How.EXIT, 4)


def test_the_deadline_of_a_stopped_supervisor_is_noticed_when_it_continues(run: Run, means: str) -> None:
    agent = run(sleeper(), containment=means)
    pid = started(agent)
    deadline = boot_seconds() + 1
    agent.renew(deadline)
    stop(agent.supervisor_pid)
    until(lambda: boot_seconds() > deadline)

    os.kill(agent.supervisor_pid, signal.SIGCONT)

    until(lambda: agent.frozen and is_frozen(agent, [pid]))


def test_a_stopped_supervisor_is_continued_by_the_next_message(run: Run) -> None:
    agent = run(sleeper())
    started(agent)
    stop(agent.supervisor_pid)

    agent.stop()

    assert ending(agent) == AgentEnding(How.STOPPED)


def test_a_stopped_supervisor_notices_later_that_its_worker_is_gone(
    work: Callable[..., Worker], tmp_path: Path
) -> None:
    release = ("sh", "-c", touch(tmp_path / "released"))
    worker = work(sleeper(), seconds=FOREVER, release=release)
    # Its messages would continue the supervisor.
    stop(worker.process.pid)
    stop(worker.supervisor)

    worker.process.kill()
    worker.process.wait()
    os.kill(worker.supervisor, signal.SIGCONT)

    until((tmp_path / "released").exists)
    until(lambda: not is_running(worker.agent))


def test_a_worker_can_end_its_agent(work: Callable[..., Worker], means: str) -> None:
    worker = work(sleeper(), containment=means)

    worker.stop_agent()

    assert worker.ending() == repr(AgentEnding(How.STOPPED))
    assert not is_running(worker.agent)
