"""A supervisor ends its agent and everything that the agent has started, however it resists."""

import fcntl
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fleet.agents import (
    FOREVER,
    command,
    ending,
    is_running,
    new_lease,
    pid_in,
    processes_of,
    python,
    sleeper,
    start,
    started,
    state,
    stop,
    stop_all,
    touch,
    wait_for,
)
from tests.project.source import ROOT
from tests.suite.waiting import LIMIT_SECONDS, until
from tildone.base import replace
from tildone.fleet import supervision as leftovers
from tildone.fleet import supervision as minding
from tildone.fleet.handover import MAX_TAIL_BYTES, last_lines
from tildone.fleet.process_tree import Containment, boot_seconds
from tildone.fleet.supervision import AgentEnding, How, SupervisedAgent, Unsupported, end_processes, orphans
from tildone.fleet.supervisor import OutputFile

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


@pytest.mark.parametrize(
    ("script", "expected"),
    [(f"exit {code}", AgentEnding(How.EXIT, code)) for code in (0, 7, 255)]
    + [(f"kill -{number} $$", AgentEnding(How.SIGNAL, number)) for number in (15, 9, 11)],
)
def test_an_exit_code_or_a_signal_is_reported(script: str, expected: AgentEnding, run: Run, means: str) -> None:
    assert ending(run(("sh", "-c", script), containment=means)) == expected


@pytest.mark.parametrize("is_frozen", [False, True])
def test_an_agent_is_asked_first_and_can_take_its_time(
    run: Run, tmp_path: Path, means: str, *, is_frozen: bool
) -> None:
    """Within the grace period, it can clean up, and start programs for it."""
    script = f"trap '{wait_for(tmp_path / 'seen')}; sh -c \"echo cleaned\"; exit 0' TERM; {touch(tmp_path / 'ready')}"
    agent = run(("sh", "-c", f"{script}; while :; do sleep 0.02; done"), containment=means, grace=LIMIT_SECONDS)
    until((tmp_path / "ready").exists)
    if is_frozen:
        agent.renew(boot_seconds() - 1)
        until(lambda: agent.frozen)

    agent.stop()
    (tmp_path / "seen").touch()

    assert ending(agent) == AgentEnding(How.STOPPED)
    assert (tmp_path / "output").read_text(encoding="utf-8").endswith("cleaned\n")


def test_an_agent_frozen_for_too_long_is_killed_and_does_nothing_more(run: Run, tmp_path: Path, means: str) -> None:
    """It is not asked, because it would have to continue for that."""
    ready, asked = tmp_path / "ready", tmp_path / "asked"
    script = f"trap '{touch(asked)}' TERM CONT; {touch(ready)}; while :; do sleep 0.02; done"
    agent = run(("sh", "-c", script), containment=means, grace=LIMIT_SECONDS, max_frozen=0.1)
    until(ready.exists)

    agent.renew(boot_seconds() - 1)

    assert ending(agent) == AgentEnding(How.FROZEN)
    assert not is_running(agent.pid)
    assert not asked.exists()


@pytest.mark.parametrize(
    ("end", "how"), [(SupervisedAgent.stop, How.STOPPED), (SupervisedAgent.kill, How.SUPERVISOR_GONE)]
)
def test_what_a_double_fork_leaves_is_ended(
    end: Callable[[SupervisedAgent], None], how: How, run: Run, tmp_path: Path, strong_means: str
) -> None:
    """Without the supervisor, the kernel ends the agent, and the worker the rest. The control group is removed."""
    agent = run(python(DAEMON.format(parent="time.sleep(3600)")), containment=strong_means)
    daemon = pid_in(tmp_path / "daemon")
    assert bool(agent.cgroup) is (strong_means == Containment.CGROUP)

    end(agent)

    assert ending(agent) == AgentEnding(how)
    assert not is_running(agent.pid)
    assert not is_running(daemon)
    assert not agent.cgroup or not Path(agent.cgroup).exists()


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
def test_a_fork_storm_is_ended(leave: str, run: Run, tmp_path: Path, means: str) -> None:
    """Its processes ignore requests to end. Without Linux, those in other sessions cannot be found."""
    lease = new_lease()
    left = leave if means != Containment.GROUP else "pass"
    agent = run(python(STORM.format(width=4, leave=left)), containment=means, lease=lease)
    until((tmp_path / "storm").exists)

    agent.stop()

    assert ending(agent) == AgentEnding(How.STOPPED)
    assert processes_of(lease) == []


