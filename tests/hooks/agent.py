"""A simulated coding agent that calls our hooks: in this process, which is fast, or in a subprocess, as in reality."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from tests.cli.person import Answer
from tests.suite.forking import PROGRAM
from tildone.agents.hooks import HookRun, main
from tildone.agents.integrations import INTEGRATIONS, HookPoint, Hooks, Integration, names_with_hooks
from tildone.app.opening import open_session
from tildone.app.settings import Settings, load
from tildone.log.session import Session
from tildone.plan.dialects import BY_HAND
from tildone.plan.model import Plan, Status, Task, flat
from tildone.plan.ops import Write
from tildone.stores.agents import ANY_AGENT, Agent, AgentId, AgentRegistry
from tildone.stores.sqlite.store import SqliteStore

UNWATCHED = (
    sys.executable,
    "-c",
    (
        "import sys; from tildone.agents.hooks import HookRun, main; HookRun.watch = lambda *_: None; "
        "sys.exit(main(sys.argv[1:]))"
    ),
)
"""The program of a hook without the watchdog, which ends a hook that waits on a machine that is busy."""

WITH_HOOKS = {name: INTEGRATIONS[name] for name in names_with_hooks()}
CLAUDE, CODEX, GEMINI = (WITH_HOOKS[name] for name in ("claude", "codex", "gemini"))
COPILOT, CURSOR, QWEN = (WITH_HOOKS[name] for name in ("copilot", "cursor", "qwen"))
OPENCODE, PI = WITH_HOOKS["opencode"], WITH_HOOKS["pi"]


def hooks_of(integration: Integration) -> Hooks:
    assert integration.hooks is not None
    return integration.hooks


VARIABLES = [
    variable
    for hooks in map(hooks_of, WITH_HOOKS.values())
    for variable in (hooks.conversation_variable, hooks.project_variable)
    if variable
]
SHELL_VARIABLES = [
    name for known in INTEGRATIONS.entries.values() for name in (known.conversation, *known.marks) if name
]
CLEARED_VARIABLES = dict.fromkeys(
    [*VARIABLES, *SHELL_VARIABLES, ANY_AGENT, "TILDONE_STORE", "TILDONE_SESSION", "TILDONE_DIALECT"], ""
)
"""Variables that are cleared, so that no hook uses the conversation or store of the person who runs the tests."""

OWN_LIMITS = [limit for hooks in map(hooks_of, WITH_HOOKS.values()) if (limit := hooks.continuation_limit)]
RAISED_LIMITS = {limit.variable: limit.raised for limit in OWN_LIMITS if limit.variable}
"""The agents' own limits of continuations, as an installation raises them."""

Tasks = list[tuple[str, str]]

OPEN = (("Write the parser", "in_progress"), ("Wire it up", "pending"))
"""A plan with open tasks."""


