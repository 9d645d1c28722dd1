"""How the work of one of several hands ends: others have the rest, it looks again, or it has failed."""

import pytest

from tests.fleet.workers import SETTINGS, Bench
from tests.plans import plan_of
from tests.suite.waiting import until
from tildone.core.plan import Plan, Status, Task, flat
from tildone.fleet import hands
from tildone.fleet.endings import RunEnding
from tildone.fleet.hands import MAX_LOOKS, OtherHands, hand_ending, looks_of, other_hands, waits
from tildone.log.claims import Claim, Claimant
from tildone.log.events import Actor, Event, Fact, PlanChanged
from tildone.log.fleet.facts import RunEnded, RunQueued, RunReleased
from tildone.log.fleet.lease import Claimer, Lease, LeaseState, NewRun, Work, WorkOutcome
from tildone.value import replace

GAVE_UP = RunEnding(WorkOutcome.FAILED, "the agent ended with 2 open tasks")
LEASE = Lease("r", 0, "s")
NOBODY = OtherHands(0, frozenset())


@pytest.mark.parametrize(
    ("plan", "theirs", "ending"),
    [
        (plan_of("one", "two"), {1, 2}, RunEnding(WorkOutcome.DONE, "other hands have the rest")),
        (plan_of("one", "two"), {1}, None),
        (
            flat(Task("one", number=1), Task("two", number=2, after=(1,))),
            {1},
            RunEnding(None, "other hands have the rest", 7),
        ),
        (
            flat(Task("one", Status.IN_PROGRESS, number=1, touches=("src",)), Task("two", number=2, touches=("s*",))),
            {1},
            RunEnding(None, "other hands have the rest", 7),
        ),
        (
            flat(Task("one", Status.IN_PROGRESS, number=1, touches=("src",)), Task("two", number=2, touches=("doc",))),
            {1},
            None,
        ),
        (flat(Task("one", Status.BLOCKED, number=1)), (), None),
        (flat(Task("one", number=1), Task("two", number=2, after=(1,))), (), None),
        (Plan(), (), None),
    ],
)
def test_a_hand_waits_while_others_have_all_that_can_be_done(
    plan: Plan, theirs: set[int], ending: RunEnding | None
) -> None:
    others = OtherHands(1, frozenset(theirs))

    assert waits(plan, others, 7) == ending
    assert hand_ending(GAVE_UP, plan, others, 7, MAX_LOOKS) == (ending or GAVE_UP)
    assert waits(plan, replace(others, count=0), 7) is None
    assert hand_ending(GAVE_UP, plan, NOBODY, 7, 0) == GAVE_UP


@pytest.mark.parametrize("outcome", [WorkOutcome.RETRY, WorkOutcome.DONE, WorkOutcome.WAITING])
def test_only_a_hand_that_gave_up_waits(outcome: WorkOutcome) -> None:
    ending = RunEnding(outcome)

    assert hand_ending(ending, plan_of("one"), OtherHands(1, frozenset({1})), 7, 0) == ending


def test_its_own_tasks_and_hands_that_have_ended_are_not_those_of_others() -> None:
    claims = [
        Claim(1, 1, 9, Claimant("claude:a", lease="r/0"), remaining=5),
        Claim(2, 1, 9, Claimant("claude:b", lease="r/1"), remaining=5),
        Claim(3, 1, 9, Claimant("codex:c"), remaining=5),
        Claim(4, 1, 9, Claimant("claude:b", lease="r/1"), remaining=0),
    ]
    every = [LEASE, Lease("r", 1, "s", state=LeaseState.WAITING), Lease("r", 2, "s", state=LeaseState.DONE)]

    assert other_hands(LEASE, every, claims) == OtherHands(1, frozenset({2, 3}))


def newest_first(*facts: Fact) -> list[Event]:
    return [Event(f"e{number}", None, 0, Actor.TIMER, fact) for number, fact in enumerate(facts)]


def test_a_hand_looks_again_for_a_task_a_few_times_while_none_is_closed() -> None:
    """Its agent may have ended just before another hand left a task, or had done what one waits for."""
    plan = flat(Task("one", Status.COMPLETED, number=1), Task("two", number=2), Task("three", number=3))
    look = RunReleased("r", 0, 1, LeaseState.OPEN, "it looks again for a task")
    others = replace(look, hand=1), RunReleased("r", 0, 1, LeaseState.OPEN, "drained")
    closed = PlanChanged(plan), PlanChanged(flat(Task("one", number=1), Task("two", number=2)))

    def ending(*facts: Fact) -> RunEnding:
        looks = looks_of(newest_first(*facts), LEASE, plan)
        return hand_ending(GAVE_UP, plan, OtherHands(1, frozenset({3})), 7, looks)

    assert ending() == RunEnding(None, "it looks again for a task", 1000)
    assert ending(look, *others, PlanChanged(plan), look).delay == 4000
    assert ending(look, *closed, look, look).delay == 2000
    assert ending(look, RunQueued("r", 0, 0, 1, Work()), look, look).delay == 2000
    assert ending(*[look] * MAX_LOOKS) == GAVE_UP


def test_hands_that_do_nothing_do_not_wait_for_each_other_for_ever(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hands, "FIRST_LOOK_MS", 1)
    bench.leases.add(NewRun(bench.run, "s", Work(agent="sh", model="true"), hands=2), [PlanChanged(plan_of("one"))])

    with bench.worker(slots=2):
        until(lambda: not any(view.lease.state.is_active for view in bench.leases.look(bench.run)))

    assert [view.lease.state for view in bench.leases.look(bench.run)] == [LeaseState.FAILED] * 2


def test_no_agent_is_started_while_another_hand_has_the_rest(bench: Bench) -> None:
    started = bench.folder / "started"
    work = Work(agent="sh", model=f"touch {started}")
    bench.leases.configure(replace(SETTINGS, lease=600_000))
    bench.leases.add(NewRun(bench.run, "s", work, hands=2), [PlanChanged(plan_of("one"))])
    other = bench.leases.take(Claimer("there/1/a"), "there/1/a/1", bench.run, 0, 1)
    assert other is not None
    bench.store.records.claim("s", 1, Claimant("claude:a", lease=f"{bench.run}/0"), 600_000)

    with bench.worker():
        until(lambda: bench.facts(RunEnded))

    [ended] = bench.facts(RunEnded)
    assert isinstance(ended, RunEnded)
    assert (ended.hand, ended.state, ended.why) == (1, LeaseState.DONE, "other hands have the rest")
    assert not started.exists()
