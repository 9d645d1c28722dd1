"""The process of the agent behind wrappers and relays, in real process trees: a host gives us pipes of its own."""

import os
import subprocess
import sys
from pathlib import Path
from shlex import quote

import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux says what a process runs")

SHOW = "from tildone.stores.agents import agent_process; print(agent_process(['somehost']))"
PROGRAM = f"{quote(sys.executable)} -c {quote(SHOW)}"

SHEBANG = os.path.realpath(sys.executable)
"""Not the environment's: the path of the checkout may contain spaces, which a first line may not."""

HOST = """
import os, subprocess, sys
pipe = subprocess.PIPE
started = subprocess.Popen(sys.argv[1:], stdin=pipe, stdout=pipe)
found = int(started.communicate(b"{}")[0])
print(found, os.getpid())
"""
"""A host: it starts a command with pipes, and prints the process that the command found, and its own."""

WRAPPERS = {
    "a shell": ["sh", "-c", f"{PROGRAM}; true"],
    "a shell that is replaced": ["sh", "-c", f"exec {PROGRAM}"],
    "programs that only start others": ["env", "A=1", "nohup", "timeout", "60", "nice", "sh", "-c", f"{PROGRAM}; true"],
    "a shell script": ["./wrapper.sh"],
    "a pipeline in a shell script": ["./pipeline.sh"],
    "a Python script": [sys.executable, "wrapper.py"],
    "an executable Python script": ["./wrapper.py"],
    "a Python script below a shell script": ["./nested.sh"],
}
RELAYS = {
    "a relay of the input": [sys.executable, "input.py"],
    "a relay of input and output": [sys.executable, "relay.py"],
    "a relay below a shell script": ["./relay.sh"],
}
FILES = {
    "wrapper.sh": f"#!/bin/sh\n{PROGRAM}\nexit 0\n",
    "pipeline.sh": f"#!/bin/sh\ncat | {PROGRAM} | cat\n",
    "nested.sh": "#!/bin/sh\n./wrapper.py\nexit 0\n",
    "relay.sh": f"#!/bin/sh\n{quote(sys.executable)} relay.py\nexit 0\n",
    "wrapper.py": f"#!{SHEBANG}\nimport subprocess\nsubprocess.run({[sys.executable, '-c', SHOW]!r})\n",
    "input.py": (
        f"import subprocess, sys\nsubprocess.run({[sys.executable, '-c', SHOW]!r}, input=sys.stdin.buffer.read())\n"
    ),
    "relay.py": (
        "import subprocess, sys\n"
        f"done = subprocess.run({[sys.executable, '-c', SHOW]!r}, input=sys.stdin.buffer.read(), capture_output=True)\n"
        "sys.stdout.buffer.write(done.stdout)\n"
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the wrappers, and a host that is recognised by its name."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        os.chmod(tmp_path / name, 0o755)  # noqa: S103  the host runs it
    (tmp_path / "somehost").write_text(HOST, encoding="utf-8")
    (tmp_path / "another").write_text(HOST, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("host", ["somehost", "another"])
def test_a_wrapper_is_passed_over_whatever_the_host_is_called(host: str, wrapper: str, folder: Path) -> None:
    found, of_host = run_host(folder, host, WRAPPERS[wrapper])

    assert found == of_host


@pytest.mark.parametrize("relay", RELAYS)
def test_a_known_host_is_found_behind_a_relay(relay: str, folder: Path) -> None:
    found, of_host = run_host(folder, "somehost", RELAYS[relay])

    assert found == of_host


def test_a_relay_below_an_unknown_host_counts_as_the_agent(folder: Path) -> None:
    """It may be a host itself: only a known name above it tells that it is not."""
    found, of_host = run_host(folder, "another", RELAYS["a relay of input and output"])

    assert found != of_host


def test_a_program_that_a_host_runs_at_its_own_input_is_not_taken_for_the_host(folder: Path) -> None:
    """A host runs a test suite, say: its input is no pipe, so it relays nothing, and it is an agent of its own."""
    (folder / "runs.py").write_text(
        "import subprocess, sys\n"
        f"done = subprocess.run({[sys.executable, 'another', sys.executable, '-c', SHOW]!r},"
        " stdin=subprocess.DEVNULL, capture_output=True)\n"
        "sys.stdout.buffer.write(done.stdout.split()[0])\n",
        encoding="utf-8",
    )

    found, of_host = run_host(folder, "somehost", [sys.executable, "runs.py"])

    assert found != of_host


def run_host(folder: Path, host: str, command: list[str]) -> tuple[int, int]:
    """Run a command in a host, and return the process that it found and the host's own."""
    done = subprocess.run(
        [sys.executable, host, *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    found, own = done.stdout.split()
    return int(found), int(own)
