"""tildone in a real client, installed by `tildone install`; its only other setting is the address of its model."""

import contextlib
import json
import os
import subprocess
import threading
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.person import PROGRAM
from tests.clients.agents import AGENTS, SECONDS, Desk, Ended, Start, environment
from tests.clients.leash import leashed
from tests.clients.model import ASIDE, DONE, Model, offered, spoken
from tests.host.models.wire import Asked, Turn, calls_of
from tildone.agents.registry import Agent, AgentRegistry
from tildone.log.state import latest_state
from tildone.stores.sqlite.store import SqliteStore

CLIENTS = ("claude", "codex", "gemini", "opencode", "pi")
TASK = "Do all of it."
GO_ON = "is not done"
"""Part of every text that tells a model to continue."""

MOST_WAITS = 40
WAIT: Mapping[str, Turn] = {"codex": {"tool": "exec_command", "args": {"cmd": "sleep 0.5"}}}
"""What a model does while its tool is missing: Codex asks it before the MCP servers have answered."""

Tasks = list[tuple[str, str]]


class Waiting(Model):
    """A model that takes its turn only when the tools that it is about to call are offered."""

    def __init__(self, *script: Turn, wait: Turn | None = None) -> None:
        super().__init__(*script)
        self.early: list[Asked] = []
        self._wait = wait

    def take(self, asked: Asked) -> Turn:
        number = len(self.asked)
        turn = self.script[number] if number < len(self.script) else DONE
        if self._wait is None or len(self.early) >= MOST_WAITS or is_ready(asked, turn):
            return super().take(asked)
        self.early.append(asked)
        return self._wait


class Two(Model):
    """A model for two agents at once, told apart by their tasks; a turn that `waits` blocks until `go` is set."""

    def __init__(self, scripts: Mapping[str, Sequence[Turn]], wait: Turn | None = None) -> None:
        super().__init__()
        self.waits, self.go = threading.Event(), threading.Event()
        self._left = {task: list(script) for task, script in scripts.items()}
        self._wait = wait

    def take(self, asked: Asked) -> Turn:
        names, said = offered(asked.body), json.dumps(asked.body)
        left = next((script for task, script in self._left.items() if task in said), [])
        if not names:
            return ASIDE
        turn = left[0] if left else DONE
        if self._wait is not None and not is_ready(asked, turn):
            return self._wait
        del left[:1]
        if turn.get("waits"):
            self.waits.set()
            self.go.wait(SECONDS)
        return spoken(turn, names)


def is_ready(asked: Asked, turn: Turn) -> bool:
    """Whether every tool that a turn calls is offered, or none is offered at all."""
    names = offered(asked.body)
    return not names or all(any(one.endswith(name) for one in names) for name, _ in calls_of(turn))


