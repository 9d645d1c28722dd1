"""The table of agents against the gate: its page is current, adversaries end, and workers finish."""

import pytest

from tests.faults.gate.actions import DIALECTS
from tests.faults.gate.part import SAMPLE, agent_named
from tests.faults.gate.table import ALL_AGENTS, NOT_APPLICABLE, PATHS, run_cell, text_in_page

QUICK = (
    ("toggler", "hooks", "brief"),
    ("grower", "hooks", "declared"),
    ("file toucher", "hooks", "phased"),
    ("resume-typer", "hooks", "indexed"),
    ("toggler", "run", "indexed"),
    ("plain", "run", "brief"),
)
MORE = (
    ("dropper", "hooks", "phased"),
    ("appender", "hooks", "indexed"),
    ("two plans in turns", "hooks", "brief"),
    ("split", "hooks", "brief"),
    ("edits files", "run", "indexed"),
    ("plans late", "hooks", "declared"),
)
"""Cells that take a few seconds each; `python -m tests.faults gate` runs all of them."""

SLOW = [pytest.param(*cell, marks=pytest.mark.slow) for cell in dict.fromkeys((*SAMPLE, *MORE)) if cell not in QUICK]


@pytest.mark.parametrize(("name", "path", "dialect"), [*QUICK, *SLOW])
def test_the_page_has_the_count(name: str, path: str, dialect: str) -> None:
    cell = run_cell(agent_named(name), path, dialect)

    assert cell.text == text_in_page(cell.agent, path, dialect), "run `python -m tests.faults gate write`"
    assert cell.ended is None or cell.agent.honest == cell.ended.done


def test_the_page_has_every_agent_in_every_dialect_on_both_paths() -> None:
    """A worker has finished if the page has a mere number for it."""
    texts = {
        (agent, path, dialect): text_in_page(agent, path, dialect)
        for agent in ALL_AGENTS
        for path in PATHS
        for dialect in DIALECTS
    }

    wrong = [
        f"{agent.name}, {path}, {dialect}: {text}"
        for (agent, path, dialect), text in texts.items()
        if not (text == "n/a" if NOT_APPLICABLE[path](agent) else text.isdecimal())
    ]
    assert wrong == []
