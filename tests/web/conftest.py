"""Empty projects, and a board in one of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.web.boards import Browser, Place, RunningBoard, board, place_in


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return place_in(tmp_path)


@pytest.fixture(scope="module")
def shared_place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A project for all tests of a module; each uses sessions of its own."""
    return place_in(tmp_path_factory.mktemp("shared"))


@pytest.fixture(scope="module")
def served(shared_place: Place) -> Iterator[RunningBoard]:
    """One board for all tests of a module."""
    with board(shared_place) as running:
        yield running


@pytest.fixture(scope="module")
def browser(served: RunningBoard) -> Browser:
    """A browser that was let in."""
    return served.browser()
