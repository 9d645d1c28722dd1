"""Faults around stores: killed writers, copies in mid-write, full disks, clocks that jump, and damaged files."""

import random
import shutil
import tempfile
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from tests.faults.tally import Plan, Tally
from tests.stores import processes
from tests.stores.contract import ids
from tests.stores.postgres import running_server
from tests.stores.postgres_keeper import why_not
from tildone.base import StoreError
from tildone.base.ids import id_maker, timestamp
from tildone.log.session import Session
from tildone.log.store import Store
from tildone.plan.dialects import plan_in_entry
from tildone.plan.dialects.brief import DIALECT as BRIEF
from tildone.plan.history.timeline import timeline
from tildone.stores.memory import MemoryStore
from tildone.stores.pi.store import JsonlStore
from tildone.stores.postgres.store import PostgresStore
from tildone.stores.sqlite.store import SqliteStore

YEAR_MS = 366 * 24 * 3_600_000


def kills(plan: Plan, tally: Tally) -> None:
    """Kill processes while they write, and look for every change that they were told is written."""
    with tempfile.TemporaryDirectory() as name:
        told = processes.run("killed", Path(name, "plans.db"), plan.kills, plan.seed).stdout.split()
        count(tally, told, SqliteStore(Path(name, "plans.db")), kills=plan.kills)
    with tempfile.TemporaryDirectory() as name:
        told = processes.run("killed", f"jsonl:{name}", plan.kills, plan.seed).stdout.split()
        count(tally, told, JsonlStore(name, plan_in_entry), kills=plan.kills)
    if plan.is_long and not why_not():
        _kill_on_postgres(plan, tally)


def full_disks(plan: Plan, tally: Tally) -> None:
    """Write until the file may not grow any more, and after it may."""
    for _ in range(5 if plan.is_long else 1):
        with tempfile.TemporaryDirectory() as name:
            told = processes.run("cramped", Path(name, "plans.db")).stdout.split()
            count(tally, told, SqliteStore(Path(name, "plans.db")), full_disks=1)
        with tempfile.TemporaryDirectory() as name:
            told = processes.run("cramped", f"jsonl:{name}").stdout.split()
            count(tally, told, JsonlStore(name, plan_in_entry), full_disks=1)


def count(tally: Tally, told: list[str], store: Store, **more: int) -> None:
    written = ids(store.history("s"))
    lost = len(set(told) - set(written)) + len(written) - len(set(written))
    tally.add(inputs=sum(more.values()), acknowledged=len(told), lost=lost, **more)


def copies(plan: Plan, tally: Tally) -> None:
    """Copy the files of a store while another process writes: a copy is a past state, or says that it is damaged."""
    luck = random.Random(plan.seed)  # noqa: S311  moments, not secrets
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "plans.db")
        writer = processes.start("busy", path)
        processes.wait_for("busy-0", writer)
        made = []
        for number in range(plan.copies):
            time.sleep(luck.uniform(0, 0.02))
            made.append(_copied(path, Path(name, str(number))))
        processes.finish([writer])
        written = ids(SqliteStore(path).history("s"))[::-1]
        for copy in made:
            tally.add(inputs=1, copies=1, **examined(copy, written))


def _copied(path: Path, folder: Path) -> Path:
    folder.mkdir()
    for suffix in ("-wal", ""):
        if Path(f"{path}{suffix}").exists():
            shutil.copy(f"{path}{suffix}", folder)
    return folder / path.name


def examined(copy: Path, written: list[str]) -> dict[str, int]:
    """Open a copy; what it shows must be the beginning of what was written."""
    try:
        found = ids(SqliteStore(copy).history("s"))[::-1]
    except StoreError:
        return {"damaged": 1}
    return {"readable": 1} if found == written[: len(found)] else {"crashes": 1}


def clocks(plan: Plan, tally: Tally) -> None:
    """Let the clock jump back and forth by years between the events of a session."""
    luck, at = random.Random(plan.seed), [0]  # noqa: S311  moments, not secrets
    for start in range(0, plan.jumps, 100):
        session = Session(MemoryStore(), "s", BRIEF, now=lambda: at[0], new_id=id_maker(lambda: at[0], luck.randbytes))
        session.call("todo", {"add": ["one", "two", "three"]})
        for number in range(100):
            at[0] = luck.choice((0, at[0] + 1, at[0] - 1, luck.randrange(100 * YEAR_MS), -YEAR_MS, 10**15))
            session.call("todo", luck.choice(({"done": 1}, {"start": 1}, {"note": f"2 at {start + number}"}, {})))
            session.turn_ended()
        events = list(session.store.events("s"))
        chain = ids(session.store.history("s"))[::-1]
        timeline(events, session.state.head, timestamp)
        tally.add(inputs=100, jumps=100, lost=len(set(chain) ^ set(ids(events))))


def damages(plan: Plan, tally: Tally) -> None:
    """Damage files in many ways; see `tests.stores.damage`."""
    if find_spec("tests.stores.damage") is None:
        tally.add(not_available=1)
        return
    found = import_module("tests.stores.damage").campaign(plan.damages, plan.seed)
    names = {"traceback": "crashes", "wrong plan": "wrong_plans"}
    tally.add(inputs=plan.damages, **{names.get(name, name.replace(" ", "_")): n for name, n in found.items()})


def _kill_on_postgres(plan: Plan, tally: Tally) -> None:
    with running_server() as server, server.database() as url:
        told = processes.run("killed", url, plan.kills, plan.seed).stdout.split()
        store = PostgresStore(url)
        count(tally, told, store, kills=plan.kills)
        store.close()
