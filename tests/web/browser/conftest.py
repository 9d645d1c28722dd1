"""A browser and a board for all tests of a worker, and a `tildone board` process for each test that asks for one.

While it is open, Playwright runs an event loop in the thread of the tests. Tests of other folders have event loops of
their own, so that loop is hidden from them: it counts as running only during the tests of this folder.
"""

import asyncio
import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.web.browser.install import HOW, find_browser
from tests.web.browser.plans import place_parser, place_tasks, small_store
from tests.web.browser.running import ARGUMENTS, RunningBoard, Visitor, open_placed, start_board

FOUND = find_browser()
"""Looked up before the tests are isolated from the variables of the person who runs them."""


class PlaywrightLoop:
    """The event loop of Playwright, while it does not count as running."""

    hidden: asyncio.AbstractEventLoop | None = None

    def show(self) -> None:
        running = asyncio._get_running_loop()  # noqa: SLF001  public for those who run loops, and this is a second one
        asyncio._set_running_loop(running or self.hidden)  # noqa: SLF001  as above

    def hide(self) -> None:
        self.hidden = asyncio._get_running_loop()  # noqa: SLF001  as above
        asyncio._set_running_loop(None)  # noqa: SLF001  as above


LOOP = PlaywrightLoop()


def is_of_a_page(item: pytest.Item) -> bool:
    return Path(__file__).parent in item.path.parents and "chromium" in getattr(item, "fixturenames", ())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of pages as slow, except for the quick ones."""
    for item in filter(is_of_a_page, items):
        if not getattr(getattr(item, "obj", None), "is_quick", False):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Show the loop to the tests of this folder."""
    if not is_of_a_page(item):
        return (yield)
    LOOP.show()
    try:
        return (yield)
    finally:
        LOOP.hide()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    if FOUND is None:
        if os.environ.get("CI"):
            pytest.fail(HOW)
        pytest.skip(HOW)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=FOUND, args=ARGUMENTS)
        yield browser
        # The last test of a worker may be one of another folder.
        LOOP.show()
        browser.close()


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Callable[..., RunningBoard]]:
    """Start boards. They end with the test."""
    started: list[RunningBoard] = []

    def start(store: Path, *options: str, port: int = 0) -> RunningBoard:
        started.append(start_board(store, tmp_path, *options, port=port))
        return started[-1]

    yield start
    for each in started:
        each.stop()


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A board for tests that need no store of their own: each has its own sessions in it."""
    folder = tmp_path_factory.mktemp("shared")
    running = start_board(small_store(folder), folder)
    yield running
    running.stop()


@pytest.fixture(scope="session")
def signed_in(chromium: Browser, shared: RunningBoard) -> Iterator[Visitor]:
    """Whose sign-in all visitors of the shared board use: its link works once."""
    visitor = Visitor(chromium, shared)
    yield visitor
    LOOP.show()
    visitor.context.close()


@pytest.fixture
def small(signed_in: Visitor, visit: Callable[..., Visitor]) -> Visitor:
    """The page of a session with three open tasks."""
    placed = place_tasks(signed_in.board.store, "first", "second", "third")
    return open_placed(visit(signed_in.board, like=signed_in, path=f"/?q={placed.title}"), placed)


@pytest.fixture
def parser(signed_in: Visitor, visit: Callable[..., Visitor]) -> Visitor:
    """The page of the session with a long history."""
    placed = place_parser(signed_in.board.store)
    return open_placed(visit(signed_in.board, like=signed_in, path=f"/?q={placed.title}"), placed)


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Callable[..., Visitor]]:
    """Open a board in a browser context of its own. An error in the page's own script fails the test."""
    visitors: list[Visitor] = []

    def enter(board: RunningBoard, **options: Any) -> Visitor:
        visitors.append(Visitor(chromium, board, **options))
        return visitors[-1]

    yield enter
    errors = [error for visitor in visitors for error in visitor.errors]
    for visitor in visitors:
        visitor.context.close()
    assert errors == []
