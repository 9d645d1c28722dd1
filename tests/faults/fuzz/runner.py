"""Runs the workers that feed odd inputs to parsers, and counts what they report.

A worker that says nothing for too long hangs in an input, or has died of one: it is ended, the input is kept, and
another worker goes on with the next one.
"""

import json
import selectors
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from tests.faults.fuzz.worker import CURRENT_BYTES
from tests.faults.tally import Plan, Tally

WORKERS = 2
SILENCE_SECONDS = 60.0
ROOT = Path(__file__).resolve().parents[3]


class Worker:
    """One of the processes: it gets the inputs `first`, `first + WORKERS` and so on, below `plan.inputs`."""

    def __init__(self, plan: Plan, first: int, deadline: float) -> None:
        self.plan, self.deadline = plan, deadline
        self.first = self.next = first
        self.heard = time.monotonic()
        seconds = max(deadline - time.monotonic(), 1)
        words = (plan.seed, first, WORKERS, plan.inputs, seconds, plan.folder)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.fuzz.worker", *map(str, words)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        self.out = self.process.stdout

    def current(self) -> tuple[int, str]:
        """Return the number of the input at hand, and the name of its target."""
        written = Path(self.plan.folder, f"current-{self.first}").read_bytes()[:CURRENT_BYTES].decode().strip()
        number, _, name = written.partition(" ")
        return int(number or self.first), name

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        self.out.close()


def fuzz(plan: Plan, tally: Tally) -> None:
    """Feed odd inputs to every parser until there were enough, or the time is over."""
    deadline = time.monotonic() + plan.seconds
    per_target: Counter[str] = Counter()
    with selectors.DefaultSelector() as selector:
        workers = {_started(selector, Worker(plan, first, deadline)) for first in range(WORKERS)}
        try:
            while workers:
                for key, _ in selector.select(timeout=1):
                    worker = key.data
                    line = worker.out.readline()
                    if line:
                        _heard(worker, line, tally, per_target)
                    else:
                        _replace(selector, workers, worker, tally, deadline)
                for worker in [each for each in workers if time.monotonic() - each.heard > SILENCE_SECONDS]:
                    _replace(selector, workers, worker, tally, deadline, hangs=True)
        finally:
            for worker in workers:
                worker.end()
    tally.counts["parsers"] = len(per_target)
    (plan.folder / "inputs-per-parser.json").write_text(json.dumps(per_target, indent=1), encoding="utf-8")


def _started(selector: selectors.BaseSelector, worker: Worker) -> Worker:
    selector.register(worker.out, selectors.EVENT_READ, worker)
    return worker


def _heard(worker: Worker, line: bytes, tally: Tally, per_target: Counter[str]) -> None:
    report = json.loads(line)
    worker.heard, worker.next = time.monotonic(), report["next"]
    per_target.update(report["counts"])
    found = report["found"]
    tally.add(inputs=sum(report["counts"].values()), crashes=found.get("crash", 0), hangs=found.get("hang", 0))


def _replace(
    selector: selectors.BaseSelector,
    workers: set[Worker],
    worker: Worker,
    tally: Tally,
    deadline: float,
    *,
    hangs: bool = False,
) -> None:
    """Take a worker that has ended from the list. If an input ended it or hangs, another worker goes on after it."""
    selector.unregister(worker.out)
    workers.discard(worker)
    was_last = worker.next >= worker.plan.inputs or time.monotonic() >= deadline
    # The end of its output comes a moment before the end of the process.
    if not hangs and worker.process.wait(SILENCE_SECONDS) == 0 and was_last:
        worker.end()
        return
    number, name = worker.current()
    worker.end()
    what = "hang" if hangs else "crash"
    written = f"seed={worker.plan.seed} {name} {number}\nthe process {'hangs' if hangs else 'died'}\n"
    (worker.plan.folder / f"{what}-{number}.txt").write_text(written, encoding="utf-8")
    tally.add(hangs=int(hangs), crashes=int(not hangs), inputs=1)
    after = number + WORKERS
    if after < worker.plan.inputs and time.monotonic() < deadline:
        workers.add(_started(selector, Worker(worker.plan, after, deadline)))
