"""A coding agent that calls our hooks: in this process, which is fast, or in a process of its own, as real ones do."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cli.person import PROGRAM, Answer
from tildone.agents.identity import AgentId
from tildone.agents.registry import Agent, AgentRegistry
from tildone.config import Settings, load
from tildone.core.ops import Write
from tildone.core.plan import Plan, Status, Task, flat
from tildone.dialects.by_hand import BY_HAND
from tildone.hooks import main
from tildone.integrations import INTEGRATIONS, names_with_hooks
from tildone.integrations.claude import INTEGRATION as CLAUDE
from tildone.integrations.cursor import INTEGRATION as CURSOR
from tildone.integrations.record import HookPoint, Hooks, Integration
from tildone.session import Session
from tildone.stores.sqlite.store import SqliteStore
from tildone.wiring import open_session

WITH_HOOKS = {name: INTEGRATIONS[name] for name in names_with_hooks()}


def hooks_of(integration: Integration) -> Hooks:
    assert integration.hooks is not None
    return integration.hooks


VARIABLES = [
    variable
    for hooks in map(hooks_of, WITH_HOOKS.values())
    for variable in (hooks.conversation_variable, hooks.project_variable)
    if variable
]
NOBODYS = dict.fromkeys([*VARIABLES, "TILDONE_STORE", "TILDONE_SESSION", "TILDONE_DIALECT"], "")
"""Variables that would make a hook use the conversation or store of whoever runs the tests."""

Tasks = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Workspace:
    """A project, and a home with settings and stores."""

    project: Path
    home: Path
    more: dict[str, str] = field(default_factory=dict)

    @property
    def environ(self) -> dict[str, str]:
        homes = {name: str(self.home) for name in ("HOME", "USERPROFILE", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
        return {**NOBODYS, **homes, **self.more}

    @property
    def settings(self) -> Settings:
        return load({}, self.environ, str(self.project))

    @property
    def agents(self) -> AgentRegistry:
        settings = self.settings
        return AgentRegistry(settings.agents_dir, settings.project)

    @property
    def session(self) -> Session:
        """The session of the project, as a person edits it."""
        return self.session_of(self.settings.session)

    def session_of(self, name: str) -> Session:
        settings = self.settings
        store = SqliteStore(settings.store.location)
        return open_session(Settings(settings.store, name, settings.project), BY_HAND, store)

    def plan(self, *tasks: tuple[str, str]) -> None:
        """Replace the plan."""
        self.session.change((Write(plan_of(tasks).phases),))

    @property
    def tasks(self) -> Tasks:
        return tasks_of(self.session.plan)


@dataclass(frozen=True, slots=True)
class HookedAgent:
    """An agent in a workspace: its integration, and its conversation id."""

    workspace: Workspace
    integration: Integration = CLAUDE
    id: str = "s1"

    @property
    def key(self) -> str:
        return f"{self.integration.name}:{self.id}"

    @property
    def record(self) -> Agent | None:
        return self.workspace.agents.get(AgentId.parse(self.key))

    def event(self, point: HookPoint) -> str:
        """The agent's own name of an event at that point."""
        return next(event for event, meant in hooks_of(self.integration).points.items() if meant == point)

    def words(self, event: str, said: Mapping[str, Any]) -> dict[str, Any]:
        """What the agent sends: the usual fields under its own names, and those in `said`."""
        fields, folder = hooks_of(self.integration).fields, str(self.workspace.project)
        where = {"workspace_roots": [folder]} if self.integration is CURSOR else {fields["cwd"].split()[0]: folder}
        return {fields["conversation"].split()[0]: self.id, fields["event"]: event, **where, **said}

    def tell(self, point: HookPoint, **said: Any) -> Answer:
        """Call a hook, in this process."""
        return self.tell_of(self.event(point), **said)

    def tell_of(self, event: str, **said: Any) -> Answer:
        """Call a hook in this process, for an event by the agent's own name."""
        return in_process([self.integration.name, event], dumped(self.words(event, said)), self.workspace.environ)

    def call(self, point: HookPoint, **said: Any) -> Answer:
        """Call a hook in a process of its own, as the agent does."""
        event = self.event(point)
        return in_subprocess([self.integration.name, event], dumped(self.words(event, said)), self.workspace.environ)

    def stops(self, words: str = "I stop here.", **said: Any) -> str:
        """Report a stop; the text that continues the agent, or nothing."""
        answer = self.tell(HookPoint.STOP, **{hooks_of(self.integration).fields["last_message"]: words, **said})
        assert answer.code == 0
        assert not answer.err or (
            hooks_of(self.integration).notice_reply is None and "lets the agent go" in answer.err
        ), answer
        told = json.loads(answer.out) if answer.out else {}
        return str(told.get("reason") or told.get("followup_message") or told.get("prompt") or "")


def in_process(argv: list[str], given: bytes, environ: Mapping[str, str]) -> Answer:
    """Run a hook in this process, with standard streams of its own."""
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        source.write(given)
        source.seek(0)
        with _streams(source.fileno(), out.fileno(), err.fileno()), _environment(environ):
            code = main(argv)
        out.seek(0)
        err.seek(0)
        return Answer(code, out.read().decode(), err.read().decode())


def in_subprocess(argv: list[str], given: bytes, environ: Mapping[str, str], **more: Any) -> Answer:
    """Run a hook with the installed program."""
    done = subprocess.run(
        [PROGRAM, "hook", *argv],
        input=given,
        env={**os.environ, **environ},
        capture_output=True,
        timeout=60,
        check=False,
        **more,
    )
    return Answer(done.returncode, done.stdout.decode(), done.stderr.decode())


@contextlib.contextmanager
def _streams(*files: int) -> Iterator[None]:
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(number) for number in range(3)]
    try:
        for number, file in enumerate(files):
            os.dup2(file, number)
        yield
    finally:
        for number, file in enumerate(kept):
            os.dup2(file, number)
            os.close(file)


@contextlib.contextmanager
def _environment(environ: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def dumped(said: object) -> bytes:
    return json.dumps(said).encode()


def plan_of(tasks: "Tasks | tuple[tuple[str, str], ...]") -> Plan:
    return flat(*(Task(text, Status(status)) for text, status in tasks))


def tasks_of(plan: Plan) -> Tasks:
    return [(task.text, task.status.value) for task in plan.tasks]
