"""Simulated agents inside a coding agent: the hook of Claude Code answers each of their stops, in this process."""

import contextlib
import io
import tempfile
from pathlib import Path

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
from tests.faults.gate.clock import running_ahead
from tests.faults.gate.outcome import MAX_CONTINUATIONS, Ended, end_of
from tests.faults.gate.view import PlanView
from tests.hooks.agent import HookedAgent, Workspace, environment
from tildone.agents.subagents import register, subagent_of
from tildone.cli import main as command_line
from tildone.dialects import dialect_named
from tildone.ids import now
from tildone.integrations import INTEGRATIONS
from tildone.integrations.record import HookPoint
from tildone.log.events import Author
from tildone.session import Session
from tildone.value import replace
from tildone.wiring import open_session

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


def run_hooks(agent: Agent, dialect: str, *, real: bool = False) -> Ended:
    """Run an agent until it is not continued any more, or its plan is done; with `real` hooks in subprocesses."""
    with tempfile.TemporaryDirectory() as folder:
        project, home = Path(folder, "project"), Path(folder, "home")
        (project / ".git").mkdir(parents=True)
        home.mkdir()
        hooked = HookedAgent(Workspace(project, home, {"TILDONE_DIALECT": dialect}))
        view = HooksView(hooked, dialect, _session(hooked, dialect, hooked.workspace.settings.session))
        with running_ahead(lambda: view.hours):
            return _run(agent, view, Stops(hooked, real=real))


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


def _session(agent: HookedAgent, dialect: str, name: str) -> Session:
    settings = replace(agent.workspace.settings, session=name)
    return open_session(settings, dialect_named(dialect), agent=lambda: Author(agent=agent.key))
