"""A supervisor starts its agent, and ends it and all that it has started, with its worker and however it resists."""

import errno
import fcntl
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
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
    python,
    sleeper,
    start,
    started,
    state,
    stop,
    stop_all,
    touch,
    wait_for,
    waiter,
)
from tests.needs import need_control_groups
from tests.project.source import ROOT
from tests.suite.waiting import LIMIT_SECONDS, until
from tildone.app.transcripts import MAX_TAIL_BYTES, last_lines
from tildone.base import replace
from tildone.fleet import process_tree, supervision
from tildone.fleet.process_tree import Cgroup, Containment, Program, boot_seconds, descendants
from tildone.fleet.supervision import (
    AgentCommand,
    AgentEnding,
    How,
    SupervisedAgent,
    SupervisorFailed,
    Unsupported,
    encode_orders,
    end_processes,
    orphans,
)
from tildone.fleet.supervisor import Orders, OutputFile, decode_orders

Run = Callable[..., SupervisedAgent]
PACKAGES = str(Path(sys.modules["tildone"].__file__ or "").parent.parent)


def test_an_agent_gets_its_folder_its_environment_and_no_input(run: Run, tmp_path: Path, means: str) -> None:
    """The environment may be larger than a pipe."""
    script = "import json, os, sys; print(json.dumps([os.getcwd(), dict(os.environ), sys.stdin.read()]))"
    environ = {"PATH": "/usr/bin:/bin", "A B": "x=y\n\u00e9", "EMPTY": ""} | {f"V{n}": "x" * 1000 for n in range(300)}
    lease = new_lease()
    agent = run(python(script), environ=environ, lease=lease, containment=means)

    assert ending(agent) == AgentEnding(How.EXIT, 0)
    folder, variables, text = json.loads((tmp_path / "output").read_text(encoding="utf-8"))
    variables.pop("LC_CTYPE", None)
    assert (folder, text) == (os.path.realpath(tmp_path), "")
    assert variables == environ | {"TILDONE_LEASE": lease}


def test_both_outputs_go_to_the_file_in_their_order(run: Run, tmp_path: Path) -> None:
    assert ending(run(("sh", "-c", "echo one; echo two >&2; echo three"))) == AgentEnding(How.EXIT, 0)
    assert (tmp_path / "output").read_text(encoding="utf-8") == "one\ntwo\nthree\n"
    assert (tmp_path / "output").stat().st_mode & 0o777 == 0o600


OF_THE_C_LIBRARY = 0b11 << 31
"""Signals 32 and 33, which `posix_spawn` may leave ignored, and which no program can set."""


def test_no_signal_is_ignored_or_blocked_in_the_agent(run: Run, tmp_path: Path) -> None:
    """Although the worker, Python and the supervisor ignore some."""
    before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        agent = run(("grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"))
        assert ending(agent) == AgentEnding(How.EXIT, 0)
    finally:
        signal.signal(signal.SIGUSR1, before)

    lines = (tmp_path / "output").read_text(encoding="utf-8").split()
    assert [int(word, 16) & ~OF_THE_C_LIBRARY for word in lines if ":" not in word] == [0, 0]


