"""How a supervisor starts its agent, what becomes of it with its worker, and process trees as the kernel shows them."""

import errno
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
    python,
    sleeper,
    started,
    state,
    stop,
    touch,
    wait_for,
    waiter,
)
from tests.needs import need_control_groups
from tests.project.source import ROOT
from tests.suite.waiting import until
from tildone.base import replace
from tildone.fleet import process_tree as cgroup
from tildone.fleet import process_tree as processes
from tildone.fleet.process_tree import Cgroup, Program, boot_seconds, descendants
from tildone.fleet.supervision import (
    AgentCommand,
    AgentEnding,
    How,
    SupervisedAgent,
    SupervisorFailed,
    Unsupported,
    encode_orders,
    orphans,
)
from tildone.fleet.supervisor import Orders, decode_orders

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
        if is_running(self.supervisor):
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

        listed, in_table = list(descendants(root.pid)), list(processes._descendants_in_table(root.pid))  # noqa: SLF001  used on kernels that this machine does not have
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
            monkeypatch.setattr(cgroup, name, str(folder / name))
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
        monkeypatch.setattr(cgroup, name, str(tmp_path / name))

    assert Cgroup.create() is None
    assert list(above.iterdir()) == []
