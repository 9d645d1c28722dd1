"""Sixteen writers on one session through all doors at once: every acknowledged change is in the history exactly once.

A door adds tasks with texts of its own, and prints each text once it is told that the task was added. The doors are the
command line (`todo add` and `call`), MCP servers on stdio, hooks, and sessions in processes of their own.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from tests.faults.tally import Plan, Tally
from tests.hooks.agent import new_workspace
from tests.stores.programs import say
from tests.suite.forking import PROGRAM
from tildone.app.opening import open_session
from tildone.app.settings import load
from tildone.plan.dialects import dialect_named
from tildone.plan.events import PlanChanged
from tildone.plan.model import Plan as TildonePlan

CallTool = Callable[[str, dict[str, Any]], Any]
WRITERS = 16
TIMEOUT_SECONDS = 600
DIALECT = "phased"
"""The dialect without a limit on tasks."""


def doors(plan: Plan, tally: Tally) -> None:
    """Write through all doors, and compare what was acknowledged with the history."""
    with tempfile.TemporaryDirectory() as name:
        workspace = new_workspace(Path(name), TILDONE_DIALECT=DIALECT, TILDONE_SESSION="doors")
        environ = {**os.environ, **workspace.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
        pipe, command = subprocess.PIPE, [sys.executable, "-m", "tests.faults.doors"]
        options: dict[str, Any] = {"cwd": workspace.project, "env": environ, "stdout": pipe, "stderr": pipe}
        writers = [
            subprocess.Popen([*command, door, str(number), str(plan.changes)], text=True, **options)
            for number, door in enumerate(islice(cycle(DOORS), WRITERS))
        ]
        told: list[str] = []
        for number, writer in enumerate(writers):
            out, err = writer.communicate(timeout=TIMEOUT_SECONDS)
            told += out.split()
            failed = writer.returncode != 0
            tally.add(inputs=plan.changes, writers=1, acknowledged=len(out.split()), crashes=int(failed))
            if failed:
                (plan.folder / f"door-{number}.txt").write_text(f"{out}\n{err}", encoding="utf-8")
                print(f"door {number}: {err[-2000:]}", file=sys.stderr, flush=True)
        session = open_session(workspace.settings, dialect_named(DIALECT))
        added = added_texts(
            [event.fact.plan for event in session.store.events("doors") if isinstance(event.fact, PlanChanged)]
        )
        tally.add(lost=sum(added[text] != 1 for text in told), twice=sum(n > 1 for n in added.values()))


def added_texts(plans: Sequence[TildonePlan]) -> Counter[str]:
    """How often each text was added to the plan."""
    before: set[str] = set()
    added: Counter[str] = Counter()
    for plan in plans:
        texts = {task.text for task in plan.tasks}
        added.update(texts - before)
        before = texts
    return added


def append(text: str) -> dict[str, Any]:
    return {"ops": [{"op": "append", "phase": "Doors", "items": [text]}]}


def by_todo(texts: list[str]) -> Iterator[str]:
    for text in texts:
        _command("todo", "add", text)
        yield text


def by_call(texts: list[str]) -> Iterator[str]:
    for text in texts:
        _command("call", "todo_write", json.dumps(append(text)))
        yield text


def by_hook(texts: list[str]) -> Iterator[str]:
    """The shim of pi calls our tools through a hook."""
    for number, text in enumerate(texts):
        payload = {"directory": os.getcwd(), "sessionID": f"{os.getpid()}", "tool": "todo_write", "args": append(text)}
        answer = json.loads(_command("hook", "pi", "call", given=json.dumps(payload)))
        assert not answer["failed"], answer
        yield text
        stop = {"session_id": f"{os.getpid()}", "cwd": os.getcwd(), "n": number}
        _command("hook", "claude", "Stop", given=json.dumps(stop))


def by_mcp(texts: list[str]) -> Iterator[str]:
    with mcp_server("door") as call:
        for text in texts:
            answer = call("todo_write", append(text))
            assert not answer.get("isError"), answer
            yield text


def by_session(texts: list[str]) -> Iterator[str]:
    session = open_session(load({}, os.environ, os.getcwd()), dialect_named(DIALECT))
    for text in texts:
        reply = session.call("todo_write", append(text))
        assert not reply.failed, reply
        yield text


def _command(*argv: str, given: str = "") -> str:
    done = subprocess.run([PROGRAM, *argv], input=given, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done
    return done.stdout


@contextmanager
def mcp_server(client: str, folder: Path | None = None, environ: dict[str, str] | None = None) -> Iterator[CallTool]:
    """Run `tildone mcp`, and yield how its tools are called."""
    pipe = subprocess.PIPE
    with subprocess.Popen([PROGRAM, "mcp"], stdin=pipe, stdout=pipe, text=True, cwd=folder, env=environ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        to_server, from_server = server.stdin, server.stdout

        def ask(method: str, **params: object) -> Any:
            to_server.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
            to_server.flush()
            while "result" not in (answer := json.loads(from_server.readline())):
                assert "method" in answer, answer
            return answer["result"]

        info = {"name": client, "version": "2"}
        ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=info)
        yield lambda tool, arguments: ask("tools/call", name=tool, arguments=arguments)
        to_server.close()


DOORS = {"todo": by_todo, "call": by_call, "mcp": by_mcp, "hook": by_hook, "session": by_session}

if __name__ == "__main__":
    _, door, number, changes = sys.argv
    for added in DOORS[door]([f"{door}-{number}-{each}" for each in range(int(changes))]):
        say(added)