def test_an_agent_and_its_supervisor_lead_sessions_and_the_agent_has_no_other_files_open(
    run: Run, tmp_path: Path
) -> None:
    """A signal to the whole group of the worker, even SIGKILL, does not reach the supervisor."""
    agent = run(("sh", "-c", "ls /proc/$$/fd; exec sleep 3600"))
    pid = started(agent)
    opened = until(lambda: (tmp_path / "output").exists() and (tmp_path / "output").read_text(encoding="utf-8"))

    assert os.getsid(pid) == os.getpgid(pid) == pid
    assert os.getsid(agent.supervisor_pid) == os.getpgid(agent.supervisor_pid) == agent.supervisor_pid
    assert opened.split() == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("field", "given", "reason"),
    [
        ("arguments", ("no-agent", "--now"), "the program no-agent cannot be started: No such file or directory"),
        ("arguments", ("{}/agent",), "the program {}/agent cannot be started: Permission denied"),
        ("folder", "{}/no such\nfolder", "the folder {}/no such folder cannot be entered: No such file or directory"),
        ("output", "{}/no/file", "the output file {}/no/file cannot be opened: No such file or directory"),
    ],
)
def test_what_prevents_a_start_is_reported_in_one_line(
    field: str, given: str | tuple[str, ...], reason: str, tmp_path: Path, means: str
) -> None:
    (tmp_path / "agent").write_text("#!/bin/sh\n", encoding="utf-8")
    wrong = given.format(tmp_path) if isinstance(given, str) else tuple(word.format(tmp_path) for word in given)
    orders = replace(command(tmp_path, ("true",), containment=means), **{field: wrong})

    agent = SupervisedAgent(orders, boot_seconds() + FOREVER)

    assert ending(agent) == AgentEnding(How.FAILED, reason=reason.format(tmp_path))


@pytest.mark.parametrize("arguments", [("a\0b",), ("true", "\0")])
def test_a_command_that_no_system_can_start_is_refused(arguments: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(SupervisorFailed, match="contains a NUL character"):
        SupervisedAgent(command(tmp_path, arguments), boot_seconds() + FOREVER)


@pytest.mark.parametrize(
    ("program", "message"),
    [("no-such-python", r"cannot be started: .*No such file"), ("/bin/true", "does not take its orders")],
)
def test_a_supervisor_that_cannot_be_started_or_ends_before_it_has_its_orders_is_reported(
    program: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / program))
    big = {"BIG": "x" * 200_000}

    with pytest.raises(SupervisorFailed, match=message):
        SupervisedAgent(command(tmp_path, ("true",), environ=big), boot_seconds() + FOREVER)


def test_on_windows_a_fleet_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")

    with pytest.raises(Unsupported, match="needs Linux or macOS"):
        SupervisedAgent(command(tmp_path, ("true",)), 0.0)


@pytest.mark.parametrize("is_stopped", [False, True])
def test_an_agent_is_not_started_before_a_deadline_in_the_future(
    tmp_path: Path, means: str, *, is_stopped: bool
) -> None:
    """Until then, it can be stopped."""
    orders = command(tmp_path, ("true",), containment=means)
    agent = SupervisedAgent(orders, boot_seconds() - 1)
    until(lambda: state(agent.supervisor_pid) == "S" and (tmp_path / "output").exists())
    assert (processes_of(orders.lease), agent.pid) == ([], 0)

    agent.stop() if is_stopped else agent.renew(boot_seconds() + FOREVER)

    assert ending(agent) == (AgentEnding(How.STOPPED) if is_stopped else AgentEnding(How.EXIT, 0))
    assert bool(agent.pid) is not is_stopped


def test_an_agent_freezes_at_its_deadline_and_continues_with_the_next(run: Run, means: str) -> None:
    agent = run(sleeper(), containment=means)
    pid = started(agent)

    for _ in range(3):
        agent.renew(boot_seconds() - 1)
        until(lambda: agent.frozen and is_frozen(agent.cgroup, [pid]))
        agent.renew(boot_seconds() + FOREVER)
        until(lambda: not agent.frozen and not is_frozen(agent.cgroup, [pid]))

    agent.stop()
    assert ending(agent) == AgentEnding(How.STOPPED)


def test_a_supervisor_that_hangs_is_killed_when_its_pipe_is_full(run: Run) -> None:
    """The kernel does not let it run, not even after SIGCONT. Deadlines that do not fit are dropped."""
    need_control_groups()
    group = Cgroup.create()
    assert group is not None
    agent = run(sleeper())
    pid = started(agent)
    Path(group.folder, "cgroup.procs").write_text(str(agent.supervisor_pid), encoding="utf-8")
    group.freeze(frozen=True)
    for _ in range(10_000):
        agent.renew(boot_seconds() + FOREVER)

    # The first ones may fit where a deadline does not.
    for _ in range(10):
        agent.stop()

    assert ending(agent) == AgentEnding(How.SUPERVISOR_GONE)
    assert state(pid) in ("", "Z")
    assert until(group.remove)


