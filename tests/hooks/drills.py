"""Simulated agents that would run for ever: how often the gate continues each, and which bound ends it.

`python3 do.py docs` writes the table into the documentation.
"""

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.hooks.agent import HookedAgent, Workspace
from tests.project.source import ROOT
from tildone.dialects.indexed import DIALECT as INDEXED
from tildone.integrations.claude import INTEGRATION as CLAUDE
from tildone.integrations.cursor import INTEGRATION as CURSOR
from tildone.integrations.record import HookPoint, Integration
from tildone.log.events import Tripped
from tildone.views.bounds import describe_bound

PAGE = ROOT / "docs" / "how-to" / "hold-an-agent-to-its-plan.md"
COUNTED = re.compile(r"(?<=<!-- counted by the drills -->\n).*(?=<!-- end -->)", re.DOTALL)
FOR_EVER = 300

Said = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Drill:
    """An agent: what it is like, and what it does, and then says, when it is about to stop for the so-many-th time."""

    like: str
    acts: Callable[[HookedAgent, int], Said]
    integration: Integration = CLAUDE


@dataclass(frozen=True, slots=True)
class Counted:
    """How often the agent was told to go on, and why it was let go or left alone."""

    like: str
    told: int
    why: str


def idles(_agent: HookedAgent, turn: int) -> Said:
    return {"last_assistant_message": f"I looked at it again ({turn})."}


def repeats(_agent: HookedAgent, _turn: int) -> Said:
    return {"last_assistant_message": "I cannot go on."}


def lies(_agent: HookedAgent, _turn: int) -> Said:
    return {"last_assistant_message": "All tasks are done. Let me know if you have any questions!"}


def toggles(agent: HookedAgent, turn: int) -> Said:
    todos = [{"content": "Write the parser", "status": "in_progress" if turn % 2 else "pending"}]
    _writes(agent, [*todos, {"content": "Wire it up", "status": "pending"}])
    return {"last_assistant_message": f"On it ({turn})."}


def rewords(agent: HookedAgent, turn: int) -> Said:
    _writes(agent, [{"content": f"Write the parser, attempt {turn}", "status": "in_progress"}])
    return {"last_assistant_message": f"Next attempt ({turn})."}


def plans(agent: HookedAgent, turn: int) -> Said:
    session = agent.workspace.session
    session.dialect = INDEXED
    session.call("write_todos", {"mode": "append", "todos": [{"text": f"Think about it, part {turn}"}]})
    return {"last_assistant_message": f"The plan is better now ({turn})."}


def touches(agent: HookedAgent, turn: int) -> Said:
    (agent.workspace.project / "notes.txt").write_text(f"{turn}\n", encoding="utf-8")
    return {"last_assistant_message": "I made a change."}


def fails(_agent: HookedAgent, _turn: int) -> Said:
    return {"status": "error"}


def asks(_agent: HookedAgent, _turn: int) -> Said:
    return {"last_assistant_message": "Which of the two do you want?"}


def delegates(_agent: HookedAgent, _turn: int) -> Said:
    return {"last_assistant_message": "Done.", "agent_id": "a1"}


def waits(_agent: HookedAgent, _turn: int) -> Said:
    return {"last_assistant_message": "The build runs.", "background_tasks": [{"id": "b1", "status": "running"}]}


def _writes(agent: HookedAgent, todos: list[dict[str, str]]) -> None:
    agent.tell(HookPoint.AFTER_TOOL, tool_name="TodoWrite", tool_input={"todos": todos})


DRILLS = (
    Drill("does nothing, and says so in ever other words", idles),
    Drill("does nothing, and always says the same", repeats),
    Drill("says that all is done, which it is not", lies),
    Drill("starts a task and puts it back, in turns", toggles),
    Drill("puts its list in other words, in turns", rewords),
    Drill("adds a task each time and closes none", plans),
    Drill("changes a file each time and closes no task", touches),
    Drill("fails each time with an error", fails, CURSOR),
    Drill("asks the person something", asks),
    Drill("is a subagent", delegates),
    Drill("waits for something that runs", waits),
)


def counted(drill: Drill, folder: Path) -> Counted:
    """Let an agent loose, with two tasks open, until nobody tells it to go on."""
    project, home = folder / "project", folder / "home"
    (project / ".git").mkdir(parents=True)
    home.mkdir()
    workspace = Workspace(project, home)
    agent = HookedAgent(workspace, drill.integration)
    if drill.acts in (toggles, rewords):
        _writes(agent, [{"content": "Write the parser", "status": "pending"}])
    else:
        workspace.plan(("Write the parser", "in_progress"), ("Wire it up", "pending"))
    told = 0
    while told < FOR_EVER and _is_told(agent.tell(HookPoint.STOP, **drill.acts(agent, told)).out):
        told += 1
    newest = next(workspace.session.store.history(workspace.session.name)).fact
    why = describe_bound(newest.bound, newest.limit) if isinstance(newest, Tripped) else "left alone"
    return Counted(drill.like, told, why)


def _is_told(answer: str) -> bool:
    return '"decision"' in answer or '"followup_message"' in answer


def all_counted() -> dict[str, Counted]:
    """Every drill, by what its agent does."""
    with tempfile.TemporaryDirectory() as folder:
        return {drill.acts.__name__: counted(drill, Path(folder) / drill.acts.__name__) for drill in DRILLS}


def table(found: dict[str, Counted]) -> str:
    """A row for each drill."""
    rows = ["| an agent that | is told to go on | and then |", "|---|---|---|"]
    for each in found.values():
        times = {0: "never", 1: "once"}.get(each.told, f"{each.told} times")
        rows.append(f"| {each.like} | {times} | {each.why} |")
    return "\n".join(rows)


def page(found: dict[str, Counted] | None = None) -> str:
    """The page of the documentation as it should be now."""
    rows = table(found or all_counted())
    return COUNTED.sub(lambda _: f"\n{rows}\n\n", PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    print(table(all_counted()))
