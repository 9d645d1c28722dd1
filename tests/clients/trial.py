"""A trial of one client: the tests of the table and a recording of what it sends, in a process with a time limit.

`python -m tests.clients.trial CLIENT FILE [OPTION…]` runs the tests; the options are for pytest. A test that fails is
run once more, alone, because a busy machine can make it fail. Each outcome is a line in FILE as soon as the test has
ended, so a trial that is stopped has reported what it found until then.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from tests.clients import payloads
from tests.clients.conftest import ONLY
from tests.clients.install import OTHER_FOLDER, ROOT
from tests.clients.results import NO, YES
from tests.clients.situations import PROPERTY, Cell
from tests.clients.supervisor import TIMED_OUT, supervised
from tests.clients.test_payloads import KEEP

PASSED, FAILED, SKIPPED, EXPECTED = "passed", "failed", "skipped", "expected to fail"
TESTS = Path(__file__).parent
MAX_REASON_CHARS = 160


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one test in one attempt: the cells that it decides, and why it failed."""

    test: str
    attempt: int
    outcome: str
    cells: Sequence[str] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Trial:
    """What a trial found: the last outcome of each test, the tests that were run again, and what the client sent."""

    outcomes: Sequence[Outcome]
    repeated: int
    sent: payloads.Schema | None
    seconds_allowed: float | None = None
    """How long the trial was allowed to take, if it was stopped."""

    @property
    def cells(self) -> Mapping[Cell, str]:
        """The decided cells: `no` if one of the tests of a cell failed."""
        marks: dict[Cell, str] = {}
        for outcome in self.outcomes:
            for cell in map(Cell.parse, outcome.cells):
                if outcome.outcome != SKIPPED and marks.get(cell) != NO:
                    marks[cell] = YES if outcome.outcome == PASSED else NO
        return marks

    def reasons(self, cell: Cell) -> Iterator[str]:
        for outcome in self.outcomes:
            if outcome.reason and str(cell) in outcome.cells:
                yield outcome.reason

    def count(self, outcome: str) -> int:
        return sum(one.outcome == outcome for one in self.outcomes)


def try_out(client: str, folder: Path, seconds: float, *options: str) -> Trial:
    """Run the tests against the client in a folder, in a process that is stopped when the seconds have passed."""
    file, recording = folder / f"{client}.outcomes", folder / f"{client}.json"
    file.write_text("", encoding="utf-8")
    env = os.environ | {OTHER_FOLDER: str(folder), KEEP: str(folder)}
    command = [sys.executable, "-m", "tests.clients.trial", client, str(file), *options]
    with supervised(command, seconds=seconds, cwd=ROOT, env=env, stdin=subprocess.DEVNULL) as process:
        stopped = process.wait() == TIMED_OUT
    sent = json.loads(recording.read_text(encoding="utf-8")) if recording.exists() else None
    return trial_of(outcomes_in(file), sent, seconds if stopped else None)


def outcomes_in(file: Path) -> list[Outcome]:
    return [Outcome(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def trial_of(outcomes: Sequence[Outcome], sent: payloads.Schema | None, seconds: float | None = None) -> Trial:
    """Return the trial with these outcomes. The last attempt at a test counts, and in it, a failure."""
    last: dict[str, Outcome] = {}
    for outcome in outcomes:
        known = last.get(outcome.test)
        if known is None or known.attempt < outcome.attempt or known.outcome != FAILED:
            last[outcome.test] = outcome
    repeated = sum(outcome.attempt > 1 for outcome in last.values())
    return Trial(list(last.values()), repeated, sent, seconds)


class Journal:
    """A pytest plugin that writes the outcome of each test to a file."""

    def __init__(self, file: Path, attempt: int) -> None:
        self.failed: list[str] = []
        self._file = file
        self._attempt = attempt

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and report.passed:
            return
        outcome = EXPECTED if hasattr(report, "wasxfail") else report.outcome
        if outcome == FAILED:
            self.failed.append(report.nodeid)
        cells = [str(value) for key, value in report.user_properties if key == PROPERTY]
        reason = reason_of(report.longreprtext) if outcome == FAILED else ""
        line = json.dumps(asdict(Outcome(report.nodeid, self._attempt, outcome, cells, reason)))
        with self._file.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


def reason_of(text: str) -> str:
    """Return the first line of a failure's text that names the error, shortened."""
    errors = [line.removeprefix("E").strip() for line in text.splitlines() if line.startswith("E  ")]
    return next(iter(errors or text.splitlines()[-1:]), "")[:MAX_REASON_CHARS]


def main(client: str, file: Path, *options: str) -> int:
    """Record what the client sends, run the tests of its cells, and run those that failed once more."""
    common = ["-q", "--tb=line", "--show-capture=no", "-p", "no:cacheprovider"]
    pytest.main([str(TESTS / "test_payloads.py"), *common, "-k", f"[{client}]"])
    os.environ[ONLY] = client
    first = Journal(file, attempt=1)
    code = pytest.main([str(TESTS), *common, *options], plugins=[first])
    if first.failed:
        # The ids of tests are relative to the root of the project.
        code = pytest.main([*dict.fromkeys(first.failed), *common], plugins=[Journal(file, attempt=2)])
    return int(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:]))
