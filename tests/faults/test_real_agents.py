"""Agents against real hooks, a real MCP server and the real `tildone run`: each ends as the page of bounds says."""

import pytest

from tests.faults.gate.outcome import Ended
from tests.faults.gate.part import agent_named
from tests.faults.gate.real import RESTING, SHORT, Row, rows

QUICK = (("pause-typer", "hooks"), ("waiting", "hooks"), ("lister", "run"))


@pytest.mark.parametrize("cells", [QUICK, pytest.param(SHORT, marks=pytest.mark.slow)])
def test_agents_are_continued_as_often_as_the_page_says(cells: tuple[tuple[str, str], ...]) -> None:
    """`python3 do.py faults long real-agents` runs all of them."""
    found = list(rows(cells))

    assert {(row.agent.name, row.path) for row in found} == set(cells)
    assert [row.line for row in found if row.fault] == []
    [notice] = next(row.ended.notices for row in found if row.agent.name == "pause-typer")
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

    assert Row(resting.get(name) or agent_named(name), "hooks", ended).fault == fault
