"""What the tests cost: measured in each worker, summed up for each folder, and compared with its budget.

A plugin of pytest. The costs of the last runs are kept in pytest's cache. With several workers, files that took long
come first, so that none of them is left for the end.
"""

import os
import time
import tomllib
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from tests.suite.forking import CPU_SECONDS, children_seconds

BUDGETS: dict[str, int] = tomllib.loads(Path(__file__).with_name("budgets.toml").read_text(encoding="utf-8"))
"""CPU seconds for each folder in `do.py test`, on a machine of 2026."""

CACHED = "tildone/costs"
SHOWN = 10
Cost = tuple[float, float]
"""CPU seconds, and seconds of wall time."""

_started: dict[str, Cost] = {}
_costs: dict[str, Cost] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", action="store_true", help="print what the tests of each folder cost, and its budget")


def cpu() -> float:
    """CPU seconds of this process and of the ended processes that it started."""
    used = os.times()
    return used.user + used.system + children_seconds() + CPU_SECONDS[0]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the files that take long first, in the half of each of two workers."""
    if not hasattr(config, "workerinput"):
        return
    known = kept(config)
    files: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        files[item.nodeid.partition("::")[0]].append(item)
    guess = {path: BUDGETS.get(folder_of(path), 0) / len(items) for path in files}
    took = {path: sum(known.get(item.nodeid, (0, guess[path]))[1] for item in found) for path, found in files.items()}
    order = sorted(files, key=lambda path: (-took[path], path))
    items[:] = [item for path in (*order[::2], *order[1::2]) for item in files[path]]


def kept(config: pytest.Config) -> dict[str, Cost]:
    """Return the costs of the last runs; none without the plugin that keeps them."""
    cache = getattr(config, "cache", None)
    found: dict[str, Cost] = cache.get(CACHED, {}) if cache else {}
    return found


def pytest_runtest_logstart(nodeid: str) -> None:
    _started[nodeid] = cpu(), time.monotonic()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Send the cost of a test with the report of its end."""
    report = yield
    if report.when == "teardown" and item.nodeid in _started:
        used, began = _started.pop(item.nodeid)
        report.user_properties.append(("cost", (cpu() - used, time.monotonic() - began)))
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    properties: dict[str, Any] = dict(report.user_properties)
    if report.when == "teardown" and "cost" in properties:
        _costs[report.nodeid] = properties["cost"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Keep the costs for the next run; print them if that was asked for."""
    if cache := getattr(config, "cache", None):
        cache.set(CACHED, {**kept(config), **_costs})
    if config.getoption("--costs"):
        terminalreporter.section("what the tests cost")
        for line in table(_costs):
            terminalreporter.line(line)


def table(costs: dict[str, Cost]) -> list[str]:
    """Return a line for each folder, and the most expensive tests of a folder that is over its budget."""
    folders: dict[str, dict[str, Cost]] = defaultdict(dict)
    for test, cost in costs.items():
        folders[folder_of(test)][test] = cost
    lines = [f"{'':24}{'tests':>7}{'CPU s':>8}{'wall s':>8}{'budget':>8}"]
    for folder in sorted(folders):
        tests = folders[folder]
        used, took = (sum(cost[at] for cost in tests.values()) for at in (0, 1))
        budget = BUDGETS.get(folder, 0)
        lines.append(f"{folder:24}{len(tests):7}{used:8.1f}{took:8.1f}{budget:8}")
        if used > budget:
            lines.append(f"warning: {folder} is over its budget; its most expensive tests:")
            worst = sorted(tests, key=lambda test: -tests[test][0])[:SHOWN]
            lines += [f"{tests[test][0]:8.1f} CPU s  {test}" for test in worst]
    used, took = (sum(cost[at] for cost in costs.values()) for at in (0, 1))
    lines.append(f"{'all':24}{len(costs):7}{used:8.1f}{took:8.1f}{sum(BUDGETS.values()):8}")
    return lines


def folder_of(test: str) -> str:
    """Return the folder of a test that has a budget of its own."""
    path = PurePosixPath(test.partition("::")[0])
    return next((str(folder) for folder in path.parents if str(folder) in BUDGETS), str(path.parent))
