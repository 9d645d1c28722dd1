"""Simulated agents in `tildone run`: a host as the program opens it, and a model that does what the agent does.

What the agent types in its shell is a command for the tool `bash`, and a file is changed with the tool `write`.
"""

import asyncio
import contextlib
import os
import shlex
import tempfile
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

from tests.faults.gate.actions import Action, Add, Call, Command, Touch
from tests.faults.gate.agents import Agent
from tests.faults.gate.outcome import MAX_REQUESTS, Ended, PlanView, end_of, running_ahead
from tests.hooks.agent import Workspace, environment
from tests.suite.forking import PROGRAM
from tildone.app.opening import open_session, open_store
from tildone.log.session import Session
from tildone.plan.dialects import dialect_named
from tildone.run.events import AnswerDone
from tildone.run.hosting import open_conversations, open_host
from tildone.run.kit.definition import AbortSignal
from tildone.run.messages import AssistantMessage, StopReason, TextBlock, tool_call
from tildone.run.model import ChatRequest, assistant_message
from tildone.run.tools.permissions import PermissionPolicy

ENVIRON = {"TILDONE_COUNTDOWN": "0", "PATH": f"{PROGRAM.parent}{os.pathsep}{os.environ.get('PATH', '')}"}

NOT_CONTINUED = frozenset({"phased"})
"""The dialects in which `tildone run` reminds an agent only a few times, as the original does.

Honest workers do not stop there before their plan is done.
"""


class AgentTurns(PlanView):
    """What a simulated agent does, one action in each answer of its model; it sees its plan."""

    def __init__(self, agent: Agent, dialect: str, session: Session) -> None:
        super().__init__(dialect, session)
        self.agent = agent
        self.requests = 0
        self._turn = 0
        self._stops = not agent.never_stops and not (agent.honest and dialect in NOT_CONTINUED)
        self._actions: Iterator[Action] = iter([self.make(Add(agent.tasks[: self.room]))])

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
        yield AnswerDone(self._answer())

    async def close(self) -> None:
        """There is nothing to close."""

    def _answer(self) -> AssistantMessage:
        action = self.next_action()
        if action is None:
            return assistant_message([TextBlock(self.words)], self, StopReason.STOP, 0)
        return assistant_message([tool_call(f"call-{self.requests}", *tool_of(action))], self, StopReason.TOOL_USE, 0)


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
        project, home = Path(folder, "project"), Path(folder, "home")
        (project / ".git").mkdir(parents=True)
        home.mkdir()
        workspace = Workspace(project, home, {"TILDONE_DIALECT": dialect, **ENVIRON})
        with environment(workspace.environ), contextlib.chdir(project):
            return asyncio.run(_run(agent, dialect, workspace))


async def _run(agent: Agent, dialect: str, workspace: Workspace) -> Ended:
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
