"""Agents against the gate, simulated and real: its page is current, adversaries end, and workers finish."""

import pytest

from tests.faults.gate.agents import DIALECTS, Ended
from tests.faults.gate.table import (
    ALL_AGENTS,
    NOT_APPLICABLE,
    PATHS,
    RESTING,
    SAMPLE,
    SHORT,
    Cell,
    agent_named,
    rows,
    run_cell,
    text_in_page,
)

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


QUICK_CELLS = (("pause-typer", "hooks"), ("waiting", "hooks"), ("lister", "run"))


@pytest.mark.parametrize("cells", [QUICK_CELLS, pytest.param(SHORT, marks=pytest.mark.slow)])
def test_agents_are_continued_as_often_as_the_page_says(cells: tuple[tuple[str, str], ...]) -> None:
    """`python3 do.py faults long real-agents` runs all of them."""
    found = list(rows(cells))

    assert {(row.agent.name, row.path) for row in found} == set(cells)
    assert [row.line for row in found if row.fault] == []
    [notice] = next(row.ended.notices for row in found if row.ended and row.agent.name == "pause-typer")
    assert notice == (
        "tildone lets the agent go: told to go on 20 times, and nothing changed. "
        "2 of 2 tasks are open. To hold it to them again: tildone resume"
    )


@pytest.mark.parametrize(
    ("name", "ended", "fault"),
    [
        ("toggler", Ended(60, "", done=False, notices=("…",), bound=True), ""),
        ("toggler", Ended(60, "", done=False, bound=True), "the person was told 0 times"),
        ("toggler", Ended(60, "", done=False), "was let go with open work, and no bound was reached"),
        ("toggler", Ended(4000, "", done=False, bound=True), "60 on the page"),
        ("toggler", Ended(3, "", done=False, bound=True), "60 on the page"),
        ("plain", Ended(99, "", done=True), ""),
        ("plain", Ended(20, "", done=False, bound=True), "was let go before its plan was done"),
        ("waiting", Ended(0, "", done=False), ""),
        ("waiting", Ended(20, "", done=False, bound=True, was_held=True), "was held, and may rest"),
    ],
)
def test_what_is_wrong_is_seen(name: str, ended: Ended, fault: str) -> None:
    resting = {agent.name: agent for agent in RESTING}

    assert Cell(resting.get(name) or agent_named(name), "hooks", "brief", ended).fault == fault
