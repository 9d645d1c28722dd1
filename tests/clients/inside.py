"""tildone in a real client, installed by `tildone install`; its only other setting is the address of its model."""

import contextlib
import json
import os
import subprocess
import threading
import urllib.request
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.clients.agents import AGENTS, TIMEOUT_SECONDS, Launch, ProcessResult, Sandbox, environment
from tests.clients.model import DONE, SIDE_ANSWER, Model, offered_tools, with_offered_names
from tests.clients.supervisor import supervised
from tests.host.models.model_server import ReceivedRequest, Turn, calls_of
from tests.suite.forking import PROGRAM
from tildone.plan.events import Event, PlanChanged, latest_state
from tildone.plan.model import Status
from tildone.stores.agents import Agent, AgentRegistry
from tildone.stores.sqlite.store import SqliteStore

CLIENTS = ("claude", "codex", "gemini", "opencode", "pi", "qwen", "copilot")
OPENCODES = ("opencode", "kilo")
"""Clients whose agents work in a server."""

TASK = "Do all of it."
GO_ON = "is not done"
"""Part of every text that tells a model to continue."""

MAX_WAITS = 40
WAIT: Mapping[str, Turn] = {"codex": {"tool": "exec_command", "args": {"cmd": "sleep 0.5"}}}
"""What a model does while its tool is missing: Codex asks it before the MCP servers have answered."""

Tasks = list[tuple[str, str]]


class PatientModel(Model):
    """A model that delays each turn until the tools that the turn calls are offered."""

    def __init__(self, *script: Turn, wait: Turn | None = None) -> None:
        super().__init__(*script)
        self.early: list[ReceivedRequest] = []
        self._wait = wait

    def respond(self, request: ReceivedRequest) -> Turn:
        number = len(self.requests)
        turn = self.script[number] if number < len(self.script) else DONE
        if self._wait is None or len(self.early) >= MAX_WAITS or is_ready(request, turn):
            return super().respond(request)
        self.early.append(request)
        return self._wait


class TwoAgentModel(Model):
    """A model for two agents at once, told apart by their tasks; a turn that `waits` blocks until `go` is set.

    `told` is what each was last told before each of its turns.
    """

    def __init__(self, scripts: Mapping[str, Sequence[Turn]], wait: Turn | None = None) -> None:
        super().__init__()
        self.waits, self.go = threading.Event(), threading.Event()
        self.told: dict[str, list[str]] = {task: [] for task in scripts}
        self._left = {task: list(script) for task, script in scripts.items()}
        self._wait = wait

    def respond(self, request: ReceivedRequest) -> Turn:
        names, text = offered_tools(request.body), json.dumps(request.body)
        who = next((task for task in self._left if task in text), None)
        # Recorded, because the ids of tool calls are made from the number of requests.
        self.requests.append(request)
        if who is not None:
            self.told[who].append(last_message(request))
        if not names:
            return SIDE_ANSWER
        left = self._left[who] if who is not None else []
        turn = left[0] if left else DONE
        if self._wait is not None and not is_ready(request, turn):
            return self._wait
        del left[:1]
        if turn.get("waits"):
            self.waits.set()
            self.go.wait(TIMEOUT_SECONDS)
        return with_offered_names(turn, names)


def is_ready(request: ReceivedRequest, turn: Turn) -> bool:
    """Whether every tool that a turn calls is offered, or none is offered at all."""
    names = offered_tools(request.body)
    return not names or all(any(offered.endswith(name) for offered in names) for name, _ in calls_of(turn))


