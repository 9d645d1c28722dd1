"""Open questions of agents: those of an agent that is gone are left out, those of one that waits never are."""

import os

import pytest

from tests.overview.stores import World
from tildone.app.index import AGENTS_EVERY_MS
from tildone.log.needs import Need
from tildone.log.presence import AT_WORK_MS, Presence
from tildone.plan.gate import RestReason
from tildone.plan.text.state import SessionWord
from tildone.stores.agents import Agent, AgentId, AgentRegistry, start_time

AGENT = "tildone:5f0c"


@pytest.fixture
def need(world: World) -> Need:
    """The question of an agent that works."""
    world.write("s", "a")
    asked = Need("1", "s", "command", "make", ("once", "no"), since=world.now, agent=AGENT)
    world.store.records.beat(Presence(AGENT, "s", beat=world.now))
    world.store.records.ask(asked)
    world.index.refresh()
    assert world.index.needs() == (asked,)
    return asked


def shown(world: World) -> tuple[SessionWord, int, tuple[Need, ...]]:
    """The state of the session, how many questions its row has, and the questions of all sessions."""
    world.index.refresh()
    row = world.index.row("s")
    assert row is not None
    return row.word, len(row.needs), world.index.needs()


@pytest.mark.usefixtures("need")
def test_the_question_of_an_agent_without_a_sign_of_life_is_left_out(world: World) -> None:
    world.now += AT_WORK_MS

    assert shown(world) == (SessionWord.IDLE, 0, ())


@pytest.mark.usefixtures("need")
def test_the_question_of_an_agent_that_left_is_left_out(world: World) -> None:
    world.store.records.leave(AGENT)
    world.now += AT_WORK_MS

    assert shown(world) == (SessionWord.IDLE, 0, ())


def test_an_agent_that_goes_on_giving_signs_of_life_waits_however_long(world: World, need: Need) -> None:
    world.now += 100 * AT_WORK_MS
    world.store.records.beat(Presence(AGENT, "s", beat=world.now - AT_WORK_MS + 1))

    assert shown(world) == (SessionWord.NEEDS_YOU, 1, (need,))


def test_a_question_comes_back_with_the_next_sign_of_life(world: World, need: Need) -> None:
    """The machine of the agent slept."""
    world.now += AT_WORK_MS
    world.index.refresh()
    world.store.records.beat(Presence(AGENT, "s", beat=world.now))
    world.now += AGENTS_EVERY_MS

    assert shown(world) == (SessionWord.NEEDS_YOU, 1, (need,))


def test_an_agent_that_rests_gives_no_signs_of_life_and_may_wait(world: World, need: Need) -> None:
    world.store.records.beat(Presence(AGENT, "s", why=RestReason.ALL_DONE.value, beat=world.now))
    world.now += 10 * AT_WORK_MS

    assert shown(world) == (SessionWord.NEEDS_YOU, 1, (need,))


def test_an_agent_whose_process_runs_here_waits_without_a_sign_of_life(world: World, need: Need) -> None:
    world.now += 10 * AT_WORK_MS
    pid = os.getpid()
    agent = Agent(AgentId("tildone", "5f0c"), "s", pid=pid, last_active=world.now, started=start_time(pid))
    AgentRegistry(str(world.agents_dir), "/project").save(agent)

    assert shown(world) == (SessionWord.NEEDS_YOU, 1, (need,))


def test_a_new_question_is_shown_before_its_agent_is_known(world: World) -> None:
    world.write("s", "a")
    asked = Need("1", "s", "input", "Which?", since=world.now, agent=AGENT)
    world.store.records.ask(asked)

    assert shown(world) == (SessionWord.NEEDS_YOU, 1, (asked,))
