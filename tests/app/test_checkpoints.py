"""Waiting until a worker has kept the files of a task, on a real store."""

from collections.abc import Iterator
from pathlib import Path
from threading import Timer

import pytest

from tests.plans import plan_of
from tildone.app.checkpoints import wait_until_kept
from tildone.app.opening import store_at
from tildone.log.store import Store
from tildone.plan.events import Actor, Event, Fact, PlanChanged
from tildone.plan.runs import Kept, RunFence

HELD = RunFence("r", 1, 3)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    found = store_at(str(tmp_path / "plans.db"))
    yield found
    found.close()


def append(store: Store, name: str, fact: Fact) -> None:
    store.append("s", Event(name, store.session_head("s").head, 1, Actor.AGENT, fact))


def kept(as_of: str, hand: int = 1) -> Kept:
    return Kept("r", hand, 3, "refs/tildone/r/3", "c0ffee", as_of=as_of)


def test_what_was_kept_before_or_of_another_hand_does_not_count(store: Store) -> None:
    append(store, "before", PlanChanged(plan_of("a")))
    append(store, "done", PlanChanged(plan_of("b")))
    append(store, "k1", kept("before"))
    append(store, "k2", kept("done", hand=0))

    assert not wait_until_kept(store, "s", HELD, "done", 0.05)
    append(store, "later", PlanChanged(plan_of("c")))
    append(store, "k3", kept("later"))
    assert wait_until_kept(store, "s", HELD, "done", 0)


def test_it_ends_when_the_files_are_kept(store: Store, tmp_path: Path) -> None:
    append(store, "done", PlanChanged(plan_of("b")))
    other = store_at(str(tmp_path / "plans.db"))
    timer = Timer(0.3, append, (other, "k", kept("done")))
    timer.start()

    assert wait_until_kept(store, "s", HELD, "done", 100)
    timer.join()
    other.close()


def test_a_store_that_fails_holds_nobody_up(store: Store) -> None:
    store.close()

    assert not wait_until_kept(store, "s", HELD, "done", 100)
