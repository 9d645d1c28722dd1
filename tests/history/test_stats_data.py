"""The statistics of a plan as JSON data."""

from tests.history.histories import MINUTE, history
from tests.history.pictures import START, Recorder, when
from tests.plans import BLOCKED, COMPLETED, IN_PROGRESS, plan_of
from tildone.plan.events import Actor, Bound, Event, Nudged, PlanChanged, Tripped
from tildone.plan.history.stats import NO_STATS, session_stats, stats_data
from tildone.plan.model import Task, flat


def data_of(events: list[Event], labels: dict[str, str] | None = None) -> dict[str, object]:
    found = session_stats(events, 0, labels or {})
    assert found is not None
    return stats_data(found, when)


def test_an_empty_plan_has_the_same_keys_and_counts_nothing() -> None:
    assert list(NO_STATS) == list(data_of(history(plan_of("a"))))
    assert NO_STATS["estimate"] == {"remaining_ms": None, "reason": "the plan is empty"}
    assert NO_STATS["closed"] == NO_STATS["total"] == 0
    assert all(NO_STATS[key] is None for key in ("from", "to", "tokens", "cost"))
    assert all(NO_STATS[key] == [] for key in ("open", "tasks", "nudges", "let_goes", "changes_by_people", "labels"))


def test_each_task_has_its_times() -> None:
    plans = (flat(Task("a", status)) for status in (IN_PROGRESS, BLOCKED, COMPLETED))

    assert data_of(history(*plans))["tasks"] == [
        {
            "number": 1,
            "text": "a",
            "status": "completed",
            "phase": "",
            "removed": False,
            "in_progress_ms": MINUTE,
            "blocked_ms": MINUTE,
            "tokens": None,
            "cost": None,
            "nudges": 0,
            "periods": [
                {"from": "1970-01-01 00:00", "to": "1970-01-01 00:01", "status": "in_progress"},
                {"from": "1970-01-01 00:01", "to": "1970-01-01 00:02", "status": "blocked"},
            ],
        }
    ]


def test_the_open_tasks_over_time() -> None:
    data = data_of(history(plan_of("a"), plan_of("a", "b")))

    assert data["open"] == [{"at": "1970-01-01 00:00", "count": 1}, {"at": "1970-01-01 00:01", "count": 2}]
    assert (data["from"], data["to"], data["closed"], data["total"]) == ("1970-01-01 00:00", "1970-01-01 00:01", 0, 2)


def test_marks_have_what_is_known_of_them() -> None:
    recorder = Recorder(START)
    recorder.record(PlanChanged(recorder.plan()), actor=Actor.USER)
    recorder.record(Nudged(2, 3), 0, Actor.TIMER)
    recorder.record(Tripped(Bound.DRIFT, 7), 0, Actor.TIMER)
    nobody = {"name": None, "agent": None, "model": None}
    of_timer = {"at": when(START), "actor": "timer", "author": nobody}
    first = {"id": "e0", "at": when(START), "actor": "user", "author": nobody}

    data = data_of(recorder.events, {"e0": "v1", "e1": "told"})

    assert data["nudges"] == [{"id": "e1", **of_timer, "count": 2, "of_subagent": False}]
    assert data["let_goes"] == [{"id": "e2", **of_timer, "bound": "drift", "limit": 7}]
    assert data["changes_by_people"] == [first]
    assert data["labels"] == [{**first, "label": "v1"}, {"id": "e1", **of_timer, "label": "told"}]
    assert data["estimate"] == {"remaining_ms": None, "reason": "no estimate: fewer than 5 tasks were closed"}


def test_an_estimate_has_no_reason() -> None:
    recorder = Recorder(START)
    recorder.record(PlanChanged(recorder.plan()))
    for task in range(5):
        recorder.mark(task, COMPLETED, 1)

    assert data_of(recorder.events)["estimate"] == {"remaining_ms": 3 * MINUTE, "reason": None}
