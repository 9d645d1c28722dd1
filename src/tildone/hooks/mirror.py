"""The mirror: the plan follows a coding agent's native todo list.

This makes the gate and the board work with models that never call a tool of ours. How much of the list is applied
depends on who made the plan:

- A plan that is empty, has nothing open, or whose newest call was mirrored follows the whole native list.
- In a plan that people made, tasks with the same text are ticked off, and nothing else changes.
- A plan that the model writes with a tool of ours does not change.

Each mirrored call is recorded in the session as `agent/tool`, with its arguments. The next one is merged with it
(`native_lists.merge_lists`), which preserves the changes that people made in between.
"""

from __future__ import annotations

from tildone.core.ops import Append, Named, Remove, Write
from tildone.core.plan import Plan, Task
from tildone.core.query import open_tasks
from tildone.core.rules import Rules
from tildone.hooks.native_lists import (
    MAX_NATIVE_TASKS,
    TOOL_SEPARATOR,
    arguments,
    change_task,
    is_mirrored,
    merge_lists,
    native_tasks,
    newest_calls,
    status_named,
    tick_off,
)
from tildone.integrations.record import HookPoint, TaskAction
from tildone.log import codec
from tildone.log.events import Actor, Call
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tildone.core.reduce import Step
    from tildone.hooks.event import HookEvent
    from tildone.integrations.record import Integration
    from tildone.session import Session

DELETED = "deleted"
"""The status by which a native tool deletes a task."""

NATIVE_RULES = Rules(max_tasks=MAX_NATIVE_TASKS)


def mirror(event: HookEvent, session: Session) -> bool:
    """Apply the effect of a native tool to the plan, and return whether the plan now equals the native list."""
    if _failed(event.get("tool_response")):
        return False
    integration, tool, given = event.integration, event.text("tool"), arguments(event.get("tool_input"))
    theirs = native_tasks(integration, tool, given)
    if theirs is not None:
        return _mirror_list(session, integration, tool, given, theirs)
    _mirror_task(event, session, given)
    return False


def _mirror_task(event: HookEvent, session: Session, given: Mapping[str, Any]) -> None:
    """Mirror a tool that creates, updates or lists single tasks, or an event that reports such a change."""
    tools, named = event.integration.task_tools, {"taskId": event.get("task_id"), "subject": event.get("task_subject")}
    if event.point is HookPoint.TASK_CREATED:
        _mirror_creation(session, event.integration, named)
    elif event.point is HookPoint.TASK_COMPLETED:
        _mirror_update(session, event.integration, {**named, "status": "completed"})
    elif event.text("tool") == tools.get(TaskAction.CREATE):
        created = {"taskId": _created_id(event.get("tool_response")), **given}
        _mirror_creation(session, event.integration, created)
    elif event.text("tool") == tools.get(TaskAction.UPDATE):
        _mirror_update(session, event.integration, given)
    elif event.text("tool") == tools.get(TaskAction.LIST):
        for task in _listed_tasks(event.get("tool_response")):
            _mirror_creation(session, event.integration, task)
            _mirror_update(session, event.integration, task)


def _mirror_list(
    session: Session, integration: Integration, tool: str, given: Mapping[str, Any], theirs: Sequence[Task]
) -> bool:
    call = next(newest_calls(session), None)
    mirrored = call is not None and TOOL_SEPARATOR in call.tool
    if call is not None and not mirrored and open_tasks(session.plan):
        return False
    if call is None and open_tasks(session.plan):
        session.change(lambda plan: (Write(tick_off(plan, theirs).phases),), Actor.AGENT, NATIVE_RULES)
        return False
    base = _list_in(integration, call) if call is not None and mirrored else []

    def steps(plan: Plan) -> Sequence[Step]:
        return (Write(merge_lists(base, plan if mirrored else Plan(), theirs).phases),)

    outcome = session.change(steps, Actor.AGENT, NATIVE_RULES, _call(integration, tool, given))
    return [(task.text, task.status) for task in outcome.after.tasks] == [(task.text, task.status) for task in theirs]


def _list_in(integration: Integration, call: Call) -> Sequence[Task]:
    """Return the list that the model wrote with a mirrored call."""
    return native_tasks(integration, call.tool.partition(TOOL_SEPARATOR)[2], arguments(call.arguments)) or []


def _mirror_creation(session: Session, integration: Integration, given: Mapping[str, Any]) -> None:
    number, subject = given.get("taskId"), given.get("subject")
    if not isinstance(subject, str) or not subject.strip() or number is None:
        return
    text = subject.strip()

    def steps(plan: Plan) -> Sequence[Step]:
        mirrored = is_mirrored(session)
        if _subject(session, integration, number) is not None or (open_tasks(plan) and not mirrored):
            return ()
        return (Append((Task(text),), clear_finished=not mirrored),)

    call = _call(integration, integration.task_tools[TaskAction.CREATE], {"taskId": number, "subject": text})
    session.change(steps, Actor.AGENT, NATIVE_RULES, call)


def _mirror_update(session: Session, integration: Integration, given: Mapping[str, Any]) -> None:
    subject = given.get("subject")
    named = subject.strip() if isinstance(subject, str) else ""
    text = _subject(session, integration, given.get("taskId")) or named
    newest = next(newest_calls(session), None)
    if newest is None and text:
        theirs = [Task(text, status_named(given.get("status")))]
        session.change(lambda plan: (Write(tick_off(plan, theirs).phases),), Actor.AGENT, NATIVE_RULES)
    if newest is None or not text or TOOL_SEPARATOR not in newest.tool:
        return

    def steps(plan: Plan) -> Sequence[Step]:
        if given.get("status") == DELETED:
            return (Remove(Named(text)),)
        return (Write(change_task(plan, text, subject, given.get("status")).phases),)

    call = _call(integration, integration.task_tools[TaskAction.UPDATE], given)
    session.change(steps, Actor.AGENT, NATIVE_RULES, call)


def _call(integration: Integration, tool: str, given: Mapping[str, Any]) -> Call:
    return Call(f"{integration.name}{TOOL_SEPARATOR}{tool}", codec.dump(dict(given)))


def _subject(session: Session, integration: Integration, number: object) -> str | None:
    """Return the text of the task with this native number, from its newest change or its creation."""
    tools = {f"{integration.name}{TOOL_SEPARATOR}{tool}" for tool in integration.task_tools.values()}
    for call in newest_calls(session):
        if call.tool in tools:
            given = arguments(call.arguments)
            subject = given.get("subject")
            if str(given.get("taskId")) == str(number) and isinstance(subject, str) and subject.strip():
                return subject.strip()
    return None


def _created_id(response: object) -> object:
    """Return the number that the agent gave a new task."""
    task = response.get("task") if isinstance(response, dict) else None
    return task.get("id") if isinstance(task, dict) else None


def _listed_tasks(response: object) -> list[Mapping[str, Any]]:
    """Return the tasks that the agent listed; they include changes that no hook reported."""
    tasks = response.get("tasks") if isinstance(response, dict) else None
    objects = [task for task in (tasks if isinstance(tasks, list) else ())[:MAX_NATIVE_TASKS] if isinstance(task, dict)]
    return [
        {"taskId": task.get("id"), "subject": task.get("subject"), "status": task.get("status")} for task in objects
    ]


def _failed(response: object) -> bool:
    """Return whether the tool reports failure."""
    if not isinstance(response, dict):
        return False
    return (
        response.get("success") is False
        or bool(response.get("error"))
        or response.get("resultType", "success") != "success"
    )
