"""Faults around stores: killed writers, copies in mid-write, full disks, clocks that jump, and damaged files."""

import random
import shutil
import tempfile
import time
from pathlib import Path

from tests.faults.tally import Plan, Tally
from tests.stores import damage, processes
from tests.stores.contract import ids
from tests.stores.postgres import running_server
from tests.stores.postgres_keeper import why_not
from tests.stores.programs import opened
from tildone.base import StoreError
from tildone.base.ids import id_maker, timestamp
from tildone.log.session import Session
from tildone.log.store import Store
from tildone.plan.dialects.brief import DIALECT as BRIEF
from tildone.plan.history.timeline import timeline
from tildone.stores.memory import MemoryStore
from tildone.stores.sqlite.store import SqliteStore

YEAR_MS = 366 * 24 * 3_600_000


def kills(plan: Plan, tally: Tally) -> None:
    """Kill processes while they write, and look for every change that they were told is written."""
    for kind in ("", "jsonl:"):
        _run(tally, "killed", kind, plan.kills, plan.seed, kills=plan.kills)
    if plan.is_long and not why_not():
        with running_server() as server, server.database() as url:
            _run_on(tally, "killed", url, plan.kills, plan.seed, kills=plan.kills)


def full_disks(plan: Plan, tally: Tally) -> None:
    """Write until the file may not grow any more, and after it may."""
    for kind in ("", "jsonl:") * (5 if plan.is_long else 1):
        _run(tally, "cramped", kind, full_disks=1)


def _run(tally: Tally, program: str, kind: str, *arguments: int, **counted: int) -> None:
    """Run a program on a new store of files, and count what it was told is written."""
    with tempfile.TemporaryDirectory() as name:
        _run_on(tally, program, f"{kind}{name}" if kind else f"{name}/plans.db", *arguments, **counted)


def _run_on(tally: Tally, program: str, address: str, *arguments: int, **counted: int) -> None:
    told = processes.run(program, address, *arguments).stdout.split()
    store = opened(address)
    count(tally, told, store, **counted)
    store.close()


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
    found = damage.campaign(plan.damages, plan.seed)
    names = {"traceback": "crashes", "wrong plan": "wrong_plans"}
    tally.add(inputs=plan.damages, **{names.get(name, name.replace(" ", "_")): n for name, n in found.items()})
