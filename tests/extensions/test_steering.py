"""Steering of the host's agent: a pause at the end of its turn, a stop at its next tool call."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.extensions.stage import Answer, Stage
from tests.host import records as messages
from tildone.plan.dialects.declared import DIALECT as DECLARED
from tildone.plan.dialects.indexed import DIALECT as INDEXED
from tildone.plan.dialects.native import STOPPED
from tildone.plan.dialects.phased import DIALECT as PHASED
from tildone.plan.events import Directive
from tildone.run.extension import SubagentTurn
from tildone.run.extensions.declared import declared
from tildone.run.extensions.indexed import indexed
from tildone.run.extensions.phased import phases
from tildone.run.extensions.presence import NOTICE, steering
from tildone.stores.agents import AgentRegistry

WRITE: Answer = {"call": ("write_todos", {"mode": "replace", "todos": [{"text": "One"}]})}
START: dict[str, Any] = {"call": ("edit_todos", {"action": "start", "indices": [0]})}
INIT: Answer = {"call": ("todo_write", {"ops": [{"op": "init", "list": [{"phase": "A", "items": ["One"]}]}]})}
WORDS: Answer = {"text": "I stop."}


def steer(stage: Stage, directive: Directive) -> None:
    """Set the directive, as another process would."""
    stage.open_session("conversation").set_directive(directive)


def users(stage: Stage) -> list[str]:
    return [messages.text_of(said) for said in stage.messages("user")]


async def on_stage(*script: Answer, agents: AgentRegistry | None = None) -> Stage:
    stage = Stage(INDEXED, *script)
    stage.host.load([("steering", steering(stage.open_session, agents))])
    await stage.start(indexed(stage.open_session))
    return stage


async def test_a_stopped_agent_ends_its_turn_before_the_next_tool_call() -> None:
    """There is no further request to the model, and the call is not executed."""
    stage = Stage(INDEXED)

    async def meanwhile() -> dict[str, Any]:
        steer(stage, Directive.STOP)
        return START

    stage.model.script[:] = [WRITE, meanwhile]
    stage.host.load([("steering", steering(stage.open_session, None))])
    await stage.start(indexed(stage.open_session))

    await stage.says("go")

    results = [messages.text_of(said) for said in stage.messages("toolResult")]
    assert results[-1] == STOPPED
    assert len(stage.model.requests) == 2
    assert stage.messages("assistant")[-1]["stopReason"] == "aborted"
    assert stage.screen.notices[0] == ("warning", NOTICE)
    assert stage.open_session("conversation").plan.tasks[0].status.value == "pending"


async def test_a_stopped_agent_sends_no_request_until_it_is_resumed() -> None:
    """A new prompt does not resume the agent."""
    stage = await on_stage(WRITE, WORDS)
    await stage.says("go")
    steer(stage, Directive.STOP)

    await stage.says("go on")
    asked = len(stage.model.requests)
    steer(stage, Directive.GO)
    await stage.says("now")

    assert asked == 2
    assert len(stage.model.requests) == 3


async def test_a_paused_agent_gets_no_nudge() -> None:
    stage = await on_stage(WRITE, WORDS)
    steer(stage, Directive.PAUSE)

    await stage.says("go")
    stage.clock.advance(10_000)
    await stage.host.settled()

    assert users(stage) == ["go"]


@pytest.mark.parametrize("directive", [Directive.PAUSE, Directive.STOP])
async def test_a_directive_during_the_countdown_prevents_the_nudge(directive: Directive) -> None:
    """The directive is set during the countdown."""
    stage = await on_stage(WRITE, WORDS)
    await stage.says("go")

    steer(stage, directive)
    stage.clock.advance(10_000)
    await stage.host.settled()

    assert users(stage) == ["go"]


@pytest.mark.parametrize("directive", list(Directive))
async def test_only_an_agent_with_the_go_directive_is_reminded(directive: Directive) -> None:
    stage = Stage(PHASED, INIT, WORDS)
    await stage.start(phases(stage.open_session))
    steer(stage, directive)

    await stage.says("go")

    reminded = [event for event in stage.events if event["type"] == "todo_reminder"]
    assert bool(reminded) is (directive is Directive.GO)


async def test_an_agent_with_a_declared_list_can_be_stopped(tmp_path: Path) -> None:
    stage = Stage(DECLARED, {"call": ("TodoWrite", {"summary": "s", "todos": []})}, cwd=str(tmp_path))
    stage.host.load([("steering", steering(stage.open_session, None))])
    await stage.start(declared(stage.open_session, str(tmp_path)))
    steer(stage, Directive.STOP)

    await stage.says("go")

    assert stage.model.requests == []


async def test_the_agent_is_registered_while_its_conversation_is_open(tmp_path: Path) -> None:
    agents = AgentRegistry(str(tmp_path), "/project")
    stage = await on_stage(agents=agents)

    (agent,) = agents.active(stage.clock.now())
    await stage.host.close()

    assert (str(agent.id), agent.session, agent.pid) == ("tildone:conversation", "conversation", os.getpid())
    assert list(agents.all()) == []


async def test_an_agent_works_without_a_writable_registry(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    stage = await on_stage(WRITE, WORDS, agents=AgentRegistry(str(tmp_path / "file"), "/project"))

    await stage.says("go")
    await stage.host.close()

    assert len(stage.model.requests) == 2


async def test_a_stopped_agent_ends_at_the_next_request_of_its_subagent() -> None:
    stage = Stage(INDEXED)

    async def delegated() -> dict[str, Any]:
        steer(stage, Directive.STOP)
        await stage.host.dispatcher.emit(SubagentTurn("c"))
        assert stage.host.signal is not None
        assert stage.host.signal.aborted
        return {"text": "too late"}

    stage.model.script[:] = [WRITE, delegated]
    stage.host.load([("steering", steering(stage.open_session, None))])
    await stage.start(indexed(stage.open_session))

    await stage.says("go")

    assert stage.screen.notices == [("warning", NOTICE)]
