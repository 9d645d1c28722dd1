"""The paths on which simulated agents work.

Inside a coding agent, the hook of Claude Code answers each of their stops: in this process, which is fast, or as in
reality, where every hook and every command is a process, and so is the MCP server whose tools the model calls.

In `tildone run`, the model does what the agent does: what it types in its shell is a command for the tool `bash`, and
a file is changed with the tool `write`. The host is opened in this process as the program opens it; or the program
itself runs, with a model behind HTTP. For agents that type commands in their shell, whether those are a person's
depends on the process above them; and the program has to count as the host in this process does.
"""

import asyncio
import contextlib
import io
import os
import shlex
import subprocess
import tempfile
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

from tests.cli.person import new_person
from tests.faults.doors import CallTool, mcp_server
from tests.faults.gate.agents import (
    CLOSE,
    MAX_CONTINUATIONS,
    MAX_REQUESTS,
    REOPEN,
    Action,
    Agent,
    Call,
    Command,
    Ended,
    Touch,
    View,
    add,
    end_of,
    running_ahead,
)
from tests.hooks.agent import HookedAgent, Workspace, environment, new_workspace, nudge_in
from tests.host.models.model_server import ModelServer, ReceivedRequest, Turn
from tests.run.run_workspace import ALLOW_ALL, CHAT, provider_environment
from tests.suite.forking import PROGRAM
from tildone.agents.integrations import INTEGRATIONS, HookPoint
from tildone.app.opening import open_session, open_store
from tildone.app.settings import load
from tildone.base import replace
from tildone.base.ids import now
from tildone.cli import main as command_line
from tildone.log.session import Session
from tildone.plan.dialects import dialect_named
from tildone.plan.events import Author
from tildone.run.events import AnswerDone
from tildone.run.hosting import open_conversations, open_host
from tildone.run.kit.definition import AbortSignal
from tildone.run.messages import StopReason, TextBlock, tool_call
from tildone.run.model import ChatRequest, assistant_message
from tildone.run.tools.permissions import PermissionPolicy
from tildone.stores.assignment import register, subagent_of

CLAUDE = INTEGRATIONS.entries["claude"]
SHELL = dict.fromkeys((CLAUDE.conversation, *CLAUDE.marks), "s1")
"""What Claude Code sets in the shell of its model."""


class HookedView(View):
    """The plan of an agent in a workspace, what it does to it, and what hooks answer when it stops.

    With a `call` for tools, these are those of a real server, and hooks and commands are processes of their own.
    """

    def __init__(self, agent: HookedAgent, dialect: str, name: str, call: CallTool | None = None) -> None:
        settings = replace(agent.workspace.settings, session=name)
        author = Author(agent=agent.key)
        super().__init__(dialect, open_session(settings, dialect_named(dialect), agent=lambda: author))
        self.agent, self.call = agent, call
        self.continuations = 0
        self.notices: list[str] = []

    def do(self, action: Action) -> None:
        """Do it as the agent's model would: with a tool, in its shell, or to a file."""
        project, environ = self.agent.workspace.project, self.agent.workspace.environ | SHELL
        self.agent.report(HookPoint.BEFORE_TOOL, tool_name="Bash")
        match action:
            case Call(tool, arguments):
                (self.call or self.session.call)(tool, arguments)
            case Command(words) if self.call:
                subprocess.run(
                    [PROGRAM, *words], cwd=project, env={**os.environ, **environ}, capture_output=True, check=False
                )
            case Command(words):
                said = io.StringIO()
                with (
                    environment(environ),
                    contextlib.chdir(project),
                    contextlib.redirect_stdout(said),
                    contextlib.redirect_stderr(said),
                ):
                    command_line(list(words))
            case Touch(text):
                (project / "work.txt").write_text(text, encoding="utf-8")

    def is_continued(self, **more: str) -> bool:
        """Report a stop of the agent or of a subagent, and count whether it is continued."""
        ask = self.agent.call if self.call else self.agent.report
        answer = ask(HookPoint.STOP, last_assistant_message=f"Words {self.continuations}.", **more)
        reply = answer.json if answer.out else {}
        if nudge_in(reply):
            self.continuations += 1
            return True
        self.notices += [reply["systemMessage"]] if reply.get("systemMessage") else []
        return False


