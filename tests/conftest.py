"""Isolation for all tests: no access to the user's own plans, and no deadlines for property tests."""

import gc
import os
import signal
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.database import DirectoryBasedExampleDatabase

from do import PURE
from tests.suite.forking import close_nurseries, forking

pytest_plugins = ["tests.suite.costs"]

# Before it is imported, so that its assertions are reported in full, too.
pytest.register_assert_rewrite("tests.stores.contract")

FAILURES = DirectoryBasedExampleDatabase(Path(__file__).parents[1] / ".hypothesis" / "examples")
settings.register_profile("tildone", deadline=None, print_blob=True, database=FAILURES)
settings.register_profile("few", settings.get_profile("tildone"), max_examples=10)
settings.load_profile("tildone")

FORKING = tuple(
    f"tests/{part}/"
    for part in ("app", "cli", "fleet", "hooks", "integrations", "rpc", "run", "telemetry", "tui", "web")
)
"""The tests that start the program by forking a process that has imported it."""

CONNECTING = ("tests/host/models/", "tests/mcp/test_http", "tests/mcp/test_stdio.py", "tests/clients/")
"""The tests that open connections in their own process."""

FOLDER_VARIABLES = (
    *("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"),
    *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"),
)


def pytest_configure() -> None:
    """Leave folders out of the path that this user cannot enter: what does not exist would be forbidden there.

    `su` keeps the path of the other user. Test modules read the path when they are imported.
    """
    folders = os.environ.get("PATH", "").split(os.pathsep)
    os.environ["PATH"] = os.pathsep.join(folder for folder in folders if os.access(folder, os.X_OK))


@pytest.fixture(scope="session", autouse=True)
def _isolated_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Set every variable for a home, data or settings folder to an empty folder."""
    home = str(tmp_path_factory.mktemp("home"))
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("TILDONE_")]:
            patch.delenv(name)
        for name in FOLDER_VARIABLES:
            patch.setenv(name, home)
        # The tests start thousands of Pythons: each would compile every module again.
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        # As on most machines: the order of standard output and standard error then depends on what is flushed.
        patch.delenv("PYTHONUNBUFFERED", raising=False)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fork the program in the tests of its verbs."""
    with forking() if item.nodeid.startswith(FORKING) else nullcontext():
        return (yield)


def pytest_sessionfinish() -> None:
    close_nurseries()
    if (postgres := sys.modules.get("tests.stores.postgres")) is not None:
        postgres.SHARED.close()


@pytest.fixture(scope="session", autouse=True)
def _default_interrupt() -> Iterator[None]:
    """Let Ctrl-C interrupt the programs that tests start: a job in the background of a script inherits it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def pytest_collection_modifyitems(config: pytest.Config) -> None:
    """Import the pure folders while their coverage is measured: tests may import them late, or not at all."""
    for folder in PURE if config.getoption("cov_source", None) else ():
        package = import_module(f"tildone.{folder.replace('/', '.')}")
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)


def pytest_collection_finish() -> None:
    """Except all tests and modules from garbage collection, which otherwise takes a second each time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Collect what a test with connections leaves: a leak is then reported at the start of the next test."""
    if item.nodeid.startswith(CONNECTING):
        gc.collect()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was not run here and why, each reason once."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[-1]).removeprefix("Skipped: ") for report in skipped)
    if reasons:
        terminalreporter.section(f"not run here: {reasons.total()} tests")
    for reason, count in reasons.most_common():
        terminalreporter.line(f"{count:5}  {reason}")
