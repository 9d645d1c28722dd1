"""The spans of tasks, checks and runs follow from the log, and their ids from what they are of."""

import pytest

from tildone.base import replace
from tildone.plan.events import Actor, Author, Event, Fact, Nudged, PlanChanged
from tildone.plan.history.spans import (
    RunTimeline,
    SpanPlace,
    TaskSpans,
    TraceSpan,
    attempt_place,
    attempt_tasks,
    ended_attempt_spans,
    place_in,
    span_id,
    trace_id,
)
from tildone.plan.model import Check, Phase, Plan, Proof, Result, Status, Task
from tildone.plan.runs import LeaseState, RunEnded, RunFence, RunLost, RunQueued, RunReleased, RunTaken, Work

HEADER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_ids_follow_from_what_a_span_is_about() -> None:
    assert span_id("task", 1) == span_id("task", 1)
    assert len({span_id("task", 1), span_id("task", 2), span_id("task1"), span_id("tas", "k1")}) == 4
    assert 0 < span_id("a") < 1 << 64
    assert 0 < trace_id("a") < 1 << 128
    assert span_id("\ud800")


def test_a_place_is_written_and_read_as_a_traceparent() -> None:
    place = place_in(HEADER)

    assert place == SpanPlace(0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331)
    assert place.traceparent == HEADER


@pytest.mark.parametrize(
    "text",
    [
        "",
        "00-0af7-b7ad-01",
        HEADER.replace("-01", ""),
        HEADER.replace("0af7", "0AF7"),
        HEADER.replace("0af7", "zzzz"),
        "ff" + HEADER[2:],
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
    ],
)
def test_another_form_is_no_place(text: str) -> None:
    assert place_in(text) is None


PLACE = SpanPlace(7, 70)
CHECK = Check(("make", "test"))
PENDING, DOING, DONE = Status.PENDING, Status.IN_PROGRESS, Status.COMPLETED


def plan(*statuses: Status) -> Plan:
    tasks = tuple(Task(f"task {number}", status, number=number) for number, status in enumerate(statuses, 1))
    return Plan((Phase("", tasks),))


def changed(after: Plan, at: int, agent: str = "claude:5f") -> Event:
    return Event(f"e{at}", None, at, Actor.AGENT, PlanChanged(after), Author("Ada", agent))


def with_task(before: Plan, **fields: object) -> Plan:
    [task] = before.tasks
    return Plan((Phase("", (replace(task, **fields),)),))


def brief(spans: list[TraceSpan]) -> list[tuple[object, ...]]:
    return [(span.attributes["tildone.task.number"], span.start, span.end, span.error) for span in spans]


def test_a_task_lasts_from_its_start_to_its_end() -> None:
    tasks = TaskSpans(PLACE, plan(PENDING, PENDING), 1, "begin")

    assert tasks.current == PLACE
    assert tasks.add(changed(plan(DOING, PENDING), 10)) == []
    [first] = tasks.add(changed(plan(DONE, DOING), 30))
    assert tasks.add(Event("n", None, 40, Actor.TIMER, Nudged(1, 1))) == []
    [second] = tasks.add(changed(plan(DONE, Status.ABANDONED), 50, agent=""))

    assert (first.name, first.trace, first.parent, first.start, first.end) == ("tildone.task", 7, 70, 10, 30)
    assert first.attributes == {"tildone.task.number": 1, "tildone.task.status": "completed", "tildone.agent": "claude"}
    assert brief([second]) == [(2, 30, 50, "")]
    assert second.attributes == {"tildone.task.number": 2, "tildone.task.status": "abandoned"}
    assert first.id != second.id


def test_what_happens_now_belongs_to_the_only_task_in_progress() -> None:
    """Two readers of one log use the same ids."""
    tasks = TaskSpans(PLACE, plan(DOING, PENDING), 1, "begin")
    current = tasks.current
    assert current.parent != PLACE.parent

    tasks.add(changed(plan(DOING, DOING), 5))
    assert tasks.current == PLACE
    [span] = tasks.add(changed(plan(DONE, DOING), 9))
    assert span.id == current.parent

    one, other = (TaskSpans(PLACE, plan(DOING), 1, "0/3") for _ in range(2))

    assert one.current == other.current
    assert one.current != TaskSpans(PLACE, plan(DOING), 1, "0/4").current