def test_a_supervisor_imports_little() -> None:
    """It is started for every agent, and its imports are most of its cost."""
    show = "import sys; sys.path.append(sys.argv[1]); import tildone.fleet.supervisor; print(*sys.modules)"
    words = [sys.executable, "-I", "-S", "-c", show, PACKAGES]
    loaded = set(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split())

    assert not loaded & {"signal", "enum", "re", "json", "subprocess", "contextlib", "threading", "collections"}
    assert {name for name in loaded if name.startswith("tildone.") and not name.startswith("tildone.fleet")} == {
        *("tildone.base", "tildone.base.json", "tildone.base.private"),
        *("tildone.stores", "tildone.stores.agents"),
    }


BOOT = "import sys; sys.path.append(sys.argv[1]); from tildone.fleet.supervisor import main; main()"


def supervisor(tmp_path: Path) -> subprocess.Popen[bytes]:
    """A supervisor with nothing in its pipe yet."""
    words, pipe = [sys.executable, "-I", "-S", "-c", BOOT, PACKAGES], subprocess.PIPE
    return subprocess.Popen(words, cwd=tmp_path, stdin=pipe, stdout=pipe, stderr=pipe)


def orders_for(tmp_path: Path, *arguments: str, release: tuple[str, ...], seconds: float = 60.0) -> bytes:
    output, environ = str(tmp_path / "output"), dict(os.environ)
    return encode_orders(
        AgentCommand(arguments, str(tmp_path), environ, "r/0/1", output, release, seconds, 1.0, 1000, "tree")
    )


def shell(text: str) -> tuple[str, ...]:
    return "sh", "-c", text


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.99, 1.0])
def test_a_supervisor_whose_pipe_is_closed_gives_the_lease_back_if_it_has_orders(share: float, tmp_path: Path) -> None:
    """It does not start the agent."""
    message = orders_for(tmp_path, "touch", "begun", release=shell(touch(tmp_path / "released")))

    process = supervisor(tmp_path)
    reports, errors = process.communicate(message[: int(len(message) * share)])

    assert (process.returncode, reports, errors) == (0, b"ended worker gone\n" if share == 1 else b"", b"")
    assert {path.name for path in tmp_path.iterdir()} == ({"output", "released"} if share == 1 else set())


def test_a_worker_that_is_gone_when_the_agent_exits_gives_the_lease_back(tmp_path: Path) -> None:
    """Its pipe for messages is still open, in another process; nobody reads the reports."""
    process = supervisor(tmp_path)
    assert process.stdin
    assert process.stdout
    process.stdout.close()
    process.stdin.write(orders_for(tmp_path, "true", release=shell(touch(tmp_path / "released"))) + b"inf\n")
    process.stdin.flush()

    assert process.wait() == 0

    assert (tmp_path / "released").exists()
    process.communicate()


def test_a_release_command_that_hangs_is_killed_and_one_that_cannot_be_started_is_said(tmp_path: Path) -> None:
    lease = new_lease()
    hanging = "env", f"TILDONE_LEASE={lease}", *shell("sleep 3600 & sleep 3600")

    for release in (hanging, ("no-such-program",)):
        reports, _ = supervisor(tmp_path).communicate(orders_for(tmp_path, "true", release=release, seconds=0.2))
        assert reports == b"ended worker gone\n"

    assert processes_of(lease) == []
    assert "the lease is not given back: the program no-such-program" in (tmp_path / "output").read_text("utf-8")


def test_orders_survive_the_pipe() -> None:
    environ = {"NAME": "a=b\n", "EMPTY": ""}
    given = ("agent", "", "a=b\n\udcff"), "/a folder", environ, "r/0/1", "/out\udcff", ("release", "it")

    length, _, body = encode_orders(AgentCommand(*given, 1e-3, 0.1, 12, "group", 2.5)).partition(b"\n")

    variables = {b"NAME": b"a=b\n", b"EMPTY": b"", b"TILDONE_LEASE": b"r/0/1"}
    program = Program([b"agent", b"", b"a=b\n\xff"], b"/a folder", variables)
    assert int(length) == len(body)
    assert decode_orders(body) == Orders(program, "/out\udcff", 12, 0.1, [b"release", b"it"], 1e-3, "group", 2.5)