def test_what_escapes_a_round_of_killing_is_killed_later(
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


def test_messages_to_an_agent_that_has_ended_are_ignored(run: Run) -> None:
    agent = run(("true",))
    ending(agent)

    agent.renew(1.0)
    agent.stop()
    agent.kill()

    assert ending(agent) == AgentEnding(How.EXIT, 0)


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


def test_a_full_file_is_renamed_and_a_new_one_begun(tmp_path: Path) -> None:
    path = tmp_path / "output"
    file = OutputFile(str(path), 10)

    for number in range(4):
        file.write(b"line %d\n" % number)

    assert path.read_bytes() == b"line 3\n"
    assert (tmp_path / "output.1").read_bytes() == b"line 2\n"
    assert last_lines(str(path), 5) == ["line 2", "line 3"]
    # Another writer appends to what is there.
    OutputFile(str(path), 10).write(b"next\n")
    assert path.read_bytes() == b"next\n"
    assert (tmp_path / "output.1").read_bytes() == b"line 3\n"
    assert [each.stat().st_mode & 0o777 for each in tmp_path.iterdir()] == [0o600, 0o600]


def test_a_full_disk_does_not_hold_up_an_agent(tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("/dev/full is not there")
    orders = replace(command(tmp_path, ("sh", "-c", "seq 100000; exit 6")), output=str(full))

    agent = SupervisedAgent(orders, boot_seconds() + 3600)

    assert ending(agent) == AgentEnding(How.EXIT, 6)


def test_the_end_of_a_long_output_is_kept(run: Run, tmp_path: Path) -> None:
    agent = run(("sh", "-c", "seq 300000; echo the end"), max_output=500_000)

    assert ending(agent) == AgentEnding(How.EXIT, 0)
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert max(sizes) <= 500_000
    assert last_lines(str(tmp_path / "output"), 3) == ["299999", "300000", "the end"]


def test_what_is_in_the_pipe_when_an_agent_exits_is_not_lost(run: Run, tmp_path: Path) -> None:
    """Even if there is more of it than a supervisor reads at once."""
    enlarge = f"import fcntl, os; fcntl.fcntl(1, {fcntl.F_SETPIPE_SZ}, 1 << 20)"
    agent = run(python(f"{enlarge}; os.system({wait_for(tmp_path / 'go')!r}); os.write(1, bytes(900_000))"))
    pid = started(agent)
    stop(agent.supervisor_pid)
    (tmp_path / "go").touch()
    until(lambda: state(pid) == "Z")

    os.kill(agent.supervisor_pid, signal.SIGCONT)

    assert ending(agent) == AgentEnding(How.EXIT, 0)
    assert (tmp_path / "output").stat().st_size == 900_000


def test_the_last_lines_of_a_file_are_as_they_were_printed(tmp_path: Path) -> None:
    path = tmp_path / "output"
    assert last_lines(str(path), 40) == []
    path.touch()
    assert last_lines(str(path), 40) == []
    path.write_bytes(b"one\ntwo\r\n\x1b[2Jthree\xff")
    assert last_lines(str(path), 2) == ["two\r", "\x1b[2Jthree\ufffd"]
    (tmp_path / "output.1").write_bytes(b"before\n")
    path.write_bytes(b"x" * 2 * MAX_TAIL_BYTES + b"the end")
    [line] = last_lines(str(path), 40)
    assert len(line) == MAX_TAIL_BYTES
    assert line.endswith("xthe end")


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
    """A zombie is none."""
    lost, held = new_lease(), new_lease()
    orphan, child, stopped, ended = leave(lost), leave(held), leave(new_lease()), leave(new_lease(), "exit 0")
    leave("")
    until(lambda: _name(orphan.pid) == "sleep")
    stop(stopped.pid)
    until(lambda: state(ended.pid) == "Z")

    found = {process.pid: process for process in orphans({held})}

    assert not {child.pid, ended.pid, os.getpid()} & found.keys()
    assert (found[orphan.pid].lease, found[orphan.pid].name) == (lost, "sleep")
    assert [found[each.pid].stopped for each in (orphan, stopped)] == [False, True]
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
def test_a_process_without_variables_is_known(
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
