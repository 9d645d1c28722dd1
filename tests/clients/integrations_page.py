"""Writes `docs/reference/integrations.md` from the integrations' records and the results of tests in real clients.

`python -m tests.clients.integrations_page` runs every test of tildone inside a client, which takes minutes, and writes
the page. All but the cells of the first table comes from the records, which is checked without running a client.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.clients.inside import CLIENTS
from tests.clients.install import CLIENTS as PACKAGES
from tildone.integrations import INTEGRATIONS, all_integrations
from tildone.integrations.record import HookPoint, Integration

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "integrations.md"
YES, NO, NONE = "yes", "no", "–"

COLUMNS = {
    "tools": ("continued_until_its_plan_is_done",),
    "gate": ("continued_until_its_plan_is_done", "makes_no_progress_is_released"),
    "plan after restart and resume": ("there_again_after_a_restart",),
    "a plan for each session": ("have_plans_of_their_own",),
    "follows its own list": ("follows_the_clients_own_list",),
    "status line": ("status_line_of_claude", "in_its_footer"),
    "works when tildone is broken": ("works_with_a_tildone_that_is", "works_where_plans_cannot_be_kept"),
}
"""The columns of the table, and for each the tests that decide it, by part of their names."""

NOTES = {
    (client, column): INTEGRATIONS[client].notes[column]
    for client in CLIENTS
    for column in COLUMNS
    if column in INTEGRATIONS[client].notes
}

OPENING = """\
# Integrations

This page lists what tildone does in the coding agents that `tildone install` supports. The first table is generated
from tests: each coding agent is installed in the given version, `tildone install` is the only configuration, and a
local model gives scripted answers. `python -m tests.clients.integrations_page` runs the tests and generates this page.
"""
PROJECT_SCOPE = """\
With `--scope project` the results are the same, as soon as the coding agent applies the settings of the project: Codex,
Gemini CLI and pi first ask whether you trust the folder. When opencode starts with a plugin for the first time, it
downloads a package, which requires network access.

## Not tested in the coding agent itself

These coding agents cannot be run without an account or a screen. Their integrations follow their documentation.
"""

Cells = Mapping[tuple[str, str], str]


def page(cells: Cells | None = None) -> str:
    """Return the whole page; the cells of the first table default to those of the existing page."""
    cells = cells or cells_of(PAGE.read_text(encoding="utf-8"))
    numbers = {key: number for number, key in enumerate(NOTES, 1)}
    lines = [f"| coding agent | version | {' | '.join(COLUMNS)} |", f"|---|---|{'---|' * len(COLUMNS)}"]
    for client in CLIENTS:
        row = [_cell(cells[client, column], numbers.get((client, column))) for column in COLUMNS]
        lines.append(f"| {INTEGRATIONS[client].title} | {PACKAGES[client].version} | {' | '.join(row)} |")
    notes = [
        f"{number}. {INTEGRATIONS[client].title}: {NOTES[client, column]}"
        for (client, column), number in numbers.items()
    ]
    return "\n".join([OPENING, *lines, "", *notes, "", PROJECT_SCOPE, *_documented(), ""])


def _documented() -> Iterator[str]:
    """Yield a table of the integrations that are not tested in the program itself, from their records."""
    yield "| coding agent | `tildone install` | tools | gate | follows its own list | status line |"
    yield "|---|---|---|---|---|---|"
    for integration in all_integrations():
        if integration.name not in CLIENTS:
            row = (YES if can else NONE for can in _capabilities(integration))
            yield f"| {integration.title} | `{integration.name}` | {' | '.join(row)} |"


def _capabilities(integration: Integration) -> tuple[bool, bool, bool, bool]:
    points = set(integration.hooks.points.values()) if integration.hooks else set()
    mirrors = HookPoint.AFTER_TOOL in points and bool(integration.list_tools or integration.task_tools)
    has_tools = integration.mcp is not None or HookPoint.OFFER_TOOLS in points
    return has_tools, HookPoint.STOP in points, mirrors, HookPoint.STATUS_LINE in points


def cells_of(text: str) -> Cells:
    """Return the cells of the first table of a page."""
    rows = {row[0]: row[2:] for row in _rows(text)}
    return {
        (client, column): rows.get(INTEGRATIONS[client].title, [""] * len(COLUMNS))[number].partition(" ")[0]
        for client in CLIENTS
        for number, column in enumerate(COLUMNS)
    }


def _rows(text: str) -> Iterator[list[str]]:
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == len(COLUMNS) + 2:
            yield cells


def _cell(content: str, note: int | None) -> str:
    return f"{content} ({note})" if note and content == YES else content


class OutcomeRecorder:
    """A pytest plugin that records the outcomes of tests, by client and column."""

    def __init__(self) -> None:
        self.outcomes: dict[tuple[str, str], set[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and report.passed:
            return
        name, _, case = report.nodeid.rpartition("::")[2].partition("[")
        words = re.split(r"[^a-z]+", case or name)
        for client in set(words) & set(CLIENTS):
            for column, parts in COLUMNS.items():
                if any(part in name for part in parts):
                    self.outcomes.setdefault((client, column), set()).add(report.outcome)

    @property
    def cells(self) -> Cells:
        return {(client, column): self._cell(client, column) for client in CLIENTS for column in COLUMNS}

    def _cell(self, client: str, column: str) -> str:
        outcomes = self.outcomes.get((client, column), set())
        return NO if "failed" in outcomes else YES if "passed" in outcomes else NONE


def main() -> int:
    """Run the clients and write the page, unless one of them is missing."""
    recorder = OutcomeRecorder()
    files = sorted(str(path) for path in Path(__file__).parent.glob("test_inside_*.py"))
    code = pytest.main([*files, "-q", "-n", "auto", "-p", "no:cacheprovider"], plugins=[recorder])
    missing = [client for client in CLIENTS if recorder.cells[client, "tools"] == NONE]
    if missing:
        print(f"{', '.join(missing)} could not be run; `python3 do.py clients` installs what is missing")
        return 1
    PAGE.write_text(page(recorder.cells), encoding="utf-8", newline="\n")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
