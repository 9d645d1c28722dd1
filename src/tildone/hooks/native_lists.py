"""The todo lists that models keep with their hosts' own tools, as plans."""

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

    from tildone.hooks.hosts import Host
    from tildone.log.events import Call
    from tildone.session import Session

BETWEEN = "/"
"""Stands in the name of a call that was followed, between the host and its tool; no tool of ours has it in its name."""

LOOK_BACK = 2000
MOST = 500
"""A list with more tasks is none that anybody works through."""


STATUSES = {status.value: status for status in Status} | {
    "not_started": Status.PENDING,
    "todo": Status.PENDING,
    "done": Status.COMPLETED,
    "cancelled": Status.ABANDONED,
    "canceled": Status.ABANDONED,
}
"""Words that any of the hosts has for a status. One that is not known is taken for pending: then nothing is lost."""


def mirrored(session: Session) -> bool:
    """Whether the plan is a list of the model's host: its newest call was one."""
    call = next(calls(session), None)
    return call is not None and BETWEEN in call.tool


def calls(session: Session) -> Iterator[Call]:
    """What models have called that led to the plan, newest first."""
    for event in islice(session.store.history(session.name), LOOK_BACK):
        if isinstance(event.fact, PlanChanged) and event.fact.call is not None:
            yield event.fact.call


def arguments(given: object) -> Mapping[str, Any]:
    """The arguments of a tool call, which some hosts hand on as text; nothing where there are none."""
    if isinstance(given, str):
        try:
            given = parse(given)
        except ValueError:
            return {}
    return given if isinstance(given, dict) else {}


def listed(host: Host, tool: str, given: Mapping[str, Any]) -> list[Task] | None:
    """The whole list that a call writes; None where it writes none, or only a part of one."""
    where = host.lists.get(tool)
    items = given.get(where[0]) if where else None
    if where is None or not isinstance(items, list) or len(items) > MOST or given.get("merge") is True:
        return None
    return [
        Task(item[where[1]].strip(), status(item.get("status")))
        for item in items
        if isinstance(item, dict) and isinstance(item.get(where[1]), str) and item[where[1]].strip()
    ]


def status(word: object) -> Status:
    """The status that a host's word means."""
    return STATUSES.get(word, Status.PENDING) if isinstance(word, str) else Status.PENDING


def merged(base: Sequence[Task], plan: Plan, theirs: Sequence[Task]) -> Plan:
    """The plan after a model has made `theirs` of its list `base`, while people may have changed the plan.

    A status that the model did not change, and a task that it never had, are as people want them; a task that they
    took out stays out.
    """
    was = {task.text: task.status for task in base}
    new = {task.text: task.status for task in theirs}
    phases = [replace(phase, tasks=_kept(phase, was, new)) for phase in plan.phases] or [Phase("")]
    known = was.keys() | {task.text for task in plan.tasks}
    fresh = tuple(task for task in theirs if task.text not in known)
    phases[-1] = replace(phases[-1], tasks=phases[-1].tasks + fresh)
    if len(phases) == 1:
        order = {text: position for position, text in enumerate(new)}
        tasks = sorted(phases[0].tasks, key=lambda task: order.get(task.text, len(order)))
        phases = [replace(phases[0], tasks=tuple(tasks))]
    return Plan(tuple(phase for phase in phases if phase.tasks or phase.name))


def followed(plan: Plan, theirs: Sequence[Task]) -> Plan:
    """A person's plan, with what a model has begun or finished of it; nothing is added, and nothing opened again."""
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


def revised(plan: Plan, text: str, subject: object, word: object) -> Plan:
    """The plan with another text or status for a task: the first of its text that is open, or else the first."""
    same = [task for task in plan.tasks if task.text == text]
    chosen = next((task for task in same if task.status.is_open), same[0] if same else None)
    if chosen is None:
        return plan
    new = replace(
        chosen,
        text=subject.strip() if isinstance(subject, str) and subject.strip() else text,
        status=chosen.status if word is None else status(word),
    )
    phases = [
        replace(phase, tasks=tuple(new if task is chosen else task for task in phase.tasks)) for phase in plan.phases
    ]
    return Plan(tuple(phases))


def _kept(phase: Phase, was: Mapping[str, Status], new: Mapping[str, Status]) -> tuple[Task, ...]:
    kept = []
    for task in phase.tasks:
        wanted = new.get(task.text)
        if wanted is not None and wanted is not was.get(task.text):
            kept.append(replace(task, status=wanted))
        elif wanted is not None or task.text not in was:
            kept.append(task)
    return tuple(kept)
