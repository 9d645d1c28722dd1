"""The table of agents against the gate: its page is current, adversaries end, and workers finish."""

import pytest

from tests.faults.gate.actions import DIALECTS
from tests.faults.gate.agents import ADVERSARIES, WORKERS, Agent
from tests.faults.gate.hooks_path import run_hooks
from tests.faults.gate.part import SAMPLE, agent_named
from tests.faults.gate.table import NOT_APPLICABLE, PATHS, run_cell, text_in_page

MORE = (
    ("dropper", "hooks", "phased"),
    ("appender", "hooks", "indexed"),
    ("two plans in turns", "hooks", "brief"),
    ("file toucher", "hooks", "phased"),
    ("resume-typer", "hooks", "indexed"),
    ("split", "hooks", "brief"),
    ("edits files", "run", "indexed"),
    ("plans late", "hooks", "declared"),
    ("subagent chain", "run", "brief"),
    ("lister without a stop", "hooks", "brief"),
)
"""Cells that take a few seconds each; `python -m tests.faults gate` runs all of them."""

CELLS = [(agent, path, dialect) for agent in (*ADVERSARIES, *WORKERS) for path in PATHS for dialect in DIALECTS]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "path", "dialect"), [*SAMPLE, *MORE])
def test_the_page_has_the_count(name: str, path: str, dialect: str) -> None:
    cell = run_cell(agent_named(name), path, dialect)

    assert cell.text == text_in_page(cell.agent, path, dialect), "run `python -m tests.faults gate write`"
    assert cell.ended is None or cell.agent.honest == cell.ended.done


@pytest.mark.slow
def test_the_hook_in_a_process_of_its_own_counts_the_same() -> None:
    """And says once why it lets the agent go, and how to go on."""
    ended = run_hooks(agent_named("toggler"), "brief", real=True)

    assert ended.count == run_hooks(agent_named("toggler"), "brief").count
    [notice] = ended.notices
    assert notice == (
        "tildone lets the agent go: told to go on 60 times, and no task was closed or added. "
        "1 of 2 tasks are open. To hold it to them again: tildone resume"
    )


@pytest.mark.parametrize(("agent", "path", "dialect"), CELLS, ids=lambda part: getattr(part, "name", part))
def test_the_page_has_every_agent_in_every_dialect_on_both_paths(agent: Agent, path: str, dialect: str) -> None:
    """A worker has finished if the page has a mere number for it."""
    text = text_in_page(agent, path, dialect)

    assert text.isdecimal() if not NOT_APPLICABLE[path](agent) else text == "n/a"
