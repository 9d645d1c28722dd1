"""Waiters and writers on a store that other processes and threads write to, where waiting is polling."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from threading import Barrier

import pytest

from tests.plans import session_on
from tests.stores import jsonl_files, jsonl_programs, processes
from tests.stores.contract import chain, ids
from tests.stores.processes import finish, wait_for
from tildone.log.store import Store
from tildone.plan.events import SessionHead
from tildone.stores import polling
from tildone.stores.sqlite.store import SqliteStore

LONG_ENOUGH = 60.0


@dataclass(frozen=True)
class Place:
    """Where a store is, opened here, and how programs on it are started."""

    path: Path
    store: Store
    program: Callable[..., AbstractContextManager["Popen[str]"]]

    def start(self, name: str, *arguments: object) -> AbstractContextManager["Popen[str]"]:
        return self.program(name, self.path, *arguments)


@pytest.fixture(params=["sqlite", "jsonl"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "sqlite":
        path = tmp_path / "plans.db"
        return Place(path, SqliteStore(path), processes.start)
    path = tmp_path / "sessions"
    return Place(path, jsonl_files.opened(path), jsonl_programs.started)


Wait = Callable[[Store], Callable[[float], bool]]


def for_one(store: Store) -> Callable[[float], bool]:
    """Wait for a change of the session, as of now."""
    head = store.session_head("s").head
    return lambda timeout: store.wait("s", head, timeout)


def for_any(store: Store) -> Callable[[float], bool]:
    """Wait for a change of any session, as of now."""
    revision = store.records.revision()
    return lambda timeout: store.records.wait_any(revision, timeout)


for_either = pytest.mark.parametrize("wait", [for_one, for_any], ids=["for one session", "for any"])


@for_either
def test_a_waiter_notices_changes_of_other_processes(place: Place, wait: Wait) -> None:
    """By polling."""
    store = place.store
    session_on(store).call("write_todos", {"mode": "replace", "todos": [{"text": "one"}]})
    before, changed = store.records.revision(), wait(store)

    with place.start("toggle", 0, 1) as other:
        heard = changed(LONG_ENOUGH)
        finish([other])

    assert heard
    assert store.session_head("s").head == "0-0"
    assert [(change.session, change.head) for change in store.records.changed(before)] == [("s", "0-0")]


@for_either
def test_a_waiter_is_notified_at_once_by_its_own_process(
    place: Place, wait: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not have to poll."""
    monkeypatch.setattr(polling, "FIRST_POLL_SECONDS", LONG_ENOUGH)
    monkeypatch.setattr(polling, "MAX_POLL_SECONDS", LONG_ENOUGH)
    chain(place.store, "s", "a", "b")
    in_step = Barrier(2, timeout=LONG_ENOUGH)

    def follow() -> list[bool]:
        woken = []
        for _ in range(20):
            changed = wait(place.store)
            in_step.wait()
            woken.append(changed(2 * LONG_ENOUGH))
        return woken

    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(follow)
        for head, other in (("b", "a"), ("a", "b")) * 10:
            in_step.wait()
            place.store.move_head("s", SessionHead(other), expected=head)

        assert following.result(LONG_ENOUGH / 2) == [True] * 20


def test_a_writer_waits_for_a_lock(place: Place) -> None:
    """Without an error, and other threads continue meanwhile: one of them releases the lock."""
    if not place.path.exists():
        place.path.mkdir()

    with place.start("hold") as holder, ThreadPoolExecutor(1) as pool:
        wait_for("held", holder)
        writing = pool.submit(chain, place.store, "s", "a")
        finish([holder])
        writing.result()

    assert ids(place.store.history("s")) == ["a"]
