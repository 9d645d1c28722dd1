"""A supervisor ends its agent and everything that the agent has started, however it resists."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fleet.agents import (
    command,
    ending,
    is_running,
    new_lease,
    pid_in,
    processes_of,
    python,
    sleeper,
    started,
    stop_all,
    touch,
    wait_for,
)
from tests.suite.waiting import LIMIT_SECONDS, until
from tildone.fleet import supervision as minding
from tildone.fleet.process_tree import Containment, boot_seconds
from tildone.fleet.supervision import AgentEnding, How, SupervisedAgent

Run = Callable[..., SupervisedAgent]

DAEMON = """
import os, time
if os.fork():
    {parent}
os.setsid()
if os.fork():
    os._exit(0)
open("daemon.new", "w").write(str(os.getpid()))
os.rename("daemon.new", "daemon")
time.sleep(3600)
"""
"""An agent whose grandchild leaves its session and its parent, as a daemon does."""

STORM = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range({width}):
    if not os.fork():
        break
else:
    open("storm", "w").close()
    time.sleep(3600)
while True:
    {leave}
    if os.fork():
        os._exit(0)
"""
"""Chains of processes that live for as long as it takes to fork, and ignore requests to end."""

ESCAPE = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open("ready", "w").close()
while not os.path.exists("go"):
    time.sleep(0.01)
if not os.fork():
    os.setsid()
    open("escaped", "w").close()
    time.sleep(3600)
while not os.path.exists("escaped"):
    time.sleep(0.01)
"""
"""An agent that ignores requests to end. When there is a file `go`, its child leaves its session, and it ends."""

SLOW_BOOT = """
import os, sys, time
sys.path.append(sys.argv[1])
from tildone.fleet import supervisor, process_tree as processes
group_of, kill, rounds = processes._group_of, processes.ContainedTree.kill, []
def counted(tree):
    rounds.append(tree)
    kill(tree)
def slow(pid):
    if len(rounds) == 1 and not os.path.exists({go!r}):
        open({go!r}, "w").close()
        while open(f"/proc/{{pid}}/stat").read().rpartition(") ")[2][0] != "Z":
            time.sleep(0.01)
    return group_of(pid)
processes.ContainedTree.kill, processes._group_of = counted, slow
supervisor.main()
"""
"""A supervisor that, in its first round of killing, looks at the agent, and signals it only after that has ended."""


@pytest.mark.parametrize("code", [0, 7, 255])
def test_an_exit_code_is_reported(code: int, run: Run, means: str) -> None:
    assert ending(run(("sh", "-c", f"exit {code}"), containment=means)) == AgentEnding(How.EXIT, code)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV])
def test_an_agent_that_a_signal_ends_is_reported_with_the_signal(number: signal.Signals, run: Run) -> None:
    assert ending(run(("sh", "-c", f"kill -{int(number)} $$"))) == AgentEnding(How.SIGNAL, number)


def test_an_agent_is_ended_when_the_supervisor_is_told(run: Run, means: str) -> None:
    agent = run(sleeper(), containment=means)
    pid = started(agent)

    agent.stop()

    assert ending(agent) == AgentEnding(How.STOPPED)
    assert not is_running(pid)


def test_an_agent_is_asked_first_and_may_take_its_time(run: Run, tmp_path: Path, means: str) -> None:
    """Within the grace period, it can clean up, and start programs for it."""
    script = f"trap '{wait_for(tmp_path / 'seen')}; sh -c \"echo cleaned\"; exit 0' TERM; {touch(tmp_path / 'ready')}"
    agent = run(("sh", "-c", f"{script}; while :; do sleep 0.02; done"), containment=means, grace=LIMIT_SECONDS)
    until((tmp_path / "ready").exists)

    agent.stop()
    (tmp_path / "seen").touch()

    assert ending(agent) == AgentEnding(How.STOPPED)
    assert (tmp_path / "output").read_text(encoding="utf-8").endswith("cleaned\n")


def test_an_agent_that_ignores_requests_to_end_is_killed(run: Run, tmp_path: Path, means: str) -> None:
    agent = run(sleeper(f"trap '' TERM INT HUP; {touch(tmp_path / 'ready')}"), containment=means)
    until((tmp_path / "ready").exists)

    agent.stop()

    assert ending(agent) == AgentEnding(How.STOPPED)
    assert not is_running(agent.pid)


def test_a_frozen_agent_is_asked_first_too(run: Run, tmp_path: Path, means: str) -> None:
    ready, asked = tmp_path / "ready", tmp_path / "asked"
    script = f"trap '{touch(asked)}; exit 0' TERM; {touch(ready)}; while :; do sleep 0.02; done"
    agent = run(("sh", "-c", script), containment=means, grace=LIMIT_SECONDS)
    until(ready.exists)
    agent.renew(boot_seconds() - 1)
    until(lambda: agent.frozen)

    agent.stop()

    assert ending(agent) == AgentEnding(How.STOPPED)
    assert asked.exists()


def test_an_agent_that_is_frozen_for_too_long_is_killed_and_does_nothing_more(
    run: Run, tmp_path: Path, means: str
) -> None:
    """It is not asked, because it would have to continue for that."""
    ready, asked = tmp_path / "ready", tmp_path / "asked"
    script = f"trap '{touch(asked)}' TERM CONT; {touch(ready)}; while :; do sleep 0.02; done"
    agent = run(("sh", "-c", script), containment=means, grace=LIMIT_SECONDS, max_frozen=0.1)
    until(ready.exists)

    agent.renew(boot_seconds() - 1)

    assert ending(agent) == AgentEnding(How.FROZEN)
    assert not is_running(agent.pid)
    assert not asked.exists()


def test_what_a_double_fork_leaves_is_ended(run: Run, tmp_path: Path, strong_means: str) -> None:
    agent = run(python(DAEMON.format(parent="time.sleep(3600)")), containment=strong_means)
    daemon = pid_in(tmp_path / "daemon")

    agent.stop()

    assert ending(agent) == AgentEnding(How.STOPPED)
    assert not is_running(daemon)


def test_what_an_agent_leaves_when_it_exits_is_ended(run: Run, tmp_path: Path, strong_means: str) -> None:
    leave = f"os.system({wait_for(tmp_path / 'daemon')!r}); os._exit(5)"
    agent = run(python(DAEMON.format(parent=leave)), containment=strong_means)

    assert ending(agent) == AgentEnding(How.EXIT, 5)
    assert not is_running(pid_in(tmp_path / "daemon"))


def test_a_background_process_in_the_same_group_is_ended(run: Run, tmp_path: Path, means: str) -> None:
    agent = run(("sh", "-c", "sleep 3600 & echo $! > background; exit 3"), containment=means)

    assert ending(agent) == AgentEnding(How.EXIT, 3)
    assert not is_running(pid_in(tmp_path / "background"))


@pytest.mark.parametrize("leave", ["pass", "os.setsid()"], ids=["same session", "new sessions"])
def test_a_fork_storm_is_ended(leave: str, run: Run, tmp_path: Path, strong_means: str) -> None:
    lease = new_lease()
    agent = run(python(STORM.format(width=4, leave=leave)), containment=strong_means, lease=lease)
    until((tmp_path / "storm").exists)

    agent.stop()

    assert ending(agent) == AgentEnding(How.STOPPED)
    assert processes_of(lease) == []


def test_what_escapes_one_round_of_killing_is_killed_in_the_next(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that forks between being looked at and being signalled, whose child is in another session by then."""
    monkeypatch.setattr(minding, "_BOOT", SLOW_BOOT.format(go=str(tmp_path / "go")))
    lease = new_lease()
    agent = run(python(ESCAPE), containment=Containment.TREE, lease=lease)
    until((tmp_path / "ready").exists)

    agent.stop()

    assert ending(agent) == AgentEnding(How.STOPPED)
    assert (tmp_path / "escaped").exists()
    assert processes_of(lease) == []


