"""Simulated agents that never finish: how often the gate continues each, and which bound ends that.

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
TABLE_IN_PAGE = re.compile(r"(?<=<!-- counted by the drills -->\n).*(?=<!-- end -->)", re.DOTALL)
MAX_STOPS = 300

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Drill:
    """A simulated agent. `act` is what it does before its n-th stop; it returns fields of the stop event."""

    description: str
    act: Callable[[HookedAgent, int], Fields]
    integration: Integration = CLAUDE


@dataclass(frozen=True, slots=True)
class DrillResult:
    """How often an agent was continued, and which bound ended that, if any."""

    description: str
    nudges: int
    outcome: str


def idles(_agent: HookedAgent, turn: int) -> Fields:
    return {"last_assistant_message": f"I looked at it again ({turn})."}


def repeats(_agent: HookedAgent, _turn: int) -> Fields:
    return {"last_assistant_message": "I cannot go on."}


def lies(_agent: HookedAgent, _turn: int) -> Fields:
    return {"last_assistant_message": "All tasks are done. Let me know if you have any questions!"}


def toggles(agent: HookedAgent, turn: int) -> Fields:
    todos = [{"content": "Write the parser", "status": "in_progress" if turn % 2 else "pending"}]
    _writes(agent, [*todos, {"content": "Wire it up", "status": "pending"}])
    return {"last_assistant_message": f"On it ({turn})."}


def rewords(agent: HookedAgent, turn: int) -> Fields:
    _writes(agent, [{"content": f"Write the parser, attempt {turn}", "status": "in_progress"}])
    return {"last_assistant_message": f"Next attempt ({turn})."}


def plans(agent: HookedAgent, turn: int) -> Fields:
    session = agent.workspace.session
    session.dialect = INDEXED
    session.call("write_todos", {"mode": "append", "todos": [{"text": f"Think about it, part {turn}"}]})
    return {"last_assistant_message": f"The plan is better now ({turn})."}


def touches(agent: HookedAgent, turn: int) -> Fields:
    (agent.workspace.project / "notes.txt").write_text(f"{turn}\n", encoding="utf-8")
    return {"last_assistant_message": "I made a change."}


def fails(_agent: HookedAgent, _turn: int) -> Fields:
    return {"status": "error"}


def asks(_agent: HookedAgent, _turn: int) -> Fields:
    return {"last_assistant_message": "Which of the two do you want?"}


def delegates(_agent: HookedAgent, _turn: int) -> Fields:
    return {"last_assistant_message": "Done.", "agent_id": "a1"}


def waits(_agent: HookedAgent, _turn: int) -> Fields:
    return {"last_assistant_message": "The build runs.", "background_tasks": [{"id": "b1", "status": "running"}]}


def _writes(agent: HookedAgent, todos: list[dict[str, str]]) -> None:
    agent.report(HookPoint.AFTER_TOOL, tool_name="TodoWrite", tool_input={"todos": todos})


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


def run_drill(drill: Drill, folder: Path) -> DrillResult:
    """Run an agent with two open tasks until it is not continued any more."""
    project, home = folder / "project", folder / "home"
    (project / ".git").mkdir(parents=True)
    home.mkdir()
    workspace = Workspace(project, home)
    agent = HookedAgent(workspace, drill.integration)
    if drill.act in (toggles, rewords):
        _writes(agent, [{"content": "Write the parser", "status": "pending"}])
    else:
        workspace.plan(("Write the parser", "in_progress"), ("Wire it up", "pending"))
    nudges = 0
    while nudges < MAX_STOPS and _continues(agent.report(HookPoint.STOP, **drill.act(agent, nudges)).out):
        nudges += 1
    newest = next(workspace.session.store.history(workspace.session.name)).fact
    outcome = describe_bound(newest.bound, newest.limit) if isinstance(newest, Tripped) else "left alone"
    return DrillResult(drill.description, nudges, outcome)


def _continues(answer: str) -> bool:
    return '"decision"' in answer or '"followup_message"' in answer


def run_all_drills() -> dict[str, DrillResult]:
    """Run every drill; return the results by the name of the agent's function."""
    with tempfile.TemporaryDirectory() as folder:
        return {drill.act.__name__: run_drill(drill, Path(folder) / drill.act.__name__) for drill in DRILLS}


def table(results: dict[str, DrillResult]) -> str:
    """Return a Markdown table with a row for each drill."""
    rows = ["| an agent that | is told to go on | and then |", "|---|---|---|"]
    for each in results.values():
        times = {0: "never", 1: "once"}.get(each.nudges, f"{each.nudges} times")
        rows.append(f"| {each.description} | {times} | {each.outcome} |")
    return "\n".join(rows)


def page(results: dict[str, DrillResult] | None = None) -> str:
    """Return the page of the documentation with the current table."""
    rows = table(results or run_all_drills())
    return TABLE_IN_PAGE.sub(lambda _: f"\n{rows}\n\n", PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    print(table(run_all_drills()))
