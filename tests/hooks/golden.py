"""Hooks as coding agents call them, and the replies they get: one file for each case, under `golden/AGENT/`.

A file contains the `event` named on the command line (empty if the JSON names it), the `plan`, the plan that the model
has last `seen`, the directive (`course`), and the JSON on `stdin`; then the expected `stdout` and, if it matters, the
plan `after`. `<project>` stands for the project's folder.

`python -m tests.hooks.golden` rewrites the files with today's replies; read the difference before you commit it.
"""

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.person import Answer
from tests.hooks.agent import WITH_HOOKS, Tasks, Workspace, hooks_of, in_subprocess, new_workspace, plan_of, to_json
from tildone.agents.hooks.event import field_in
from tildone.agents.integrations import Integration
from tildone.base.ids import now
from tildone.plan.events import Directive
from tildone.plan.ops import Write
from tildone.stores.agents import AgentId
from tildone.stores.assignment import assign_session

FOLDER = Path(__file__).parent / "golden"
FILES = sorted(FOLDER.glob("*/*.json"))
PROJECT_PLACEHOLDER = "<project>"


@dataclass(frozen=True, slots=True)
class Golden:
    """One case, read from its file."""

    path: Path
    case: dict[str, Any]

    @property
    def integration(self) -> Integration:
        return WITH_HOOKS[self.path.parent.name]

    @property
    def event(self) -> str:
        return str(self.case["event"] or self.case["stdin"][hooks_of(self.integration).fields["event"]])

    def run(self, workspace: Workspace) -> tuple[Any, str, Tasks]:
        """Run a real hook; return its standard output, its standard error, and the plan afterwards if it matters."""
        self._set_up(workspace)
        answer: Answer = in_subprocess(
            [self.integration.name, *([self.case["event"]] if self.case["event"] else [])],
            to_json(self.case["stdin"]).replace(PROJECT_PLACEHOLDER.encode(), str(workspace.project).encode()),
            workspace.environ,
        )
        assert answer.code == 0
        after = workspace.tasks if "after" in self.case else []
        try:
            return json.loads(answer.out), answer.err, after
        except ValueError:
            return answer.out, answer.err, after

    def _set_up(self, workspace: Workspace) -> None:
        """Create the plan, the directive and the agent that the file describes."""
        case, session = self.case, workspace.session
        if "seen" in case:
            session.change((Write(plan_of(case["seen"]).phases),))
            conversation = field_in(case["stdin"], hooks_of(self.integration), "conversation")
            agent_id = AgentId.parse(f"{self.integration.name}:{conversation}")
            agent = assign_session(workspace.agents, agent_id, os.getpid(), now())
            session.store.records.set_seen(agent.session, agent.reader, session.state.head)
        session.change((Write(plan_of(case.get("plan", case.get("seen", []))).phases),))
        session.set_directive(Directive(case.get("course", "go")))


def golden(path: Path) -> Golden:
    return Golden(path, json.loads(path.read_text(encoding="utf-8")))


def rewrite(path: Path) -> None:
    each = golden(path)
    with tempfile.TemporaryDirectory() as folder:
        out, _, after = each.run(new_workspace(Path(folder)))
    case = {**each.case, "stdout": out}
    if "after" in case:
        case["after"] = after
    path.write_text(json.dumps(case, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for file in FILES:
        rewrite(file)
