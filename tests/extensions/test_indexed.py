"""The indexed extension in a host, beyond the conformance vectors."""

from typing import Any
from unittest import mock

import pytest

from tests.extensions.stage import Stage
from tests.host import records as messages
from tests.plans import plan_of
from tildone.plan.dialects.indexed import DIALECT as INDEXED
from tildone.plan.events import Bound
from tildone.plan.gate import GiveUp, GoOn
from tildone.plan.model import Phase, Task
from tildone.plan.ops import Append, Numbered, Op, Rename, Write
from tildone.run.extensions.indexed import indexed
from tildone.run.kit.components import RenderOptions
from tildone.run.kit.definition import TextContent, ToolResult, markup


def written(*texts: str) -> dict[str, object]:
    return {"call": ("write_todos", {"mode": "replace", "todos": [{"text": text} for text in texts]})}


async def test_every_branch_has_its_own_plan() -> None:
    """The list and the status bar follow the conversation."""
    stage = Stage(INDEXED, written("one"), {"text": "ok"}, written("two", "three"), {"text": "ok"})
    await stage.start(indexed(stage.open_session))
    await stage.says("first")
    leaf = stage.host.transcript.leaf
    await stage.says("second")
    assert stage.screen.statuses["til-done"] == "📋 0/2"

    await stage.host.turn_to(leaf)

    assert stage.open_session("conversation").plan.tasks == (Task("one", number=4),)
    assert stage.screen.statuses["til-done"] == "📋 0/1"
    await stage.host.turn_to(None)
    assert stage.open_session("conversation").plan.phases == ()
    assert stage.screen.statuses["til-done"] is None


async def test_changes_in_the_store_while_closed_remain() -> None:
    """A person adds a task while the conversation is closed."""
    stage = Stage(INDEXED, written("one"), {"text": "ok"})
    await stage.start(indexed(stage.open_session))
    await stage.says("go")
    stage.open_session("conversation").change([Append((Task("two"),))])

    await stage.host.start("resume")

    assert stage.open_session("conversation").plan == plan_of("one", "two")
    assert stage.screen.statuses["til-done"] == "📋 0/2"


async def test_the_nudge_is_built_when_the_countdown_ends() -> None:
    """It shows the plan of that moment, and is not sent if no task is open."""
    stage = Stage(INDEXED, written("one", "two"), {"text": "I stop."}, {"text": "Still here."})
    await stage.start(indexed(stage.open_session))
    await stage.says("go")
    stage.open_session("conversation").change([Append((Task("three"),))])

    stage.clock.advance(3000)
    await stage.host.settled()

    assert "– [2] three" in messages.text_of(stage.messages("user")[-1])
    stage.open_session("conversation").call("edit_todos", {"action": "abandon", "indices": [0, 1, 2]})
    before = len(stage.messages("user"))
    stage.clock.advance(10_000)
    await stage.host.settled()
    assert len(stage.messages("user")) == before


@pytest.mark.parametrize(
    ("change", "listed"),
    [
        ([Rename(Numbered((1,)), "another name")], "– [0] another name"),
        ([Write((Phase("", (Task("other"),)),))], "– [0] other"),
    ],
    ids=["renamed", "replaced"],
)
async def test_a_nudge_is_sent_whenever_a_task_is_open(change: list[Op], listed: str) -> None:
    """Whatever has become of the tasks during the countdown."""
    stage = Stage(INDEXED, written("one"), {"text": "I stop."}, {"text": "Still here."})
    await stage.start(indexed(stage.open_session))
    await stage.says("go")

    stage.open_session("conversation").change(change)
    stage.clock.advance(3000)
    await stage.host.settled()

    assert listed in messages.text_of(stage.messages("user")[-1])


async def test_the_log_has_the_nudges_that_were_sent() -> None:
    """Not one whose countdown was interrupted, nor one that the host did not accept."""
    stage = Stage(INDEXED, written("one"), {"text": "I stop."}, {"text": "I stop."}, {"text": "I stop."})
    await stage.start(indexed(stage.open_session))
    session = stage.open_session("conversation")

    await stage.says("go")
    await stage.host.interrupt()
    stage.clock.advance(3000)
    assert session.state.nudges == 0

    await stage.says("go")
    stage.clock.advance(3000)
    await stage.host.settled()
    assert session.state.nudges == 1

    with mock.patch.object(stage.host, "send_user", side_effect=RuntimeError):
        stage.clock.advance(3000)
    assert session.state.nudges == 1
    assert len(stage.messages("user")) == 3


async def test_an_abort_cancels_the_countdown() -> None:
    """No nudge is sent after the person aborted the turn."""
    stage = Stage(INDEXED, written("one"), {"text": "I stop."}, {"text": "stopped", "stopReason": "aborted"})
    await stage.start(indexed(stage.open_session))
    await stage.says("go")

    await stage.says("wait")
    stage.clock.advance(10_000)
    await stage.host.settled()

    assert [messages.text_of(said) for said in stage.messages("user")] == ["go", "wait"]


@pytest.mark.parametrize("details", [None, {}, {"action": "list"}, {"todos": None}, {"todos": [None, {"text": 5}]}])
async def test_a_result_with_any_details_is_rendered(details: Any) -> None:
    """A failed call of another host has no details, or empty ones; then its text is rendered."""
    stage = Stage(INDEXED)
    await stage.start(indexed(stage.open_session))
    render = stage.host.tools["write_todos"].render_result
    assert render

    drawn = render(ToolResult((TextContent("Tool crashed"),), details), RenderOptions())

    assert drawn
    assert "Tool crashed" in markup(drawn) or details == {"todos": [None, {"text": 5}]}


@pytest.mark.parametrize("opened", ["restart", "branch"])
async def test_a_restart_and_a_switch_of_branch_reset_the_nudge_count(opened: str) -> None:
    """The nudges since a person last spoke stay counted."""
    stage = Stage(INDEXED, written("one"), {"text": "ok", "stopReason": "aborted"})
    await stage.start(indexed(stage.open_session))
    await stage.says("go")
    session = stage.open_session("conversation")
    for _ in range(20):
        session.turn_ended()
    assert session.turn_ended().decision == GiveUp(Bound.NUDGES, 20)
    total = session.state.ledger.continued

    await (stage.host.start("resume") if opened == "restart" else stage.host.turn_to(stage.host.transcript.leaf))

    assert session.state.nudges == 0
    assert session.state.ledger.continued == total
    assert isinstance(session.turn_ended().decision, GoOn)
