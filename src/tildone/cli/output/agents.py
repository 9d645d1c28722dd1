"""The agents on a plan as lines, and as JSON."""

from __future__ import annotations

from tildone.core.query import progress
from tildone.kit.theme import Role, Span
from tildone.typing import TYPE_CHECKING
from tildone.views.line_layout import clip_line
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tildone.agents.identity import AgentId
    from tildone.app.plan_agents import PlanAgents, SharingAgent, SubagentList

    Line = tuple[Span, ...]

ID_CHARACTERS = 8
MAX_NAME_CHARACTERS = 36


def agent_name(agent: AgentId, id_characters: int = ID_CHARACTERS) -> str:
    """An agent as a person knows it: the coding agent, and the beginning of its conversation's id."""
    parts = (agent.integration[:MAX_NAME_CHARACTERS], agent.own[:id_characters])
    return " ".join(printable(part) for part in parts if part)


def sharing_lines(found: PlanAgents, columns: int | None) -> list[Line]:
    """Who shares the plan, and the lists of subagents: one line each."""
    lines = [*_sharing(found), *(((Span(subagent_line(each), Role.MUTED)),) for each in found.subagents)]
    return lines if columns is None else [clip_line(line, columns) for line in lines]


def subagent_line(found: SubagentList) -> str:
    done, ended = progress(found.plan), found.subagent.ended is not None
    return f"subagent {printable(found.subagent.name)}: {done.closed}/{done.total}{' (ended)' if ended else ''}"


def sharing_data(found: PlanAgents) -> dict[str, object]:
    """The same as JSON; nothing for a plan that is not shared and has no subagents."""
    data: dict[str, object] = {}
    if found.shared:
        data["shared_by"] = [{"agent": str(each.agent.id), "tasks": list(each.tasks)} for each in found.agents]
    if found.subagents:
        data["subagents"] = [_subagent_data(each) for each in found.subagents]
    return data


def _subagent_data(found: SubagentList) -> dict[str, object]:
    done = progress(found.plan)
    return {
        "name": found.subagent.name,
        "session": found.subagent.agent.session,
        "closed": done.closed,
        "total": done.total,
        "ended": found.subagent.ended,
    }


def _sharing(found: PlanAgents) -> Iterator[Line]:
    if not found.shared:
        return
    names = ", ".join(_with_tasks(each) for each in found.agents)
    yield (Span(f"shared by {names}" if names else "shared by all agents here", Role.MUTED),)


def _with_tasks(sharing: SharingAgent) -> str:
    tasks = " ".join(f"#{number}" for number in sharing.tasks)
    return agent_name(sharing.agent.id) + (f" ({tasks})" if tasks else "")
