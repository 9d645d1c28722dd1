"""Writes `docs/reference/integrations.md` from the integrations' records and the results of tests in real clients.

`python -m tests.clients.integrations_page [CLIENT…]` runs every test that proves a cell of the tables, the long ones
included, in these clients or in all of them, which takes minutes; a test that fails is run once more, alone. It also
counts the tokens that tildone adds. It keeps the results in `results.json`, writes the page and prints the tables. That
the page agrees with the records and the results is checked without running a client.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bench.hosts import STOPS, measured
from tests.clients.conftest import ONLY
from tests.clients.inside import CLIENTS
from tests.clients.install import AGENTS
from tests.clients.install import CLIENTS as PACKAGES
from tests.clients.results import NO, YES, Results, load, save
from tests.clients.situations import ABSENT, CONTINUATIONS, GROUPS, ONE_MODE, SITUATIONS, Cell, Mode
from tests.clients.trial import Journal, outcomes_in, trial_of
from tildone.agents.integrations import INTEGRATIONS, HookPoint, Integration, all_integrations

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "integrations.md"
NONE, NOT_TRIED = "–", "·"

OPENING = """\
# Integrations

This page lists what tildone does in the coding agents that `tildone install` supports. The tables of situations are
generated from tests: each coding agent is installed in the given version, `tildone install` is the only configuration,
and a local model gives scripted answers. `python3 do.py table` runs the tests and generates this page;
[Contributing](../contributing.md#real-coding-agents) describes how.
"""
LEGEND = """\
## Situations

A cell gives two results: without a terminal (`claude -p`, `codex exec`, `gemini -p`, `opencode serve`, `pi -p`,
`qwen -p`, `copilot -p`), and in the agent's full-screen interface at a terminal. `yes`: a test passed. `no`: a test
failed. `–`: the agent has no such thing. `·`: not tried in this mode.
"""
TOKENS = f"""\
## Tokens

What tildone adds to the requests of a coding agent is more than the tool's definition: agents rename and extend tools,
put words around results, and add tools of their own. `.venv/bin/python -m bench.hosts` measures it offline, with a
scripted model behind the agents' own protocols. The model writes a plan of thirty tasks in the `brief` dialect, stops
after every fifth one although tasks are left, is told to go on {STOPS} times, and ends when all are done: 37 requests.
What a request has without tildone is subtracted. Text is counted as it is sent; the JSON around messages is not.

| coding agent | each request | of it, our tool | each nudge | calls | results | in all | input without a cache |
|---|---|---|---|---|---|---|---|"""
TOKENS_NOTE = """
Thirty calls and the plan itself are most of it; the longer the agent's name for the tool, the more a call takes. Codex
adds three tools for resources as soon as it has any MCP server, a line with the time to each result, and a path to each
nudge, so its figures vary by a few tokens. Gemini CLI adds a parameter to each tool and marks results as untrusted.
Copilot CLI puts tags around what hooks say.
"""
PROJECT_SCOPE = """\
With `--scope project` the results are the same, as soon as the coding agent applies the settings of the project. When
opencode starts with a plugin for the first time, it downloads a package, which requires network access.

## Tried in part, or not in the coding agent itself

Those with a version were run in a few situations: the first request offers the tool, an agent that stops early is
continued, it may stop when its plan is done, a new conversation has the plan, and an edit during the work reaches the
model. The others cannot be run without an account or a screen; their integrations follow their documentation. `–` under
“follows its own list” or “status line”: hooks report no such list, and no program can write to such a line.
"""


def page(results: Results | None = None) -> str:
    results = results or load()
    parts = [OPENING, *_versions(results), VERSIONS_NOTE, *_prompts(), LEGEND, *_situations(results), PROJECT_SCOPE]
    return "\n".join([*parts, *_documented(), "", TOKENS, *_tokens(results), TOKENS_NOTE])


def _versions(results: Results) -> Iterator[str]:
    yield "## Versions"
    yield ""
    yield (
        "| coding agent | `tildone install` | npm package | version tried | gate since | tool in each request since | "
        "newest version tried |"
    )
    yield "|---|---|---|---|---|---|---|"
    for client in CLIENTS:
        integration = INTEGRATIONS[client]
        since = [integration.min_versions.get(feature, NONE) for feature in ("gate", "tools")]
        cells = [
            integration.title,
            f"`{client}`",
            f"`{integration.package}`",
            results.versions.get(client, NONE),
            *since,
            ": ".join(results.newest.get(client, {}).values()) or "the same",
        ]
        yield f"| {' | '.join(cells)} |"


VERSIONS_NOTE = """
“Since”: the first version that can do it; `–`: no version is known that could not. Where the newest version in the npm
registry is another one than that of the tables, the last column says what `python3 do.py newest --short --keep` found
there: the tests of the tables, without the long ones.
"""


def _prompts() -> Iterator[str]:
    """Yield the table of what each coding agent asks when it first starts with tildone."""
    if not any(INTEGRATIONS[client].prompts for client in CLIENTS):
        return
    yield "## Questions at the first start"
    yield ""
    yield "| coding agent | installed for the user | installed for the project |"
    yield "|---|---|---|"
    for client in CLIENTS:
        asked = INTEGRATIONS[client].prompts
        cells = ["; ".join(asked.get(scope, ())) or NONE for scope in ("user", "project")]
        yield f"| {INTEGRATIONS[client].title} | {' | '.join(cells)} |"
    yield ""


def _situations(results: Results) -> Iterator[str]:
    titles = " | ".join(INTEGRATIONS[client].title for client in CLIENTS)
    for group, situations in GROUPS.items():
        numbers = _footnotes(situations)
        yield from (f"### {group}", "", f"| situation | {titles} |", f"|---|{'---|' * len(CLIENTS)}")
        for situation, text in situations.items():
            marks = (_marks(results, situation, client, numbers) for client in CLIENTS)
            yield f"| {text}{_continuations(situation)} | {' | '.join(marks)} |"
        yield ""
        for (client, situation), number in numbers.items():
            yield f"{number}. {INTEGRATIONS[client].title}: {INTEGRATIONS[client].notes[situation]}"
        in_one_mode = [f'"{text}", `·`: {ONE_MODE[name]}' for name, text in situations.items() if name in ONE_MODE]
        if numbers:
            yield ""
        for reason in in_one_mode:
            yield from (reason, "")


def _continuations(situation: str) -> str:
    count = CONTINUATIONS.get(situation)
    return "" if count is None else f" (continuations: {count})"


def _footnotes(situations: Mapping[str, str]) -> dict[tuple[str, str], int]:
    noted = [
        (client, situation) for situation in situations for client in CLIENTS if situation in INTEGRATIONS[client].notes
    ]
    return {key: number for number, key in enumerate(noted, 1)}


def _marks(results: Results, situation: str, client: str, numbers: Mapping[tuple[str, str], int]) -> str:
    number = numbers.get((client, situation))
    missing = NONE if client in ABSENT.get(situation, ()) else NOT_TRIED
    marks = [results.cells.get(Cell(situation, client, mode), missing) for mode in Mode]
    shown = NONE if set(marks) == {NONE} else " / ".join(marks)
    return shown if number is None else f"{shown} ({number})"


def _tokens(results: Results) -> Iterator[str]:
    for client in CLIENTS:
        if cost := results.tokens.get(client):
            of_request = cost["schema"] + cost["own_tools"] + cost["context"]
            rest = cost["calls"], cost["results"]
            total = of_request + sum(rest) + cost["nudges"]
            figures = [of_request, cost["schema"], cost["nudges"] // STOPS, *rest, total, cost["input"]]
            yield f"| {INTEGRATIONS[client].title} | {' | '.join(f'{figure:,}' for figure in figures)} |"


def _documented() -> Iterator[str]:
    """Yield a table of the integrations that are not tested in the program itself, from their records."""
    yield "| coding agent | `tildone install` | version tried | tools | gate | follows its own list | status line |"
    yield "|---|---|---|---|---|---|---|"
    for integration in all_integrations():
        if integration.name not in CLIENTS:
            row = [YES if can else NONE for can in _capabilities(integration)]
            if "held" in integration.notes:
                row[1] += f" ({integration.notes['held']})"
            yield f"| {integration.title} | `{integration.name}` | {' | '.join([integration.tried or NONE, *row])} |"


def _capabilities(integration: Integration) -> tuple[bool, bool, bool, bool]:
    points = set(integration.hooks.points.values()) if integration.hooks else set()
    mirrors = HookPoint.AFTER_TOOL in points and bool(integration.list_tools or integration.task_tools)
    has_tools = integration.mcp is not None or HookPoint.OFFER_TOOLS in points
    return has_tools, HookPoint.STOP in points, mirrors, HookPoint.STATUS_LINE in points


def write(results: Results) -> None:
    PAGE.write_text(page(results), encoding="utf-8", newline="\n")


def run(clients: Sequence[str], *options: str) -> tuple[Results, int]:
    """Run the tests that prove something in these clients; return the results and pytest's exit code."""
    os.environ[ONLY] = " ".join(clients)
    words = [str(Path(__file__).parent), "-q", "-p", "no:cacheprovider"]
    with TemporaryDirectory() as folder:
        file = Path(folder, "outcomes")
        file.touch()
        first = Journal(file, attempt=1)
        code = pytest.main([*words, *options], plugins=[first])
        if first.failed:
            # A busy machine can make a test at a terminal fail.
            print(f"{len(first.failed)} tests failed; they are run again, one at a time")
            again = [*dict.fromkeys(first.failed), *words[1:], "-p", "no:xdist"]
            code = pytest.main(again, plugins=[Journal(file, attempt=2)])
        cells = trial_of(outcomes_in(file), None).cells
    return Results({cell.client: PACKAGES[cell.client].version for cell in cells}, cells), int(code)


def main(clients: Sequence[str]) -> int:
    """Run the clients and write the page, unless one of them is missing."""
    unknown = [client for client in clients if client not in AGENTS]
    if unknown:
        print(f"there is no client {unknown[0]!r}; there are {', '.join(AGENTS)}", file=sys.stderr)
        return 2
    results, code = run(clients or CLIENTS, "-n", str((os.cpu_count() or 1) + 1))
    missing = [client for client in clients or CLIENTS if client not in results.versions]
    if missing:
        print(f"{', '.join(missing)} could not be run; `python3 do.py clients` installs what is missing")
        return 1
    tokens = {client: dict(measured(client).figures) for client in clients or CLIENTS}
    kept = load().replaced(replace(results, tokens=tokens))
    save(kept)
    write(kept)
    print("\n".join(_situations(kept)))
    for cell, mark in kept.cells.items():
        if mark == NO:
            print(f"no: {INTEGRATIONS[cell.client].title}, {cell.mode.value}: {SITUATIONS[cell.situation]}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