@dataclass(frozen=True, slots=True)
class Inside:
    """A client with tildone installed, in a workspace of its own."""

    name: str
    desk: Desk
    start: Start
    scope: str = "user"

    @property
    def environ(self) -> dict[str, str]:
        return environment(self.name, self.desk) | self.start.environ

    def run(self, task: str = TASK, *, resume: bool = False, seconds: float = SECONDS) -> Ended:
        """Let the client do a task to its end, in a new conversation or the last one."""
        with self.running(task, resume=resume, seconds=seconds) as process:
            out, err = process.communicate()
        return Ended(process.returncode, out.decode(), err.decode())

    def running(
        self, task: str = TASK, *, resume: bool = False, seconds: float = SECONDS
    ) -> contextlib.AbstractContextManager["subprocess.Popen[bytes]"]:
        command = typed(self.name, self.start.command, task, resume=resume)
        return self.leashed(command, seconds)

    def leashed(
        self, command: Sequence[str], seconds: float = SECONDS
    ) -> contextlib.AbstractContextManager["subprocess.Popen[bytes]"]:
        """Run a command in the environment of the client."""
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        return leashed(
            command, seconds=seconds, cwd=self.desk.work, env=self.environ, stdin=nothing, stdout=pipe, stderr=pipe
        )

    def tildone(self, *words: str, given: str = "") -> str:
        """The output of a tildone command in the folder of the client."""
        done = subprocess.run(
            [PROGRAM, *words],
            cwd=self.desk.work,
            env=self.environ,
            input=given,
            text=True,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done
        return done.stdout

    def files(self) -> Iterator[Path]:
        """The files of the client that an installation changed."""
        for folder in (self.desk.home, self.desk.work):
            for path in folder.rglob("*"):
                ours = path.suffix in {".json", ".jsonc", ".toml", ".js", ".ts"} and path.is_file()
                if ours and "tildone" in path.read_text(encoding="utf-8", errors="replace"):
                    yield path

    def rewrite(self, old: str, new: str) -> None:
        """Replace a text in all files that an installation changed."""
        found = [path for path in self.files() if old in path.read_text(encoding="utf-8")]
        assert found, f"{old} is nowhere"
        for path in found:
            path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")

    @property
    def data(self) -> Path:
        return self.desk.home / ".local" / "share" / "tildone"

    @property
    def agents(self) -> list[Agent]:
        return list(AgentRegistry(str(self.data / "agents"), str(self.desk.work)).all())

    def sessions(self) -> dict[str, Tasks]:
        """Every plan there is, by the name of its session."""
        store = SqliteStore(str(self.data / "tildone.db"))
        try:
            return {info.name: self._tasks(store, info.name) for info in store.sessions()}
        finally:
            store.close()

    @property
    def tasks(self) -> Tasks:
        """The project's plan."""
        return self.sessions().get(str(self.desk.work), [])

    @staticmethod
    def _tasks(store: SqliteStore, session: str) -> Tasks:
        plan = latest_state(store.history(session)).plan
        return [(task.text, task.status.value) for task in plan.tasks]


def install(name: str, desk: Desk, scope: str = "user") -> Inside:
    """Install tildone into a client that only knows the address of its model."""
    start = AGENTS[name](desk, TASK)
    inside = Inside(name, desk, start, scope)
    if name == "opencode":
        for folder in (desk.home / ".config" / "opencode", desk.work / ".opencode"):
            _as_after_a_first_start(folder)
    inside.tildone("install", name, "--scope", scope)
    return inside


def _as_after_a_first_start(folder: Path) -> None:
    """On its first start opencode downloads the types of its plugins; this pretends that it has."""
    (folder / "node_modules").mkdir(parents=True)
    lock = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
    (folder / "package-lock.json").write_text(json.dumps(lock), encoding="utf-8")


def typed(name: str, command: Sequence[str], task: str, *, resume: bool) -> list[str]:
    """The command line of a client for this task, in a new conversation or the last one."""
    words = [task if word == TASK else word for word in command]
    if name == "claude":
        # The servers are those of the installation.
        words = words[: words.index("--mcp-config")]
    if name == "pi":
        words += ["--approve"]
    if not resume:
        return words
    if name == "codex":
        return [*words[:-1], "resume", "--last", words[-1]]
    return [*words, *{"gemini": ["--resume", "latest"]}.get(name, ["--continue"])]


def shown(asked: Asked) -> str:
    """Everything in a request except for the tools."""
    return json.dumps({key: held for key, held in asked.body.items() if key != "tools"}, ensure_ascii=False)


def newest(asked: Asked) -> str:
    """The last message of a request."""
    for key in ("messages", "input", "contents"):
        if key in asked.body:
            return json.dumps(asked.body[key][-1], ensure_ascii=False)
    return ""


@contextlib.contextmanager
def serving(inside: Inside) -> Iterator["Server"]:
    """The server of opencode, as its terminal, desktop and web clients use it."""
    assert inside.name == "opencode"
    with inside.leashed(["opencode", "serve", "--port", "0"]) as process:
        assert process.stdout
        for line in process.stdout:
            if b"http://" in line:
                yield Server("http://" + line.decode().partition("http://")[2].split()[0])
                return
        assert process.stderr
        raise AssertionError(process.stderr.read().decode())


class Server:
    """A client of that server."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._events = urllib.request.urlopen(f"{url}/event", timeout=SECONDS)  # noqa: S310  loopback
        self.session = self.begin()

    def say(self, text: str) -> None:
        """Send a prompt without waiting for the reply."""
        self._post(f"/session/{self.session}/prompt_async", {"parts": [{"type": "text", "text": text}]})

    def until(self, kind: str) -> None:
        """Wait for an event, in this conversation if it belongs to one."""
        for line in self._events:
            if line.startswith(b"data:"):
                event = json.loads(line.removeprefix(b"data:"))
                whose = event.get("properties", {}).get("sessionID", self.session)
                if event["type"] == kind and whose == self.session:
                    return
        raise AssertionError("the server has gone")

    def begin(self) -> str:
        """Start another conversation."""
        made: str = self._post("/session", {})["id"]
        return made

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        request = urllib.request.Request(  # noqa: S310  loopback
            self._url + path, json.dumps(body).encode(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310  loopback
            said = answer.read()
        return json.loads(said) if said else None


def program(folder: Path, script: str) -> Path:
    """Another program named tildone."""
    path = folder / "tildone"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    os.chmod(path, 0o755)  # noqa: S103  clients run it
    return path
