"""The table in the reference of dialects: how often an agent that stops is told to go on, and after which time."""

import re
from pathlib import Path

import pytest

from tests.extensions.stage import Stage
from tests.hooks.agent import HookedAgent, new_workspace
from tests.project.source import ROOT
from tildone import MemoryStore, session_in
from tildone.agents.integrations.claude import INTEGRATION as CLAUDE
from tildone.app.settings import load
from tildone.plan.dialects import DIALECTS, dialect_named
from tildone.plan.gate import GoOn
from tildone.plan.model import Task
from tildone.plan.ops import Append
from tildone.run.extensions import extension_of

PAGE = (ROOT / "docs" / "reference" / "dialects.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## An agent that stops\n")[2].partition("\n## ")[0]
ROWS = {
    cells[0]: cells[1:] for line in SECTION.splitlines() if len(cells := re.findall(r"(?<=\| )[^|]*(?= \|)", line)) == 5
}
MANY = 30
NAMES = sorted(DIALECTS)


def told(cell: str) -> int:
    """Return the number in a cell; 0 if there is none."""
    return int(cell.split(maxsplit=1)[0]) if cell[0].isdigit() else 0


def row(name: str) -> list[str]:
    return ROWS[f"`{name}`"]


def test_every_dialect_has_a_row() -> None:
    assert {f"`{name}`" for name in NAMES} <= set(ROWS)


@pytest.mark.parametrize("name", NAMES)
async def test_in_a_run(name: str, tmp_path: Path) -> None:
    stage = await on_stage(name, tmp_path)
    times, countdown = told(row(name)[0]), told(row(name)[1]) * 1000
    await stage.says("Go")

    for number in range(MANY if countdown else 0):
        before = len(stage.model.requests)
        stage.clock.advance(countdown - 1)
        await stage.host.settled()
        assert len(stage.model.requests) == before
        stage.clock.advance(1)
        await stage.host.settled()
        assert len(stage.model.requests) == before + (number < times)

    assert len(stage.model.requests) == 1 + times
    assert not stage.host.pending


@pytest.mark.parametrize("name", NAMES)
async def test_a_prompt_begins_the_count_again(name: str, tmp_path: Path) -> None:
    stage = await on_stage(name, tmp_path)
    for _ in range(2):
        await stage.says("Go")
        for _ in range(MANY):
            stage.clock.advance(3000)
            await stage.host.settled()
        stage.open_session("conversation").reset_counts()

    assert len(stage.model.requests) == 2 * (1 + told(row(name)[0]))


@pytest.mark.parametrize("name", NAMES)
def test_in_hooks(name: str, tmp_path: Path) -> None:
    workspace = new_workspace(tmp_path)
    workspace.more["TILDONE_DIALECT"] = name
    workspace.plan(("One", "pending"))
    agent = HookedAgent(workspace, CLAUDE)

    answers = [agent.stops(f"Words {number}.") for number in range(MANY)]

    assert sum("One" in answer for answer in answers) == told(row(name)[2])


@pytest.mark.parametrize("name", NAMES)
def test_in_the_library(name: str) -> None:
    session = session_in(MemoryStore(), "s", dialect_named(name))
    session.change([Append((Task("One"),))])

    decisions = [session.turn_ended().decision for _ in range(MANY)]

    assert sum(isinstance(decision, GoOn) for decision in decisions) == told(row(name)[3])


async def on_stage(name: str, folder: Path) -> Stage:
    """A host in which the model never does anything, and one task is open."""
    stage = Stage(dialect_named(name))
    settings = load({}, {"HOME": str(folder)}, str(folder))
    await stage.start(extension_of(stage.dialect, stage.open_session, settings))
    stage.open_session("conversation").change([Append((Task("One"),))])
    return stage
