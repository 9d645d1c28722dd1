"""The results of tests in real clients: collected from a run, and kept in `results.json`.

A cell is `yes` if every test that proves it passed, and `no` if one of them failed or was expected to fail. A cell that
no test decided is missing from the results.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.clients.inside import CLIENTS
from tests.clients.install import CLIENTS as PACKAGES
from tests.clients.situations import PROPERTY, SITUATIONS, Cell, Mode

FILE = Path(__file__).parent / "results.json"
YES, NO = "yes", "no"


@dataclass(frozen=True, slots=True)
class Results:
    """The versions that were tried, by client, and the decided cells."""

    versions: Mapping[str, str]
    cells: Mapping[Cell, str]

    def replaced(self, newer: "Results") -> "Results":
        """Return these results with those of the clients that were tried again."""
        kept = {cell: mark for cell, mark in self.cells.items() if cell.client not in newer.versions}
        return Results({**self.versions, **newer.versions}, {**kept, **newer.cells})


def load(file: Path = FILE) -> Results:
    kept = json.loads(file.read_text(encoding="utf-8"))
    cells = {
        Cell(situation, client, Mode(mode)): mark
        for situation, row in kept["cells"].items()
        for client, marks in row.items()
        for mode, mark in marks.items()
    }
    return Results(kept["versions"], cells)


def save(results: Results, file: Path = FILE) -> None:
    """Write results, in the order of the tables."""
    table: dict[str, dict[str, dict[str, str]]] = {}
    for situation in SITUATIONS:
        for client in CLIENTS:
            for mode in Mode:
                mark = results.cells.get(Cell(situation, client, mode))
                if mark:
                    table.setdefault(situation, {}).setdefault(client, {})[mode.value] = mark
    kept = {"versions": {client: results.versions[client] for client in CLIENTS if client in results.versions}}
    file.write_text(json.dumps({**kept, "cells": table}, indent=1) + "\n", encoding="utf-8", newline="\n")


@dataclass(slots=True)
class Claims:
    """A pytest plugin that notes the cells that collected tests prove."""

    cells: set[Cell] = field(default_factory=set)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        properties = [pair for item in session.items for pair in item.user_properties]
        self.cells = {Cell.parse(str(value)) for key, value in properties if key == PROPERTY}


@dataclass(slots=True)
class Recorder:
    """A pytest plugin that records the outcomes of tests. Of a test that is run again, the last run counts."""

    outcomes: dict[str, list[tuple[Cell, str]]] = field(default_factory=dict)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.outcomes.pop(nodeid, None)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and report.passed:
            return
        outcome = "failed" if hasattr(report, "wasxfail") else str(report.outcome)
        cells = [Cell.parse(str(value)) for key, value in report.user_properties if key == PROPERTY]
        self.outcomes.setdefault(report.nodeid, []).extend((cell, outcome) for cell in cells)

    @property
    def failed(self) -> list[str]:
        return [test for test, found in self.outcomes.items() if any(outcome == "failed" for _, outcome in found)]

    @property
    def results(self) -> Results:
        seen: dict[Cell, set[str]] = {}
        for cell, outcome in (pair for found in self.outcomes.values() for pair in found):
            seen.setdefault(cell, set()).add(outcome)
        cells = {cell: NO if "failed" in marks else YES for cell, marks in seen.items() if marks != {"skipped"}}
        return Results({cell.client: PACKAGES[cell.client].version for cell in cells}, cells)
