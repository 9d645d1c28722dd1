"""What the log of a shared plan and the book of its agents show: counts, of which some must be 0."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from tildone.plan.events import Event, PlanChanged
from tildone.plan.model import Plan, Status, may_conflict

BREACHES = (
    "not done once",
    "claims held by two",
    "overwritten",
    "appended by an agent that had lost its task",
    "closed by another than its last holder",
    "out of order",
    "worked on beside a task with the same files",
)
"""The counts that must be 0."""


class Line(NamedTuple):
    """A line of the book: what an agent did with a task, under which epoch, and when."""

    what: str
    task: int
    epoch: int
    agent: str
    at: int


def read_book(text: str) -> list[Line]:
    words = (line.split() for line in text.splitlines())
    return [Line(what, int(task), int(epoch), agent, int(at)) for what, task, epoch, agent, at in words]


def audit(events: Iterable[Event], book: Sequence[Line]) -> dict[str, int]:
    """Return what the events of a plan, from the first to the last, and the book of its agents show."""
    plans = [(event, event.fact.plan) for event in events if isinstance(event.fact, PlanChanged)]
    closed_by: dict[int, list[str]] = {}
    reopened = early = 0
    for (_, before), (event, after) in pairwise(plans):
        was, now = _statuses(before), _statuses(after)
        for task in after.tasks:
            old, new = was[task.number], now[task.number]
            if new is Status.COMPLETED and old is not Status.COMPLETED:
                closed_by.setdefault(task.number, []).append(event.author.agent)
            reopened += old is Status.COMPLETED and new is not Status.COMPLETED
            is_started = old is Status.PENDING and new is Status.IN_PROGRESS
            early += is_started and any(now[number] is not Status.COMPLETED for number in task.after)
    _, last = plans[-1]
    holders = _holders(book)
    newest = dict(sorted(holders))
    done_once = sum(len(closed_by.get(task.number, ())) == 1 for task in last.tasks)
    wrong = [
        task for task, agents in closed_by.items() if agents[-1] not in holders.get((task, newest.get(task, 0)), ())
    ]
    whats = Counter(line.what for line in book)
    return {
        "tasks": len(last.tasks),
        "done once": done_once,
        "claims": len(holders),
        "taken over": sum(epoch > 1 for _, epoch in holders),
        "changes refused": whats["stale"] + whats["refused"],
        "not done once": len(last.tasks) - done_once,
        "claims held by two": sum(len(agents) > 1 for agents in holders.values()),
        "overwritten": reopened,
        "appended by an agent that had lost its task": whats["stop"] - whats["stale"],
        "closed by another than its last holder": len(wrong),
        "out of order": early,
        "worked on beside a task with the same files": _together(last, book),
    }


def _statuses(plan: Plan) -> dict[int, Status]:
    return {task.number: task.status for task in plan.tasks}


def _holders(book: Iterable[Line]) -> dict[tuple[int, int], set[str]]:
    """Return the agents that worked on a task under an epoch."""
    holders: dict[tuple[int, int], set[str]] = {}
    for line in book:
        holders.setdefault((line.task, line.epoch), set()).add(line.agent)
    return holders


def _together(plan: Plan, book: Iterable[Line]) -> int:
    """Return how many pairs of tasks with the same files were worked on at the same time, both to the end."""
    touches = {task.number: task.touches for task in plan.tasks}
    begun: dict[tuple[int, int], int] = {}
    spans: list[tuple[int, int, int]] = []
    for line in book:
        if line.what == "begin":
            begun[line.task, line.epoch] = line.at
        elif line.what == "end":
            spans.append((begun[line.task, line.epoch], line.at, line.task))
    spans.sort()
    return sum(
        begin < end and one != other and may_conflict(touches[one], touches[other])
        for index, (_, end, one) in enumerate(spans)
        for begin, _, other in spans[index + 1 :]
    )