def run_real_hooks(agent: Agent, dialect: str) -> Ended:
    """Run an agent with real hooks, tools and commands."""
    with tempfile.TemporaryDirectory() as folder:
        hooked, name = _hooked(folder, dialect)
        environ = {**os.environ, **hooked.workspace.environ, CLAUDE.conversation: hooked.id}
        with mcp_server("claude-code", hooked.workspace.project, environ) as call:
            return _run(agent, HookedView(hooked, dialect, name, call))


def run_hooks(agent: Agent, dialect: str) -> Ended:
    """Run an agent until it is not continued any more, or its plan is done."""
    with tempfile.TemporaryDirectory() as folder:
        hooked, name = _hooked(folder, dialect)
        view = HookedView(hooked, dialect, name)
        with running_ahead(lambda: view.hours):
            return _run(agent, view)


def _hooked(folder: str, dialect: str) -> tuple[HookedAgent, str]:
    """Return an agent in a new workspace, and the name of its session."""
    hooked = HookedAgent(new_workspace(Path(folder), TILDONE_DIALECT=dialect))
    return hooked, hooked.workspace.settings.session


def _run(agent: Agent, view: HookedView) -> Ended:
    view.do(view.make(add(*agent.tasks[: view.room])))
    for turn in range(MAX_CONTINUATIONS):
        for action in agent.act(view, turn):
            view.do(action)
        if agent.subagents:
            _run_subagent(view, turn)
        if not view.is_continued() or view.continuations >= MAX_CONTINUATIONS:
            break
    return end_of(view.session, view.continuations, tuple(view.notices))


def _run_subagent(view: HookedView, turn: int) -> None:
    """Start a subagent with a list of its own, which closes and reopens a task of it."""
    if view.agent.record is None:
        view.is_continued()
    parent = view.agent.record
    assert parent is not None
    agents, own = view.agent.workspace.agents, f"sub{turn}"
    child = subagent_of(agents, parent, own, now())
    below = HookedView(view.agent, view.dialect, child.session)
    below.do(below.make(add("Look", "Report")))
    register(agents, child)
    for step in range(MAX_CONTINUATIONS):
        below.do(below.make(REOPEN if step % 2 else CLOSE))
        if not view.is_continued(agent_id=own):
            return


ENVIRON = {"TILDONE_COUNTDOWN": "0", "PATH": f"{PROGRAM.parent}{os.pathsep}{os.environ.get('PATH', '')}"}

NOT_CONTINUED = frozenset({"phased"})
"""The dialects in which `tildone run` reminds an agent only a few times, as the original does.

Honest workers do not stop there before their plan is done.
"""


class AgentTurns(View):
    """What a simulated agent does, one action in each answer of its model; it sees its plan."""

    def __init__(self, agent: Agent, dialect: str, session: Session) -> None:
        super().__init__(dialect, session)
        self.agent = agent
        self.requests = 0
        self._turn = 0
        self._stops = not agent.never_stops and not (agent.honest and dialect in NOT_CONTINUED)
        self._actions: Iterator[Action] = iter([self.make(add(*agent.tasks[: self.room]))])

    @property
    def words(self) -> str:
        """What the agent says when it stops."""
        return f"Words {self._turn}."

    def next_action(self) -> Action | None:
        """Count a request, and return what the agent does; None if it stops."""
        self.requests += 1
        assert self.requests <= MAX_REQUESTS, f"{self.agent.name} is never ended"
        action = next(self._actions, None)
        if action is None and self._may_act():
            self._actions, self._turn = self.agent.act(self, self._turn), self._turn + 1
            action = next(self._actions, None) if not self._stops or self._turn == 1 else None
        return action

    def _may_act(self) -> bool:
        return any(task.status.is_open for task in self.plan.tasks) or self.requests == 1


