"""Several processes and threads on one folder of session files: killed writers, locks, waiters."""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import pytest

from tests.plans import session_on
from tests.stores.contract import chain, ids, planned
from tests.stores.jsonl_files import oddities, opened
from tests.stores.jsonl_programs import BATCH, ended, started
from tests.stores.processes import wait_for
from tildone.base import durable as lock
from tildone.base.errors import StoreBusy
from tildone.log.kept import Severity
from tildone.plan.dialects import plan_in_entry
from tildone.plan.events import Event, PlanChanged, SessionHead
from tildone.plan.model import Plan
from tildone.stores.pi.store import JsonlStore

unix_only = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks, limits and permissions are Unix's")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


@pytest.fixture
def store(folder: Path) -> JsonlStore:
    return opened(folder)


@pytest.mark.parametrize(("writers", "changes"), [(3, 20), pytest.param(8, 500, marks=pytest.mark.slow)])
def test_concurrent_processes_lose_no_change(folder: Path, store: JsonlStore, writers: int, changes: int) -> None:
    """Each makes many changes to one plan, as an agent or as a user. None fails, and none undoes another's."""
    todos = [{"text": f"of worker {worker}"} for worker in range(writers)]
    session_on(store).call("write_todos", {"mode": "replace", "todos": todos})

    with ExitStack() as block:
        workers = [block.enter_context(started("toggle", folder, worker, changes)) for worker in range(writers)]
        for worker in workers:
            ended(worker)

    written = list(store.history("s"))[::-1]
    wanted = [f"{worker}-{number}" for worker in range(writers) for number in range(changes)]
    assert sorted(ids(written)) == sorted(["e0", *wanted])
    for before, after in pairwise(written):
        assert changed_positions(plan_in(before), plan_in(after)) == [int(after.id.partition("-")[0])]
    assert ids(store.events("s")) == ids(written)
    assert oddities(store) == []


@unix_only
@pytest.mark.parametrize("kills", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_a_killed_writer_loses_no_acknowledged_change(folder: Path, store: JsonlStore, kills: int) -> None:
    """The file can be read, and contains every acknowledged change."""
    with started("killed", folder, "append", kills, 20261115) as killing:
        told = ended(killing).split()

    written = ids(store.history("s"))
    assert len(told) >= kills / 2
    assert set(told) <= set(written)
    assert written == ids(store.events("s"))[::-1]
    assert plan_in(next(store.history("s"))).tasks[0].text == written[0]
    assert [finding.what for finding in store.check() if finding.severity is Severity.ERROR] == []


@unix_only
@pytest.mark.parametrize("kills", [6, pytest.param(60, marks=pytest.mark.slow)])
def test_a_killed_import_takes_effect_completely_or_not_at_all(folder: Path, store: JsonlStore, kills: int) -> None:
    """Imports of twenty events each."""
    chain(store, "s", "begun")

    with started("killed", folder, "adopt", kills, 20261115) as killing:
        told = ended(killing).split()

    known = set(ids(store.events("s")))
    batches = {event_id.rpartition("-")[0] for event_id in known - {"begun"}}
    assert {f"{batch}-{each}" for batch in batches for each in range(BATCH)} == known - {"begun"}
    assert {event_id.rpartition("-")[0] for event_id in told} <= batches
    assert [finding.what for finding in store.check() if finding.severity is Severity.ERROR] == []


def test_processes_that_create_the_same_session_share_one_file(folder: Path, store: JsonlStore) -> None:
    """The first creates the file, the others use it."""
    with ExitStack() as block:
        makers = [block.enter_context(started("make", folder, name)) for name in "abc"]
        for maker in makers:
            wait_for("ready", maker)
        for maker in makers:
            ended(maker)

    assert len(list(folder.glob("*.jsonl"))) == 1
    assert sorted(ids(store.history("s"))) == ["a", "b", "c"]


def test_waiting_for_the_lock_does_not_block_readers(folder: Path, store: JsonlStore) -> None:
    """Other threads of the process can read meanwhile."""
    chain(store, "s", "a")

    with started("hold", folder) as holder, ThreadPoolExecutor(1) as pool:
        wait_for("held", holder)
        writing = pool.submit(chain, store, "s", "b")
        while not writing.running():
            pass
        read = [store.session_head("s") for _ in range(100)]
        ended(holder)
        writing.result()

    assert set(read) == {SessionHead("a")}
    assert store.session_head("s") == SessionHead("b")


def test_a_lock_held_too_long_is_reported(folder: Path) -> None:
    """Reading continues meanwhile, and writing after the lock is released."""
    store = JsonlStore(folder, plan_in_entry, timeout=0.05)
    chain(store, "s", "a")

    with started("hold", folder) as holder:
        wait_for("held", holder)
        with pytest.raises(StoreBusy, match="sessions is in use by another process"):
            store.append("s", planned("b", "a", "x"))
        with pytest.raises(StoreBusy):
            store.move_head("s", SessionHead(None), expected="a")
        read = ids(store.history("s"))
        ended(holder)
    chain(store, "s", "b")

    assert read == ["a"]
    assert ids(store.history("s")) == ["b", "a"]


def test_a_deleted_lock_file_is_replaced(folder: Path, store: JsonlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process could create a new one: a writer whose lock file is gone takes the new one."""
    chain(store, "s", "a")
    taken = lock._try_lock  # noqa: SLF001  the moment between opening and locking is not to be had otherwise
    deleted: list[int] = []

    def lock_after_deletion(file: int) -> bool:
        if not deleted:
            deleted.append(file)
            (folder / lock.LOCK_FILE).unlink()
        return taken(file)

    monkeypatch.setattr(lock, "_try_lock", lock_after_deletion)
    chain(store, "s", "b")

    assert (folder / lock.LOCK_FILE).exists()
    assert ids(store.history("s")) == ["b", "a"]


def plan_in(event: Event) -> Plan:
    assert isinstance(event.fact, PlanChanged)
    return event.fact.plan


def changed_positions(before: Plan, after: Plan) -> list[int]:
    pairs = zip(before.tasks, after.tasks, strict=True)
    return [position for position, (old, new) in enumerate(pairs) if old != new]