LEASE = 2.0
"""The time of a lease in seconds. A worker renews it twenty times as often, and an agent that freezes continues."""


class Worker:
    """A worker in a process of its own."""

    def __init__(self, folder: Path, arguments: tuple[str, ...], seconds: float = LEASE, **other: Any) -> None:
        fields = command(folder, arguments, **other)
        named = {name: getattr(fields, name) for name in type(fields).__match_args__}
        words = [sys.executable, "-m", "tests.fleet.worker", str(seconds), json.dumps(named)]
        environ, pipe = {**os.environ, "WORKERS_SECRET": "known"}, subprocess.PIPE
        self.process = subprocess.Popen(words, cwd=ROOT, env=environ, stdout=pipe, text=True, process_group=0)
        supervisor, agent, *cgroup = self.line().split()
        self.supervisor, self.agent, self.cgroup = int(supervisor), int(agent), "".join(cgroup)

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        with suppress(ProcessLookupError):
            os.kill(self.supervisor, signal.SIGCONT)
        until(lambda: not is_running(self.supervisor))


Work = Callable[..., Worker]


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Work]:
    workers: list[Worker] = []

    def start(*arguments: Any, **other: Any) -> Worker:
        workers.append(Worker(tmp_path, *arguments, **other))
        return workers[-1]

    yield start
    for worker in workers:
        worker.close()


def test_the_agent_of_a_killed_worker_is_ended_and_then_the_lease_is_given_back(
    work: Work, tmp_path: Path, means: str
) -> None:
    """The release command has the environment of the worker, which the agent has not."""
    look = "kill -0 $(cat pid) 2>/dev/null && echo alive || echo gone"
    release = shell(f'cd "{tmp_path}"; ({look}; echo "$WORKERS_SECRET") > released.new; mv released.new released')
    script = 'trap "" TERM; echo $$ > pid; echo "$WORKERS_SECRET" > seen; sleep 3600 & wait; wait'
    worker = work(("sh", "-c", script), containment=means, release=release)
    pid_in(tmp_path / "pid")

    worker.process.kill()
    until((tmp_path / "released").exists)

    assert (tmp_path / "released").read_text(encoding="utf-8") == "gone\nknown\n"
    assert (tmp_path / "seen").read_text(encoding="utf-8") == "\n"
    until(lambda: not is_running(worker.supervisor))


@pytest.mark.parametrize("is_killed", [False, True])
def test_the_agent_of_a_stopped_worker_is_frozen_and_goes_on_when_the_worker_does_or_is_ended_when_it_is_killed(
    work: Work, tmp_path: Path, means: str, *, is_killed: bool
) -> None:
    worker = work(sleeper("trap '' TERM") if is_killed else waiter(tmp_path / "go", 4), containment=means)

    stop(worker.process.pid)
    until(lambda: is_frozen(worker.cgroup, [worker.agent]))
    (tmp_path / "go").touch()
    worker.process.send_signal(signal.SIGKILL if is_killed else signal.SIGCONT)

    assert bool(worker.cgroup) is (means == "cgroup")
    assert is_killed or worker.line() == repr(AgentEnding(How.EXIT, 4))
    until(lambda: not is_running(worker.agent))
    until(lambda: not is_running(worker.supervisor))


def test_an_agent_dies_with_its_supervisor_and_what_it_leaves_is_an_orphan(
    work: Work, tmp_path: Path, strong_means: str
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
    assert worker.line() == repr(AgentEnding(How.SUPERVISOR_GONE))
    assert processes_of(lease) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP])