class AgentModel(AgentTurns):
    """A model that does what a simulated agent does."""

    api = provider = id = "script"

    async def stream(
        self, _request: ChatRequest, _signal: AbortSignal | None = None
    ) -> AsyncGenerator[AnswerDone, None]:
        action = self.next_action()
        if action is None:
            yield AnswerDone(assistant_message([TextBlock(self.words)], self, StopReason.STOP, 0))
        else:
            call = tool_call(f"call-{self.requests}", *tool_of(action))
            yield AnswerDone(assistant_message([call], self, StopReason.TOOL_USE, 0))

    async def close(self) -> None:
        """There is nothing to close."""


def tool_of(action: Action) -> tuple[str, dict[str, object]]:
    """Return the tool by which an action is done in `tildone run`, and its arguments."""
    match action:
        case Call(tool, arguments):
            return tool, arguments
        case Command(words):
            return "bash", {"command": shlex.join(("tildone", *words))}
        case Touch(text):
            return "write", {"path": "work.txt", "content": text}


def run_host(agent: Agent, dialect: str) -> Ended:
    """Run an agent in a host until it is not continued any more, or its plan is done."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = new_workspace(Path(folder), TILDONE_DIALECT=dialect, **ENVIRON)
        with environment(workspace.environ), contextlib.chdir(workspace.project):
            return asyncio.run(_run_host(agent, dialect, workspace))


async def _run_host(agent: Agent, dialect: str, workspace: Workspace) -> Ended:
    settings, project = workspace.settings, str(workspace.project)
    store = open_store(settings)
    model = AgentModel(agent, dialect, open_session(settings, dialect_named(dialect), store))
    transcript = open_conversations(settings, project, kept=False).new()
    policy = PermissionPolicy(("*",), allow_write=("*",))
    host = open_host(settings, store, transcript, cwd=project, model=model, mode="print", policy=policy)
    with running_ahead(lambda: model.hours):
        await host.start()
        await host.prompt("Go")
        await host.over()
        await host.close()
    return end_of(model.session, model.requests)


TIMEOUT_SECONDS = 900


class AgentServer(ModelServer):
    """A model behind HTTP that does what a simulated agent does, and sees the agent's plan."""

    def __init__(self, turns: AgentTurns) -> None:
        super().__init__()
        self._turns = turns

    def next_turn(self, _request: ReceivedRequest) -> Turn:
        """Return what the agent does next. Requests are not kept: each has the whole conversation."""
        action = self._turns.next_action()
        if action is None:
            return {"text": self._turns.words}
        tool, arguments = tool_of(action)
        return {"tool": tool, "args": arguments}


def run_program(agent: Agent, dialect: str) -> Ended:
    """Run an agent until the program ends."""
    with tempfile.TemporaryDirectory() as folder:
        own = {"TILDONE_COUNTDOWN": "0", "NO_PROXY": "127.0.0.1", "TILDONE_DIALECT": dialect, "NO_COLOR": "1"}
        person = new_person(Path(folder), **own, XDG_DATA_HOME=f"{folder}/home", SSL_CERT_DIR=f"{folder}/home")
        project = person.folder
        session = open_session(load({}, person.environment({}), str(project)), dialect_named(dialect))
        options = ("--model", CHAT, *ALLOW_ALL, "--allow-write", "*", "--mode", "print", "--dialect", dialect)
        turns = AgentTurns(agent, dialect, session)
        with AgentServer(turns) as server:
            done = subprocess.run(
                [str(PROGRAM), "run", "Go", *options, "--session", session.name],
                cwd=project,
                env=person.environment(provider_environment(server)),
                capture_output=True,
                text=True,
                timeout=TIMEOUT_SECONDS,
                check=False,
            )
        return end_of(session, turns.requests, tuple(done.stderr.splitlines()[:1]))
