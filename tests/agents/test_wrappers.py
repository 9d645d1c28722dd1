"""The process of the agent behind wrappers and relays, in real process trees, and who has a store open.

The host of the second part names no conversation, as Gemini CLI to its server: only the process tells that hook and
server belong together. A second host in the same folder, started by the same shell, has a plan of its own.
"""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from shlex import quote

import pytest

from tests.stores.processes import finish, start, wait_for
from tests.suite.forking import PROGRAM
from tildone.base.processes import processes_with_open

SHOW = "from tildone.stores.agents import agent_process; print(agent_process(['somehost']))"
SHOWN = f"{quote(sys.executable)} -c {quote(SHOW)}"

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
    "a shell": ["sh", "-c", f"{SHOWN}; true"],
    "a shell that is replaced": ["sh", "-c", f"exec {SHOWN}"],
    "programs that only start others": ["env", "A=1", "nohup", "timeout", "60", "nice", "sh", "-c", f"{SHOWN}; true"],
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
    "wrapper.sh": f"#!/bin/sh\n{SHOWN}\nexit 0\n",
    "pipeline.sh": f"#!/bin/sh\ncat | {SHOWN} | cat\n",
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
    if not Path("/proc/self/stat").exists():
        pytest.skip("only Linux says what a process runs")
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


GEMINI = '''
"""A host: it adds a task with the tool, ends its turn, and prints what its hook replies."""
import json, subprocess, sys
server, hook, task = json.loads(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]
pipe = subprocess.PIPE

def stopped():
    event = {"hook_event_name": "AfterAgent", "cwd": ".", "prompt_response": "I stop."}
    return subprocess.run([*hook, "hook", "gemini"], input=json.dumps(event).encode(), stdout=pipe).stdout.decode()

with subprocess.Popen([*server, "mcp"], stdin=pipe, stdout=pipe) as serving:
    def ask(number, method, params):
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        serving.stdin.write(json.dumps(message).encode() + b"\\n")
        serving.stdin.flush()
        return json.loads(serving.stdout.readline())
    info = {"name": "gemini-cli-mcp-client", "version": "1"}
    ask(1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info})
    serving.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\\n')
    ask(2, "tools/call", {"name": "todo", "arguments": {"add": [task]}})
    print(stopped(), flush=True)
    sys.stdin.read()
    serving.stdin.close()
'''
RELAY = f"""#!{SHEBANG}
import subprocess, sys, threading
done = subprocess.Popen([{str(PROGRAM)!r}, *sys.argv[1:]], stdin=-1, stdout=-1)
def feed():
    for line in sys.stdin.buffer:
        done.stdin.write(line)
        done.stdin.flush()
    done.stdin.close()
threading.Thread(target=feed).start()
for line in done.stdout:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
"""


@pytest.mark.usefixtures("folder")
def test_the_hook_holds_the_agent_to_the_plan_of_its_server(tmp_path: Path) -> None:
    """Both behind a relay, so that each has to know the name of the host."""
    relay, pipe = tmp_path / "relay", subprocess.PIPE
    relay.write_text(RELAY, encoding="utf-8")
    relay.chmod(0o755)
    (tmp_path / "gemini").write_text(GEMINI, encoding="utf-8")
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    command = [sys.executable, "gemini", json.dumps([str(relay)]), json.dumps([str(relay)])]
    replies = []
    with contextlib.ExitStack() as stack:
        for task in ("The first", "The second"):
            started = subprocess.Popen([*command, task], cwd=tmp_path, env=environ, stdin=pipe, stdout=pipe, text=True)
            host = stack.enter_context(started)
            assert host.stdout
            replies.append(host.stdout.readline())

    assert [("The first" in text, "The second" in text) for text in replies] == [(True, False), (False, True)]


linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has /proc")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plans.db"


@linux_only
def test_a_process_with_the_store_open_is_found_with_its_command(path: Path) -> None:
    """Also after the file was renamed, by the files that SQLite keeps beside it."""
    with start("keep_open", path) as process:
        wait_for("held-0", process)
        [found] = processes_with_open(str(path)) or []
        path.rename(path.with_name("elsewhere.db"))
        renamed = processes_with_open(str(path))
        path.with_name("elsewhere.db").unlink()
        finish([process])

    assert found.pid == process.pid
    assert "tests.stores.programs keep_open" in found.command
    assert not found.deleted
    assert [each.pid for each in renamed or []] == [process.pid]
    assert processes_with_open(str(path)) == []


@linux_only
def test_a_process_with_a_deleted_store_open_is_marked(path: Path) -> None:
    with start("keep_open", path) as process:
        wait_for("held-0", process)
        for suffix in ("", "-wal", "-shm"):
            Path(f"{path}{suffix}").unlink()
        found = processes_with_open(str(path))
        finish([process])

    assert [(each.pid, each.deleted) for each in found or []] == [(process.pid, True)]


def test_without_proc_the_answer_is_unknown(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")

    assert processes_with_open(str(path)) is None