def test_a_fork_storm_in_one_group_is_ended_without_linux(run: Run, tmp_path: Path) -> None:
    lease = new_lease()
    agent = run(python(STORM.format(width=4, leave="pass")), containment=Containment.GROUP, lease=lease)
    until((tmp_path / "storm").exists)

    agent.stop()

    assert ending(agent) == AgentEnding(How.STOPPED)
    assert processes_of(lease) == []


def test_the_control_group_is_removed(run: Run, strong_means: str) -> None:
    agent = run(sleeper(), containment=strong_means)
    started(agent)
    assert bool(agent.cgroup) is (strong_means == Containment.CGROUP)

    agent.stop()
    ending(agent)

    assert not agent.cgroup or not Path(agent.cgroup).exists()


def test_messages_to_an_agent_that_has_ended_are_ignored(run: Run) -> None:
    agent = run(("true",))
    ending(agent)

    agent.renew(1.0)
    agent.stop()
    agent.kill()

    assert ending(agent) == AgentEnding(How.EXIT, 0)


def test_all_agents_are_stopped_together(run: Run, tmp_path: Path) -> None:
    stubborn = sleeper(f"trap '' TERM; {touch(tmp_path / 'ready')}")
    agents = [run(sleeper()), run(stubborn), run(("true",))]
    until((tmp_path / "ready").exists)
    ending(agents[2])

    stop_all(agents)

    assert [ending(agent).how for agent in agents] == [How.STOPPED, How.STOPPED, How.EXIT]


def test_what_a_killed_supervisor_leaves_is_ended_by_the_worker(run: Run, tmp_path: Path, strong_means: str) -> None:
    """The kernel kills the agent; its daemon is found by the control group or by its lease."""
    agent = run(python(DAEMON.format(parent="time.sleep(3600)")), containment=strong_means)
    daemon = pid_in(tmp_path / "daemon")

    agent.kill()

    assert ending(agent) == AgentEnding(How.SUPERVISOR_GONE)
    assert not is_running(agent.pid)
    assert not is_running(daemon)
    assert not agent.cgroup or not Path(agent.cgroup).exists()


def test_the_lease_is_in_the_environment_of_the_agent(tmp_path: Path, run: Run) -> None:
    agent = run(("sh", "-c", 'echo "$TILDONE_LEASE"'), lease="a run/2/7")

    assert ending(agent) == AgentEnding(How.EXIT, 0)
    assert (tmp_path / "output").read_text(encoding="utf-8") == "a run/2/7\n"
    assert command(tmp_path, ("true",)).lease != command(tmp_path, ("true",)).lease
