"""The thread that keeps an index current."""

from collections.abc import Iterator
from contextlib import contextmanager
from queue import Queue
from threading import Event

import pytest

from tests.overview.stores import World
from tildone.app.index import IndexChange, IndexFollower
from tildone.base.errors import StoreError

LONG_ENOUGH = 30


@contextmanager
def following(world: World) -> Iterator[Queue[IndexChange | str]]:
    """Follow the store; what is published or fails is in the queue."""
    told: Queue[IndexChange | str] = Queue()
    follower = IndexFollower(world.index, told.put, told.put)
    follower.start()
    yield told
    follower.stop()


def names(told: Queue[IndexChange | str]) -> list[str]:
    change = told.get(timeout=LONG_ENOUGH)
    assert isinstance(change, IndexChange)
    return [row.name for row in change.changed]


def test_the_first_reading_is_published_even_if_there_is_nothing_then_each_change(world: World) -> None:
    with following(world) as told:
        assert names(told) == []
        world.write("s", "a")
        assert names(told) == ["s"]


def test_what_is_beside_the_index_is_called_after_every_refresh_also_without_a_change(world: World) -> None:
    called: Queue[int] = Queue()
    follower = IndexFollower(world.index, print, beside=lambda: called.put(1))
    follower.start()
    try:
        for _ in range(2):
            called.get(timeout=LONG_ENOUGH)
    finally:
        follower.stop()


def test_summaries_are_kept_at_the_end(world: World) -> None:
    world.write("s", "a")
    with following(world) as told:
        assert names(told) == ["s"]

    assert list(world.store.records.kept_summaries()) == ["s"]


def test_a_follower_that_was_not_started_can_be_stopped(world: World) -> None:
    IndexFollower(world.index, print).stop()


def test_a_store_that_cannot_be_read_is_reported_and_tried_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Event()

    def revision() -> int:
        if not answers.is_set():
            raise StoreError("the server does not answer")
        return world.store.records.revision()

    monkeypatch.setattr(world.counting.records, "revision", revision, raising=False)
    with following(world) as told:
        assert told.get(timeout=LONG_ENOUGH) == "the server does not answer"
        answers.set()
        while isinstance(change := told.get(timeout=LONG_ENOUGH), str):
            pass
        assert not change


def test_an_idle_store_is_not_read(world: World) -> None:
    """The thread blocks in `wait_any`; only who is at work is looked at again."""
    world.write("s", "a")
    with following(world) as told:
        assert names(told) == ["s"]
        world.counting.calls.clear()
        while world.counting.calls["wait_any"] < 3:
            Event().wait(0.01)

        assert set(world.counting.calls) == {"wait_any"}
