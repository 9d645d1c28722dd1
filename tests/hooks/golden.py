"""Hooks as coding agents call them, and the replies they get: one file for each case, under `golden/AGENT/`.

A file holds the `event` named on the command line (empty where the JSON names it), the `plan` there is, the plan that
the model has `seen` last, the person's directive (`course`), and the JSON on `stdin`; then what is expected on `stdout`
and, where it matters, the plan `after`. `<project>` stands for the project's folder.

`python -m tests.hooks.golden` rewrites the files with today's replies; read the difference before you commit it.
"""

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.person import Answer
from tests.hooks.agent import WITH_HOOKS, Tasks, Workspace, dumped, hooks_of, in_subprocess
from tildone.agents.assignment import assign_session
from tildone.agents.identity import AgentId
from tildone.ids import now
from tildone.integrations.record import Integration
from tildone.log.events import Directive
from tildone.value import replace

FOLDER = Path(__file__).parent / "golden"
FILES = sorted(FOLDER.glob("*/*.json"))
HERE = "<project>"


@dataclass(frozen=True, slots=True)
class Golden:
    """One case."""

    path: Path
    said: dict[str, Any]

    @property
    def integration(self) -> Integration:
        return WITH_HOOKS[self.path.parent.name]

    @property
    def event(self) -> str:
        """The agent's own name of the event, from the command line or the JSON."""
        return str(self.said["event"] or self.said["stdin"][hooks_of(self.integration).fields["event"]])

    def answered(self, workspace: Workspace) -> tuple[Any, str, Tasks]:
        """The standard output and standard error of a real hook, and the plan after it."""
        self._lay(workspace)
        answer: Answer = in_subprocess(
            [self.integration.name, *([self.said["event"]] if self.said["event"] else [])],
            dumped(self.said["stdin"]).replace(HERE.encode(), str(workspace.project).encode()),
            workspace.environ,
        )
        assert answer.code == 0
        try:
            return json.loads(answer.out), answer.err, workspace.tasks
        except ValueError:
            return answer.out, answer.err, workspace.tasks

    def _lay(self, workspace: Workspace) -> None:
        """Set up what the file describes."""
        said = self.said
        if "seen" in said:
            workspace.plan(*map(tuple, said["seen"]))
            key = (
                f"{self.integration.name}:{said['stdin'][hooks_of(self.integration).fields['conversation'].split()[0]]}"
            )
            agent = assign_session(workspace.agents, AgentId.parse(key), os.getpid(), now())
            workspace.agents.save(replace(agent, seen_head=workspace.session.state.head))
        workspace.plan(*map(tuple, said.get("plan", said.get("seen", []))))
        workspace.session.set_directive(Directive(said.get("course", "go")))


def golden(path: Path) -> Golden:
    return Golden(path, json.loads(path.read_text(encoding="utf-8")))


def rewrite(path: Path) -> None:
    """Rewrite the file with today's reply."""
    each = golden(path)
    with tempfile.TemporaryDirectory() as folder:
        project, home = Path(folder) / "project", Path(folder) / "home"
        (project / ".git").mkdir(parents=True)
        home.mkdir()
        out, _, after = each.answered(Workspace(project, home))
    said = {**each.said, "stdout": out}
    if "after" in said:
        said["after"] = after
    path.write_text(json.dumps(said, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for file in FILES:
        rewrite(file)
