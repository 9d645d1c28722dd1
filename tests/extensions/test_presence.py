"""Presence of the host's agent: what it does, and why it rests, as others read it in the store."""

from typing import Any

import pytest

from tests.extensions.stage import Answer, Stage
from tests.stores.overridden import overridden, raising
from tildone.base.errors import StoreError
from tildone.log.presence import Presence
from tildone.plan.dialects.indexed import DIALECT as INDEXED
from tildone.plan.gate import RestReason
from tildone.run.extensions.indexed import indexed
from tildone.run.extensions.presence import AT_MOST_EVERY_MS, EVERY_MS, presence
from tildone.stores.memory import MemoryStore

WRITE: dict[str, Any] = {"call": ("write_todos", {"mode": "replace", "todos": [{"text": "One"}]})}
DONE: dict[str, Any] = {"call": ("edit_todos", {"action": "complete", "indices": [0]})}


class RecordingStore(MemoryStore):
    """A store that remembers the presences it was told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[Presence] = []
        beat = self.records.beat

        def tell(presence: Presence) -> None:
            self.told.append(presence)
            beat(presence)

        self.records = overridden(self.records, beat=tell)


async def on_stage(*script: Answer, store: MemoryStore | None = None) -> Stage:
    stage = Stage(INDEXED, *script, store=store)
    stage.clock.at = 1_000_000
    stage.host.load([("presence", presence(stage.open_session))])
    await stage.start(indexed(stage.open_session))
    return stage


def only(stage: Stage) -> Presence:
    [found] = stage.store.records.presences()
    return found


async def test_a_conversation_that_was_only_opened_has_no_presence() -> None:
    stage = await on_stage()

    assert list(stage.store.records.presences()) == []


async def test_an_agent_at_work_tells_what_it_does_since_when() -> None:
    """And, while a tool runs long, every fifteen seconds that it still does."""
    stage = await on_stage(store=RecordingStore())
    seen: list[Presence] = []

    async def long_tool(*_: Any) -> dict[str, Any]:
        stage.clock.advance(AT_MOST_EVERY_MS)
        return WRITE

    async def then() -> dict[str, Any]:
        stage.clock.advance(2 * EVERY_MS + AT_MOST_EVERY_MS)
        seen.append(only(stage))
        return DONE

    stage.model.script[:] = [long_tool, then, {"text": "All done."}]
    await stage.says("go")

    store = stage.store
    assert isinstance(store, RecordingStore)
    first = store.told[0]
    assert (first.agent, first.session, first.host) == ("tildone:conversation", "conversation", "run")
    assert (first.model, first.doing, first.why, first.beat) == ("script:script", "", "", 1_000_000)
    assert first.machine
    assert any(each.doing.startswith("write_todos: replace") for each in store.told)
    [meanwhile] = seen
    assert meanwhile.beat - meanwhile.since >= EVERY_MS
    assert stage.clock.at - meanwhile.beat < EVERY_MS


async def test_the_store_is_told_at_most_once_a_second() -> None:
    """What comes in between is told when the second is over."""
    store = RecordingStore()
    stage = await on_stage(WRITE, DONE, {"text": "Done."}, store=store)

    await stage.says("go")
    before = len(store.told)
    stage.clock.advance(AT_MOST_EVERY_MS)

    assert before == 1
    assert len(store.told) == 2
    assert only(stage).why == RestReason.ALL_DONE.value


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ([WRITE, DONE, {"text": "Done."}], RestReason.ALL_DONE),
        ([{"text": "Which one do you want?"}], RestReason.ASKED),
        ([{"text": "Hello."}], RestReason.NO_PLAN),
        ([WRITE, {"text": "x?", "stopReason": "aborted"}], RestReason.ABORTED),
    ],
)
async def test_an_agent_that_rests_tells_why_until_it_works_again(script: list[Answer], why: RestReason) -> None:
    stage = await on_stage(*script)

    await stage.says("go")
    stage.clock.advance(AT_MOST_EVERY_MS)

    resting = only(stage)
    assert resting.why == why.value
    assert resting.doing == ""
    stage.clock.advance(3 * EVERY_MS)
    assert only(stage) == resting

    async def again() -> dict[str, Any]:
        stage.clock.advance(AT_MOST_EVERY_MS)
        assert only(stage).why == ""
        return {"text": "ok"}

    stage.model.script[:] = [again]
    await stage.says("go on")
    assert stage.model.script == []


async def test_an_agent_whose_conversation_ends_leaves() -> None:
    stage = await on_stage({"text": "Hello."})
    await stage.says("go")
    assert len(stage.store.records.presences()) == 1

    await stage.host.close()
    stage.clock.advance(10 * EVERY_MS)

    assert list(stage.store.records.presences()) == []


async def test_a_store_that_cannot_be_written_changes_nothing_for_the_agent() -> None:
    store = MemoryStore()
    full = raising(StoreError("the disk is full"))
    store.records = overridden(store.records, beat=full, leave=raising(AssertionError()))
    stage = await on_stage({"text": "Hello."}, store=store)

    await stage.says("go")
    await stage.host.close()

    assert stage.messages("assistant")
