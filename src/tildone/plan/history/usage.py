"""What each task of a plan took: time in progress, nudges, tokens and cost, derived from the events of a branch.

Events have the cumulative usage of the agent that caused them, if it is known. The difference between two events of one
agent is what it used in between. It belongs to the task that the agent had in progress: the only one that it started
or, without such a task, the only one that a person started, or that an agent left which has not written since. What an
agent used before its first event, or while it had no task or several in progress, belongs to the plan alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise

from tildone.base import value
from tildone.plan.events import (
    UNKNOWN,
    Actor,
    AgentUsage,
    DirectiveSet,
    Event,
    Ledger,
    Nudged,
    PlanChanged,
    added,
    since,
)
from tildone.plan.history.changes import differing_in_place, task_at
from tildone.plan.model import Plan, Status, next_task, numbered

MAX_EVENTS_READ = 1000
"""How many of the newest events are read to find what the task in progress has taken."""


@value
class TaskUsage:
    """What a task took. `worked` is its time in progress in milliseconds, None if it never was."""

    worked: int | None = None
    nudges: int = 0
    usage: AgentUsage = UNKNOWN

    @property
    def is_known(self) -> bool:
        return self.worked is not None or self.nudges > 0 or self.usage.is_known


@value
class PlanUsage:
    """What a plan took: each task by its number, and the conversations of its agents in all."""

    tasks: Mapping[int, TaskUsage]
    total: AgentUsage = UNKNOWN


def plan_usage(oldest_first: Iterable[Event], now: int, apart: Container[str] = ()) -> PlanUsage:
    """Return what the plan of a branch took until `now`, without the tokens and the cost of the agents `apart`."""
    counter = UsageCounter(apart)
    for event in oldest_first:
        counter.add(event)
    return PlanUsage(
        {number: task.result(max(now, counter.at)) for number, task in counter.tasks.items()}, counter.total
    )


def spent_on(
    number: int, newest_first: Iterable[Event], agent: str, used: AgentUsage | None, now: int
) -> tuple[int, AgentUsage]:
    """Return the milliseconds, and what an agent has used, since the task in progress was started.

    If a person has spoken since, it is counted from then. `used` is the agent's usage now. At most `MAX_EVENTS_READ`
    events are read; what came before them does not count.
    """
    recent: list[Event] = []
    start: int | None = None
    base: AgentUsage | None = None
    has_begun = False
    for event in islice(newest_first, MAX_EVENTS_READ):
        own = _usage_of(event, agent)
        if not has_begun and (_resets(event) or _is_in_progress(event, number)):
            start, base = len(recent), None
        has_begun = has_begun or _resets(event) or _is_in_progress(event, number) is False
        base = base or own
        recent.append(event)
        if has_begun and (base is not None or start is None):
            break
    if start is None:
        return 0, UNKNOWN
    points = [base, *(_usage_of(event, agent) for event in reversed(recent[:start])), used]
    return max(0, now - recent[start].at), _spent([point for point in points if point is not None])


def used_by_others(newest_first: Iterable[Event], agent: str) -> AgentUsage:
    """Return what agents other than this one have used, as far as `MAX_EVENTS_READ` events tell."""
    points: dict[str, list[AgentUsage]] = {}
    for event in islice(newest_first, MAX_EVENTS_READ):
        if event.usage is not None and event.author.agent not in ("", agent):
            points.setdefault(event.author.agent, [UNKNOWN]).insert(1, event.usage)
    total = UNKNOWN
    for each in points.values():
        total = added(total, _spent(each))
    return total


class _Task:
    """A task while events are read: the agent that started it is empty if a person did."""

    __slots__ = ("agent", "nudges", "place", "since", "usage", "worked")

    def __init__(self, place: int) -> None:
        self.place = place
        self.worked: int | None = None
        self.since: int | None = None
        self.agent = ""
        self.nudges = 0
        self.usage = UNKNOWN

    def set_status(self, status: Status | None, at: int, agent: str) -> None:
        if status is Status.IN_PROGRESS:
            if self.since is None:
                self.since, self.agent = at, agent
        elif self.since is not None:
            self.worked, self.since = (self.worked or 0) + at - self.since, None

    def result(self, now: int) -> TaskUsage:
        running = None if self.since is None else now - self.since
        worked = self.worked if running is None else (self.worked or 0) + running
        return TaskUsage(worked, self.nudges, self.usage)


class UsageCounter:
    """What was found in the events so far. Times never go back."""

    def __init__(self, apart: Container[str] = ()) -> None:
        self._apart = apart
        self.at = 0
        self.total = UNKNOWN
        self.tasks: dict[int, _Task] = {}
        self._running: dict[int, _Task] = {}
        self._plan = Plan()
        self._last: dict[str, AgentUsage] = {}
        self._first_event: dict[str, int] = {}
        self._last_event: dict[str, int] = {}
        self._count = 0

    def add(self, event: Event) -> None:
        self.at, agent = max(self.at, event.at), event.author.agent
        self._count += 1
        self._first_event.setdefault(agent, self._count)
        if event.usage is not None and agent and agent not in self._apart:
            self._use(agent, event.usage)
        match event.fact:
            case PlanChanged(plan):
                self._change(numbered(plan), agent)
            case Nudged(of_subagent=False):
                upcoming = next_task(self._plan)
                nudged = self._at_work(agent) or ([self.tasks[upcoming[1].number]] if upcoming else [])
                for task in nudged[:1]:
                    task.nudges += 1
            case _:
                pass
        self._last_event[agent] = self._count

    def taken(self, number: int, now: int) -> TaskUsage | None:
        """Return what a task took until a time; None if nothing is known of it."""
        task = self.tasks.get(number)
        return task.result(max(now, self.at)) if task and (task.nudges or task.usage is not UNKNOWN) else None

    def _use(self, agent: str, usage: AgentUsage) -> None:
        before = self._last.get(agent)
        used = since(before or UNKNOWN, usage)
        self.total = added(self.total, used)
        self._last[agent] = usage
        at_work = self._at_work(agent)
        if before is not None and len(at_work) == 1:
            at_work[0].usage = added(at_work[0].usage, used)

    def _at_work(self, agent: str) -> list[_Task]:
        running = sorted(self._running.values(), key=lambda task: task.place)
        own = [task for task in running if task.agent == agent]
        return (
            own or [task for task in running if not task.agent] or [each for each in running if self._left(each, agent)]
        )

    def _left(self, task: _Task, agent: str) -> bool:
        """Whether the agent that started a task has not written since another one came."""
        return self._last_event[task.agent] < self._first_event[agent]

    def _change(self, plan: Plan, agent: str) -> None:
        places = differing_in_place(self._plan, plan)
        changed = plan.tasks if places is None else [task_at(plan, location) for location in places]
        statuses: dict[int, Status | None] = dict.fromkeys(self.tasks if places is None else ())
        statuses |= {task.number: task.status for task in changed}
        for number, status in statuses.items():
            task = self.tasks.get(number)
            if task is None:
                task = self.tasks[number] = _Task(len(self.tasks))
            task.set_status(status, self.at, agent)
            if task.since is None:
                self._running.pop(number, None)
            else:
                self._running.setdefault(number, task)
        self._plan = plan


def _usage_of(event: Event, agent: str) -> AgentUsage | None:
    return event.usage if agent and event.author.agent == agent else None


def _is_in_progress(event: Event, number: int) -> bool | None:
    """Whether a task is in progress after an event; None if the event does not tell."""
    if not isinstance(event.fact, PlanChanged):
        return None
    tasks = numbered(event.fact.plan).tasks
    return any(task.number == number and task.status is Status.IN_PROGRESS for task in tasks)


def _resets(event: Event) -> bool:
    """Whether a person has spoken, so that all counts begin again."""
    fact = event.fact
    return isinstance(fact, DirectiveSet) and event.actor is Actor.USER and not fact.drift and fact.ledger == Ledger()


def _spent(points: list[AgentUsage]) -> AgentUsage:
    """What was used between the first and the last of an agent's cumulative usages."""
    spent = UNKNOWN
    for before, after in pairwise(points):
        spent = added(spent, since(before, after))
    return spent


