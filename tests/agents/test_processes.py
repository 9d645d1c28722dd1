"""Process queries: the process of an agent, and when a process started."""

import os
import subprocess
import sys
from pathlib import Path
from shlex import quote

import pytest

from tests.agents.facts import HERE
from tildone.stores.agents import agent_process, has_ended, is_running, runs_program, start_time


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux says what a process runs")
def test_the_agent_process_is_the_first_that_is_not_a_shell() -> None:
    show = "from tildone.stores.agents import agent_process; print(agent_process())"
    script = f"env nice sh -c {quote(f'{quote(sys.executable)} -c {quote(show)}; true')}"

    direct = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True)
    wrapped = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)

    assert (int(direct.stdout), int(wrapped.stdout)) == (HERE, HERE)
    assert agent_process() > 0


def test_the_start_time_of_a_process_does_not_change() -> None:
    assert start_time(HERE) == start_time(HERE)
    assert start_time(0) == 0
    assert start_time(2**30) == 0


def test_a_process_that_has_ended_is_not_running() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()

    assert is_running(HERE)
    assert not is_running(ended.pid)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux says that a process is a zombie")
def test_a_process_whose_parent_does_not_ask_for_its_exit_code_has_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        started = start_time(process.pid)
        before = has_ended(process.pid, started)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

        assert (before, has_ended(process.pid, started)) == (False, True)
        assert is_running(process.pid)


@pytest.mark.skipif(sys.platform == "win32", reason="hooks do not know their agent's process there")
def test_a_process_is_known_by_the_program_that_it_runs(tmp_path: Path) -> None:
    """Its own, or the script that its interpreter runs."""
    script = tmp_path / "agent.py"
    script.write_text("print('ready', flush=True)\ninput()\n", encoding="utf-8")
    with subprocess.Popen([sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        # Its command line is set a moment after it has been started.
        process.stdout.readline()
        found = [runs_program(process.pid, names) for names in (("agent",), ("other",), ())]
        process.communicate(b"\n")

    assert found == [True, False, False]
