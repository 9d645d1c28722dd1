"""The gate as a part of the campaign: agents that never finish end, and workers finish."""

from tests.faults.gate.actions import DIALECTS
from tests.faults.gate.agents import ADVERSARIES, WORKERS, Agent
from tests.faults.gate.outcome import MAX_CONTINUATIONS
from tests.faults.gate.table import PATHS, Cell, run_cell
from tests.faults.tally import Plan, Tally

SAMPLE = (
    ("toggler", "hooks", "brief"),
    ("grower", "hooks", "declared"),
    ("undo and do again", "hooks", "indexed"),
    ("toggler", "run", "indexed"),
    ("lister without a stop", "run", "brief"),
    ("plain", "run", "brief"),
    ("splits", "hooks", "indexed"),
)
"""Agents of the short form: their names, paths and dialects."""


def agent_named(name: str) -> Agent:
    """Return the agent of that name."""
    return next(agent for agent in (*ADVERSARIES, *WORKERS) if agent.name == name)


def gate(plan: Plan, tally: Tally) -> None:
    """Run the agents."""
    cells = [
        (agent.name, path, dialect) for agent in (*ADVERSARIES, *WORKERS) for path in PATHS for dialect in DIALECTS
    ]
    for name, path, dialect in cells if plan.is_long else SAMPLE:
        _count(run_cell(agent_named(name), path, dialect), tally)


def _count(cell: Cell, tally: Tally) -> None:
    if cell.ended is None:
        return
    is_early = cell.agent.honest and not cell.ended.done
    is_endless = not cell.agent.honest and cell.path == "hooks" and cell.ended.count >= MAX_CONTINUATIONS
    tally.add(inputs=1, agents=1, stopped_early=int(is_early), unbounded=int(is_endless))
