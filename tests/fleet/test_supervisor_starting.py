"""How a supervisor starts its agent: what the agent inherits, and what is reported if it cannot be started."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fleet.agents import (
    FOREVER,
    command,
    ending,
    is_frozen,
    new_lease,
    processes_of,
    python,
    sleeper,
    started,
    state,
    touch,
)
from tests.needs import need_control_groups
from tests.suite.waiting import until
from tildone.base import replace
from tildone.fleet.process_tree import Cgroup, Program, boot_seconds
from tildone.fleet.supervision import (
    AgentCommand,
    AgentEnding,
    How,
    SupervisedAgent,
    SupervisorFailed,
    Unsupported,
    encode_orders,
)
from tildone.fleet.supervisor import Orders, decode_orders

Run = Callable[..., SupervisedAgent]
PACKAGES = str(Path(sys.modules["tildone"].__file__ or "").parent.parent)


def test_an_agent_gets_its_folder_its_environment_and_no_input(run: Run, tmp_path: Path, means: str) -> None:
    script = "import json, os, sys; print(json.dumps([os.getcwd(), dict(os.environ), sys.stdin.read()]))"
    environ = {"PATH": "/usr/bin:/bin", "A B": "x=y\n\u00e9", "EMPTY": ""}
    lease = new_lease()
    agent = run(python(script), environ=environ, lease=lease, containment=means)

    assert ending(agent) == AgentEnding(How.EXIT, 0)
    folder, variables, text = json.loads((tmp_path / "output").read_text(encoding="utf-8"))
    variables.pop("LC_CTYPE", None)
    assert (folder, text) == (os.path.realpath(tmp_path), "")
    assert variables == environ | {"TILDONE_LEASE": lease}


def test_an_environment_may_be_larger_than_a_pipe(run: Run, tmp_path: Path) -> None:
    big = {f"V{number}": "x" * 1000 for number in range(300)}
    agent = run(python("import os; print(sum(map(len, os.environ.values())) > 300_000)"), environ=big)

    assert ending(agent) == AgentEnding(How.EXIT, 0)
    assert (tmp_path / "output").read_text(encoding="utf-8") == "True\n"


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


def test_an_agent_leads_a_session_of_its_own_and_has_no_other_files_open(run: Run, tmp_path: Path) -> None:
    agent = run(("sh", "-c", "ls /proc/$$/fd; exec sleep 3600"))
    pid = started(agent)
    until(lambda: (tmp_path / "output").exists() and (tmp_path / "output").read_text(encoding="utf-8"))

    assert os.getsid(pid) == os.getpgid(pid) == pid
    assert (tmp_path / "output").read_text(encoding="utf-8").split()[:3] == ["0", "1", "2"]
    assert len((tmp_path / "output").read_text(encoding="utf-8").split()) == 3


def test_a_program_that_does_not_exist_is_reported(run: Run, means: str) -> None:
    agent = run(("no-such-agent", "--now"), containment=means)

    assert ending(agent) == AgentEnding(
        How.FAILED, reason="the program no-such-agent cannot be started: No such file or directory"
    )


def test_a_program_that_may_not_be_executed_is_reported(run: Run, tmp_path: Path) -> None:
    (tmp_path / "agent").write_text("#!/bin/sh\n", encoding="utf-8")

    assert ending(run((str(tmp_path / "agent"),))) == AgentEnding(
        How.FAILED, reason=f"the program {tmp_path / 'agent'} cannot be started: Permission denied"
    )


def test_a_folder_that_does_not_exist_is_reported_in_one_line(tmp_path: Path) -> None:
    missing = tmp_path / "no such\nfolder"
    orders = replace(command(tmp_path, ("true",)), folder=str(missing))

    assert ending(SupervisedAgent(orders, boot_seconds() + FOREVER)) == AgentEnding(
        How.FAILED, reason=f"the folder {tmp_path}/no such folder cannot be entered: No such file or directory"
    )


def test_an_output_file_that_cannot_be_opened_is_reported(tmp_path: Path) -> None:
    orders = replace(command(tmp_path, ("true",)), output=str(tmp_path / "missing" / "output"))

    assert ending(SupervisedAgent(orders, boot_seconds() + FOREVER)) == AgentEnding(
        How.FAILED,
        reason=f"the output file {tmp_path}/missing/output cannot be opened: No such file or directory",
    )


@pytest.mark.parametrize("arguments", [("a\0b",), ("true", "\0")])
def test_a_command_that_no_system_can_start_is_refused(arguments: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(SupervisorFailed, match="contains a NUL character"):
        SupervisedAgent(command(tmp_path, arguments), boot_seconds() + FOREVER)


def test_a_supervisor_that_cannot_be_started_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))

    with pytest.raises(SupervisorFailed, match=r"cannot be started: .*No such file"):
        SupervisedAgent(command(tmp_path, ("true",)), boot_seconds() + FOREVER)


def test_a_supervisor_that_ends_before_it_has_its_orders_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/true")
    big = {"BIG": "x" * 200_000}

    with pytest.raises(SupervisorFailed, match="does not take its orders"):
        SupervisedAgent(command(tmp_path, ("true",), environ=big), boot_seconds() + FOREVER)


def test_on_windows_a_fleet_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")

    with pytest.raises(Unsupported, match="needs Linux or macOS"):
        SupervisedAgent(command(tmp_path, ("true",)), 0.0)


def test_an_agent_is_not_started_before_there_is_a_deadline_in_the_future(tmp_path: Path, means: str) -> None:
    orders = command(tmp_path, ("true",), containment=means)
    agent = SupervisedAgent(orders, boot_seconds() - 1)
    until(lambda: state(agent.supervisor_pid) == "S" and (tmp_path / "output").exists())
    assert processes_of(orders.lease) == []
    assert agent.pid == 0

    agent.renew(boot_seconds() + FOREVER)

    assert ending(agent) == AgentEnding(How.EXIT, 0)
    assert agent.pid


def test_an_agent_that_was_not_started_can_be_stopped(tmp_path: Path) -> None:
    agent = SupervisedAgent(command(tmp_path, ("true",)), boot_seconds() - 1)

    agent.stop()

    assert ending(agent) == AgentEnding(How.STOPPED)
    assert agent.pid == 0


def test_an_agent_freezes_at_its_deadline_and_continues_with_the_next(run: Run, means: str) -> None:
    agent = run(sleeper(), containment=means)
    pid = started(agent)

    for _ in range(3):
        agent.renew(boot_seconds() - 1)
        until(lambda: agent.frozen and is_frozen(agent, [pid]))
        agent.renew(boot_seconds() + FOREVER)
        until(lambda: not agent.frozen and not is_frozen(agent, [pid]))

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
    listed = subprocess.run(
        [sys.executable, "-I", "-S", "-c", show, PACKAGES], capture_output=True, text=True, check=True
    )

    loaded = set(listed.stdout.split())
    assert not loaded & {"signal", "enum", "re", "json", "subprocess", "contextlib", "threading", "collections"}
    assert {name for name in loaded if name.startswith("tildone.") and not name.startswith("tildone.fleet")} == {
        *("tildone.stores.agents", "tildone.stores.agents", "tildone.base.private", "tildone.base.private"),
        *("tildone.base", "tildone.base"),
    }


BOOT = "import sys; sys.path.append(sys.argv[1]); from tildone.fleet.supervisor import main; main()"


def supervisor(tmp_path: Path) -> subprocess.Popen[bytes]:
    """A supervisor with nothing in its pipe yet."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", BOOT, PACKAGES],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def orders_for(tmp_path: Path, *arguments: str, release: tuple[str, ...], seconds: float = 60.0) -> bytes:
    output, environ = str(tmp_path / "output"), dict(os.environ)
    return encode_orders(
        AgentCommand(arguments, str(tmp_path), environ, "r/0/1", output, release, seconds, 1.0, 1000, "tree")
    )


