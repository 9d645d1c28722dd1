"""The reference page of the integrations agrees with their records and with the results of tests in real clients."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.inside import CLIENTS
from tests.clients.integrations_page import PAGE, page
from tests.clients.results import NO, YES, Results, load, save
from tests.clients.situations import ABSENT, ONE_MODE, SITUATIONS, Cell, Mode
from tildone.agents.integrations import INTEGRATIONS

HELD = Cell("held", "pi", Mode.TERMINAL)


def test_the_page_agrees_with_the_records_and_the_results() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(load()), "run `python3 do.py table`"


def test_the_results_are_of_the_versions_that_the_records_name() -> None:
    """Who changes the version that is installed runs the tests again."""
    versions = load().versions

    assert versions == {client: INTEGRATIONS[client].tried for client in versions}


def test_a_dash_says_that_a_client_has_no_such_thing() -> None:
    """A dot says that it was not tried; footnotes are numbered in each group."""
    table = page(Results({"pi": "1.0"}, {HELD: YES}))

    assert "| an agent that stops early is continued | · / · | · / · (2) | · / · | · / · (3) | · / yes (4) |" in table
    assert f"4. pi: {INTEGRATIONS['pi'].notes['held']}" in table
    assert f". pi: {INTEGRATIONS['pi'].notes['native list']}" in table


def test_a_footnote_explains_every_dash() -> None:
    lacking = {(client, situation) for situation, clients in ABSENT.items() for client in clients}

    assert [key for key in lacking if key[1] not in INTEGRATIONS[key[0]].notes] == []
    assert [cell for cell in load().cells if (cell.client, cell.situation) in lacking] == []


def test_an_empty_cell_has_a_reason() -> None:
    """A note of the client, or, if it was tried in one mode, one of the situation."""
    decided = load().cells

    def is_explained(situation: str, client: str) -> bool:
        tried = [Cell(situation, client, mode) in decided for mode in Mode]
        return all(tried) or situation in INTEGRATIONS[client].notes or (any(tried) and situation in ONE_MODE)

    assert [(client, name) for name in SITUATIONS for client in CLIENTS if not is_explained(name, client)] == []


COLLECT = """
import os, pytest
from tests.clients.conftest import ONLY
from tests.clients.inside import CLIENTS
from tests.clients.results import Claims
os.environ[ONLY] = " ".join(CLIENTS)
claims = Claims()
pytest.main(["tests/clients", "--collect-only", "-qq", "-n0", "-p", "no:cacheprovider"], plugins=[claims])
print("", *claims.cells, sep="\\n= ")
"""


@pytest.mark.slow
def test_a_test_proves_every_result() -> None:
    """And nobody proves that a client has what it is said to lack."""
    done = subprocess.run(
        [sys.executable, "-c", COLLECT], cwd=PAGE.parents[2], capture_output=True, text=True, timeout=120, check=True
    )

    claimed = {Cell.parse(line[2:]) for line in done.stdout.splitlines() if line.startswith("= ")}
    assert load().cells.keys() - claimed == set()
    assert [cell for cell in claimed if cell.client in ABSENT.get(cell.situation, ())] == []


def test_results_are_kept_as_they_were(tmp_path: Path) -> None:
    cells = {Cell(situation, "claude", mode): YES for situation in reversed(list(SITUATIONS)) for mode in Mode}
    results = Results({"claude": "2.0"}, cells)

    save(results, tmp_path / "results.json")

    kept = load(tmp_path / "results.json")
    assert kept == results
    assert [cell.situation for cell in kept.cells][::2] == list(SITUATIONS)


def test_a_client_that_is_tried_again_loses_its_old_results() -> None:
    other = Cell("held", "claude", Mode.HEADLESS)
    old = Results({"pi": "1.0", "claude": "2.0"}, {HELD: YES, other: YES})

    merged = old.replaced(Results({"pi": "1.1"}, {Cell("stop", "pi", Mode.HEADLESS): NO}))

    assert merged == Results({"pi": "1.1", "claude": "2.0"}, {other: YES, Cell("stop", "pi", Mode.HEADLESS): NO})
