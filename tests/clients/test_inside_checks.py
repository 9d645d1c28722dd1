"""In a real client: a task with a check is done when that passes, and not before; the gate knows the difference."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from tests.checks.repositories import git, make_repository
from tests.clients.agents import Sandbox
from tests.clients.inside import WAIT, InstalledClient, PatientModel, install, last_message
from tests.clients.model import Model
from tests.host.models.model_server import ReceivedRequest, Turn
from tildone.config import load
from tildone.core.check import Check
from tildone.core.ops import Append, Numbered, SetCheck
from tildone.core.plan import Task
from tildone.dialects.brief import DIALECT as BRIEF
from tildone.log.events import Actor, Nudged
from tildone.session import Session
from tildone.wiring import check_approvals, open_session

pytestmark = pytest.mark.slow
T = TypeVar("T")
MakeSandbox = Callable[[Model], Sandbox]

in_most_clients = pytest.mark.parametrize("name", ["claude", "codex", "gemini", "pi"])

STOP: Turn = {"text": "I stop here."}
ALL: Turn = {"text": "All of it is done."}
DONE: Turn = {"tool": "todo", "args": {"done": 1}}
MADE = Check(
    (sys.executable, "-c", "import os, sys; sys.exit('no parser' if not os.path.exists('src/made.py') else 0)")
)
NO_PROGRAM = Check(("no-such-program",))


class ActingModel(PatientModel):
    """A model at whose requests, by number, something happens to the files before it answers."""

    def __init__(self, name: str, *script: Turn) -> None:
        super().__init__(*script, wait=WAIT.get(name))
        self.acts: dict[int, Callable[[], object]] = {}

    def respond(self, request: ReceivedRequest) -> Turn:
        known = len(self.requests)
        turn = super().respond(request)
        if len(self.requests) > known and (act := self.acts.pop(known, None)):
            act()
        return turn


class Plan:
    """The plan of a client's project, which is a real repository."""

    def __init__(self, client: InstalledClient, *texts: str) -> None:
        self.work = client.sandbox.work
        self._settings = load({}, {**client.environ, "XDG_DATA_HOME": str(client.data.parent)}, str(self.work))
        self._change(lambda session: session.change([Append(tuple(map(Task, texts)))]))

    def check(self, number: int, check: Check, *, approved: bool) -> None:
        """Give a task a check: as a person does, who thereby approves it, or as a model does."""
        actor = Actor.USER if approved else Actor.AGENT
        self._change(lambda session: session.change([SetCheck(Numbered((number,)), check)], actor))
        if approved:
            check_approvals(self._settings).approve(check)

    @property
    def continuations(self) -> int:
        """How often the agent was told to continue."""
        return self._change(lambda s: sum(isinstance(event.fact, Nudged) for event in s.store.events(s.name)))

    def _change(self, change: Callable[[Session], T]) -> T:
        session = open_session(self._settings, BRIEF)
        try:
            return change(session)
        finally:
            session.store.close()


def installed(name: str, sandbox: Sandbox) -> InstalledClient:
    """Install tildone in a client whose working folder is a repository."""
    sandbox.work.rmdir()
    make_repository(sandbox.work)
    client = install(name, sandbox)
    git(sandbox.work, "add", "-A")
    git(sandbox.work, "commit", "-qm", "Settings", check=False)
    return client


def write(file: Path, text: str) -> Callable[[], object]:
    return lambda: file.write_text(text, encoding="utf-8")


@in_most_clients
def test_a_failed_check_holds_the_agent_and_so_does_a_stale_one(name: str, make_sandbox: MakeSandbox) -> None:
    """The model calls the task done too early, is held once, makes it, edits once more, is held again, and ends."""
    with ActingModel(name, DONE, STOP, DONE, STOP, DONE, ALL) as model:
        client = installed(name, make_sandbox(model))
        plan = Plan(client, "Write the parser")
        plan.check(1, MADE, approved=True)
        model.acts = {
            2: write(plan.work / "src" / "made.py", "x = 1\n"),
            3: write(plan.work / "src" / "parser.py", "x = 2\n"),
        }
        result = client.run()

    assert result.code == 0, result
    told = [last_message(request) for request in model.requests]
    assert len(told) == 6
    assert "failed with exit code 1" in told[1]
    assert "no parser" in told[1]
    assert "Check failed: 1" in told[2]
    assert "failed" not in told[3]
    assert "passes its check again" in told[4]
    assert (client.tasks, plan.continuations) == ([("Write the parser", "completed")], 2)


@in_most_clients
def test_an_inconclusive_and_an_unapproved_check_let_the_agent_go(name: str, make_sandbox: MakeSandbox) -> None:
    """Nothing that a model proposed is run, and the person is told what to type."""
    with ActingModel(name, DONE, {"tool": "todo", "args": {"done": 2}}, STOP) as model:
        client = installed(name, make_sandbox(model))
        plan = Plan(client, "Write the parser", "Clean up")
        plan.check(1, NO_PROGRAM, approved=True)
        plan.check(2, Check(("rm", "-rf", "src")), approved=False)
        result = client.run()

    assert result.code == 0, result
    told = [last_message(request) for request in model.requests]
    assert len(told) == 3
    assert "is inconclusive: it could not be started" in told[1]
    assert "a person has to approve its check first" in told[2]
    assert (plan.work / "src" / "parser.py").exists()
    assert client.tasks == [("Write the parser", "blocked"), ("Clean up", "blocked")]
    assert plan.continuations == 0
