"""The state of a session: word, sign and reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plans import BLOCKED, COMPLETED, IN_PROGRESS, plan_of
from tildone.base import replace
from tildone.plan.events import Bound, Directive, State, Tripped
from tildone.plan.model import Check, Plan, Proof, Result, Task, flat
from tildone.plan.text.state import SessionFacts, SessionState, SessionWord, session_state, ten_words
from tildone.plan.text.styles import Role

OPEN = State(plan=plan_of("Write the parser", "Test it"))
WAITING = State(plan=flat(Task("a", COMPLETED), Task("Fuzz it", BLOCKED, ("old", "May I run cargo fuzz?"))))


def shown(state: State, *, at_work: bool = False, by: str = "") -> tuple[str, str]:
    found = session_state(SessionFacts(state, at_work=at_work, steered_by=by, nudge_limit=20))
    return found.word.value, found.why


def test_every_word_has_a_sign_and_a_colour() -> None:
    assert [(each.value, each.sign, each.role) for each in SessionWord] == [
        ("needs you", "!", Role.WARNING),
        ("stuck", "∞", Role.ERROR),
        ("let go", "○", Role.ERROR),
        ("working", "●", Role.ACCENT),
        ("paused", "║", Role.DIM),
        ("stopped", "■", Role.DIM),
        ("idle", "·", Role.DIM),
        ("done", "✓", Role.SUCCESS),
        ("empty", " ", Role.DIM),
    ]


def test_a_session_whose_open_tasks_are_all_blocked_needs_a_person() -> None:
    assert shown(WAITING) == ("needs you", "waits: May I run cargo fuzz?")
    assert shown(State(plan=flat(Task("Sign it", BLOCKED)))) == ("needs you", "waits: Sign it")
    assert shown(State(plan=flat(Task("Sign it", BLOCKED), Task("b"))))[0] == "idle"


@pytest.mark.parametrize(
    ("result", "why"), [(Result.REFUSED, "approve its check: pytest -q"), (Result.INCONCLUSIVE, "waits: Test it")]
)
def test_a_session_whose_check_nobody_has_approved_says_which(result: Result, why: str) -> None:
    check = Check(("pytest", "-q"))
    task = Task("Test it", BLOCKED, check=check, proof=Proof(result, check.command))

    assert shown(State(plan=flat(task))) == ("needs you", why)


def test_a_paused_or_stopped_session_says_by_whom() -> None:
    paused, stopped = (replace(OPEN, directive=each) for each in (Directive.PAUSE, Directive.STOP))

    assert shown(paused, by="Team") == ("paused", "paused by Team")
    assert shown(stopped, by="Team") == ("stopped", "stopped by Team")
    assert shown(paused, at_work=True) == ("paused", "")
    assert shown(stopped, at_work=True) == ("stopped", "")


@pytest.mark.parametrize("bound", Bound)
def test_a_session_that_reached_a_bound_says_which_in_ten_words(bound: Bound) -> None:
    word, why = shown(replace(OPEN, tripped=Tripped(bound, 20)), at_work=True)

    assert word == "let go"
    assert "20" in why
    assert len(why.split()) <= 10


@pytest.mark.parametrize(
    ("state", "why"),
    [
        (replace(OPEN, nudges=7), "told 7 of 20 times"),
        (replace(OPEN, nudges=7, repeats=2), "same words 3 times"),
        (replace(OPEN, drift=10), "told 10 times without progress"),
    ],
)
def test_an_agent_at_work_that_is_told_again_and_again_is_stuck(state: State, why: str) -> None:
    assert shown(state, at_work=True) == ("stuck", why)
    assert shown(state) == ("idle", "next: Write the parser")


def test_without_a_known_limit_only_the_nudges_are_counted() -> None:
    facts = SessionFacts(replace(OPEN, nudges=3), at_work=True)

    assert session_state(facts) == SessionState(SessionWord.STUCK, "told 3 times")


def test_an_agent_is_working_below_these_counts_and_the_reason_is_its_task() -> None:
    state = replace(OPEN, nudges=2, drift=9, plan=flat(Task("a"), Task("Write the parser", IN_PROGRESS)))

    assert shown(state, at_work=True) == ("working", "Write the parser")


def test_a_finished_plan_is_done_and_one_without_tasks_is_empty_whether_or_not_an_agent_runs() -> None:
    done = State(plan=flat(Task("a", COMPLETED)))

    assert [shown(done, at_work=at_work) for at_work in (True, False)] == [("done", "")] * 2
    assert [shown(State(plan=Plan()), at_work=at_work) for at_work in (True, False)] == [("empty", "")] * 2


def test_the_first_state_of_the_order_that_holds_decides() -> None:
    everything = replace(WAITING, directive=Directive.STOP, tripped=Tripped(Bound.NUDGES, 20), nudges=20)

    assert shown(everything, at_work=True)[0] == "needs you"
    assert shown(replace(everything, plan=OPEN.plan), at_work=True)[0] == "stopped"
    assert shown(replace(everything, plan=OPEN.plan, directive=Directive.PAUSE), at_work=True)[0] == "paused"
    assert shown(replace(everything, plan=OPEN.plan, directive=Directive.GO), at_work=True)[0] == "let go"


@given(st.text())
def test_a_reason_is_printable_and_has_at_most_ten_words(text: str) -> None:
    why = ten_words(text)

    assert "\n" not in why
    assert "\x1b" not in why
    assert len(why.split()) <= 10


def test_names_and_texts_are_made_printable() -> None:
    assert shown(replace(OPEN, directive=Directive.PAUSE), by="\x1b[2J") == ("paused", "paused by ␛[2J")
    assert shown(State(plan=plan_of("a\nb")), at_work=True) == ("working", "a⏎b")
