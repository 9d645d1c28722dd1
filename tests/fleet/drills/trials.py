"""Runs drills, several at a time."""

import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fleet.drills.faults import Kind
from tests.fleet.drills.harness import Drill, Form
from tests.fleet.drills.outcome import Outcome, outcome_of
from tests.fleet.drills.places import Grounds, Place

MAX_LOG_LINES = 20


@dataclass(frozen=True)
class Trial:
    """A drill to be run, and what came of it: an outcome, or why there is none."""

    kind: Kind
    place: Place
    outcome: Outcome | None = None
    failure: str = ""
    skipped: str = ""

    @property
    def is_good(self) -> bool:
        return bool(self.skipped) or bool(self.outcome and self.outcome.is_good and not self.failure)

    def __str__(self) -> str:
        text = (self.skipped and f"skipped: {self.skipped}") or f"{self.outcome} {self.failure}".rstrip()
        return f"{self.place.value} {self.kind.name}: {text}"


def run_all(trials: Iterable[Trial], form: Form, at_once: int) -> Iterator[Trial]:
    """Run trials, so many at a time, and yield each when it has ended."""
    with Grounds() as grounds, ThreadPoolExecutor(at_once) as pool:
        futures = [pool.submit(run_one, trial, form, grounds) for trial in trials]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            for future in futures:
                future.cancel()


def run_one(trial: Trial, form: Form, grounds: Grounds) -> Trial:
    """Run a trial, and return it with what came of it."""
    kind, place = trial.kind, trial.place
    outcome, failure = None, ""
    with tempfile.TemporaryDirectory(prefix="tildone-drill-", ignore_cleanup_errors=True) as name, ExitStack() as stack:
        folder = Path(name)
        ground = stack.enter_context(grounds.ground(place, folder, own_server=kind.own_server))
        drill = Drill(folder, form, ground)
        stack.callback(drill.close)
        try:
            kind.act(drill)
            drill.wait_until_ended()
        except pytest.skip.Exception as skipped:
            return Trial(kind, place, skipped=str(skipped))
        except Exception as error:  # noqa: BLE001  the other drills go on
            failure = f"{type(error).__name__}: {error}"
        try:
            outcome = outcome_of(drill, is_suspended=kind.is_suspended)
        except Exception as error:  # noqa: BLE001  the store may be gone
            failure += f"; no outcome: {error}"
        if failure or not outcome or not outcome.is_good:
            failure = f"{failure}\n{_logs(drill, has_outcome=outcome is not None)}"
    return Trial(kind, place, outcome, failure)


def _logs(drill: Drill, *, has_outcome: bool) -> str:
    """Return the leases, and what the workers have printed last."""
    found = [str(lease) for lease in drill.all_leases()] if has_outcome else []
    for path in sorted(drill.folder.glob("worker*.log")):
        found += [path.name, *path.read_text(encoding="utf-8", errors="replace").splitlines()[-MAX_LOG_LINES:]]
    return "\n".join(found)
