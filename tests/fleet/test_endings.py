"""How attempts and hands end: repeated, done, or failed for good."""

import pytest

from tests.fleet.workers import Bench
from tildone.fleet.endings import MAX_DELAY_MS, MAX_TRIES, RunEnding, ending_of, not_published, out_of_order
from tildone.fleet.supervision import AgentEnding, How
from tildone.log.events import Actor, Event, Fact
from tildone.log.fleet import rules
from tildone.log.fleet.facts import RunEnded, RunQueued, RunReleased
from tildone.log.fleet.lease import Lease, LeaseState, Work, WorkOutcome
from tildone.log.state import State

GAVE_UP = RunEnding(WorkOutcome.FAILED, "the agent ended with 2 open tasks")
LEASE = Lease("r", 0, "s")
OTHER = Lease("r", 1, "s", owner="there/1/a/1")


def test_an_agent_that_fails_five_times_has_failed_with_the_end_of_its_output(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "FIRST_DELAY_MS", 1)
    monkeypatch.setenv("SOME_TOKEN", "abcdefgh-12345")
    bench.add("seq 1 100; echo $SOME_TOKEN; exit 3")

    with bench.worker():
        lease = bench.becomes(LeaseState.FAILED)

    delays = [fact.fails for fact in bench.facts(RunReleased) if isinstance(fact, RunReleased)]
    [ended] = bench.facts(RunEnded)
    assert isinstance(ended, RunEnded)
    assert (delays, lease.fails) == ([1, 2, 3, 4], 5)
    lines = ended.why.splitlines()
    assert (lines[0], lines[1], lines[-1], len(lines)) == ("the agent ended with exit code 3", "62", "[redacted]", 41)


def test_an_agent_that_was_frozen_for_too_long_has_not_failed() -> None:
    ending = ending_of(AgentEnding(How.FROZEN), State(), LEASE, [])

    assert (ending.outcome, ending.delay) == (None, 0)
    assert ending.why == "the agent was frozen for too long, because its lease could not be renewed"


def newest_first(*facts: Fact) -> list[Event]:
    return [Event(f"e{number}", None, 0, Actor.TIMER, fact) for number, fact in enumerate(facts)]


def test_what_git_fails_at_is_tried_less_and_less_often_and_then_has_failed() -> None:
    fact = RunReleased("r", 0, 1, LeaseState.OPEN, "git failed: no route")
    queued, other = RunQueued("r", 0, 0, 1, Work()), RunReleased("r", 1, 1, LeaseState.OPEN, "drained")

    assert not_published("no route", [], LEASE) == RunEnding(
        None, "git failed: the branch was not published: no route", 10_000
    )
    assert out_of_order("x", newest_first(fact, other, fact, queued, fact), LEASE).delay == 40_000
    assert out_of_order("x", newest_first(*[fact] * (MAX_TRIES - 1)), LEASE).delay == MAX_DELAY_MS
    assert out_of_order("x", newest_first(*[fact] * MAX_TRIES), LEASE) == RunEnding(WorkOutcome.FAILED, "git failed: x")