@dataclass(frozen=True, slots=True)
class Workspace:
    project: Path
    home: Path
    more: dict[str, str] = field(default_factory=dict)

    @property
    def environ(self) -> dict[str, str]:
        homes = {name: str(self.home) for name in ("HOME", "USERPROFILE", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
        homes["XDG_RUNTIME_DIR"] = str(self.home)
        return {**CLEARED_VARIABLES, **RAISED_LIMITS, **homes, "TILDONE_USER": "Ada", **self.more}

    @property
    def settings(self) -> Settings:
        return load({}, self.environ, str(self.project))

    @property
    def agents(self) -> AgentRegistry:
        settings = self.settings
        return AgentRegistry(settings.agents_dir, settings.project)

    @property
    def session(self) -> Session:
        return self.session_of(self.settings.session)

    def session_of(self, name: str) -> Session:
        settings = self.settings
        store = SqliteStore(settings.store.location)
        own = Settings(settings.store, name, settings.project, user=settings.user)
        return open_session(own, BY_HAND, store)

    def plan(self, *tasks: tuple[str, str]) -> None:
        self.session.change((Write(plan_of(tasks).phases),))

    @property
    def tasks(self) -> Tasks:
        return tasks_of(self.session.plan)


def new_workspace(folder: Path, **more: str) -> Workspace:
    project, home = folder / "project", folder / "home"
    (project / ".git").mkdir(parents=True)
    home.mkdir()
    return Workspace(project, home, more)


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

    @property
    def seen_head(self) -> str | None:
        record = self.record
        assert record is not None
        return self.workspace.session.store.records.seen(record.session, record.reader)

    def event(self, point: HookPoint) -> str:
        return next(event for event, other in hooks_of(self.integration).points.items() if other == point)

    def payload(self, event: str, extra: Mapping[str, Any]) -> dict[str, Any]:
        """Return the JSON that the agent sends: the usual fields under its own names, and `extra` ones."""
        fields, folder = hooks_of(self.integration).fields, str(self.workspace.project)
        name, _, index = fields["cwd"].split()[0].partition(".")
        more: dict[str, Any] = {name: [folder] if index else folder}
        for path, given in extra.items():
            outer, dot, inner = path.partition(".")
            more[outer] = {inner: given} if dot else given
        return {fields["conversation"].split()[0]: self.id, fields["event"]: event, **more}

    def report(self, point: HookPoint, **extra: Any) -> Answer:
        return self.report_event(self.event(point), **extra)

    def report_event(self, event: str, **extra: Any) -> Answer:
        """Call a hook in this process, for an event by the agent's own name."""
        return in_process([self.integration.name, event], to_json(self.payload(event, extra)), self.workspace.environ)

    def call(self, point: HookPoint, **extra: Any) -> Answer:
        """Call a hook in a subprocess, as a real agent does."""
        event = self.event(point)
        return in_subprocess(
            [self.integration.name, event], to_json(self.payload(event, extra)), self.workspace.environ
        )

    def call_unwatched(self, point: HookPoint) -> Answer:
        """The same without the watchdog."""
        event = self.event(point)
        given = to_json(self.payload(event, {}))
        return in_subprocess([self.integration.name, event], given, self.workspace.environ, UNWATCHED)

    def is_told(self, point: HookPoint, **extra: Any) -> str:
        """Call a hook that succeeds, and return what its reply adds to the context of the model."""
        answer = self.report(point, **extra)
        assert (answer.code, answer.err) == (0, "")
        reply = json.loads(answer.out) if answer.out else {}
        context = reply.get("hookSpecificOutput", reply).get("additionalContext") or reply.get("context")
        return str(context or "")

    def writes(self, *items: tuple[str, str], **more: Any) -> str:
        """The model writes its native list; return what it is told then."""
        ((tool, (where, text)), *_) = self.integration.list_tools.items()
        given = {where: [{text: content, "status": status} for content, status in items], **more}
        fields = hooks_of(self.integration).fields
        return self.is_told(HookPoint.AFTER_TOOL, **{fields["tool"]: tool, fields["tool_input"]: given})

    def stops(self, words: str = "I stop here.", **extra: Any) -> str:
        """Report a stop, and return the text that makes the agent continue; empty if there is none."""
        answer = self.report(HookPoint.STOP, **{hooks_of(self.integration).fields["last_message"]: words, **extra})
        assert answer.code == (2 if answer.err and hooks_of(self.integration).warnings_at else 0)
        assert not answer.err or (
            hooks_of(self.integration).notice_reply is None and "lets the agent go" in answer.err
        ), answer
        reply = json.loads(answer.out) if answer.out else {}
        return nudge_in(reply)


def nudge_in(reply: Mapping[str, Any]) -> str:
    """The text with which a reply to a stop makes an agent go on; empty if there is none."""
    specific = reply.get("hookSpecificOutput", {})
    added = specific.get("additionalContext") or specific.get("reason")
    return str(reply.get("reason") or reply.get("followup_message") or reply.get("prompt") or added or "")


def in_process(argv: list[str], given: bytes, environ: Mapping[str, str]) -> Answer:
    """Run a hook in this process, with its own standard streams and without the watchdog, which would end it."""
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        source.write(given)
        source.seek(0)
        with (
            _streams(source.fileno(), out.fileno(), err.fileno()),
            environment(environ),
            mock.patch.object(HookRun, "watch"),
        ):
            code = main(argv)
        out.seek(0)
        err.seek(0)
        return Answer(code, out.read().decode(), err.read().decode())


def in_subprocess(
    argv: list[str],
    given: bytes,
    environ: Mapping[str, str],
    program: Sequence[str | Path] = (PROGRAM, "hook"),
    **more: Any,
) -> Answer:
    """Run a hook in a process of its own, by default with the installed program; `more` may name other streams."""
    streams: dict[str, Any] = {"input": given, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    if "stdin" in more:
        del streams["input"]
    done = subprocess.run([*program, *argv], env={**os.environ, **environ}, timeout=60, check=False, **streams)
    return Answer(done.returncode, (done.stdout or b"").decode(), done.stderr.decode())


@contextlib.contextmanager
def _streams(*files: int) -> Iterator[None]:
    sys.stdout.flush()
    sys.stderr.flush()
    saved = [os.dup(number) for number in range(3)]
    try:
        for number, file in enumerate(files):
            os.dup2(file, number)
        yield
    finally:
        for number, file in enumerate(saved):
            os.dup2(file, number)
            os.close(file)


@contextlib.contextmanager
def environment(environ: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def to_json(data: object) -> bytes:
    return json.dumps(data).encode()


def plan_of(tasks: "Tasks | tuple[tuple[str, str], ...]") -> Plan:
    return flat(*(Task(text, Status(status)) for text, status in tasks))


def tasks_of(plan: Plan) -> Tasks:
    return [(task.text, task.status.value) for task in plan.tasks]
