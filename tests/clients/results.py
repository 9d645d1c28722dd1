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
from tests.clients.situations import PROPERTY, SITUATIONS, Cell, Mode

FILE = Path(__file__).parent / "results.json"
YES, NO = "yes", "no"


@dataclass(frozen=True, slots=True)
class Results:
    """The versions that were tried, by client, the decided cells, the tokens that tildone adds, and newer versions."""

    versions: Mapping[str, str]
    cells: Mapping[Cell, str]
    tokens: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """The figures of `bench.hosts.Cost`, by client."""
    newest: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The newest version that was tried of a client, and what the trial found, as `version` and `found`."""

    def replaced(self, newer: "Results") -> "Results":
        """Return these results with those of the clients that were tried again."""
        kept = {cell: mark for cell, mark in self.cells.items() if cell.client not in newer.versions}
        tokens, newest = {**self.tokens, **newer.tokens}, {**self.newest, **newer.newest}
        return Results({**self.versions, **newer.versions}, {**kept, **newer.cells}, tokens, newest)


def load(file: Path = FILE) -> Results:
    kept = json.loads(file.read_text(encoding="utf-8"))
    cells = {
        Cell(situation, client, Mode(mode)): mark
        for situation, row in kept["cells"].items()
        for client, marks in row.items()
        for mode, mark in marks.items()
    }
    return Results(kept["versions"], cells, kept["tokens"], kept["newest"])


def save(results: Results, file: Path = FILE) -> None:
    """Write results, in the order of the tables."""
    table: dict[str, dict[str, dict[str, str]]] = {}
    for situation in SITUATIONS:
        for client in CLIENTS:
            for mode in Mode:
                mark = results.cells.get(Cell(situation, client, mode))
                if mark:
                    table.setdefault(situation, {}).setdefault(client, {})[mode.value] = mark
    kept = {
        name: {client: by_client[client] for client in CLIENTS if client in by_client}
        for name, by_client in (
            ("versions", results.versions),
            ("tokens", results.tokens),
            ("newest", results.newest),
        )
    }
    file.write_text(json.dumps({**kept, "cells": table}, indent=1) + "\n", encoding="utf-8", newline="\n")


@dataclass(slots=True)
class Claims:
    """A pytest plugin that notes the cells that collected tests prove."""

    cells: set[Cell] = field(default_factory=set)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        properties = [pair for item in session.items for pair in item.user_properties]
        self.cells = {Cell.parse(str(value)) for key, value in properties if key == PROPERTY}
