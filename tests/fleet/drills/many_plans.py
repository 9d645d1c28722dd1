"""Many plans and what their runs need: their files, their commands, and the commands of a person to queue them.

The command of a task notes when it begins and when it ends in the file `marks`, and makes a file in the folder it runs
in. It is `mark PLAN TASK`, which workers permit, or `deploy PLAN TASK`, which a person has to approve.
"""

from dataclasses import dataclass
from enum import Enum
from itertools import count as count_from
from itertools import cycle, islice
from pathlib import Path

TASKS, REPOSITORIES = 5, 3
SHELL, MODEL = "shell", "run"
AGENTS = (SHELL, MODEL)
PROVIDERS = ("anthropic", "openai")
MODELS = {"anthropic": "anthropic:scripted", "openai": "openai-chat:scripted"}
LABEL = "special"
ASKED, CHECKED = 3, TASKS
"""The task before which a person is asked, and the one whose command is its check."""

SCRIPT = """#!/bin/sh
echo "begin $1 $2 $(date +%s%3N)" >> '{marks}'
: > "made-$2"
echo "end $1 $2 $(date +%s%3N)" >> '{marks}'
"""


class Needs(Enum):
    """What a run needs."""

    REPOSITORY = "a repository that other runs need, too"
    LABEL = "a worker with a label"
    APPROVAL = "the approval of a person"
    NOTHING = "nothing more"


@dataclass(frozen=True)
class ManyPlan:
    """A plan: the agent that works on it, and what it needs. Of those with the same agent, it is the `index`th."""

    number: int
    agent: str
    index: int

    @property
    def needs(self) -> Needs:
        return list(Needs)[self.index % len(Needs)]

    @property
    def round(self) -> int:
        return self.index // len(Needs)

    @property
    def provider(self) -> str:
        return PROVIDERS[(self.index + self.round) % len(PROVIDERS)] if self.agent == MODEL else ""

    @property
    def asked(self) -> int:
        """The task that a person has to approve; 0 if there is none."""
        if self.needs is not Needs.APPROVAL:
            return 0
        return CHECKED if self.agent == SHELL and self.round % 2 else ASKED

    def command(self, folder: Path, task: int) -> str:
        return f"{folder / ('deploy' if task == self.asked else 'mark')} {self.number} {task}"

    def text(self, folder: Path) -> str:
        """The plan in Markdown. A model is not told the commands, but for that of the check."""
        lines = []
        for task in range(1, TASKS + 1):
            command = self.command(folder, task)
            in_text = f": `{command}`" if self.agent == SHELL and task != CHECKED else ""
            lines += [f"- [ ] Step {task} of plan {self.number}{in_text}", *[f"  $ {command}"] * (task == CHECKED)]
        return "\n".join(lines) + "\n"

    def options(self, repositories: list[Path]) -> tuple[str, ...]:
        """The options with which it is queued."""
        model = ("--model", MODELS[self.provider]) if self.provider else ()
        match self.needs:
            case Needs.REPOSITORY:
                needed: tuple[str, ...] = ("--repo", str(self.repository(repositories)))
            case Needs.LABEL:
                needed = ("--labels", LABEL)
            case _:
                needed = ()
        return ("--agent", self.agent, *model, *needed)

    def repository(self, repositories: list[Path]) -> Path:
        return repositories[self.round % len(repositories)]


def plans_for(agents: tuple[str, ...], count: int) -> list[ManyPlan]:
    """Return so many plans, for each of the agents in turn."""
    indices = {agent: count_from(0) for agent in agents}
    chosen = islice(cycle(agents), count)
    return [ManyPlan(number, agent, next(indices[agent])) for number, agent in enumerate(chosen)]


def write_scripts(folder: Path) -> None:
    """Write the commands of the tasks."""
    for name in ("mark", "deploy"):
        script = folder / name
        script.write_text(SCRIPT.format(marks=folder / "marks"), encoding="utf-8")
        script.chmod(0o755)
