"""Simulated agents in the program `tildone run`, with a model behind HTTP.

For agents that type commands in their shell, whether those are a person's depends on the process above them; and to
show that the program counts as the host in this process does.
"""

import subprocess
import tempfile
from pathlib import Path

from tests.cli.person import Person
from tests.faults.gate.actions import Action
from tests.faults.gate.agents import Agent
from tests.faults.gate.outcome import Ended, end_of
from tests.faults.gate.run_path import AgentTurns, tool_of
from tests.host.models.model_server import ModelServer, ReceivedRequest, Turn
from tests.run.run_workspace import ALLOW_ALL, CHAT, provider_environment
from tests.suite.forking import PROGRAM
from tildone.app.opening import open_session
from tildone.app.settings import load
from tildone.plan.dialects import dialect_named

TIMEOUT_SECONDS = 900


class AgentServer(ModelServer):
    """A model behind HTTP that does what a simulated agent does, and sees the agent's plan."""

    def __init__(self, turns: AgentTurns) -> None:
        super().__init__()
        self._turns = turns

    def next_turn(self, _request: ReceivedRequest) -> Turn:
        """Return what the agent does next. Requests are not kept: each has the whole conversation."""
        return _turn(self._turns.next_action(), self._turns.words)


def run_program(agent: Agent, dialect: str) -> Ended:
    """Run an agent until the program ends."""
    with tempfile.TemporaryDirectory() as folder:
        project, home = Path(folder, "project"), Path(folder, "home")
        (project / ".git").mkdir(parents=True)
        home.mkdir()
        environ = {"TILDONE_COUNTDOWN": "0", "NO_PROXY": "127.0.0.1", "TILDONE_DIALECT": dialect, "NO_COLOR": "1"}
        data = {"XDG_DATA_HOME": str(home), "SSL_CERT_DIR": str(home)}
        person = Person(project, home, environ | data)
        session = open_session(load({}, person.environment({}), str(project)), dialect_named(dialect))
        options = (
            "--model",
            CHAT,
            *ALLOW_ALL,
            "--allow-write",
            "*",
            "--mode",
            "print",
            "--dialect",
            dialect,
            "--session",
            session.name,
        )
        turns = AgentTurns(agent, dialect, session)
        with AgentServer(turns) as server:
            done = subprocess.run(
                [str(PROGRAM), "run", "Go", *options],
                cwd=project,
                env=person.environment(provider_environment(server)),
                capture_output=True,
                text=True,
                timeout=TIMEOUT_SECONDS,
                check=False,
            )
        return end_of(session, turns.requests, tuple(done.stderr.splitlines()[:1]))


def _turn(action: Action | None, words: str) -> Turn:
    if action is None:
        return {"text": words}
    tool, arguments = tool_of(action)
    return {"tool": tool, "args": arguments}
