"""A model that never stops calling tools is ended at a bound on its requests."""

from typing import Any

from tests.extensions.stage import Answer, Stage
from tildone.log.session import Session
from tildone.plan.dialects.indexed import DIALECT as INDEXED
from tildone.plan.events import Bound, Tripped
from tildone.plan.gate import Patience
from tildone.run.extension import SubagentTurn
from tildone.run.extensions.indexed import indexed
from tildone.run.extensions.skeleton import GO_ON, request_bounds

LIST: Answer = {"call": ("list_todos", {})}


def edit(action: str, index: int) -> Answer:
    return {"call": ("edit_todos", {"action": action, "indices": [index]})}


def write(*texts: str) -> Answer:
    return {"call": ("write_todos", {"mode": "append", "todos": [{"text": text} for text in texts]})}


async def on_stage(patience: Patience, *script: Answer) -> Stage:
    """A host whose sessions have these bounds."""
    stage = Stage(INDEXED, *script)

    def bounded(conversation: str) -> Session:
        session = stage.open_session(conversation)
        session.patience = patience
        return session

    stage.host.load([("request bounds", request_bounds(bounded))])
    await stage.start(indexed(bounded))
    return stage


def tripped(stage: Stage) -> list[Any]:
    session = stage.open_session("conversation")
    return [event.fact for event in session.store.events(session.name) if isinstance(event.fact, Tripped)]


async def test_a_model_that_only_lists_is_ended_when_its_plan_makes_no_progress() -> None:
    stage = await on_stage(Patience(idle_requests=7), write("One"), *[LIST] * 30)

    await stage.says("go")

    assert len(stage.model.requests) == 8
    assert tripped(stage) == [Tripped(Bound.IDLE_REQUESTS, 7)]
    assert [message for _, message in stage.screen.notices] == [
        f"Stopped: 7 requests to the model, and no task was closed or added. {GO_ON}"
    ]


async def test_closing_and_reopening_a_task_is_no_progress() -> None:
    toggle = [edit("complete", 0), edit("start", 0)] * 20
    stage = await on_stage(Patience(idle_requests=7), write("One", "Two"), *toggle)

    await stage.says("go")

    assert len(stage.model.requests) == 9
    assert tripped(stage) == [Tripped(Bound.IDLE_REQUESTS, 7)]


async def test_progress_starts_the_count_again_up_to_all_requests() -> None:
    closing = [step for index in range(20) for step in (LIST, LIST, edit("complete", index))]
    texts = [f"Task {number}" for number in range(20)]
    stage = await on_stage(Patience(idle_requests=5, requests=31), write(*texts), *closing)

    await stage.says("go")

    assert len(stage.model.requests) == 31
    assert tripped(stage) == [Tripped(Bound.REQUESTS, 31)]


async def test_a_persons_message_starts_every_count_again() -> None:
    stage = await on_stage(Patience(idle_requests=3), write("One"), *[LIST] * 30)
    await stage.says("go")
    first = len(stage.model.requests)

    await stage.says("go on")

    assert (first, len(stage.model.requests)) == (4, 7)
    assert tripped(stage) == [Tripped(Bound.IDLE_REQUESTS, 3)] * 2


async def test_the_time_since_a_person_spoke_is_bounded() -> None:
    stage = await on_stage(Patience(hours=2), write("One"), *[LIST] * 3)
    clock = stage.clock

    async def an_hour_later() -> dict[str, Any]:
        clock.advance(3_600_000)
        return {"call": ("list_todos", {})}

    stage.model.script[1:1] = [an_hour_later] * 9
    await stage.says("go")
    first = len(stage.model.requests)
    await stage.says("go on")

    assert (first, len(stage.model.requests)) == (3, 5)
    assert tripped(stage) == [Tripped(Bound.HOURS, 2)] * 2
    assert stage.screen.notices[0][1] == f"Stopped: 2 hours have passed since you last spoke. {GO_ON}"


async def test_requests_of_subagents_count_towards_the_absolute_bound_only() -> None:
    """A subagent's work is not in the plan, so it is no sign that the agent is idle."""
    stage = Stage(INDEXED)

    async def work() -> dict[str, Any]:
        for _ in range(4):
            await stage.host.dispatcher.emit(SubagentTurn("c"))
        return {"call": ("list_todos", {})}

    stage.model.script[:] = [work, work, work]

    def bounded(conversation: str) -> Session:
        session = stage.open_session(conversation)
        session.patience = Patience(requests=10, idle_requests=5)
        return session

    stage.host.load([("request bounds", request_bounds(bounded))])
    await stage.host.dispatcher.emit(SubagentTurn("before a conversation is open"))
    await stage.start(indexed(bounded))

    await stage.says("go")

    assert tripped(stage) == [Tripped(Bound.REQUESTS, 10)]
    assert len(stage.model.requests) == 2
