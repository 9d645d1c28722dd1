"""Which plan a call means: each agent has its own, whatever its host tells of it, and shares one only if told to."""

import asyncio
import dataclasses
import os
import threading
from pathlib import Path

import pytest
from mcp import Client

from tests.mcp.room import CLAUDE, MODES, PATIENCE, Room, meta, said, settled
from tildone.agents.assignment import assign_session
from tildone.agents.identity import AgentId, digest
from tildone.agents.registry import CALLER_NOTE, Agent
from tildone.ids import now
from tildone.value import replace

every_mode = pytest.mark.parametrize("mode", MODES)
OURS, ANOTHER = os.getpid(), os.getppid()
"""Two processes that run as long as the tests do."""


def agent(room: Room, key: str) -> Agent:
    """What is written down of an agent."""
    known = room.agents.get(AgentId.parse(key))
    assert known is not None
    return known


def head(room: Room, session: str | None = None) -> str | None:
    store = room.store
    try:
        return store.session_head(session or str(room.project)).head
    finally:
        store.close()


def in_claude(room: Room, session_id: str, process: int = OURS) -> Room:
    """The room of an agent of Claude Code."""
    return dataclasses.replace(room, environ={CLAUDE: session_id}, process=process)


async def add(room: Room, text: str, mode: str = "auto", name: str = "test", *, session: str = "") -> str:
    """A task added by an agent that comes, calls and goes; what it is told."""
    async with room.client(mode, name, session=session) as client:
        return said(await client.call_tool("todo", {"add": [text]}))


@every_mode
async def test_the_first_agent_in_a_project_has_the_projects_plan(room: Room, mode: str) -> None:
    """And it is written down which it is, and what its model has seen, for its hooks."""
    await add(in_claude(room, "1"), "One", mode)

    assert room.texts() == ["One"]
    known = agent(room, "claude:1")
    assert (known.session, known.seen_head, known.pid) == (str(room.project), head(room), OURS)


@every_mode
async def test_another_agent_in_the_same_project_has_a_plan_of_its_own(room: Room, mode: str) -> None:
    """While the first is at work: neither overwrites the other's."""
    await add(in_claude(room, "1"), "One", mode)

    told = await add(in_claude(room, "2", ANOTHER), "Two", mode)

    assert told == "1"
    assert (room.texts(), room.texts(f"{room.project}#claude:2")) == (["One"], ["Two"])


@every_mode
async def test_agents_that_are_told_to_share_a_plan_see_what_the_others_do(room: Room, mode: str) -> None:
    """Nothing is lost, and each is told what it can't know."""
    first_room, second_room = in_claude(room, "1"), in_claude(room, "2", ANOTHER)
    async with first_room.client(mode, session="ours") as one, second_room.client(mode, session="ours") as two:
        first = said(await one.call_tool("todo", {"add": ["One"]}))
        second = said(await two.call_tool("todo", {"add": ["Two"]}))
        third = said(await one.call_tool("todo", {"done": 1}))

    assert room.texts("ours") == ["One", "Two"]
    assert (first, second) == ("1", "2\nPlan:\n1 One\n2 Two")
    assert third == "ok\nChanged by others meanwhile; now:\n2 Two\ndone 1"


@every_mode
async def test_one_server_of_codex_serves_the_plans_of_several_sessions(room: Room, mode: str) -> None:
    """Each call says whose it is; one process of Codex has many sessions, so it says nothing."""
    async with room.client(mode, "codex-mcp-client") as client:
        calls = [("A", "One"), ("B", "Two"), ("A", "Three"), ("B", "Four")]
        told = [
            said(await client.call_tool("todo", {"add": [text]}, meta=meta(**{key: name})))
            for (name, text), key in zip(calls, ("sessionId", "threadId", "sessionId", "sessionId"), strict=True)
        ]

    assert told == ["1", "1", "2", "2"]
    assert (room.texts(), room.texts(f"{room.project}#codex:B")) == (["One", "Three"], ["Two", "Four"])


