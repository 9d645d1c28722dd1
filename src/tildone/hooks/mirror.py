"""The mirror: the plan follows a coding agent's native todo list.

This makes the gate and the board work with models that never call a tool of ours. A task of the native list and a task
of the plan with the same text are one task, whoever added it first. How much of the list is applied depends on who made
the plan:

- A plan that is empty, has nothing open, or whose newest call was mirrored follows the native list.
- In any other plan, which people made or the model writes with a tool of ours, tasks of the native list are ticked off,
  and nothing else changes.

Each call that a plan follows is recorded in the session as `agent/tool`, with its arguments. The list is noted
(`native_notes`) and merged with the next one (`native_merge`), which preserves the changes that others made in between.
"""

from __future__ import annotations

from tildone.core.numbers import numbered
from tildone.core.ops import Mark, Numbered, Write
from tildone.core.plan import Status
from tildone.core.query import open_tasks
from tildone.core.rules import Rules
from tildone.hooks.native_lists import (
    MAX_NATIVE_TASKS,
    TOOL_SEPARATOR,
    NativeTask,
    arguments,
    calls_with_events,
    native_tasks,
    status_named,
)
from tildone.hooks.native_merge import follow, link, numbered_list, tick_off, without_others
from tildone.hooks.native_notes import read_list, write_list
from tildone.hooks.task_texts import find_tasks
from tildone.ids import now
from tildone.integrations.record import HookPoint, TaskAction
from tildone.log import codec
from tildone.log.events import Actor, Call
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tildone.agents.identity import AgentId
    from tildone.agents.registry import AgentRegistry
    from tildone.core.plan import Plan
    from tildone.core.reduce import Outcome, Step
    from tildone.hooks.event import HookEvent
    from tildone.session import Session

    Reported = tuple[object, object, object]
    """A task that the coding agent reports: its id, its text and its status, as far as it tells them."""

DELETED = "deleted"
"""The status by which a native tool deletes a task."""

NATIVE_RULES = Rules(max_tasks=MAX_NATIVE_TASKS, atomic=False)


def mirror(event: HookEvent, session: Session, agents: AgentRegistry, agent_id: AgentId) -> Outcome | None:
    """Apply the effect of a native tool to the plan, and return the plan before and after; None if there is none."""
    if _failed(event.get("tool_response")):
        return None
    tool, given = event.text("tool"), arguments(event.get("tool_input"))
    base = read_list(agents, agent_id, session.name)
    theirs = native_tasks(event.integration, tool, given)
    is_whole = theirs is not None
    if theirs is None:
        base = [task for task in base or () if task.id]
        theirs = _updated(base, event, given, session.plan)
        if theirs == base:
            return None
    elif base is None:
        base = _recorded_list(event, session, agents)
    call = Call(f"{event.integration.name}{TOOL_SEPARATOR}{tool or event.name}", codec.dump(dict(given)))
    outcome = _apply(session, base, theirs, call, reorder=is_whole)
    noted = numbered_list(base, outcome.before, outcome.after, theirs)
    write_list(agents, agent_id, session.name, [_undone(task, outcome) for task in noted])
    return outcome


def _undone(task: NativeTask, outcome: Outcome) -> NativeTask:
    """Return a task of the list as it is noted: one whose check has not passed is tried again with the next list."""
    is_undone = task.number in outcome.unproved and task.status is Status.COMPLETED
    return replace(task, status=Status.IN_PROGRESS) if is_undone else task


def _apply(
    session: Session, base: Sequence[NativeTask], theirs: Sequence[NativeTask], call: Call, *, reorder: bool
) -> Outcome:
    """Apply the change of a native list from `base` to `theirs` to the plan."""
    _, newest = next(calls_with_events(session), (None, None))
    is_mirrored = newest is not None and TOOL_SEPARATOR in newest.tool
    follows = is_mirrored or not open_tasks(session.plan)

    def steps(unnumbered: Plan) -> Sequence[Step]:
        plan = numbered(unnumbered)
        if is_mirrored:
            return (Write(follow(base, plan, theirs, reorder=reorder).phases),)
        links = link(base, plan, theirs)
        if open_tasks(plan) or not any(map(links.is_new, range(len(theirs)))):
            return [Mark(Numbered((number,)), status) for number, status in tick_off(base, plan, theirs)]
        return (Write(follow(base, without_others(plan, links), theirs, reorder=reorder).phases),)

    # A plan that the model writes with a tool of ours stays as that tool's rules require.
    rules = NATIVE_RULES if follows or newest is None else replace(session.dialect.rules, atomic=False)
    return session.change(steps, Actor.AGENT, rules, call if follows else None)


