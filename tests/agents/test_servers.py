"""Hooks can tell whether a coding agent has our tools: each process that provides them says so while it runs."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tildone.stores.assignment import ANY_AGENT, ProvidedTools, has_tools

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="hooks do not know their agent's process there")


@pytest.fixture
def agents_dir(tmp_path: Path) -> str:
    """The folder of the agent registry."""
    return str(tmp_path / "data" / "agents")


@pytest.fixture
def other() -> Iterator["subprocess.Popen[bytes]"]:
    """Another process, which runs until its standard input is closed."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def test_an_agent_has_tools_while_a_server_serves_it(agents_dir: str) -> None:
    with ProvidedTools(agents_dir, os.getppid()):
        during = has_tools(agents_dir, os.getppid()), has_tools(agents_dir, os.getpid())

    assert during == (True, False)
    assert not has_tools(agents_dir, os.getppid())


def test_a_server_that_was_killed_does_not_count(agents_dir: str, other: "subprocess.Popen[bytes]") -> None:
    ProvidedTools(agents_dir, os.getpid(), server_pid=other.pid).announce()
    before = has_tools(agents_dir, os.getpid())

    other.kill()
    other.wait()

    assert before
    assert not has_tools(agents_dir, os.getpid())


def test_a_later_process_with_the_same_ids_does_not_count(agents_dir: str, other: "subprocess.Popen[bytes]") -> None:
    """The start times in the file are those of the earlier processes."""
    ProvidedTools(agents_dir, os.getpid(), server_pid=other.pid).announce()
    (file,) = Path(agents_dir).with_name("servers").iterdir()

    file.write_text("1 1", encoding="ascii")

    assert not has_tools(agents_dir, os.getpid())


def test_the_next_server_removes_the_files_of_killed_ones(agents_dir: str, other: "subprocess.Popen[bytes]") -> None:
    ProvidedTools(agents_dir, os.getpid(), server_pid=other.pid).announce()
    other.kill()
    other.wait()

    with ProvidedTools(agents_dir, os.getppid()):
        names = [file.name for file in Path(agents_dir).with_name("servers").iterdir()]

    assert names == [f"{os.getppid()}.{os.getpid()}"]


def test_a_server_on_http_serves_every_agent(agents_dir: str) -> None:
    with ProvidedTools(agents_dir, ANY_AGENT):
        assert has_tools(agents_dir, os.getpid())


def test_an_agent_whose_process_is_unknown_counts_as_having_tools(agents_dir: str) -> None:
    assert has_tools(agents_dir, 0)


def test_a_server_serves_where_nothing_can_be_written(agents_dir: str, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file\n", encoding="utf-8")

    with ProvidedTools(agents_dir, os.getpid()):
        assert not has_tools(agents_dir, os.getpid())
