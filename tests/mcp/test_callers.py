"""A host with several agents in one process, and one tool server for all of them: its hooks say who calls."""

import os
from dataclasses import replace

from tests.mcp.room import Room, said
from tildone.agents.assignment import assign_session
from tildone.agents.identity import AgentId
from tildone.agents.registry import CALLER_NOTE
from tildone.ids import now

OURS = os.getpid()
PROCESS = AgentId("opencode", pid=OURS)


def in_opencode(room: Room) -> Room:
    return replace(room, environ={"OPENCODE_PID": str(OURS)})


async def test_a_call_is_that_of_the_agent_whom_hooks_have_named(room: Room) -> None:
    """Each on its own plan, in whatever order they come."""
    for session in ("A", "B"):
        assign_session(room.agents, AgentId.parse(f"opencode:{session}"), OURS, now())
    async with in_opencode(room).client() as client:
        told = []
        for session, text in (("A", "One"), ("B", "Two"), ("A", "Three")):
            room.agents.set_note(PROCESS, CALLER_NOTE, f"opencode:{session}")
            told.append(said(await client.call_tool("todo", {"add": [text]})))

    assert told == ["1", "1", "2"]
    assert (room.texts(), room.texts(f"{room.project}#opencode:B")) == (["One", "Three"], ["Two"])


async def test_an_agent_that_is_named_before_anybody_knows_it_has_the_projects_plan(room: Room) -> None:
    """Hooks that have nothing to say write nothing down."""
    room.agents.set_note(PROCESS, CALLER_NOTE, "opencode:A")

    async with in_opencode(room).client() as client:
        await client.call_tool("todo", {"add": ["One"]})

    assert [str(known.id) for known in room.agents.all()] == ["opencode:A"]
    assert room.texts() == ["One"]


async def test_what_was_said_of_another_process_of_that_number_does_not_count(room: Room) -> None:
    """Numbers of processes come again."""
    assign_session(room.agents, AgentId.parse("opencode:old"), 1, now())
    room.agents.set_note(PROCESS, CALLER_NOTE, "opencode:old")

    async with in_opencode(room).client() as client:
        await client.call_tool("todo", {"add": ["One"]})

    assert room.texts() == []
    assert room.texts(f"{room.project}#{PROCESS}") == ["One"]
