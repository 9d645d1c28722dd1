"""A browser for each module of tests, and a `tildone board` process for each test that asks for one.

While it is open, Playwright runs an event loop in the thread of the tests. So the browser is closed before tests of
other modules run, which have event loops of their own.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.web.browser.install import HOW, find_browser
from tests.web.browser.plans import Placed, place_parser, place_tasks, small_store
from tests.web.browser.running import ARGUMENTS, RunningBoard, Visitor, start_board

FOUND = find_browser()
"""Looked up before the tests are isolated from the variables of the person who runs them."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    if FOUND is None:
        if os.environ.get("CI"):
            pytest.fail(HOW)
        pytest.skip(HOW)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=FOUND, args=ARGUMENTS)
        yield browser
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


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A board for tests that need no store of their own: each has its own sessions in it."""
    folder = tmp_path_factory.mktemp("shared")
    running = start_board(small_store(folder), folder)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def signed_in(chromium: Browser, shared: RunningBoard) -> Iterator[Visitor]:
    """Whose sign-in all visitors of the shared board use: its link works once."""
    visitor = Visitor(chromium, shared)
    yield visitor
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


def open_placed(visitor: Visitor, placed: Placed) -> Visitor:
    visitor.placed = placed
    visitor.open_session(placed.title)
    visitor.is_live()
    return visitor


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
