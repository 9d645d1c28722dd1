"""Two processes queue a run of the same plan at once: one of them is refused, on both kinds of store."""

import subprocess
import sys
from pathlib import Path

from tests.stores.postgres import needs_server
from tildone.app.opening import run_leases, store_at
from tildone.plan.runs import LeaseState

ROOT = Path(__file__).resolve().parents[2]
PLANS = 10
ADD = f"""
import sys
from tests.plans import plan_of
from tildone.base.errors import Refused
from tildone.plan.events import PlanChanged
from tildone.plan.runs import NewRun
from tildone.app.opening import run_leases, store_at

leases = run_leases(store_at(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
for number in range({PLANS}):
    try:
        leases.add(NewRun(f"{{sys.argv[2]}}{{number}}", f"plan {{number}}"), [PlanChanged(plan_of("one"))])
    except Refused as refused:
        print(refused)
"""


def race(address: str) -> None:
    adding = [
        subprocess.Popen(
            [sys.executable, "-c", ADD, address, name],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("a", "b")
    ]
    for process in adding:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in adding:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate(timeout=240.0) for process in adding]

    assert [(process.returncode, errors) for process, (_, errors) in zip(adding, said, strict=True)] == [(0, "")] * 2
    refused = [line for out, _ in said for line in out.splitlines()]
    store = store_at(address)
    living = [view.lease.session for view in run_leases(store).look() if view.lease.state is LeaseState.OPEN]
    store.close()
    assert sorted(living) == sorted(f"plan {number}" for number in range(PLANS))
    assert len(refused) == PLANS
    assert all("of this plan has not ended" in line for line in refused)


def test_on_sqlite(tmp_path: Path) -> None:
    race(str(tmp_path / "plans.db"))


@needs_server
def test_on_postgres(url: str) -> None:
    race(url)