def _recorded_list(event: HookEvent, session: Session, agents: AgentRegistry) -> list[NativeTask]:
    """Return the list that a plan follows, if it is that of this agent, or of one that is no longer active.

    A new conversation thereby replaces the list of the one before, but not that of another agent at work.
    """
    recorded, call = next(calls_with_events(session), (None, None))
    if recorded is None or call is None or TOOL_SEPARATOR not in call.tool:
        return []
    own = session.author_of(Actor.AGENT).agent
    if recorded.author.agent != own and recorded.author.agent in {str(each.id) for each in agents.active(now())}:
        return []
    tool = call.tool.partition(TOOL_SEPARATOR)[2]
    tasks = native_tasks(event.integration, tool, arguments(call.arguments)) or []
    plan = numbered(session.plan)
    found = find_tasks([task.text for task in tasks], plan.tasks)
    return [
        task if i is None else replace(task, number=plan.tasks[i].number, from_user=plan.tasks[i].from_user)
        for task, i in zip(tasks, found, strict=True)
    ]


def _updated(base: Sequence[NativeTask], event: HookEvent, given: Any, plan: Plan) -> list[NativeTask]:
    """Return the list after a call of a tool for single tasks, or after an event that reports such a change.

    The update of a task that is neither in the list nor in the plan is ignored.
    """
    tasks, tool = {task.id: task for task in base}, event.text("tool")
    is_listing = tool == event.integration.task_tools.get(TaskAction.LIST)
    is_update = event.point is HookPoint.TASK_COMPLETED or tool == event.integration.task_tools.get(TaskAction.UPDATE)
    for name, subject, word in _reported(event, given):
        text = subject.strip() if isinstance(subject, str) else ""
        known = tasks.get(str(name)) if name is not None else None
        is_unknown = known is None and (not text or (is_update and find_tasks([text], plan.tasks) == [None]))
        if name is None or is_unknown:
            continue
        task = known or NativeTask(text, id=str(name))
        if text:
            task = replace(task, text=text)
        if word == DELETED:
            task = replace(task, is_deleted=True)
        elif word is not None:
            task = replace(task, status=status_named(word), is_stated=not is_listing)
        tasks[task.id] = task
    return list(tasks.values())[:MAX_NATIVE_TASKS]


def _reported(event: HookEvent, given: Any) -> list[Reported]:
    tools, response = event.integration.task_tools, event.get("tool_response")
    if event.point is HookPoint.TASK_CREATED:
        return [(event.get("task_id"), event.get("task_subject"), None)]
    if event.point is HookPoint.TASK_COMPLETED:
        return [(event.get("task_id"), event.get("task_subject"), "completed")]
    tool = event.text("tool")
    if tool == tools.get(TaskAction.CREATE):
        return [(_created_id(response), given.get("subject"), None)]
    if tool == tools.get(TaskAction.UPDATE):
        return [(given.get("taskId"), given.get("subject"), given.get("status"))]
    return _listed(response) if tool == tools.get(TaskAction.LIST) else []


def _created_id(response: object) -> object:
    """Return the id that the agent gave a new task."""
    task = response.get("task") if isinstance(response, dict) else None
    return task.get("id") if isinstance(task, dict) else None


def _listed(response: object) -> list[Reported]:
    """Return the tasks that the agent listed; they include changes that no hook reported."""
    tasks = response.get("tasks") if isinstance(response, dict) else None
    objects = [task for task in (tasks if isinstance(tasks, list) else ())[:MAX_NATIVE_TASKS] if isinstance(task, dict)]
    return [(task.get("id"), task.get("subject"), task.get("status")) for task in objects]


def _failed(response: object) -> bool:
    """Return whether the tool reports failure."""
    if not isinstance(response, dict):
        return False
    return (
        response.get("success") is False
        or bool(response.get("error"))
        or response.get("resultType", "success") != "success"
    )
