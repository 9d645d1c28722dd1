"""Finished tasks are cleared after a delay, and nothing else is removed."""

from typing import Any

import pytest

from tests.extensions.stage import Answer, Stage
from tildone.base.errors import StoreBusy
from tildone.plan.dialects.phased import DIALECT as PHASED
from tildone.plan.events import Actor, Event, PlanChanged, SessionHead
from tildone.plan.model import Phase, Plan, Status, Task, without_numbers
from tildone.plan.ops import Append, Mark, Named, Remove
from tildone.run.extensions.phased import PANEL, RETRY_MS, PhasedSettings, phases
from tildone.stores.memory import MemoryStore

ITEMS = ["wire", "test", "ship"]
PLAN = {"call": ("todo_write", {"ops": [{"op": "init", "list": [{"phase": "A", "items": ITEMS}]}]})}
WIRED = {"call": ("todo_write", {"ops": [{"op": "done", "task": "wire"}]})}
TESTED = {"call": ("todo_write", {"ops": [{"op": "done", "task": "test"}]})}
WORDS = {"text": "Done for now."}


class BusyStore(MemoryStore):
    """A store that is busy for a given number of writes."""

    refusals = 0

    def append(self, session: str, event: Event, seen_by: str = "") -> None:
        if self.refusals:
            self.refusals -= 1
            raise StoreBusy("held by somebody else")
        super().append(session, event, seen_by)


class WatchedStore(MemoryStore):
    """A store that counts its reads."""

    looks = 0

    def session_head(self, session: str) -> SessionHead:
        self.looks += 1
        return super().session_head(session)


async def on_stage(*script: Answer, store: MemoryStore | None = None, **settings: Any) -> Stage:
    stage = Stage(PHASED, *script, store=store)
    await stage.start(phases(stage.open_session, PhasedSettings(reminders=False, **settings)))
    return stage


def texts(stage: Stage) -> list[str]:
    return [task.text for task in stage.open_session("conversation").plan.tasks]


async def test_a_finished_task_is_cleared_after_a_minute() -> None:
    """Listeners are notified, the panel is updated, and the event log names the timer as the actor."""
    stage = await on_stage(PLAN, WIRED)
    await stage.says("go")

    stage.clock.advance(59_999)
    before = texts(stage)
    stage.clock.advance(1)

    newest = next(stage.store.history("conversation"))
    assert (before, texts(stage)) == (["wire", "test", "ship"], ["test", "ship"])
    assert [event["content"] for event in stage.events if event["type"] == "todo_auto_clear"] == ["wire"]
    assert stage.screen.widgets[PANEL] == ["Todos 0/2", "  ├─ ☐ test", "  └─ ☐ ship"]
    assert newest.actor is Actor.TIMER


@pytest.mark.parametrize(
    ("settings", "left"),
    [({}, ITEMS), ({"clear_delay": 60}, ITEMS[1:])],
    ids=["by default", "with a setting"],
)
async def test_a_plan_that_others_share_keeps_its_finished_tasks(settings: Any, left: list[str]) -> None:
    stage = Stage(PHASED, PLAN, WIRED)
    shared = stage.open_session("project")
    await stage.start(phases(lambda _: shared, PhasedSettings(reminders=False, **settings)))
    await stage.says("go")

    stage.clock.advance(600_000)

    assert [task.text for task in shared.plan.tasks] == left


async def test_each_task_has_its_own_delay() -> None:
    stage = await on_stage(PLAN, WIRED, WORDS, TESTED)
    await stage.says("go")
    stage.clock.advance(30_000)
    await stage.says("go on")

    stage.clock.advance(30_000)
    first = texts(stage)
    stage.clock.advance(30_000)

    assert (first, texts(stage)) == (["test", "ship"], ["ship"])


async def test_tasks_that_are_due_together_are_cleared_in_one_change() -> None:
    stage = await on_stage(PLAN, {"call": ("todo_write", {"ops": [{"op": "done"}]})})
    await stage.says("go")

    stage.clock.advance(60_000)

    changes = [event for event in stage.store.events("conversation") if event.actor is Actor.TIMER]
    assert [event.fact for event in changes] == [PlanChanged(Plan(last_number=3))]
    assert stage.screen.widgets[PANEL] is None


async def test_changes_of_others_remain_after_clearing() -> None:
    """A task that was added and one that was reopened are both in the plan afterwards."""
    stage = await on_stage(PLAN, WIRED, WORDS, TESTED)
    await stage.says("go")
    await stage.says("go on")

    elsewhere = stage.open_session("conversation")
    elsewhere.change((Append((Task("new"),), "B"), Mark(Named("test"), Status.IN_PROGRESS)))
    stage.clock.advance(60_000)

    assert without_numbers(elsewhere.plan) == Plan(
        (Phase("A", (Task("test", Status.IN_PROGRESS), Task("ship"))), Phase("B", (Task("new"),)))
    )


async def test_clearing_starts_no_task() -> None:
    """After `/todo append` no task is in progress, and clearing does not change that."""
    stage = await on_stage()
    for typed in ("append A one", "done one", "append A two"):
        await stage.says(f"/todo {typed}")

    stage.clock.advance(60_000)

    assert without_numbers(stage.open_session("conversation").plan) == Plan((Phase("A", (Task("Two"),)),))


async def test_a_task_that_was_already_removed_is_not_reported() -> None:
    stage = await on_stage(PLAN, WIRED)
    await stage.says("go")

    stage.open_session("conversation").change((Remove(Named("wire")),))
    stage.clock.advance(60_000)

    assert texts(stage) == ["test", "ship"]
    assert not [event for event in stage.events if event["type"] == "todo_auto_clear"]


async def test_clearing_is_retried_while_the_store_is_busy() -> None:
    store = BusyStore()
    stage = await on_stage(PLAN, WIRED, store=store)
    await stage.says("go")

    store.refusals = 1
    stage.clock.advance(60_000)
    refused = texts(stage)
    stage.clock.advance(RETRY_MS)

    assert (refused, texts(stage)) == (["wire", "test", "ship"], ["test", "ship"])


async def test_a_negative_delay_disables_clearing() -> None:
    stage = await on_stage(PLAN, WIRED, clear_delay=-1)
    await stage.says("go")

    stage.clock.advance(10_000_000)

    assert texts(stage) == ["wire", "test", "ship"]


async def test_clearing_is_not_reported_to_the_model() -> None:
    """The model finished the task itself; only changes by others are reported."""
    stage = await on_stage(PLAN, WIRED)
    await stage.says("go")

    stage.clock.advance(60_000)
    await stage.says("go on")

    assert not [entry for entry in stage.entries if entry["type"] == "custom_message"]


async def test_no_timer_runs_after_the_host_is_closed() -> None:
    """The store may be closed with the host, so no timer may read it afterwards."""
    store = WatchedStore()
    stage = await on_stage(PLAN, WIRED, store=store)
    await stage.says("go")

    await stage.host.close()
    store.looks = 0
    stage.clock.advance(60_000)

    assert store.looks == 0
    assert texts(stage) == ["wire", "test", "ship"]
