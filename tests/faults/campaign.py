"""The campaign: every part one after another, their counts, and the totals."""

import time
from collections import Counter
from collections.abc import Callable, Sequence

from tests.faults.agent_shell import agent_shell
from tests.faults.doors import doors
from tests.faults.fuzz.runner import fuzz
from tests.faults.gate.table import gate, real_agents
from tests.faults.shared_plan import shared_plan
from tests.faults.stores import clocks, copies, damages, full_disks, kills
from tests.faults.tally import BAD, Plan, Tally
from tests.faults.tampered_rows import tampered_rows

PARTS: dict[str, Callable[[Plan, Tally], None]] = {
    "kills": kills,
    "copies": copies,
    "full disks": full_disks,
    "clocks": clocks,
    "damaged files": damages,
    "mixed doors": doors,
    "shared plan": shared_plan,
    "tampered rows": tampered_rows,
    "odd inputs": fuzz,
    "gate": gate,
    "real agents": real_agents,
    "agent shell": agent_shell,
}


def run(plan: Plan, names: Sequence[str] = ()) -> int:
    """Run the parts of these names, or all, print what each counted and the totals, and return the exit code."""
    print(f"seed={plan.seed}; failures are kept in {plan.folder}", flush=True)
    tallies: list[Tally] = []
    code = 0
    try:
        for name in names or PARTS:
            tallies.append(Tally(name))
            code |= _run_part(PARTS[name], plan, tallies[-1])
    except KeyboardInterrupt:
        print(tallies[-1].line())
        print("interrupted")
        code = 130
    totals = sum((tally.counts for tally in tallies), Counter[str]())
    print(_summary(totals))
    return code or int(any(totals[name] for name in BAD))


def _run_part(part: Callable[[Plan, Tally], None], plan: Plan, tally: Tally) -> int:
    """Run one part. Return 1 if it could not be run to its end."""
    began = time.monotonic()
    failed = ""
    try:
        part(plan, tally)
    except Exception as error:  # noqa: BLE001  the other parts are still run
        failed = f"; FAILED: {type(error).__name__}: {error}"
    clear = "\r\x1b[K" if tally.shown else ""
    print(f"{clear}{tally.line()} ({time.monotonic() - began:.0f} s){failed}", flush=True)
    return int(failed != "")


ONLY_IF_ANY = {
    "wrong_plans": "wrong plans shown",
    "breaches": "breaches of claims or of order",
    "touched": "files outside of a fleet touched",
    "left_undone": "runs left undone",
    "got_through": "acts of a person by agents",
    "unbounded": "agents not ended in time",
    "stopped_early": "agents ended early",
}


def _summary(totals: Counter[str]) -> str:
    shown = {"inputs": "inputs", "crashes": "crashes", "hangs": "hangs", "lost": "acknowledged changes lost"}
    shown |= {name: told for name, told in ONLY_IF_ANY.items() if totals[name]}
    return ", ".join(f"{totals[name]:,} {told}" for name, told in shown.items())
