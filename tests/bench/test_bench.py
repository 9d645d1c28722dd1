"""The benchmark can be run, and says everything it is there to say. How fast things are is no test's business."""

import subprocess
import sys

import pytest

from bench import tokens
from bench.measure import Row, medians
from tests.project.source import ROOT
from tests.stores.postgres_keeper import why_not

ROWS = (
    "cold: tildone todo",
    "cold: tildone call list_todos {}",
    "cold: hook Stop, no plan",
    "cold: hook Stop, all done",
    "cold: hook PreToolUse, nothing to say",
    "cold: hook Stop, told to go on",
    "Session.call, one of ten tasks, memory",
    "Session.call, one of ten tasks, SQLite",
    "SqliteStore.append, ten tasks, durable",
    "MCP call on pipes, one of ten tasks, SQLite",
    "the plan after 1,000 events",
    "the plan in 1,000 entries of pi's",
    "the plan in 1,000 entries of tildone's",
    "a change after 1,000 entries",
    "append, PostgreSQL",
    "the plan after 1,000 events, PostgreSQL",
    "10 waiters, 100 sessions, PostgreSQL",
    "tokens: indexed",
    "tokens: phased",
    "tokens: declared",
    "tokens: brief",
)


@pytest.mark.slow
def test_every_row_is_printed() -> None:
    """With its ratio, its aim and a verdict; what is over its aim is no failure."""
    command = [sys.executable, "-m", "bench", "--quick"]

    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    lines = answer.stdout.splitlines()
    assert [line[:45].rstrip() for line in lines] == list(ROWS)
    measured = [line for line in lines if not ("PostgreSQL" in line and str(why_not()) in line)]
    assert all(line.endswith((" PASS", " over")) and " ≤ " in line for line in measured)


@pytest.mark.parametrize(("took", "verdict"), [(1.9, "PASS"), (2.0, "PASS"), (2.1, "over")])
def test_a_row_is_held_against_its_aim(took: float, verdict: str) -> None:
    """By the ratio, whatever the times are."""
    assert str(Row("a call", "a commit", 2.0, took=took, base_took=1.0)).endswith(verdict)


def test_a_row_that_could_not_be_measured_says_why() -> None:
    assert str(Row("a command", "python", 4.0, skipped="there is none")).endswith("skipped: there is none")


def test_acts_take_turns() -> None:
    """So that none of them has a quiet machine to itself."""
    seen: list[str] = []

    times = medians([lambda: seen.append("a"), lambda: seen.append("b")], 3)

    assert seen == ["a", "b"] * 4
    assert len(times) == 2


def test_a_plan_in_the_brief_dialect_costs_next_to_nothing() -> None:
    """Tokens can be counted exactly, so this is a test: at most 480, definitions included."""
    by_dialect = {row.dialect: row for row in tokens.rows()}

    assert by_dialect["brief"].total <= 480
    assert all(row.total <= row.most for row in by_dialect.values())