def test_a_supervisor_does_not_die_before_its_agent(number: signal.Signals, run: Run, tmp_path: Path) -> None:
    agent = run(("sh", "-c", f"{wait_for(tmp_path / 'go')}; exit 4"))
    started(agent)

    os.kill(agent.supervisor_pid, number)
    (tmp_path / "go").touch()

    assert ending(agent) == AgentEnding(How.EXIT, 4)


def test_a_stopped_supervisor_notices_its_deadline_when_it_continues_as_with_a_message(run: Run, means: str) -> None:
    agent = run(sleeper(), containment=means)
    pid = started(agent)
    deadline = boot_seconds() + 1
    agent.renew(deadline)
    stop(agent.supervisor_pid)
    until(lambda: boot_seconds() > deadline)

    os.kill(agent.supervisor_pid, signal.SIGCONT)

    until(lambda: agent.frozen and is_frozen(agent.cgroup, [pid]))
    stop(agent.supervisor_pid)
    agent.stop()
    assert ending(agent) == AgentEnding(How.STOPPED)


def test_a_stopped_supervisor_notices_later_that_its_worker_is_gone(work: Work, tmp_path: Path) -> None:
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


def test_descendants_are_found_with_and_without_the_list_of_children(tmp_path: Path) -> None:
    script = "sh -c 'sleep 3600 & echo $! > leaf; wait' & wait"
    with subprocess.Popen(["sh", "-c", script], cwd=tmp_path, start_new_session=True) as root:
        leaf = pid_in(tmp_path / "leaf")

        listed, in_table = list(descendants(root.pid)), list(process_tree._descendants_in_table(root.pid))  # noqa: SLF001  used on kernels that this machine does not have
        os.killpg(root.pid, 9)

        below_leaf = list(descendants(leaf))

    assert listed == in_table
    assert listed[-1] == leaf
    assert len(listed) == 2
    assert below_leaf == []


def test_the_clock_is_that_of_the_machine() -> None:
    uptime = float(Path("/proc/uptime").read_text(encoding="utf-8").split()[0])

    assert uptime - 1 <= boot_seconds() <= uptime + 120


def test_a_control_group_kills_what_is_in_it_and_in_groups_inside_it() -> None:
    need_control_groups()
    group = Cgroup.create()
    assert group is not None
    inner = Path(group.folder, "inner")
    inner.mkdir()
    with subprocess.Popen(["sleep", "3600"]) as process:
        (inner / "cgroup.procs").write_text(str(process.pid), encoding="utf-8")
        assert not group.remove()

        group.freeze(frozen=True)
        group.kill()

        until(lambda: not is_running(process.pid))
    assert until(group.remove)
    assert not inner.exists()


class PretendedKernel:
    """A hierarchy in an ordinary folder, for users who may make no control groups: it makes the files of a group.

    The name of its folder contains a space.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, *, without: str = "") -> None:
        above = folder / "c group"
        self.group = above / "user.slice" / f"tildone-{os.getpid()}"
        self._without, self._mkdir, self._rmdir = without, os.mkdir, os.rmdir
        self.group.parent.mkdir(parents=True)
        escaped = str(above).replace(" ", "\\040")
        mounts = f"tmpfs /tmp tmpfs rw 0 0\nx {escaped} cgroup2 rw 0 0\n"
        for name, text in (("_MOUNTS", mounts), ("_OWN", "4:memory:/x\n0::/user.slice\n")):
            (folder / name).write_text(text, encoding="utf-8")
            monkeypatch.setattr(process_tree, name, str(folder / name))
        monkeypatch.setattr(os, "mkdir", self.mkdir)
        monkeypatch.setattr(os, "rmdir", self.rmdir)

    def mkdir(self, path: str) -> None:
        self._mkdir(path)
        for name in {"cgroup.procs", "cgroup.freeze", "cgroup.kill"} - {self._without}:
            Path(path, name).touch()

    def rmdir(self, path: str) -> None:
        """The files of a group go with it. One with processes stays."""
        if Path(path, "busy").exists():
            raise OSError(errno.EBUSY, "a process is in it")
        for file in Path(path).glob("cgroup.*"):
            file.unlink()
        self._rmdir(path)

    def written(self, name: str) -> str:
        return (self.group / name).read_text(encoding="utf-8")


def test_what_a_control_group_writes_to_files_and_how_it_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was left is replaced. It is removed with those inside it, unless one has processes."""
    kernel = PretendedKernel(tmp_path, monkeypatch)
    kernel.mkdir(str(kernel.group))
    kernel.mkdir(str(kernel.group / "left"))

    group = Cgroup.create()

    assert group is not None
    assert (group.folder, (kernel.group / "left").exists()) == (str(kernel.group), False)
    group.enter()
    group.kill()
    group.freeze(frozen=True)
    assert [kernel.written(f"cgroup.{name}") for name in ("procs", "kill", "freeze")] == ["0", "1", "1"]
    group.freeze(frozen=False)
    assert kernel.written("cgroup.freeze") == "0"
    kernel.mkdir(str(kernel.group / "inner"))
    busy = kernel.group / "inner" / "busy"
    busy.touch()
    assert (group.remove(), kernel.group.exists()) == (False, True)
    busy.unlink()
    assert (group.remove(), kernel.group.exists()) == (True, False)


