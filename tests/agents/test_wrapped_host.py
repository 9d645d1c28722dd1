"""The hooks and the MCP server of a host meet on one plan, whatever programs stand between the host and ours.

The host names no conversation, as Gemini CLI to its server: only the process tells that hook and server belong
together. A second host in the same folder, started by the same shell, has a plan of its own.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.suite.forking import PROGRAM

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux says what a process runs")

SHEBANG = os.path.realpath(sys.executable)
"""Not the environment's: the path of the checkout may contain spaces, which a first line may not."""

HOST = '''
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
FILES = {
    "wrapper.sh": f'#!/bin/sh\n"{PROGRAM}" "$@"\nexit 0\n',
    "wrapper.py": f"#!{SHEBANG}\nimport subprocess, sys\nsubprocess.run([{str(PROGRAM)!r}, *sys.argv[1:]])\n",
    "relay.py": (
        f"#!{SHEBANG}\nimport subprocess, sys\n"
        f"done = subprocess.Popen([{str(PROGRAM)!r}, *sys.argv[1:]], stdin=-1, stdout=-1)\n"
        "import threading\n"
        "def feed():\n"
        "    for line in sys.stdin.buffer:\n"
        "        done.stdin.write(line)\n"
        "        done.stdin.flush()\n"
        "    done.stdin.close()\n"
        "threading.Thread(target=feed).start()\n"
        "for line in done.stdout:\n"
        "    sys.stdout.buffer.write(line)\n"
        "    sys.stdout.buffer.flush()\n"
    ),
}
DIRECT = [str(PROGRAM)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the wrappers and the host."""
    for name, text in {**FILES, "gemini": HOST}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        os.chmod(tmp_path / name, 0o755)  # noqa: S103  the host runs it
    return tmp_path


@pytest.mark.parametrize(
    ("server", "hook"),
    [
        (["./wrapper.sh"], DIRECT),
        (DIRECT, ["./wrapper.sh"]),
        (["./wrapper.py"], ["./wrapper.sh"]),
        (["env", "A=1", "timeout", "60", "./wrapper.sh"], ["./wrapper.py"]),
        (["./relay.py"], ["./relay.py"]),
    ],
    ids=["server in a script", "hook in a script", "both in scripts", "in several programs", "relays"],
)
def test_the_hook_holds_the_agent_to_the_plan_of_its_server(folder: Path, server: list[str], hook: list[str]) -> None:
    with host(folder, server, hook, "The first") as first, host(folder, server, hook, "The second") as second:
        replies = [reply(first), reply(second)]
        for each in (first, second):
            assert each.stdin
            each.stdin.close()

    assert ["The first" in text for text in replies] == [True, False]
    assert ["The second" in text for text in replies] == [False, True]


def host(folder: Path, server: list[str], hook: list[str], task: str) -> "subprocess.Popen[str]":
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"}
    command = [sys.executable, "gemini", json.dumps(server), json.dumps(hook), task]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, env=environ, stdin=pipe, stdout=pipe, text=True)


def reply(started: "subprocess.Popen[str]") -> str:
    assert started.stdout
    return started.stdout.readline()
