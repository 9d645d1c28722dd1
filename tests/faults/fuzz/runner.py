"""Runs the workers that feed odd inputs to parsers, and counts what they report.

A worker that says nothing for too long hangs in an input, or has died of one: it is ended, the input is kept, and
another worker goes on with the next one.
"""

import asyncio
import json
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections import Counter
from contextlib import suppress
from pathlib import Path

from tests.faults.fuzz.worker import CURRENT_BYTES
from tests.faults.tally import Plan, Tally

WORKERS = 2
SILENCE_SECONDS = 60.0
ROOT = Path(__file__).resolve().parents[3]


def fuzz(plan: Plan, tally: Tally) -> None:
    """Feed odd inputs to every parser until there were enough, or the time is over."""
    per_target = asyncio.run(_feed(plan, tally))
    tally.counts["parsers"] = len(per_target)
    (plan.folder / "inputs-per-parser.json").write_text(json.dumps(per_target, indent=1), encoding="utf-8")


async def _feed(plan: Plan, tally: Tally) -> Counter[str]:
    deadline, per_target = time.monotonic() + plan.seconds, Counter[str]()

    async def share(first: int) -> None:
        """Feed the inputs `first`, `first + WORKERS` and so on."""
        goes_on = True
        while goes_on:
            what = await _run_worker(plan, first, deadline, tally, per_target)
            if not what:
                return
            current = (plan.folder / f"current-{first}").read_bytes()[:CURRENT_BYTES].decode().strip()
            written, _, name = current.partition(" ")
            number = int(written or first)
            said = f"seed={plan.seed} {name} {number}\nthe process {'hangs' if what == 'hang' else 'died'}\n"
            (plan.folder / f"{what}-{number}.txt").write_text(said, encoding="utf-8")
            tally.add(hangs=int(what == "hang"), crashes=int(what == "crash"), inputs=1)
            first = number + WORKERS
            goes_on = first < plan.inputs and time.monotonic() < deadline

    await asyncio.gather(*map(share, range(WORKERS)))
    return per_target


async def _run_worker(plan: Plan, first: int, deadline: float, tally: Tally, per_target: Counter[str]) -> str:
    """Run a worker, and count what it reports; return how an input has ended it, or "" if none has."""
    words = (plan.seed, first, WORKERS, plan.inputs, max(deadline - time.monotonic(), 1), plan.folder)
    command = (sys.executable, "-m", "tests.faults.fuzz.worker", *map(str, words))
    # In a session of its own, so that Ctrl-C ends it only here.
    worker = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, stdout=PIPE, stderr=DEVNULL, start_new_session=True
    )
    assert worker.stdout is not None
    after = first
    try:
        while line := await asyncio.wait_for(worker.stdout.readline(), SILENCE_SECONDS):
            report = json.loads(line)
            counts, found, after = report["counts"], report["found"], report["next"]
            per_target.update(counts)
            tally.add(inputs=sum(counts.values()), crashes=found.get("crash", 0), hangs=found.get("hang", 0))
        is_done = await asyncio.wait_for(worker.wait(), SILENCE_SECONDS) == 0 and after >= plan.inputs
    except TimeoutError:
        return "hang"
    finally:
        with suppress(ProcessLookupError):
            worker.kill()
        await worker.wait()
    return "" if is_done else "crash"
