"""The plan is restored when a conversation is opened again."""

from typing import Any

from tests.extensions.stage import Stage
from tildone.plan.dialects.phased import DIALECT as PHASED
from tildone.plan.dialects.phased import SNAPSHOT, phases_out
from tildone.plan.model import Phase, Plan, Status, Task, without_numbers
from tildone.plan.ops import Append
from tildone.run.extension import BranchChange
from tildone.run.extensions.phased import EDIT_TYPE, PANEL, PhasedSettings, phases
from tildone.run.transcript import Transcript
from tildone.stores.pi.session_file import header

HALF_DONE = Plan((Phase("A", (Task("wire", Status.COMPLETED), Task("test", Status.IN_PROGRESS))),))
LEFT = Plan((Phase("A", (Task("test", Status.IN_PROGRESS),)),))
PLAN = {"call": ("todo_write", {"ops": [{"op": "init", "list": [{"phase": "A", "items": ["wire", "test"]}]}]})}
HALF_WRONG = {"call": ("todo_write", {"ops": [{"op": "start", "task": "ghost"}, {"op": "done", "task": "wire"}]})}
ALL_WRONG = {"call": ("todo_write", {"ops": [{"op": "start", "task": "ghost"}]})}


def result_of(plan: Plan) -> dict[str, Any]:
    message = {
        "role": "toolResult",
        "toolName": "todo_write",
        "isError": False,
        "details": {"phases": phases_out(plan)},
    }
    return {"type": "message", "message": message}


async def resumed(stage: Stage) -> Stage:
    await stage.start(phases(stage.open_session, PhasedSettings(reminders=False)))
    return stage


def plan_on(stage: Stage) -> Plan:
    return without_numbers(stage.open_session("conversation").plan)


async def test_finished_tasks_are_not_restored() -> None:
    """The plan consists of open tasks; a person still sees all of them."""
    stage = await resumed(Stage(PHASED, entries=[result_of(HALF_DONE)]))

    await stage.says("/todo")

    assert plan_on(stage) == LEFT
    assert stage.screen.widgets[PANEL] == ["Todos 0/1", "  └─ ☐ test"]
    assert stage.screen.notices == [("info", "# A\n- [x] wire\n- [/] test")]


async def test_the_valid_ops_of_a_failed_batch_are_restored() -> None:
    """Its result is an error, which hosts ignore, so the plan is written as a snapshot."""
    stage = await resumed(Stage(PHASED, PLAN, HALF_WRONG))
    await stage.says("go")

    again = await resumed(Stage(PHASED, entries=stage.entries))

    assert plan_on(stage) == HALF_DONE
    assert plan_on(again) == LEFT


async def test_a_failed_call_without_changes_writes_no_snapshot() -> None:
    stage = await resumed(Stage(PHASED, PLAN, ALL_WRONG))

    await stage.says("go")

    assert not [entry for entry in stage.entries if entry.get("customType") == SNAPSHOT]


async def test_a_plan_that_is_only_in_the_store_is_reported_to_the_model() -> None:
    """A person wrote the plan before the conversation began; the model reads it with its first prompt."""
    stage = Stage(PHASED)
    stage.open_session("conversation").change((Append((Task("wire"), Task("test")), "A"),))
    await resumed(stage)

    await stage.says("go")

    assert [task.text for task in plan_on(stage).tasks] == ["wire", "test"]
    assert [entry["customType"] for entry in stage.entries if entry["type"] == "custom_message"] == [EDIT_TYPE]
    assert "- [/] wire" in stage.told()[-1]


async def test_every_branch_has_its_own_plan() -> None:
    stage = await resumed(Stage(PHASED, PLAN, entries=[result_of(LEFT)]))
    root = stage.entries[0]["id"]
    await stage.says("go")

    stage.host.transcript.move(root)
    await stage.host.dispatcher.emit(BranchChange(stage.host.transcript.leaf))
    there = plan_on(stage)
    stage.host.transcript.move(None)
    await stage.host.dispatcher.emit(BranchChange(stage.host.transcript.leaf))

    assert (there, plan_on(stage)) == (LEFT, Plan())


async def test_every_conversation_has_its_own_plan() -> None:
    stage = await resumed(Stage(PHASED, PLAN))
    await stage.says("go")

    stage.host.use(Transcript(header("other", ".", 0), now=stage.clock.now, new_id=stage.new_id))
    await stage.host.start("new")

    assert stage.open_session("other").plan == Plan()
    assert [task.text for task in plan_on(stage).tasks] == ["wire", "test"]
    assert stage.screen.widgets[PANEL] is None
