"""The process of the agent behind wrappers and relays, in real process trees, and who has a store open.

The host of the second part names no conversation, as Gemini CLI to its server: only the process tells that hook and
server belong together. A second host in the same folder, started by the same shell, has a plan of its own.
"""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from shlex import quote

import pytest

from tests.stores.processes import finish, start, wait_for
from tests.suite.forking import PROGRAM
from tildone.agents.integrations import INTEGRATIONS, HookPoint
from tildone.base.processes import processes_with_open
from tildone.stores.sqlite.store import SqliteStore

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


AGENT = '''
"""A host: it takes the steps one after the other, and prints the reply to the last."""
import json, os, subprocess, sys
program, name, steps = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
pipe = subprocess.PIPE

with subprocess.Popen([program, "mcp"], stdin=pipe, stdout=pipe) as serving:
    def ask(number, method, params):
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        serving.stdin.write(json.dumps(message).encode() + b"\\n")
        serving.stdin.flush()
        return json.loads(serving.stdout.readline())

    def call(arguments):
        return ask(2, "tools/call", {"name": "todo", "arguments": arguments})

    def hook(event):
        name_of_event, payload = event
        command = [program, "hook", name, name_of_event]
        return subprocess.run(command, input=json.dumps({"cwd": ".", **payload}).encode(), stdout=pipe).stdout.decode()

    def shell(words):
        command = ["bash", "-c", "true; exec " + program + " " + words]
        return subprocess.run(command, stdin=pipe, stdout=pipe, env={**os.environ, "AI_AGENT": "x"}).stdout.decode()

    info = {"name": name + "-cli-mcp-client", "version": "1"}
    ask(1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info})
    serving.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\\n')
    for kind, given in steps:
        reply = {"call": call, "hook": hook, "shell": shell}[kind](given)
    print(reply, flush=True)
    sys.stdin.read()
    serving.stdin.close()
'''
Step = tuple[str, object]


@contextlib.contextmanager
def agent(folder: Path, name: str, program: Path, *steps: Step) -> Iterator["subprocess.Popen[str]"]:
    """A coding agent of that name that takes these steps."""
    pipe, environ = subprocess.PIPE, {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"}
    (folder / name).write_text(AGENT, encoding="utf-8")
    command = [sys.executable, name, str(program), name, json.dumps(steps)]
    with subprocess.Popen(command, cwd=folder, env=environ, stdin=pipe, stdout=pipe, text=True) as host:
        yield host


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
    relay = tmp_path / "relay"
    relay.write_text(RELAY, encoding="utf-8")
    relay.chmod(0o755)
    replies = []
    with contextlib.ExitStack() as stack:
        for task in ("The first", "The second"):
            stops = ("hook", ("AfterAgent", {"prompt_response": "I stop."}))
            host = stack.enter_context(agent(tmp_path, "gemini", relay, ("call", {"add": [task]}), stops))
            assert host.stdout
            replies.append(host.stdout.readline())

    assert [("The first" in text, "The second" in text) for text in replies] == [(True, False), (False, True)]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["gemini", "cursor"])
@pytest.mark.parametrize("begins", ["call", "shell"])
def test_the_first_change_has_the_author_of_all_later_ones(begins: str, name: str, tmp_path: Path) -> None:
    """Only hooks are told the conversation, and they have nothing to say before there is a plan."""
    hooks = INTEGRATIONS[name].hooks
    assert hooks
    tool, conversation = hooks.fields["tool"], hooks.fields["conversation"].split()[0]

    def event(point: HookPoint) -> Step:
        named = next(named for named, other in hooks.points.items() if other is point)
        return "hook", (named, {conversation: "c1", tool: "mcp_tildone_todo"})

    def call(**arguments: object) -> list[Step]:
        return [event(HookPoint.BEFORE_TOOL), ("call", arguments), event(HookPoint.AFTER_TOOL)]

    opened, command = [event(HookPoint.SESSION_START), event(HookPoint.PROMPT)], ("shell", "todo add Two")
    called = [*call(add=["One"]), *call(start=1)]
    steps = [*opened, *called, command] if begins == "call" else [*opened, command, *called]
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    elsewhere = [str(PROGRAM), "--session", "another", "todo", "add", "There is a store"]
    subprocess.run(elsewhere, cwd=tmp_path, env=environ, capture_output=True, check=True)
    with agent(tmp_path, name, PROGRAM, *steps) as host:
        assert host.stdout
        host.stdout.readline()
        with closing(SqliteStore(f"{tmp_path}/.local/share/tildone/tildone.db")) as store:
            authors = [each.author.agent for each in store.events(str(tmp_path))]
            claimed = [claim.agent for claim in store.records.claims(str(tmp_path))]

    assert (authors, claimed) == ([f"{name}:c1"] * 3, [f"{name}:c1"])


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
