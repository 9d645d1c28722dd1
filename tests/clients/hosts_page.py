"""`docs/reference/hosts.md`, written from what the real clients did: `python -m tests.clients.hosts_page`.

That runs every test of tildone inside a client, which takes minutes. What the table says otherwise, its columns, the
notes and the versions, is checked without running any.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.clients.inside import CLIENTS
from tests.clients.install import CLIENTS as PACKAGES

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "hosts.md"
TITLES = {"claude": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI", "opencode": "opencode", "pi": "pi"}
YES, NO, NONE = "yes", "no", "–"

COLUMNS = {
    "tools": ("held_until_its_plan_is_done",),
    "gate": ("held_until_its_plan_is_done", "never_gets_on_is_let_go"),
    "plan after restart and resume": ("there_again_after_a_restart",),
    "a plan for each session": ("have_plans_of_their_own",),
    "follows its own list": ("follows_the_clients_own_list",),
    "status line": ("status_line_of_claude", "in_its_footer"),
    "works when tildone is broken": ("works_with_a_tildone_that_is", "works_where_plans_cannot_be_kept"),
}
"""What the table tells of each client, and the tests that it is taken from, by a part of their names."""

NOTES = {
    ("claude", "follows its own list"): (
        "`TaskCreate` and `TaskUpdate`; `TodoWrite` where `CLAUDE_CODE_ENABLE_TASKS=0` brings it back."
    ),
    ("claude", "status line"): "Drawn at a terminal only; the test calls the command that is installed.",
    ("codex", "tools"): (
        "`codex exec` may ask its model once before tool servers have answered; the tool is there from then on."
    ),
    ("codex", "gate"): "Once you trust the hooks: `/hooks`, or `--dangerously-bypass-hook-trust` for one run.",
    ("codex", "follows its own list"): "`update_plan`, which Codex has where `tools.update_plan = {enabled = true}`.",
    ("gemini", "follows its own list"): "`write_todos`.",
    ("opencode", "gate"): (
        "In its terminal, desktop and web pages, and with `opencode serve`. `opencode run` ends at the first stop, "
        "whatever a plugin wants."
    ),
    ("opencode", "follows its own list"): "`todowrite`.",
    ("pi", "tools"): "An extension offers it: pi has no tool servers.",
    ("pi", "gate"): "From pi 0.87 on.",
}

OPENING = """\
# Hosts

What tildone does inside the agents that `tildone install` knows. The first table is made from tests: each client is
installed in the version that is named, `tildone install` is all that is done to it, and a model on the same machine
answers from a script. `python -m tests.clients.hosts_page` runs them and writes this page.
"""
CLOSING = """\
Installed with `--scope project`, all of them do the same, once they heed the project's settings: Codex, Gemini CLI and
pi ask you first whether you trust the folder. When opencode is first started with a plugin it fetches a package, so it
needs the network that once.

## As they document it

Cursor, Copilot CLI, Qwen Code, Zed, VS Code and Claude Desktop can't be run without an account or a screen. What is
written for them follows their documentation: tools in all of them, the gate in Cursor, Copilot CLI and Qwen Code.
"""

Cells = Mapping[tuple[str, str], str]


def page(cells: Cells) -> str:
    """The whole page."""
    numbers = {key: number for number, key in enumerate(NOTES, 1)}
    lines = [f"| host | version | {' | '.join(COLUMNS)} |", f"|---|---|{'---|' * len(COLUMNS)}"]
    for client in CLIENTS:
        told = [_cell(cells[client, column], numbers.get((client, column))) for column in COLUMNS]
        lines.append(f"| {TITLES[client]} | {PACKAGES[client].version} | {' | '.join(told)} |")
    notes = [f"{number}. {TITLES[key[0]]}: {NOTES[key]}" for key, number in numbers.items()]
    return "\n".join([OPENING, *lines, "", *notes, "", CLOSING])


def cells_of(text: str) -> Cells:
    """What a page says in its cells."""
    rows = {row[0]: row[2:] for row in _rows(text)}
    return {
        (client, column): rows.get(TITLES[client], [""] * len(COLUMNS))[number].partition(" ")[0]
        for client in CLIENTS
        for number, column in enumerate(COLUMNS)
    }


def _rows(text: str) -> Iterator[list[str]]:
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == len(COLUMNS) + 2:
            yield cells


def _cell(said: str, note: int | None) -> str:
    return f"{said} ({note})" if note and said == YES else said


class Seen:
    """What became of the tests, by client and column."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, str], set[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and report.passed:
            return
        name, _, case = report.nodeid.rpartition("::")[2].partition("[")
        told = re.split(r"[^a-z]+", case or name)
        for client in set(told) & set(CLIENTS):
            for column, parts in COLUMNS.items():
                if any(part in name for part in parts):
                    self.found.setdefault((client, column), set()).add(report.outcome)

    @property
    def cells(self) -> Cells:
        return {(client, column): self._cell(client, column) for client in CLIENTS for column in COLUMNS}

    def _cell(self, client: str, column: str) -> str:
        outcomes = self.found.get((client, column), set())
        return NO if "failed" in outcomes else YES if "passed" in outcomes else NONE


def main() -> int:
    """Run the clients and write the page; nothing is written where one of them is not there."""
    seen = Seen()
    files = sorted(str(path) for path in Path(__file__).parent.glob("test_inside_*.py"))
    code = pytest.main([*files, "-q", "-n", "auto", "-p", "no:cacheprovider"], plugins=[seen])
    missing = [client for client in CLIENTS if seen.cells[client, "tools"] == NONE]
    if missing:
        print(f"{', '.join(missing)} could not be run; `python3 do.py clients` installs what is missing")
        return 1
    PAGE.write_text(page(seen.cells), encoding="utf-8", newline="\n")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
