"""Simulated agents inside a coding agent: the hook of Claude Code answers each of their stops.

In this process, which is fast; or as in reality: every hook and every command is a process, and so is the MCP server
whose tools the model calls.
"""

import contextlib
import io
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.faults.gate.actions import (
    ACTIVE,
    DONE,
    Action,
    Add,
    Call,
    Command,
    Mark,
    Touch,
)
from tests.faults.gate.agents import Agent
from tests.faults.gate.outcome import MAX_CONTINUATIONS, Ended, PlanView, end_of, running_ahead
from tests.hooks.agent import HookedAgent, Workspace, environment
from tests.suite.forking import PROGRAM
from tildone.agents.integrations import INTEGRATIONS, HookPoint
from tildone.app.opening import open_session
from tildone.base import replace
from tildone.base.ids import now
from tildone.cli import main as command_line
from tildone.log.session import Session
from tildone.plan.dialects import dialect_named
from tildone.plan.events import Author
from tildone.stores.assignment import register, subagent_of

CLAUDE = INTEGRATIONS.entries["claude"]
SHELL = dict.fromkeys((CLAUDE.conversation, *CLAUDE.marks), "s1")
"""What Claude Code sets in the shell of its model."""


class HooksView(PlanView):
    """The plan of an agent in a workspace, and what it does to it."""

    def __init__(self, agent: HookedAgent, dialect: str, session: Session) -> None:
        super().__init__(dialect, session)
        self.agent = agent

    def do(self, action: Action) -> None:
        """Do it as the agent's model would: with a tool, in its shell, or to a file."""
        match action:
            case Call(tool, arguments):
                self.session.call(tool, arguments)
            case Command(words):
                with (
                    environment(self.agent.workspace.environ | SHELL),
                    contextlib.chdir(self.agent.workspace.project),
                    contextlib.redirect_stdout(io.StringIO()),
                    contextlib.redirect_stderr(io.StringIO()),
                ):
                    command_line(list(words))
            case Touch(text):
                (self.agent.workspace.project / "work.txt").write_text(text, encoding="utf-8")


class Server:
    """The end of the pipes to `tildone mcp` that Claude Code has."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        info = {"name": "claude-code", "version": "2"}
        self._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info})

    def call(self, tool: str, arguments: dict[str, Any]) -> None:
        """Call a tool, and wait for its result."""
        self._ask("tools/call", {"name": tool, "arguments": arguments})

    def _ask(self, method: str, params: dict[str, Any]) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
        self._process.stdin.flush()
        while "result" not in (answer := json.loads(self._process.stdout.readline())):
            assert "method" in answer, answer


@contextlib.contextmanager
def serving(agent: HookedAgent) -> Iterator[Server]:
    """The MCP server of an agent, in a process of its own."""
    environ = {**os.environ, **agent.workspace.environ, CLAUDE.conversation: agent.id}
    pipe, project = subprocess.PIPE, agent.workspace.project
    with subprocess.Popen(
        [str(PROGRAM), "mcp"], stdin=pipe, stdout=pipe, text=True, cwd=project, env=environ
    ) as process:
        yield Server(process)
        assert process.stdin
        process.stdin.close()


class RealView(HooksView):
    """The same, with the tools of a real server, and commands in processes of their own."""

    def __init__(self, agent: HookedAgent, dialect: str, session: Session, server: Server) -> None:
        super().__init__(agent, dialect, session)
        self._server = server

    def do(self, action: Action) -> None:
        """Do it as the agent's model would."""
        workspace = self.agent.workspace
        match action:
            case Call(tool, arguments):
                self._server.call(tool, arguments)
            case Command(words):
                environ = {**os.environ, **workspace.environ, **SHELL}
                subprocess.run([PROGRAM, *words], cwd=workspace.project, env=environ, capture_output=True, check=False)
            case Touch():
                super().do(action)


def run_real_hooks(agent: Agent, dialect: str) -> Ended:
    """Run an agent with real hooks, tools and commands."""
    with tempfile.TemporaryDirectory() as folder:
        hooked = _hooked(Path(folder), dialect)
        session = _session(hooked, dialect, hooked.workspace.settings.session)
        with serving(hooked) as server:
            return _run(agent, RealView(hooked, dialect, session, server), Stops(hooked, real=True))


def run_hooks(agent: Agent, dialect: str) -> Ended:
    """Run an agent until it is not continued any more, or its plan is done."""
    with tempfile.TemporaryDirectory() as folder:
        hooked = _hooked(Path(folder), dialect)
        view = HooksView(hooked, dialect, _session(hooked, dialect, hooked.workspace.settings.session))
        with running_ahead(lambda: view.hours):
            return _run(agent, view, Stops(hooked, real=False))


class Stops:
    """Reports stops of an agent and its subagents, and counts how often they are continued."""

    def __init__(self, agent: HookedAgent, *, real: bool) -> None:
        self.agent, self.real = agent, real
        self.continuations = 0
        self.notices: list[str] = []

    def continues(self, **more: str) -> bool:
        ask = self.agent.call if self.real else self.agent.report
        answer = ask(HookPoint.STOP, last_assistant_message=f"Words {self.continuations}.", **more)
        reply = answer.json if answer.out else {}
        if reply.get("decision") == "block":
            self.continuations += 1
            return True
        if reply.get("systemMessage"):
            self.notices.append(reply["systemMessage"])
        return False


def _run(agent: Agent, view: HooksView, stops: Stops) -> Ended:
    tasks = agent.tasks[: view.room]
    view.do(view.make(Add(tasks)))
    for turn in range(MAX_CONTINUATIONS):
        for action in agent.act(view, turn):
            view.do(action)
        if agent.subagents:
            _run_subagent(view, stops, turn)
        if not stops.continues() or stops.continuations >= MAX_CONTINUATIONS:
            break
    return end_of(view.session, stops.continuations, tuple(stops.notices))


def _run_subagent(view: HooksView, stops: Stops, turn: int) -> None:
    """Start a subagent with a list of its own, which closes and reopens a task of it."""
    parent = view.agent.record
    if parent is None:
        stops.continues()
        parent = view.agent.record
        assert parent is not None
    agents, own = view.agent.workspace.agents, f"sub{turn}"
    child = subagent_of(agents, parent, own, now())
    below = HooksView(view.agent, view.dialect, _session(view.agent, view.dialect, child.session))
    below.do(below.make(Add(("Look", "Report"))))
    register(agents, child)
    for step in range(MAX_CONTINUATIONS):
        below.do(below.make(Mark(ACTIVE if step % 2 else DONE, (0,))))
        if not stops.continues(agent_id=own):
            return


def _hooked(folder: Path, dialect: str) -> HookedAgent:
    project, home = folder / "project", folder / "home"
    (project / ".git").mkdir(parents=True)
    home.mkdir()
    return HookedAgent(Workspace(project, home, {"TILDONE_DIALECT": dialect}))


def _session(agent: HookedAgent, dialect: str, name: str) -> Session:
    settings = replace(agent.workspace.settings, session=name)
    return open_session(settings, dialect_named(dialect), agent=lambda: Author(agent=agent.key))
