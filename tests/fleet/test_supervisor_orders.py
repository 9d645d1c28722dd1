"""What a supervisor does with its orders, and with a pipe that is closed early."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fleet.agents import new_lease, processes_of, touch
from tildone.fleet.process_tree import Program
from tildone.fleet.supervision import AgentCommand, encode_orders
from tildone.fleet.supervisor import Orders, decode_orders

PACKAGES = str(Path(sys.modules["tildone"].__file__ or "").parent.parent)
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
