"""The output of an agent: bounded, private, and not in the way of the agent."""

import fcntl
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fleet.agents import command, ending, python, started, state, stop, wait_for
from tests.suite.waiting import until
from tildone.fleet.handover import MAX_TAIL_BYTES, last_lines
from tildone.fleet.process_tree import boot_seconds
from tildone.fleet.supervision import AgentEnding, How, SupervisedAgent
from tildone.fleet.supervisor import OutputFile
from tildone.value import replace


def test_a_full_file_is_renamed_and_a_new_one_begun(tmp_path: Path) -> None:
    path = tmp_path / "output"
    file = OutputFile(str(path), 10)

    for number in range(4):
        file.write(b"line %d\n" % number)

    assert path.read_bytes() == b"line 3\n"
    assert (tmp_path / "output.1").read_bytes() == b"line 2\n"
    assert last_lines(str(path), 5) == ["line 2", "line 3"]


def test_output_is_appended_to_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "output"
    path.write_bytes(b"123456789\n")

    OutputFile(str(path), 10).write(b"next\n")

    assert path.read_bytes() == b"next\n"
    assert (tmp_path / "output.1").read_bytes() == b"123456789\n"


def test_nobody_else_can_read_it(tmp_path: Path) -> None:
    OutputFile(str(tmp_path / "output"), 1).write(b"secret")
    OutputFile(str(tmp_path / "output"), 1).write(b"secret")

    assert [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()] == [0o600, 0o600]


def test_a_full_disk_does_not_hold_up_an_agent(tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("/dev/full is not there")
    orders = replace(command(tmp_path, ("sh", "-c", "seq 100000; exit 6")), output=str(full))

    agent = SupervisedAgent(orders, boot_seconds() + 3600)

    assert ending(agent) == AgentEnding(How.EXIT, 6)


def test_the_end_of_a_long_output_is_kept(run: Callable[..., SupervisedAgent], tmp_path: Path) -> None:
    agent = run(("sh", "-c", "seq 300000; echo the end"), max_output=500_000)

    assert ending(agent) == AgentEnding(How.EXIT, 0)
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert max(sizes) <= 500_000
    assert last_lines(str(tmp_path / "output"), 3) == ["299999", "300000", "the end"]


def test_what_is_in_the_pipe_when_an_agent_exits_is_not_lost(
    run: Callable[..., SupervisedAgent], tmp_path: Path
) -> None:
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


def test_output_that_no_newline_ends_is_a_line(tmp_path: Path) -> None:
    (tmp_path / "output").write_bytes(b"one\ntwo\r\n\x1b[2Jthree\xff")

    assert last_lines(str(tmp_path / "output"), 2) == ["two\r", "\x1b[2Jthree\ufffd"]


def test_a_file_that_is_missing_or_empty_has_no_lines(tmp_path: Path) -> None:
    assert last_lines(str(tmp_path / "output"), 40) == []
    (tmp_path / "output").touch()
    assert last_lines(str(tmp_path / "output"), 40) == []


def test_of_very_long_lines_the_end_is_shown(tmp_path: Path) -> None:
    (tmp_path / "output.1").write_bytes(b"before\n")
    (tmp_path / "output").write_bytes(b"x" * 2 * MAX_TAIL_BYTES + b"the end")

    [line] = last_lines(str(tmp_path / "output"), 40)

    assert len(line) == MAX_TAIL_BYTES
    assert line.endswith("xthe end")
