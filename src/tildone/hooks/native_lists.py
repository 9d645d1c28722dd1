"""Native lists: the todo lists that models keep with their coding agent's own tools, as plans.

These functions are pure, except for the two that read a session. `mirror.py` decides when to apply them.
"""

from __future__ import annotations

from itertools import islice

from tildone.core.plan import Phase, Plan, Status, Task
from tildone.log.events import PlanChanged
from tildone.log.json_scanner import parse
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from tildone.integrations.record import Integration
    from tildone.log.events import Call
    from tildone.session import Session

TOOL_SEPARATOR = "/"
"""Separates the coding agent from its tool in the name of a mirrored call; our own tools' names never contain it."""

MAX_EVENTS = 2000
"""How many events are searched for calls, newest first."""

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


def is_mirrored(session: Session) -> bool:
    """Return whether the plan follows a native list, that is, whether the session's newest call is a mirrored one."""
    call = next(newest_calls(session), None)
    return call is not None and TOOL_SEPARATOR in call.tool


def newest_calls(session: Session) -> Iterator[Call]:
    """Yield the tool calls that changed the plan, newest first."""
    for event in islice(session.store.history(session.name), MAX_EVENTS):
        if isinstance(event.fact, PlanChanged) and event.fact.call is not None:
            yield event.fact.call


def arguments(given: object) -> Mapping[str, Any]:
    """Return the arguments of a tool call, which some agents send as JSON text; empty if they are not an object."""
    if isinstance(given, str):
        try:
            given = parse(given)
        except ValueError:
            return {}
    return given if isinstance(given, dict) else {}


def native_tasks(integration: Integration, tool: str, given: Mapping[str, Any]) -> list[Task] | None:
    """Return the whole list that a call of a native tool writes; None if it writes no list, or only part of one."""
    if tool not in integration.list_tools:
        return None
    items_field, text_field = integration.list_tools[tool]
    items = given.get(items_field)
    if not isinstance(items, list) or len(items) > MAX_NATIVE_TASKS or given.get("merge") is True:
        return None
    return [
        Task(item[text_field].strip(), status_named(item.get("status")))
        for item in items
        if isinstance(item, dict) and isinstance(item.get(text_field), str) and item[text_field].strip()
    ]


def status_named(word: object) -> Status:
    """Return the status that a coding agent's word stands for."""
    return STATUSES.get(word, Status.PENDING) if isinstance(word, str) else Status.PENDING


def merge_lists(base: Sequence[Task], plan: Plan, theirs: Sequence[Task]) -> Plan:
    """Return a three-way merge: the model changed the list `base` to `theirs`, while people changed it to `plan`.

    A status that the model changed wins. Every other task is as people left it, and a task that they removed stays
    removed.
    """
    old = {task.text: task.status for task in base}
    new = {task.text: task.status for task in theirs}
    phases = [replace(phase, tasks=_merged_tasks(phase, old, new)) for phase in plan.phases] or [Phase("")]
    known = old.keys() | {task.text for task in plan.tasks}
    added = tuple(task for task in theirs if task.text not in known)
    phases[-1] = replace(phases[-1], tasks=phases[-1].tasks + added)
    if len(phases) == 1:
        order = {text: position for position, text in enumerate(new)}
        tasks = sorted(phases[0].tasks, key=lambda task: order.get(task.text, len(order)))
        phases = [replace(phases[0], tasks=tuple(tasks))]
    return Plan(tuple(phase for phase in phases if phase.tasks or phase.name))


def tick_off(plan: Plan, theirs: Sequence[Task]) -> Plan:
    """Return a person's plan with the statuses of tasks that the model started or closed; none is added or reopened."""
    new = {task.text: task.status for task in theirs if task.status is not Status.PENDING}
    phases = [
        replace(
            phase,
            tasks=tuple(
                replace(task, status=new.get(task.text, task.status)) if task.status.is_open else task
                for task in phase.tasks
            ),
        )
        for phase in plan.phases
    ]
    return Plan(tuple(phases))


def change_task(plan: Plan, text: str, subject: object, word: object) -> Plan:
    """Return the plan with a new text or status for the first open task of that text, or else for the first one."""
    same = [task for task in plan.tasks if task.text == text]
    chosen = next((task for task in same if task.status.is_open), same[0] if same else None)
    if chosen is None:
        return plan
    new = replace(
        chosen,
        text=subject.strip() if isinstance(subject, str) and subject.strip() else text,
        status=chosen.status if word is None else status_named(word),
    )
    phases = [
        replace(phase, tasks=tuple(new if task is chosen else task for task in phase.tasks)) for phase in plan.phases
    ]
    return Plan(tuple(phases))


def _merged_tasks(phase: Phase, old: Mapping[str, Status], new: Mapping[str, Status]) -> tuple[Task, ...]:
    merged = []
    for task in phase.tasks:
        wanted = new.get(task.text)
        if wanted is not None and wanted is not old.get(task.text):
            merged.append(replace(task, status=wanted))
        elif wanted is not None or task.text not in old:
            merged.append(task)
    return tuple(merged)
