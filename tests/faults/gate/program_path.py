"""Simulated agents in the program `tildone run`, with a model behind HTTP.

For agents that type commands in their shell: whether those are a person's depends on the process above them.
"""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.cli.person import Person
from tests.faults.gate.actions import DIALECTS, REWRITES, ROOM, Action, Add, Call, Change, Command
from tests.faults.gate.agents import Agent
from tests.faults.gate.outcome import Ended, end_of
from tests.host.models.model_server import ModelServer, Turn
from tests.run.run_workspace import ALLOW_ALL, CHAT, provider_environment
from tests.suite.forking import PROGRAM
from tildone.config import load
from tildone.core.numbers import numbered
from tildone.core.plan import Plan, Task, flat
from tildone.dialects.by_hand import BY_HAND
from tildone.wiring import open_session

TIMEOUT_SECONDS = 900
TURNS = 400
"""More than any agent here gets."""


class FirstPlan:
    """What an agent sees whose tasks stay the same, whatever it does: its first plan."""

    def __init__(self, agent: Agent, dialect: str) -> None:
        self.dialect, self.room, self.rewrites = dialect, ROOM[dialect], dialect in REWRITES
        self.plan = Plan() if not agent.tasks else numbered(flat(*map(Task, agent.tasks)))

    def make(self, change: Change) -> Action:
        return DIALECTS[self.dialect](self.plan, change)

    def wait(self, hours: float) -> None:
        raise NotImplementedError(hours)


def run_program(agent: Agent, dialect: str) -> Ended:
    """Run an agent until the program ends."""
    with tempfile.TemporaryDirectory() as folder, ModelServer(*_script(agent, dialect)) as server:
        project, home = Path(folder, "project"), Path(folder, "home")
        (project / ".git").mkdir(parents=True)
        home.mkdir()
        environ = {"TILDONE_COUNTDOWN": "0", "NO_PROXY": "127.0.0.1", "TILDONE_DIALECT": dialect, "NO_COLOR": "1"}
        data = {"XDG_DATA_HOME": str(home), "SSL_CERT_DIR": str(home)}
        person = Person(project, home, environ | data)
        options = ("--model", CHAT, *ALLOW_ALL, "--mode", "print", "--dialect", dialect)
        command = [str(PROGRAM), "run", "Go", *options]
        environ = person.environment(provider_environment(server))
        subprocess.run(command, cwd=project, env=environ, capture_output=True, timeout=TIMEOUT_SECONDS, check=False)
        session = open_session(load({}, person.environment({}), str(project)), BY_HAND)
        return end_of(session, len(server.requests))


def _script(agent: Agent, dialect: str) -> Iterator[Turn]:
    view = FirstPlan(agent, dialect)
    yield _turn(FirstPlan(Agent("", "", agent.act, ()), dialect).make(Add(agent.tasks)))
    for number in range(TURNS):
        yield from map(_turn, agent.act(view, number))
        yield {"text": f"Words {number}."}


def _turn(action: Action) -> Turn:
    match action:
        case Call(tool, arguments):
            return {"tool": tool, "args": arguments}
        case Command(words):
            return {"tool": "bash", "args": {"command": f"tildone {' '.join(words)}"}}
        case _:
            raise ValueError(action)