def test_a_task_that_is_blocked_put_back_or_removed_has_ended_and_the_rest_is_interrupted() -> None:
    """One that was never started takes no time; imported ones are not told."""
    for after, status in ((plan(Status.BLOCKED), "blocked"), (plan(PENDING), "pending"), (plan(), "removed")):
        tasks = TaskSpans(PLACE, plan(DOING), 1, "begin")
        [span] = tasks.add(changed(after, 4))
        assert (span.attributes["tildone.task.status"], span.end) == (status, 4)

    tasks = TaskSpans(PLACE, plan(PENDING), 1, "begin")

    assert brief(tasks.add(changed(plan(DONE, DONE), 6))) == [(1, 6, 6, "")]
    assert tasks.add(changed(plan(DONE), 7)) == []

    tasks = TaskSpans(PLACE, plan(DOING, PENDING), 5, "begin")

    [span] = tasks.close(3)

    # Clocks of machines differ: nothing ends before it began.
    assert (span.start, span.end, span.attributes["tildone.task.status"]) == (5, 5, "interrupted")
    assert tasks.close(9) == []


def test_each_run_of_a_check_is_a_span_within_its_task() -> None:
    begun = with_task(plan(DOING), check=CHECK)
    tasks = TaskSpans(PLACE, begun, 1, "begin", str.upper)
    own = tasks.current.parent
    failed = Proof(Result.FAILED, CHECK.command, exit_code=2, milliseconds=30, at=90)
    [check] = tasks.add(changed(with_task(begun, proof=failed), 95))
    again = tasks.add(changed(with_task(begun, proof=replace(failed, at=120)), 125))
    assert tasks.add(changed(with_task(begun, proof=replace(failed, at=120)), 130)) == []
    passed = with_task(begun, status=DONE, proof=Proof(Result.PASSED, CHECK.command, exit_code=0, at=150))
    last, task = tasks.add(changed(passed, 160))

    assert (check.name, check.parent, check.start, check.end, check.error) == ("tildone.check", own, 60, 90, "failed")
    assert check.attributes == {
        "tildone.check.result": "failed",
        "tildone.task.number": 1,
        "process.exit.code": 2,
        "tildone.check.command": "MAKE TEST",
    }
    assert [span.end for span in again] == [120]
    assert (last.parent, last.error) == (own, "")
    assert (task.attributes["tildone.task.check"], task.attributes["tildone.task.text"]) == ("passed", "TASK 1")


def test_a_check_that_was_refused_or_of_the_plan_has_no_task_around_it() -> None:
    """A refused one was not run and has no time of its own."""
    begun = with_task(plan(PENDING), check=CHECK)
    tasks = TaskSpans(PLACE, begun, 1, "begin")

    refused = with_task(begun, proof=Proof(Result.REFUSED, CHECK.command))
    [check] = tasks.add(changed(refused, 8))
    [task] = tasks.add(changed(with_task(begun, status=DONE), 9))

    assert (check.parent, check.start, check.end, check.error) == (PLACE.parent, 8, 8, "refused")
    assert task.attributes["tildone.task.check"] == "not run"

    tasks = TaskSpans(PLACE, plan(DONE), 1, "begin")
    proof = Proof(Result.PASSED, CHECK.command, exit_code=0, milliseconds=5, at=20)

    [check] = tasks.add(changed(replace(plan(DONE), check=CHECK, proof=proof), 21))

    assert (check.parent, check.attributes) == (
        PLACE.parent,
        {"tildone.check.result": "passed", "process.exit.code": 0},
    )


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


def changed_to(status: Status) -> PlanChanged:
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
        (1, changed_to(Status.IN_PROGRESS)),
        (10, queued()),
        (20, taken(1)),
        (25, changed_to(Status.COMPLETED)),
        (27, changed_to(Status.IN_PROGRESS)),
        (30, RunLost("r", 0, 2, "")),
        (35, changed_to(Status.COMPLETED)),
    )
    timeline = RunTimeline("s", "r", log)
    [attempt] = timeline.attempts(0)

    queue, done, interrupted, own = ended_attempt_spans(timeline, attempt, log)

    assert (done.start, done.end, done.parent) == (20, 25, own.id)
    assert (interrupted.start, interrupted.end) == (27, 30)
    assert (own.error, "tildone.why" in own.attributes) == ("lost", False)
    assert attempt_tasks(timeline, attempt, Plan()).current.parent == own.id
    assert ended_attempt_spans(timeline, attempt, []) == [queue, own]


def test_an_attempt_is_told_with_its_own_tasks_once_it_has_ended() -> None:
    """Those of several hands are not told with one of them."""
    log = events((10, queued()), (20, taken(1)), (25, changed_to(Status.IN_PROGRESS)))
    timeline = RunTimeline("s", "r", log)
    [attempt] = timeline.attempts(0)

    [queue] = ended_attempt_spans(timeline, attempt, log)

    assert queue.name == "tildone.queue"

    log = events((10, queued()), (10, queued(1)), (20, taken(1)), (25, changed_to(Status.COMPLETED)), (30, released(2)))
    timeline = RunTimeline("s", "r", log)
    [attempt] = timeline.attempts(0)

    _, own = ended_attempt_spans(timeline, attempt, log)

    assert own.name == "tildone.attempt"