async def test_however_many_sessions_there_are_only_some_are_kept_at_hand(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that has to give way finds its plan, and what it has seen, when it comes again."""
    monkeypatch.setattr("tildone.mcp.connections.MAX_CONNECTIONS", 2)
    async with room.client("auto", "codex-mcp-client") as client:
        for text in ("One", "Two"):
            for session in "ABCDE":
                await client.call_tool("todo", {"add": [text]}, meta=meta(sessionId=session))
        told = said(await client.call_tool("todo", {"done": 1}, meta=meta(sessionId="A")))
        for thread in desks():
            if thread.name not in {"codex:E", "codex:A"}:
                await asyncio.to_thread(thread.join, PATIENCE)
        at_hand = sorted(thread.name for thread in desks())

    assert (told, room.texts()) == ("ok", ["One", "Two"])
    assert at_hand == ["codex:A", "codex:E"]


async def test_what_hooks_of_codex_have_written_down_holds(room: Room) -> None:
    """A session that they have admitted is the same here, beside another of the same process."""
    assign_session(room.agents, AgentId.parse("codex:A"), OURS, now())
    written = agent(room, "codex:A")
    async with room.client("auto", "codex-mcp-client") as client:
        await client.call_tool("todo", {"add": ["One"]}, meta=meta(sessionId="A"))
        await client.call_tool("todo", {"add": ["Two"]}, meta=meta(sessionId="B"))
        await client.call_tool("todo", {"done": 1}, meta=meta(sessionId="A"))

    assert (room.texts(), room.texts(f"{room.project}#codex:B")) == (["One"], ["Two"])
    assert agent(room, "codex:A") == replace(written, seen_head=head(room))


async def test_a_session_of_codex_goes_on_with_what_was_begun_before_it_said_who_it_is(room: Room) -> None:
    """Resources may be read first, and such requests say nothing."""
    async with room.client("auto", "codex-mcp-client") as client:
        await client.call_tool("todo", {"add": ["One"]})
        told = said(await client.call_tool("todo", {"add": ["Two"]}, meta=meta(sessionId="A")))

    assert (told, room.texts()) == ("2", ["One", "Two"])
    assert [str(known.id) for known in room.agents.all()] == ["codex:A"]


async def test_a_meta_field_of_another_kind_says_nothing(room: Room) -> None:
    async with room.client("auto") as client:
        await client.call_tool("todo", {"add": ["One"]}, meta=meta(sessionId=7))
        await settled(client)

        assert [str(known.id) for known in room.agents.all()] == [f"pid:{OURS}"]


async def test_an_agent_of_opencode_is_known_by_its_process(room: Room) -> None:
    await add(dataclasses.replace(room, environ={"OPENCODE_PID": "1"}), "One")

    assert (agent(room, "opencode:pid:1").pid, room.texts()) == (1, ["One"])


async def test_a_process_of_opencode_may_have_several_agents(room: Room) -> None:
    """Its plugin says which of them is about to call."""
    room = dataclasses.replace(room, environ={"OPENCODE_PID": str(OURS)})
    process = AgentId("opencode", pid=OURS)
    async with room.client("auto", "opencode") as client:
        for session, text in (("A", "One"), ("B", "Two"), ("A", "Three")):
            room.agents.set_note(process, CALLER_NOTE, f"opencode:{session}")
            await client.call_tool("todo", {"add": [text]})
        await settled(client)

    assert (room.texts(), room.texts(f"{room.project}#opencode:B")) == (["One", "Three"], ["Two"])


@pytest.mark.parametrize("odd", ["", "x", "-1", "１２x"])
async def test_an_odd_process_id_is_none(room: Room, odd: str) -> None:
    async with dataclasses.replace(room, environ={"OPENCODE_PID": odd}).client() as client:
        await settled(client)

        assert [str(known.id) for known in room.agents.all()] == [f"pid:{OURS}"]


@pytest.mark.parametrize("name", ["gemini-cli-mcp-client", "codex-mcp-client", "opencode"])
async def test_an_agent_started_from_within_another_is_not_taken_for_it(room: Room, name: str) -> None:
    """It inherits the other's environment, and says itself what it is."""
    async with in_claude(room, "1").client("auto", name) as client:
        await settled(client)

        assert [str(known.id) for known in room.agents.all()] == [f"pid:{OURS}"]


@every_mode
async def test_an_agent_of_which_only_hooks_know_the_session_is_met_by_its_process(room: Room, mode: str) -> None:
    """Gemini's hooks give it a key; the server takes it over, and so both stay with one plan."""
    async with room.client(mode, "gemini-cli-mcp-client") as client:
        await client.call_tool("todo", {"add": ["One"]})
        await settled(client)
        before = [str(known.id) for known in room.agents.all()]
        assign_session(room.agents, AgentId.parse("gemini:S"), OURS, now())
        told = said(await client.call_tool("todo", {"add": ["Two"]}))

    assert (before, told) == ([f"pid:{OURS}"], "2")
    assert [str(known.id) for known in room.agents.all()] == ["gemini:S"]
    assert (agent(room, "gemini:S").seen_head, room.texts()) == (head(room), ["One", "Two"])


async def test_a_session_that_its_host_began_anew_is_met_again(room: Room) -> None:
    """After `/clear` the hooks of Claude Code tell a new id, and the server's environment the old one."""
    async with in_claude(room, "old").client() as client:
        await client.call_tool("todo", {"add": ["One"]})
        await settled(client)
        assign_session(room.agents, AgentId.parse("claude:new"), OURS, now(), successor=True)
        await client.call_tool("todo", {"add": ["Two"]})

    assert [str(known.id) for known in room.agents.all()] == ["claude:new"]
    assert room.texts() == ["One", "Two"]


@every_mode
async def test_what_a_model_has_forgotten_is_told_again(room: Room, mode: str) -> None:
    """Hooks say so when its context was compacted; and that it knows the plan, when they have told it."""
    room = in_claude(room, "1")
    async with room.client(mode) as client:
        await client.call_tool("todo", {"add": ["One", "Two"]})
        await settled(client)
        room.agents.save(replace(agent(room, "claude:1"), seen_head=None))
        forgotten = said(await client.call_tool("todo", {"done": 1}))
        await settled(client)
        room.add("By hand")
        room.agents.save(replace(agent(room, "claude:1"), seen_head=head(room)))
        known = said(await client.call_tool("todo", {"done": 2}))

    assert forgotten == "ok\nPlan:\n2 Two\ndone 1"
    assert known == "ok"


async def test_what_a_model_has_seen_is_known_after_a_restart(room: Room) -> None:
    room = in_claude(room, "1")
    await add(room, "One")

    told = await add(room, "Two")

    assert (told, room.texts()) == ("2", ["One", "Two"])


async def test_calls_that_come_at_once_know_of_each_other(room: Room) -> None:
    """They are carried out in order, and none is told what the one before it has said."""
    async with in_claude(room, "1").client("auto") as client:
        answers = await gathered(client, 20)

    assert answers == [str(number) for number in range(1, 21)]


async def test_nothing_is_written_down_where_nothing_is_new(room: Room) -> None:
    async with in_claude(room, "1").client() as client:
        await client.call_tool("todo", {"add": ["One"]})
        await client.call_tool("todo", {})
        await settled(client)
        [file] = (room.home / "tildone" / "agents").rglob("*.json")
        before = file.stat()
        await client.call_tool("todo", {})
        await client.call_tool("todo", {"done": 7})
        await settled(client)
        after = file.stat()

    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


async def test_where_agents_cannot_be_written_down_the_plan_is_still_served(
    room: Room, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = in_the_way(room)

    told = [await add(in_claude(room, "1"), "One"), await add(in_claude(room, "2"), "Two", session="named")]

    assert told == ["1", "1"]
    assert (room.texts(), room.texts("named")) == (["One"], ["Two"])
    assert str(folder) in capsys.readouterr().err


async def test_an_agent_without_a_name_makes_room_when_its_server_ends(room: Room) -> None:
    """Its process may be a terminal that stays open for days; its plan is found again if it comes back."""
    nameless, another = dataclasses.replace(room, process=OURS), dataclasses.replace(room, process=ANOTHER)
    async with another.client() as first, nameless.client() as second:
        for client, text in ((first, "First"), (second, "Second")):
            await client.call_tool("todo", {"add": [text]})
    left = list(room.agents.all())
    async with another.client() as first, nameless.client() as second:
        told = [said(await client.call_tool("todo", {})) for client in (first, second)]

    assert (left, told) == ([], ["1 First", "1 Second"])


async def test_a_session_id_of_any_length_is_one(room: Room) -> None:
    """Longer ones are shortened as hooks shorten them."""
    await add(in_claude(room, "x" * 5000), "One")

    assert [str(known.id) for known in room.agents.all()] == [f"claude:{digest('x' * 5000)}"]


def desks() -> list[threading.Thread]:
    """The threads that do the work of sessions of Codex."""
    return [thread for thread in threading.enumerate() if thread.name.startswith("codex:")]


def in_the_way(room: Room) -> Path:
    """Something where the agents would be written down."""
    folder = Path(room.settings().agents_dir)
    folder.parent.mkdir(parents=True)
    folder.write_text("in the way")
    return folder


async def gathered(client: Client, count: int) -> list[str]:
    calls = [client.call_tool("todo", {"add": [f"Task {number}"]}) for number in range(count)]
    return [said(result) for result in await asyncio.gather(*calls)]
