"""The spans of tasks and checks follow from the events of a plan."""

from tildone.base import replace
from tildone.plan.events import Actor, Author, Event, Nudged, PlanChanged
from tildone.plan.history.spans import SpanPlace, TaskSpans, TraceSpan
from tildone.plan.model import Check, Phase, Plan, Proof, Result, Status, Task

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
    assert first.attributes == {
        "tildone.task.number": 1,
        "tildone.task.status": "completed",
        "tildone.agent": "claude",
    }
    assert brief([second]) == [(2, 30, 50, "")]
    assert second.attributes == {"tildone.task.number": 2, "tildone.task.status": "abandoned"}
    assert first.id != second.id


def test_what_happens_now_belongs_to_the_only_task_in_progress() -> None:
    tasks = TaskSpans(PLACE, plan(DOING, PENDING), 1, "begin")
    current = tasks.current
    assert current.parent != PLACE.parent

    tasks.add(changed(plan(DOING, DOING), 5))
    assert tasks.current == PLACE
    [span] = tasks.add(changed(plan(DONE, DOING), 9))
    assert span.id == current.parent


def test_two_readers_of_one_log_use_the_same_ids() -> None:
    one, other = (TaskSpans(PLACE, plan(DOING), 1, "0/3") for _ in range(2))

    assert one.current == other.current
    assert one.current != TaskSpans(PLACE, plan(DOING), 1, "0/4").current


def test_a_task_that_is_blocked_put_back_or_removed_has_ended() -> None:
    for after, status in ((plan(Status.BLOCKED), "blocked"), (plan(PENDING), "pending"), (plan(), "removed")):
        tasks = TaskSpans(PLACE, plan(DOING), 1, "begin")
        [span] = tasks.add(changed(after, 4))
        assert (span.attributes["tildone.task.status"], span.end) == (status, 4)


def test_a_task_that_was_never_started_takes_no_time_and_imported_ones_are_not_told() -> None:
    tasks = TaskSpans(PLACE, plan(PENDING), 1, "begin")

    assert brief(tasks.add(changed(plan(DONE, DONE), 6))) == [(1, 6, 6, "")]
    assert tasks.add(changed(plan(DONE), 7)) == []


def test_the_rest_is_interrupted() -> None:
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


def test_a_check_that_was_refused_was_not_run_and_has_no_time_of_its_own() -> None:
    begun = with_task(plan(PENDING), check=CHECK)
    tasks = TaskSpans(PLACE, begun, 1, "begin")

    refused = with_task(begun, proof=Proof(Result.REFUSED, CHECK.command))
    [check] = tasks.add(changed(refused, 8))
    [task] = tasks.add(changed(with_task(begun, status=DONE), 9))

    assert (check.parent, check.start, check.end, check.error) == (PLACE.parent, 8, 8, "refused")
    assert task.attributes["tildone.task.check"] == "not run"


def test_the_check_of_a_plan_belongs_beside_its_tasks() -> None:
    tasks = TaskSpans(PLACE, plan(DONE), 1, "begin")
    proof = Proof(Result.PASSED, CHECK.command, exit_code=0, milliseconds=5, at=20)

    [check] = tasks.add(changed(replace(plan(DONE), check=CHECK, proof=proof), 21))

    assert (check.parent, check.attributes) == (
        PLACE.parent,
        {"tildone.check.result": "passed", "process.exit.code": 0},
    )