def shell(text: str) -> tuple[str, ...]:
    return "sh", "-c", text


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.99])
def test_a_supervisor_whose_pipe_is_closed_before_its_orders_are_complete_does_nothing(
    share: float, tmp_path: Path
) -> None:
    message = orders_for(tmp_path, "touch", "begun", release=shell(touch(tmp_path / "released")))

    process = supervisor(tmp_path)
    reports, errors = process.communicate(message[: int(len(message) * share)])

    assert (process.returncode, reports, errors) == (0, b"", b"")
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_that_is_closed_before_the_agent_is_started_gives_the_lease_back(tmp_path: Path) -> None:
    process = supervisor(tmp_path)
    message = orders_for(tmp_path, "touch", "begun", release=shell(touch(tmp_path / "released")))

    reports, _ = process.communicate(message)

    assert reports == b"ended worker gone\n"
    assert (tmp_path / "released").exists()
    assert not (tmp_path / "begun").exists()


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


def test_a_release_command_that_hangs_is_killed_with_what_it_started(tmp_path: Path) -> None:
    lease = new_lease()
    hanging = "env", f"TILDONE_LEASE={lease}", *shell("sleep 3600 & sleep 3600")

    reports, _ = supervisor(tmp_path).communicate(orders_for(tmp_path, "true", release=hanging, seconds=0.2))

    assert reports == b"ended worker gone\n"
    assert processes_of(lease) == []


def test_a_release_command_that_cannot_be_started_is_said_in_the_output(tmp_path: Path) -> None:
    reports, _ = supervisor(tmp_path).communicate(orders_for(tmp_path, "true", release=("no-such-program",)))

    assert reports == b"ended worker gone\n"
    assert "the lease is not given back: the program no-such-program" in (tmp_path / "output").read_text("utf-8")


def test_orders_survive_the_pipe() -> None:
    environ = {"NAME": "a=b\n", "EMPTY": ""}
    agent = ("agent", "", "a=b\n\udcff")
    command = AgentCommand(
        agent, "/a folder", environ, "r/0/1", "/out\udcff", ("release", "it"), 1e-3, 0.1, 12, "group", 2.5
    )

    length, _, body = encode_orders(command).partition(b"\n")

    variables = {b"NAME": b"a=b\n", b"EMPTY": b"", b"TILDONE_LEASE": b"r/0/1"}
    program = Program([b"agent", b"", b"a=b\n\xff"], b"/a folder", variables)
    assert int(length) == len(body)
    assert decode_orders(body) == Orders(program, "/out\udcff", 12, 0.1, [b"release", b"it"], 1e-3, "group", 2.5)