@pytest.mark.parametrize("without", ["cgroup.procs", "cgroup.freeze", "cgroup.kill"])
def test_a_kernel_without_a_file_leaves_nothing_behind(
    without: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = PretendedKernel(tmp_path, monkeypatch, without=without)

    assert Cgroup.create() is None
    assert not kernel.group.exists()


@pytest.mark.parametrize(
    ("mounts", "own"),
    [
        ("tmpfs /tmp tmpfs rw 0 0\n", "0::/\n"),
        ("cgroup2 {above} cgroup2 rw 0 0\n", "4:memory:/x\n"),
        ("cgroup2 {above} cgroup2 rw 0 0\n", "0::/../outside\n"),
        ("cgroup2 {above}/missing cgroup2 rw 0 0\n", "0::/\n"),
        # An ordinary folder, in which the kernel creates no files.
        ("cgroup2 {above} cgroup2 rw 0 0\n", "0::/\n"),
    ],
    ids=["not mounted", "version 1", "outside", "missing", "no control group"],
)
def test_without_a_hierarchy_there_is_no_group(
    mounts: str, own: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    above = tmp_path / "cgroups"
    above.mkdir()
    for name, text in (("_MOUNTS", mounts.format(above=above)), ("_OWN", own)):
        (tmp_path / name).write_text(text, encoding="utf-8")
        monkeypatch.setattr(process_tree, name, str(tmp_path / name))

    assert Cgroup.create() is None
    assert list(above.iterdir()) == []


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
    monkeypatch.setattr(supervision, "_BOOT", SLOW_BOOT.format(go=str(tmp_path / "go")))
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
    folders = [tmp_path / str(number) for number in range(count)]
    for folder in folders:
        folder.mkdir()
    agents = [start(folder, sleeper(), lease=lease) for folder, lease in zip(folders, leases, strict=True)]
    for agent in agents:
        started(agent)

    for agent in agents:
        agent.renew(boot_seconds() - 1)
    until(lambda: all(agent.frozen for agent in agents))
    for agent in agents:
        agent.renew(boot_seconds() + 3600)
    until(lambda: not any(agent.frozen for agent in agents))
    stop_all(agents)

    assert [ending(agent) for agent in agents] == [AgentEnding(How.STOPPED)] * count
    assert not any(is_running(agent.pid) or is_running(agent.supervisor_pid) for agent in agents)
    assert all(processes_of(lease) == [] for lease in leases[:3])


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
    monkeypatch.setattr(supervision, "_EXEC_SECONDS", FOREVER)
    monkeypatch.setattr(time, "sleep", lambda seconds: pause(seconds + 0 * next(pauses)))
    if is_kernel_thread:
        monkeypatch.setattr(supervision, "process_stat", lambda _pid: ("kthreadd", KERNEL_THREAD))

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
    monkeypatch.setattr(supervision, "_kill", lambda _process: None)
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
