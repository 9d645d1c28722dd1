"""A coding agent that runs several agents in one process with one MCP server: its hooks note who calls."""

import os
from dataclasses import replace

from tests.mcp.project import Project, text_of
from tildone.base.ids import now
from tildone.stores.agents import CALLER_NOTE, AgentId
from tildone.stores.assignment import assign_session

OURS = os.getpid()
PROCESS = AgentId("opencode", pid=OURS)


def in_opencode(project: Project) -> Project:
    return replace(project, environ={"OPENCODE_PID": str(OURS)})


async def test_a_call_belongs_to_the_agent_that_hooks_have_noted(project: Project) -> None:
    """Each works on its own session, in any order of calls."""
    for session in ("A", "B"):
        assign_session(project.agents, AgentId.parse(f"opencode:{session}"), OURS, now())
    async with in_opencode(project).client() as client:
        replies = []
        for session, text in (("A", "One"), ("B", "Two"), ("A", "Three")):
            project.agents.set_note(PROCESS, CALLER_NOTE, f"opencode:{session}")
            replies.append(text_of(await client.call_tool("todo", {"add": [text]})))

    assert replies == ["1", "1", "2"]
    assert (project.texts(), project.texts(f"{project.folder}#opencode:B")) == (["One", "Three"], ["Two"])


async def test_a_noted_agent_without_a_record_gets_the_project_session(project: Project) -> None:
    """Hooks on the fast path note the caller without registering it."""
    project.agents.set_note(PROCESS, CALLER_NOTE, "opencode:A")

    async with in_opencode(project).client() as client:
        await client.call_tool("todo", {"add": ["One"]})

    assert [str(known.id) for known in project.agents.all()] == ["opencode:A"]
    assert project.texts() == ["One"]


async def test_a_note_from_an_earlier_process_with_the_same_id_is_ignored(project: Project) -> None:
    """Process ids are reused."""
    assign_session(project.agents, AgentId.parse("opencode:old"), 1, now())
    project.agents.set_note(PROCESS, CALLER_NOTE, "opencode:old")

    async with in_opencode(project).client() as client:
        await client.call_tool("todo", {"add": ["One"]})

    assert project.texts() == []
    assert project.texts(f"{project.folder}#{PROCESS}") == ["One"]