@value
class TokenUse:
    """The tokens and the cost, in dollars, of one request to a model, and when it was answered."""

    at: int
    tokens: int
    cost: float = 0


def total_usage(requests: Iterable[TokenUse]) -> AgentUsage:
    """Return the usage of all requests; what is 0 is unknown."""
    requests = tuple(requests)
    return _usage(sum(each.tokens for each in requests), sum(each.cost for each in requests))


def usage_within(spans: Sequence[Sequence[tuple[int, int]]], requests: Sequence[TokenUse]) -> Iterator[AgentUsage]:
    """Yield, for the `spans` of each task, the usage of requests answered while only it was in progress."""
    answered = [request.at for request in requests]
    # How many tasks were in progress when each request was answered, as differences of neighbours.
    differences = [0] * (len(requests) + 1)
    # The end of a time counts, because an answer caused it.
    ranges = [[(bisect_right(answered, start), bisect_right(answered, end)) for start, end in times] for times in spans]
    for first, end in (pair for of_task in ranges for pair in of_task):
        differences[first] += 1
        differences[end] -= 1
    tokens, costs, at_work = [0], [0.0], 0
    for request, difference in zip(requests, differences, strict=False):
        at_work += difference
        tokens.append(tokens[-1] + (request.tokens if at_work == 1 else 0))
        costs.append(costs[-1] + (request.cost if at_work == 1 else 0))
    for of_task in ranges:
        used = sum(tokens[end] - tokens[first] for first, end in of_task)
        yield _usage(used, sum(costs[end] - costs[first] for first, end in of_task))


def _usage(tokens: int, cost: float) -> AgentUsage:
    return AgentUsage(tokens_in=tokens or None, cost=cost or None)
