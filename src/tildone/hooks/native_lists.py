"""Native lists: the todo lists that models keep with their coding agent's own tools.

This module reads such lists from the arguments of tool calls and from the log. `native_merge` applies them to plans,
and `mirror` decides when.
"""

from __future__ import annotations

from itertools import islice

from tildone.agents.identity import AgentId
from tildone.core.plan import Status
from tildone.errors import StoreError
from tildone.log.events import PlanChanged
from tildone.log.json_scanner import parse
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from tildone.agents.registry import AgentRegistry
    from tildone.integrations.record import Integration
    from tildone.log.events import Call, Event
    from tildone.session import Session

TOOL_SEPARATOR = "/"
"""Separates the coding agent from its tool in the name of a mirrored call; our own tools' names never contain it."""

MAX_EVENTS = 2000
"""How many events are searched for calls, newest first."""

FEW_EVENTS = 5
"""So many events are read again by every hook: a note would save nothing."""

NOTED_SESSION, TOOL_NOTE = "session", "tool"
"""In place of a coding agent's name in a note about a session; the note of the newest tool that changed it."""

MAX_NATIVE_TASKS = 500
"""A longer list is ignored: no model works through it."""

STATUSES = {status_named.value: status_named for status_named in Status} | {
    "not_started": Status.PENDING,
    "todo": Status.PENDING,
    "done": Status.COMPLETED,
    "cancelled": Status.ABANDONED,
    "canceled": Status.ABANDONED,
}
"""Our status for each status of any coding agent. One that is not listed counts as pending, so no task is lost."""


@value
class NativeTask:
    """A task in a native list.

    `id` is the coding agent's name for it; empty if it has none. `number` is that of the task of the plan that it is;
    0 if it is none. `from_user` tells whether a person added that task. `is_stated` means that the model has just set
    the status, `is_deleted` that it has just deleted the task.
    """

    text: str
    status: Status = Status.PENDING
    id: str = ""
    number: int = 0
    from_user: bool = False
    is_stated: bool = False
    is_deleted: bool = False


def newest_tool(session: Session, agents: AgentRegistry) -> str:
    """Return the tool whose call was the newest one to change the plan; empty if there was none.

    A person may have changed a long plan many times since, and reading those changes takes time. They are read once:
    a note holds what was found, and at which event.
    """
    key = AgentId(NOTED_SESSION, session.name)
    noted_head, _, tool = agents.note(key, TOOL_NOTE).partition(" ")
    newest, passed = "", 0
    for event in islice(session.store.history(session.name), MAX_EVENTS):
        newest = newest or event.id
        if event.id == noted_head:
            break
        if isinstance(event.fact, PlanChanged) and event.fact.call is not None:
            tool = event.fact.call.tool
            break
        passed += 1
    else:
        tool = ""
    if passed > FEW_EVENTS:
        try:
            agents.set_note(key, TOOL_NOTE, f"{newest} {tool}")
        except StoreError:
            # They are read again next time.
            return tool
    return tool


def calls_with_events(session: Session) -> Iterator[tuple[Event, Call]]:
    """Yield the tool calls that changed the plan, newest first, each with its event."""
    for event in islice(session.store.history(session.name), MAX_EVENTS):
        if isinstance(event.fact, PlanChanged) and event.fact.call is not None:
            yield event, event.fact.call


def arguments(given: object) -> Mapping[str, Any]:
    """Return the arguments of a tool call, which some agents send as JSON text; empty if they are not an object."""
    if isinstance(given, str):
        try:
            given = parse(given)
        except ValueError:
            return {}
    return given if isinstance(given, dict) else {}


def native_tasks(integration: Integration, tool: str, given: Mapping[str, Any]) -> list[NativeTask] | None:
    """Return the whole list that a call of a native tool writes; None if it writes no list, or only part of one."""
    if tool not in integration.list_tools:
        return None
    items_field, text_field = integration.list_tools[tool]
    items = given.get(items_field)
    if not isinstance(items, list) or len(items) > MAX_NATIVE_TASKS or given.get("merge") is True:
        return None
    return [
        NativeTask(item[text_field].strip(), status_named(item.get("status")))
        for item in items
        if isinstance(item, dict) and isinstance(item.get(text_field), str) and item[text_field].strip()
    ]


def status_named(word: object) -> Status:
    """Return the status that a coding agent's word stands for."""
    return STATUSES.get(word, Status.PENDING) if isinstance(word, str) else Status.PENDING
