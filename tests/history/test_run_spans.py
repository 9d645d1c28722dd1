"""The spans of runs follow from the facts in the log."""

from tildone.plan.events import Actor, Event, Fact, PlanChanged
from tildone.plan.history.spans import RunTimeline, attempt_place, attempt_tasks, ended_attempt_spans
from tildone.plan.model import Phase, Plan, Status, Task
from tildone.plan.runs import LeaseState, RunEnded, RunFence, RunLost, RunQueued, RunReleased, RunTaken, Work

WORK = Work(agent="claude", model="opus")


def events(*facts: tuple[int, Fact]) -> list[Event]:
    return [Event(f"e{number}", None, at, Actor.TIMER, fact) for number, (at, fact) in enumerate(facts)]


def queued(hand: int = 0, why: str = "added") -> RunQueued:
    return RunQueued("r", hand, 0, 1, WORK, why)


def taken(epoch: int, hand: int = 0) -> RunTaken:
    return RunTaken("r", hand, epoch, f"host/1/a/{epoch}", "1.0")


def ended(epoch: int, state: LeaseState = LeaseState.DONE, hand: int = 0, fails: int = 0) -> RunEnded:
    return RunEnded("r", hand, epoch, state, "why it ended", fails)


def released(epoch: int, state: LeaseState = LeaseState.OPEN, fails: int = 0, not_before: int = 0) -> RunReleased:
    return RunReleased("r", 0, epoch, state, "why\nit was given back", fails, not_before)


def plan(status: Status) -> PlanChanged:
    return PlanChanged(Plan((Phase("", (Task("t", status, number=1),)),)))


def test_a_run_waits_is_worked_on_and_ends_in_one_trace() -> None:
    log = events((10, queued()), (25, taken(1)), (90, ended(2)), (95, RunQueued("other", 0, 0, 1, WORK)))
    timeline = RunTimeline("s", "r", log)
    [attempt] = timeline.attempts(0)
    run, queue, work = timeline.run_span(), timeline.queue_span(attempt), timeline.attempt_span(attempt)

    assert run
    assert work
    assert (run.name, run.parent, run.start, run.end, run.error) == ("tildone.run", 0, 10, 90, "")
    assert run.attributes == {
        "tildone.run": "r",
        "tildone.outcome": "done",
        "tildone.agent": "claude",
        "tildone.model": "opus",
    }
    assert (queue.parent, queue.start, queue.end) == (run.id, 10, 25)
    assert (work.parent, work.start, work.end, work.error) == (run.id, 25, 90, "")
    assert work.attributes == {
        "tildone.run": "r",
        "tildone.hand": 0,
        "tildone.epoch": 1,
        "tildone.outcome": "done",
        "tildone.worker": "host/1/a",
    }
    assert attempt_place("s", RunFence("r", 0, 1)) == timeline.task_place(attempt)
    assert timeline.task_place(attempt).parent == work.id
    assert len({run.id, queue.id, work.id}) == 3


def test_texts_are_told_if_a_person_wants_it() -> None:
    timeline = RunTimeline("s", "r", events((10, queued()), (25, taken(1)), (90, ended(2))))
    [attempt] = timeline.attempts(0)

    for span in (timeline.run_span(str.upper), timeline.attempt_span(attempt, str.upper)):
        assert span
        assert span.attributes["tildone.why"] == "WHY IT ENDED"


def test_nothing_is_told_of_what_has_not_ended() -> None:
    timeline = RunTimeline("s", "r", events((10, queued()), (25, taken(1))))
    [attempt] = timeline.attempts(0)

    assert timeline.run_span() is None
    assert timeline.attempt_span(attempt) is None
    assert attempt.outcome == ""
    assert timeline.attempt(RunFence("r", 0, 1)) == attempt
    assert timeline.attempt(RunFence("r", 0, 2)) is None
    assert not RunTimeline("s", "r").is_over
    assert RunTimeline("s", "r").run_span() is None
    assert RunTimeline("s", "r").lowest_held is None


