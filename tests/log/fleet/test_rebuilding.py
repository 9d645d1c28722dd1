"""Leases from the facts in a log."""

from tildone.log.events import Actor, Event
from tildone.log.fleet.facts import Answered, Asked, RunEnded, RunFact, RunLost, RunQueued, RunReleased, RunTaken
from tildone.log.fleet.lease import Lease, LeaseState, Work
from tildone.log.fleet.rules import leases_in

QUEUED = RunQueued("r1", 0, 0, 1, Work("/app"), not_before=7)
TAKEN = RunTaken("r1", 0, 1, "here/1/a/1")


def leases(*facts: RunFact) -> list[Lease]:
    """Return the leases after facts, each a millisecond after the one before."""
    return leases_in("plan", [Event(f"e{at}", None, at, Actor.TIMER, fact) for at, fact in enumerate(facts, 1)])


def test_a_lost_run_is_queued_for_its_next_attempt() -> None:
    lost = RunLost("r1", 0, 2, "its lease has lapsed", task=3, losses=2)

    assert leases(QUEUED, TAKEN, lost) == [
        Lease("r1", 0, "plan", Work("/app"), epoch=2, attempt=2, losses=2, task=3, not_before=7, made=1, since=3)
    ]


def test_questions_are_open_until_they_are_answered() -> None:
    """One that was asked twice is one question."""
    asked = [Asked("r1", 0, question, "question", "Which?") for question in ("q1", "q2", "q1")]
    waiting = RunReleased("r1", 0, 2, LeaseState.WAITING, "")
    answers = [Answered("r1", 0, question, "this one") for question in ("q2", "q1")]

    [both] = leases(QUEUED, TAKEN, *asked, waiting)
    [one] = leases(QUEUED, TAKEN, *asked, waiting, answers[0])
    [none] = leases(QUEUED, TAKEN, *asked, waiting, *answers, RunQueued("r1", 0, 3, 2, Work("/app"), "answered"))

    assert (both.questions, both.state, both.attempt) == (("q2", "q1"), LeaseState.WAITING, 1)
    assert (one.questions, one.state) == (("q1",), LeaseState.WAITING)
    assert (none.questions, none.state, none.attempt, none.epoch) == ((), LeaseState.OPEN, 2, 3)


def test_a_run_that_is_retried_has_no_questions_and_no_losses() -> None:
    asked, lost = Asked("r1", 0, "q1", "question", "Which?"), RunLost("r1", 0, 2, "", task=1, losses=5)
    ended, retried = RunEnded("r1", 0, 2, LeaseState.FAILED), RunQueued("r1", 0, 3, 3, Work("/app"), "retried")

    [lease] = leases(QUEUED, TAKEN, asked, lost, ended, retried)

    assert lease == Lease("r1", 0, "plan", Work("/app"), epoch=3, attempt=3, made=1, since=6)


def test_what_a_log_tells_of_a_run_that_it_does_not_begin_is_ignored() -> None:
    """An imported log may be a part of another one."""
    assert leases(TAKEN, RunLost("r1", 0, 2, "")) == []
    assert [(lease.run, lease.hand) for lease in leases(RunQueued("r2", 1, 0, 1, Work()), TAKEN)] == [("r2", 1)]


def test_what_breaks_the_rules_of_leases_did_not_happen() -> None:
    """Somebody else has written it into the log."""
    no_names = [RunQueued(name, 0, 0, 1, Work()) for name in ("../../x", "/abs/victim", ["r1"])]  # type: ignore[arg-type]  # whatever a log has
    no_place = RunQueued("r2", 0, 0, 1, Work("ext::sh -c x"))
    no_epoch = RunTaken("r1", 0, -5, "here/1/a/1")

    assert leases(*no_names, no_place, QUEUED, no_epoch) == leases(*[TAKEN] * 4, QUEUED)