@dataclass(frozen=True, slots=True)
class InstalledClient:
    name: str
    sandbox: Sandbox
    start: Launch
    scope: str = "user"

    @property
    def environ(self) -> dict[str, str]:
        environ = environment(self.name, self.sandbox) | self.start.environ
        if self.scope == "project":
            # The files of a project name tildone without a path.
            environ["PATH"] = f"{PROGRAM.parent}{os.pathsep}{environ['PATH']}"
        return environ

    def run(self, task: str = TASK, *, resume: bool = False, seconds: float = TIMEOUT_SECONDS) -> ProcessResult:
        with self.running(task, resume=resume, seconds=seconds) as process:
            out, err = process.communicate()
        return ProcessResult(process.returncode, out.decode(), err.decode())

    def running(
        self, task: str = TASK, *, resume: bool = False, seconds: float = TIMEOUT_SECONDS
    ) -> contextlib.AbstractContextManager["subprocess.Popen[bytes]"]:
        command = typed(self.name, self.start.command, task, resume=resume)
        return self.supervised(command, seconds)

    def supervised(
        self, command: Sequence[str], seconds: float = TIMEOUT_SECONDS
    ) -> contextlib.AbstractContextManager["subprocess.Popen[bytes]"]:
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        return supervised(
            command, seconds=seconds, cwd=self.sandbox.work, env=self.environ, stdin=nothing, stdout=pipe, stderr=pipe
        )

    def tildone(self, *words: str, given: str = "") -> str:
        done = subprocess.run(
            [PROGRAM, *words],
            cwd=self.sandbox.work,
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
        for folder in (self.sandbox.home, self.sandbox.work):
            for path in folder.rglob("*"):
                is_settings = path.suffix in {".json", ".jsonc", ".toml", ".js", ".ts"} and path.is_file()
                if is_settings and "tildone" in path.read_text(encoding="utf-8", errors="replace"):
                    yield path

    def rewrite(self, old: str, new: str) -> None:
        files = [path for path in self.files() if old in path.read_text(encoding="utf-8")]
        assert files, f"no settings file contains {old}"
        for path in files:
            path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")

    @property
    def data(self) -> Path:
        return self.sandbox.home / ".local" / "share" / "tildone"

    @property
    def agents(self) -> list[Agent]:
        return list(AgentRegistry(str(self.data / "agents"), str(self.sandbox.work)).all())

    def sessions(self) -> dict[str, Tasks]:
        store = SqliteStore(str(self.data / "tildone.db"))
        try:
            return {info.name: self._tasks(store, info.name) for info in store.sessions()}
        finally:
            store.close()

    def events(self) -> list[Event]:
        """The events of the project's plan."""
        with contextlib.closing(SqliteStore(str(self.data / "tildone.db"))) as store:
            return list(store.events(str(self.sandbox.work)))

    @property
    def tasks(self) -> Tasks:
        return self.sessions().get(str(self.sandbox.work), [])

    @staticmethod
    def _tasks(store: SqliteStore, session: str) -> Tasks:
        plan = latest_state(store.history(session)).plan
        return [(task.text, task.status.value) for task in plan.tasks]


def completions(events: Iterable[Event]) -> Counter[int]:
    """Return how often each task became completed."""
    counts: Counter[int] = Counter()
    before: frozenset[int] = frozenset()
    for event in events:
        if isinstance(event.fact, PlanChanged):
            tasks = event.fact.plan.tasks
            after = frozenset(task.number for task in tasks if task.status is Status.COMPLETED)
            counts.update(after - before)
            before = after
    return counts


def install(name: str, sandbox: Sandbox, scope: str = "user") -> InstalledClient:
    """Install tildone into a client that only knows the address of its model."""
    start = AGENTS[name](sandbox, TASK)
    client = InstalledClient(name, sandbox, start, scope)
    if name in OPENCODES:
        for folder in (sandbox.home / ".config" / name, sandbox.work / f".{name}"):
            as_after_a_first_start(folder)
    client.tildone("install", name, "--scope", scope)
    return client


def as_after_a_first_start(folder: Path) -> None:
    """On its first start opencode downloads the types of its plugins; this pretends that it has."""
    (folder / "node_modules").mkdir(parents=True)
    packages = dict.fromkeys(("@opencode-ai/plugin", "@kilocode/plugin"), "*")
    lock = {"packages": {"": {"dependencies": packages}}}
    (folder / "package-lock.json").write_text(json.dumps(lock), encoding="utf-8")


def typed(name: str, command: Sequence[str], task: str, *, resume: bool) -> list[str]:
    """The command line of a client for this task, in a new conversation or the last one."""
    words = [task if word == TASK else word for word in command]
    if name == "pi":
        words += ["--approve"]
    if not resume:
        return words
    if name == "codex":
        return [*words[:-1], "resume", "--last", words[-1]]
    return [*words, *{"gemini": ["--resume", "latest"]}.get(name, ["--continue"])]


def without_tools(request: ReceivedRequest) -> str:
    return json.dumps({key: item for key, item in request.body.items() if key != "tools"}, ensure_ascii=False)


def last_message(request: ReceivedRequest) -> str:
    for key in ("messages", "input", "contents"):
        if key in request.body:
            return json.dumps(request.body[key][-1], ensure_ascii=False)
    return ""


@contextlib.contextmanager
def serving(client: InstalledClient) -> Iterator["Server"]:
    """The server of opencode, as its terminal, desktop and web clients use it."""
    assert client.name in OPENCODES
    with client.supervised([client.name, "serve", "--port", "0"]) as process:
        assert process.stdout
        for line in process.stdout:
            if b"http://" in line:
                with contextlib.closing(Server("http://" + line.decode().partition("http://")[2].split()[0])) as server:
                    yield server
                return
        assert process.stderr
        raise AssertionError(process.stderr.read().decode())


class Server:
    def __init__(self, url: str) -> None:
        self._url = url
        self._events = urllib.request.urlopen(f"{url}/event", timeout=TIMEOUT_SECONDS)  # noqa: S310  loopback
        self.session = self.begin()

    def close(self) -> None:
        self._events.close()

    def say(self, text: str) -> None:
        self._post(f"/session/{self.session}/prompt_async", {"parts": [{"type": "text", "text": text}]})

    def summarize(self) -> None:
        """Ask for a summary of the conversation, as a person does."""
        self._post(f"/session/{self.session}/summarize", {"providerID": "local", "modelID": "scripted"})

    def until(self, kind: str) -> None:
        """Wait for an event, in this conversation if it belongs to one."""
        for line in self._events:
            if line.startswith(b"data:"):
                event = json.loads(line.removeprefix(b"data:"))
                session = event.get("properties", {}).get("sessionID", self.session)
                if event["type"] == kind and session == self.session:
                    return
        raise AssertionError("the server has closed the stream of events")

    def messages(self) -> str:
        with urllib.request.urlopen(  # noqa: S310  loopback
            f"{self._url}/session/{self.session}/message", timeout=TIMEOUT_SECONDS
        ) as answer:
            return json.dumps(json.load(answer), ensure_ascii=False)

    def begin(self) -> str:
        session: str = self._post("/session", {})["id"]
        return session

    def fork(self, message: str = "") -> str:
        """Fork this conversation, at a message if one is named."""
        forked: str = self._post(f"/session/{self.session}/fork", {"messageID": message} if message else {})["id"]
        return forked

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        request = urllib.request.Request(  # noqa: S310  loopback
            self._url + path, json.dumps(body).encode(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310  loopback
            data = answer.read()
        return json.loads(data) if data else None


def program(folder: Path, script: str) -> Path:
    path = folder / "tildone"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    os.chmod(path, 0o755)  # noqa: S103  clients run it
    return path