def test_the_attempts_of_a_run_say_how_they_ended() -> None:
    log = events(
        (10, queued()),
        (20, taken(1)),
        (30, RunLost("r", 0, 2, "its worker is gone")),
        (40, taken(3)),
        (50, released(4, fails=1, not_before=70)),
        (80, taken(5)),
        (90, released(6, fails=1)),
        (95, taken(7)),
        (97, released(8, LeaseState.PAUSED, fails=1)),
        (98, queued(why="resumed")),
        (99, taken(9)),
        (100, queued(why="resumed")),
        (101, taken(11)),
        (105, ended(12, LeaseState.FAILED, fails=1)),
    )
    timeline = RunTimeline("s", "r", log)
    attempts = timeline.attempts(0)

    outcomes = ["lost", "failed", "released", "paused", "released", "failed"]
    assert [attempt.outcome for attempt in attempts] == outcomes
    spans = [timeline.attempt_span(attempt) for attempt in attempts]
    assert [span.error for span in spans if span] == ["lost", "failed", "", "", "", "failed"]
    # The delay after a failure is not a wait for a worker.
    waits = [timeline.queue_span(attempt) for attempt in attempts]
    assert [(span.start, span.end) for span in waits] == [
        (10, 20), (30, 40), (70, 80), (90, 95), (98, 99), (100, 101),
    ]  # fmt: skip
    run = timeline.run_span()
    assert run
    assert (run.error, run.start, run.end) == ("failed", 10, 105)
    assert {span.parent for span in waits} == {run.id}


def test_a_run_that_is_retried_gets_another_root_in_the_same_trace() -> None:
    first = events((10, queued()), (20, taken(1)), (30, ended(2, LeaseState.CANCELLED)))
    again = [*first, *(Event(f"again {event.id}", None, event.at, event.actor, event.fact) for event in events(
        (40, queued(why="retried")), (50, taken(4)), (60, ended(5)),
    ))]  # fmt: skip
    before, after = RunTimeline("s", "r", first).run_span(), RunTimeline("s", "r", again).run_span()

    assert before
    assert after
    assert before.trace == after.trace
    assert before.id != after.id
    assert (before.error, after.error, after.start) == ("cancelled", "", 40)
    one, two = RunTimeline("s", "r", again).attempts(0)
    timeline = RunTimeline("s", "r", again)
    assert (timeline.queue_span(one).parent, timeline.queue_span(two).parent) == (before.id, after.id)


def test_hands_share_the_tasks_of_a_run() -> None:
    log = events((10, queued()), (10, queued(1)), (20, taken(1)), (21, taken(1, hand=1)), (30, ended(2)))
    timeline = RunTimeline("s", "r", log)
    [attempt] = timeline.attempts(1)

    assert (timeline.hands, timeline.lowest_held, timeline.is_over) == (2, 1, False)
    timeline.add(*events((40, ended(2, LeaseState.FAILED, hand=1))))
    run = timeline.run_span()
    assert run
    assert (run.error, run.end) == ("failed", 40)
    assert timeline.task_place(attempt).parent == run.id
    assert timeline.lowest_held is None


def test_an_attempt_that_was_lost_is_told_from_the_log() -> None:
    log = events(
        (1, plan(Status.IN_PROGRESS)),
        (10, queued()),
        (20, taken(1)),
        (25, plan(Status.COMPLETED)),
        (27, plan(Status.IN_PROGRESS)),
        (30, RunLost("r", 0, 2, "")),
        (35, plan(Status.COMPLETED)),
    )
    timeline = RunTimeline("s", "r", log)
    [attempt] = timeline.attempts(0)

    queue, done, interrupted, own = ended_attempt_spans(timeline, attempt, log)

    assert (done.start, done.end, done.parent) == (20, 25, own.id)
    assert (interrupted.start, interrupted.end) == (27, 30)
    assert (own.error, "tildone.why" in own.attributes) == ("lost", False)
    assert attempt_tasks(timeline, attempt, Plan()).current.parent == own.id
    assert ended_attempt_spans(timeline, attempt, []) == [queue, own]


def test_an_attempt_that_has_not_ended_is_told_by_its_worker() -> None:
    log = events((10, queued()), (20, taken(1)), (25, plan(Status.IN_PROGRESS)))
    timeline = RunTimeline("s", "r", log)
    [attempt] = timeline.attempts(0)

    [queue] = ended_attempt_spans(timeline, attempt, log)

    assert queue.name == "tildone.queue"


def test_the_tasks_of_several_hands_are_not_told_with_one_of_them() -> None:
    log = events((10, queued()), (10, queued(1)), (20, taken(1)), (25, plan(Status.COMPLETED)), (30, released(2)))
    timeline = RunTimeline("s", "r", log)
    [attempt] = timeline.attempts(0)

    _, own = ended_attempt_spans(timeline, attempt, log)

    assert own.name == "tildone.attempt"
