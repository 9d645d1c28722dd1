"""The plan of a client's project, which is a real repository, with checks of its tasks."""

import sys
from collections.abc import Callable
from typing import TypeVar

from tests.checks.repositories import git, make_repository
from tests.clients.agents import Sandbox
from tests.clients.driving import install_in
from tests.clients.inside import InstalledClient
from tildone.app.opening import check_approvals, open_session
from tildone.app.settings import load
from tildone.log.session import Session
from tildone.plan.dialects.brief import DIALECT as BRIEF
from tildone.plan.events import Nudged
from tildone.plan.model import Check, Proof, Task
from tildone.plan.ops import Append, Numbered, SetCheck

T = TypeVar("T")

MADE = Check(
    (sys.executable, "-c", "import os, sys; sys.exit('no parser' if not os.path.exists('src/made.py') else 0)")
)
"""A check that passes if the file exists that the task is about."""


class CheckedPlan:
    """The project's plan, as a person and the log see it."""

    def __init__(self, client: InstalledClient, *texts: str) -> None:
        self.work = client.sandbox.work
        self._settings = load({}, {**client.environ, "XDG_DATA_HOME": str(client.data.parent)}, str(self.work))
        if texts:
            self._with_session(lambda session: session.change([Append(tuple(map(Task, texts)))]))

    def check(self, number: int, check: Check) -> None:
        """Give a task a check, as a person does, who thereby approves it."""
        self._with_session(lambda session: session.change([SetCheck(Numbered((number,)), check)]))
        check_approvals(self._settings).approve(check)

    def write(self, name: str, text: str) -> None:
        (self.work / "src" / name).write_text(text, encoding="utf-8")

    @property
    def continuations(self) -> int:
        return self._with_session(lambda s: sum(isinstance(event.fact, Nudged) for event in s.store.events(s.name)))

    @property
    def proofs(self) -> list[Proof | None]:
        return self._with_session(lambda session: [task.proof for task in session.plan.tasks])

    def _with_session(self, use: Callable[[Session], T]) -> T:
        session = open_session(self._settings, BRIEF)
        try:
            return use(session)
        finally:
            session.store.close()


def install_in_repository(mode: str, name: str, sandbox: Sandbox) -> InstalledClient:
    sandbox.work.rmdir()
    make_repository(sandbox.work)
    client = install_in(mode, name, sandbox)
    git(sandbox.work, "add", "-A")
    git(sandbox.work, "commit", "-qm", "Settings", check=False)
    return client
