"""Whether an agent is told to continue."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plans import BLOCKED, COMPLETED, IN_PROGRESS
from tildone.base import replace
from tildone.plan.events import Bound, Directive, Ledger, Nudged, State, StopFingerprint, Tripped
from tildone.plan.gate import GiveUp, GoOn, Patience, Rest, RestReason, Spent, Turn, Verdict, decide, judge
from tildone.plan.model import Task, flat

OPEN = flat(Task("a", COMPLETED), Task("b"), Task("c", IN_PROGRESS))
DONE = flat(Task("a", COMPLETED))
PATIENCE = Patience()


def test_without_a_plan_the_agent_rests() -> None:
    assert decide(State(), PATIENCE, Turn(aborted=True, errored=True)) == Rest(RestReason.NO_PLAN)


def test_an_interrupted_agent_is_left_alone() -> None:
    """Even if a bound is reached or everything is done."""
    for plan in (OPEN, DONE):
        assert decide(State("e", plan, nudges=99), PATIENCE, Turn(aborted=True)) == Rest(RestReason.ABORTED)


def test_a_finished_plan_never_reports_a_bound() -> None:
    """Open tasks are checked before the counts."""
    assert decide(State("e", DONE, 99, 99), PATIENCE, Turn(errored=True)) == Rest(RestReason.ALL_DONE)


def test_an_agent_that_ended_with_an_error_is_not_continued() -> None:
    """The next turn would most likely fail with the same error."""
    assert decide(State("e", OPEN), PATIENCE, Turn(errored=True)) == Rest(RestReason.ERRORED)


def test_the_twentieth_nudge_is_the_last() -> None:
    """As in the original."""
    before, at = State("e", OPEN, nudges=19), State("e", OPEN, nudges=20)

    assert decide(before, PATIENCE) == GoOn(2, Task("c", IN_PROGRESS), 20)
    assert decide(at, PATIENCE) == GiveUp(Bound.NUDGES, 20)


def test_drift_ends_a_chain_that_changes_without_progress() -> None:
    """The plan changed at every turn, but no task was closed or added."""
    state = State("e", OPEN, nudges=0, drift=60)

    assert decide(state, PATIENCE) == GiveUp(Bound.DRIFT, 60)


def test_a_chain_ends_after_all_nudges_since_a_person_spoke() -> None:
    """Also if every one of them was followed by progress."""
    before = State("e", OPEN, ledger=Ledger(continued=999, began=1))
    at = State("e", OPEN, ledger=Ledger(continued=1000, began=1))

    assert isinstance(decide(before, PATIENCE, Turn(at=1)), GoOn)
    assert decide(at, PATIENCE, Turn(at=1)) == GiveUp(Bound.TOTAL, 1000)


def test_a_chain_ends_a_week_after_its_first_nudge() -> None:
    state = State("e", OPEN, ledger=Ledger(continued=1, began=1_000))
    week = 7 * 24 * 60 * 60 * 1000

    assert isinstance(decide(state, PATIENCE, Turn(at=999 + week)), GoOn)
    assert decide(state, PATIENCE, Turn(at=1_000 + week)) == GiveUp(Bound.HOURS, 168)


def test_an_agent_is_not_nudged_about_blocked_tasks() -> None:
    """It continues with other tasks; if only blocked ones are left, it rests."""
    waiting = Task("w", BLOCKED)

    assert decide(State("e", flat(waiting, Task("a", COMPLETED))), PATIENCE) == Rest(RestReason.BLOCKED)
    assert decide(State("e", flat(waiting, Task("b"))), PATIENCE) == GoOn(1, Task("b"))


@pytest.mark.parametrize(
    ("directive", "turn", "why"),
    [
        (Directive.PAUSE, Turn(), RestReason.PAUSED),
        (Directive.STOP, Turn(), RestReason.PAUSED),
        (Directive.GO, Turn(busy=True), RestReason.BUSY),
        (Directive.GO, Turn(asked=True), RestReason.ASKED),
        (Directive.GO, Turn(errored=True, asked=True, busy=True), RestReason.ERRORED),
    ],
)
def test_reasons_to_rest_apply_whether_or_not_a_bound_is_reached(
    directive: Directive, turn: Turn, why: RestReason
) -> None:
    assert decide(State("e", OPEN, directive=directive), PATIENCE, turn) == Rest(why)
    assert decide(State("e", OPEN, 20, 60, directive=directive), PATIENCE, turn) == Rest(why)


def test_a_change_of_the_files_resets_the_nudge_count() -> None:
    """Unknown or equal digests of the files do not."""
    before = State("e", OPEN, nudges=20, fingerprint=StopFingerprint("files", "words"), repeats=2)

    assert decide(before, PATIENCE, Turn(fingerprint=StopFingerprint("others", "words"))) == GoOn(
        2, Task("c", IN_PROGRESS), 1
    )
    assert decide(before, PATIENCE, Turn(fingerprint=StopFingerprint("files", "more"))) == GiveUp(Bound.NUDGES, 20)
    assert decide(before, PATIENCE, Turn(fingerprint=StopFingerprint("", "words"))) == GiveUp(Bound.NUDGES, 20)


def test_changing_files_do_not_reset_the_drift() -> None:
    state = State("e", OPEN, nudges=1, drift=60, fingerprint=StopFingerprint("files"))

    assert decide(state, PATIENCE, Turn(fingerprint=StopFingerprint("others"))) == GiveUp(Bound.DRIFT, 60)


def test_an_agent_that_repeats_itself_is_not_continued() -> None:
    """With the same message and the same files, three times in a row. An empty message is not a repetition."""
    fingerprint = StopFingerprint("files", "words")

    assert decide(
        State("e", OPEN, 2, 2, fingerprint=fingerprint, repeats=1), PATIENCE, Turn(fingerprint=fingerprint)
    ) == GoOn(2, Task("c", IN_PROGRESS), 3, 2)
    assert decide(
        State("e", OPEN, 3, 3, fingerprint=fingerprint, repeats=2), PATIENCE, Turn(fingerprint=fingerprint)
    ) == GiveUp(Bound.SAME, 3)
    assert isinstance(
        decide(
            State("e", OPEN, 3, 3, fingerprint=StopFingerprint("f"), repeats=2),
            PATIENCE,
            Turn(fingerprint=StopFingerprint("f")),
        ),
        GoOn,
    )


def test_a_chain_without_progress_has_a_time_limit() -> None:
    """It counts from the first nudge of the chain."""
    late = Turn(at=240 * 60_000 + 7)

    assert decide(State("e", OPEN, 1, 1, since=7), PATIENCE, late) == GiveUp(Bound.TIME, 240)
    assert isinstance(decide(State("e", OPEN, 1, 1, since=8), PATIENCE, late), GoOn)
    assert isinstance(decide(State("e", OPEN), PATIENCE, late), GoOn)


def test_a_session_has_a_cost_limit_if_one_is_set() -> None:
    patience = Patience(cost=5)

    assert decide(State("e", OPEN), patience, Turn(cost=5)) == GiveUp(Bound.COST, 5)
    assert isinstance(decide(State("e", OPEN), patience, Turn(cost=4.99)), GoOn)
    assert isinstance(decide(State("e", OPEN), PATIENCE, Turn(cost=999)), GoOn)


@pytest.mark.parametrize(
    ("patience", "under", "over", "reached"),
    [
        (Patience(cost=0.5), Turn(cost=0.49), Turn(cost=0.5), GiveUp(Bound.COST, 0.5)),
        (Patience(tokens=9), Turn(tokens=8), Turn(tokens=9), GiveUp(Bound.TOKENS, 9)),
        (
            Patience(task_cost=0.5),
            Turn(cost=9, task=Spent(cost=0.4)),
            Turn(task=Spent(cost=0.6)),
            GiveUp(Bound.TASK_COST, 0.5),
        ),
        (
            Patience(task_tokens=9),
            Turn(tokens=99, task=Spent(tokens=8)),
            Turn(task=Spent(tokens=9)),
            GiveUp(Bound.TASK_TOKENS, 9),
        ),
        (
            Patience(task_minutes=2),
            Turn(task=Spent(ms=119_999)),
            Turn(task=Spent(ms=120_000)),
            GiveUp(Bound.TASK_TIME, 2),
        ),
    ],
)
def test_an_agent_is_let_go_when_a_budget_is_used_up(
    patience: Patience, under: Turn, over: Turn, reached: GiveUp
) -> None:
    assert isinstance(decide(State("e", OPEN), patience, under), GoOn)
    assert decide(State("e", OPEN), patience, over) == reached
    assert isinstance(decide(State("e", OPEN), PATIENCE, over), GoOn)
    assert patience.has_budget
    assert not PATIENCE.has_budget


limits = st.none() | st.integers(0, 20)
spending = st.builds(Spent, st.floats(0, 20), st.integers(0, 20), st.integers(0, 2_000_000))
turns = st.builds(Turn, st.booleans(), st.booleans(), st.booleans(), cost=st.floats(0, 20), task=spending)
states = st.builds(
    State,
    st.just("e"),
    st.sampled_from([OPEN, DONE, flat()]),
    st.integers(0, 25),
    st.integers(0, 65),
    ledger=st.builds(Ledger, st.integers(0, 1001), st.just(1)),
)


budgets = st.builds(Patience, cost=limits, tokens=limits, task_cost=limits, task_tokens=limits, task_minutes=limits)


@given(states, turns, budgets)
def test_a_budget_never_continues_an_agent_that_would_be_let_go_without_it(
    state: State, turn: Turn, patience: Patience
) -> None:
    """So every chain of nudges ends, as without budgets; and a finished plan never reports one."""
    with_budgets, without = decide(state, patience, turn), decide(state, PATIENCE, turn)

    assert with_budgets == without or (isinstance(without, GoOn) and isinstance(with_budgets, GiveUp))


def test_a_verdict_is_recorded_as_a_nudge_or_as_a_bound_once() -> None:
    """The prompt is made only for an agent that continues."""

    def prompt() -> str:
        return "go on"

    def unexpected() -> str:
        raise AssertionError

    spent = State("e", OPEN, nudges=99, drift=99)
    turn = Turn(fingerprint=StopFingerprint("f", "m"))
    nudged, nudge = judge(State("e", OPEN, drift=2), PATIENCE, turn, prompt)
    given_up, tripped = judge(spent, PATIENCE, Turn(), unexpected)

    assert nudged.prompt == "go on"
    assert nudge == Nudged(1, 3, turn.fingerprint, 0)
    assert isinstance(given_up.decision, GiveUp)
    assert tripped == Tripped(given_up.decision.bound, given_up.decision.limit)
    assert judge(replace(spent, tripped=tripped), PATIENCE, Turn(), unexpected) == (given_up, None)
    assert judge(State("e", DONE), PATIENCE, Turn(), unexpected) == (Verdict(Rest(RestReason.ALL_DONE)), None)
