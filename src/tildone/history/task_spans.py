"""The spans of tasks and checks, from the events of a plan.

A task has a span from when it was started until it is done, dropped, blocked, put back or removed. A task that was
never started has one without a duration. Each run of a check has a span within that of its task. Events are given one
after the other; each snapshot is compared to the one before, so a branch that was left does no harm.
"""

from __future__ import annotations

from tildone.core.check import Result
from tildone.core.numbers import numbered
from tildone.core.plan import Plan, Status
from tildone.history.spans import INTERRUPTED, TraceSpan, span_id
from tildone.log.events import PlanChanged
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from tildone.core.check import Check, Proof
    from tildone.core.plan import Task
    from tildone.history.spans import Attribute, ShownText, SpanPlace
    from tildone.log.events import Event

TASK, CHECK = "tildone.task", "tildone.check"
REMOVED = "removed"
OF_PLAN = 0
"""The number of the plan itself, where its check is meant."""


@value
class _Begun:
    """A task in progress: its span, and since when it is in progress."""

    id: int
    at: int


class TaskSpans:
    """Follows the tasks of a plan. What is in progress at the beginning counts as started then.

    `key` tells this beginning from others. `shown` makes texts fit to be told; without it, none is.
    """

    def __init__(self, place: SpanPlace, plan: Plan, at: int, key: str, shown: ShownText = None) -> None:
        self._place, self._shown = place, shown
        self._plan = numbered(plan)
        self._begun: dict[int, _Begun] = {}
        for task in self._plan.tasks:
            if task.status is Status.IN_PROGRESS:
                self._begin(task, at, key)

    @property
    def current(self) -> SpanPlace:
        """Where something belongs that happens now: in the only task in progress, else beside the tasks."""
        begun = list(self._begun.values())
        parent = begun[0].id if len(begun) == 1 else self._place.parent
        return type(self._place)(self._place.trace, parent)

    def add(self, event: Event) -> list[TraceSpan]:
        """Take one more event into account, and return the spans that end with it."""
        if not isinstance(event.fact, PlanChanged):
            return []
        before, plan = self._plan, numbered(event.fact.plan)
        self._plan = plan
        known = {task.number: task for task in before.tasks}
        agent = event.author.agent.partition(":")[0]
        spans: list[TraceSpan] = []
        for task in plan.tasks:
            spans += self._changed(known.pop(task.number, None), task, event, agent)
        for gone in known.values():
            if gone.number in self._begun:
                spans.append(self._ended(gone, REMOVED, event.at, agent))
        if plan.check and plan.proof and _is_new(before.proof, plan.proof):
            spans.append(self._checked(OF_PLAN, plan.check, plan.proof, event.at, self._place.parent))
        return spans

    def close(self, at: int) -> list[TraceSpan]:
        """Return the spans of the tasks that are still in progress, as interrupted."""
        tasks = [task for task in self._plan.tasks if task.number in self._begun]
        return [self._ended(task, INTERRUPTED, at, "") for task in tasks]

    def _changed(self, before: Task | None, task: Task, event: Event, agent: str) -> list[TraceSpan]:
        number, spans = task.number, []
        if task.status is Status.IN_PROGRESS and number not in self._begun:
            self._begin(task, event.at, event.id)
        was_open = before is None or before.status.is_open
        # A plan that is imported with closed tasks tells nothing of when they were worked on.
        closes = before is not None and was_open and not task.status.is_open
        if closes and number not in self._begun:
            self._begin(task, event.at, event.id)
        if task.check and task.proof and _is_new(before.proof if before else None, task.proof):
            begun = self._begun.get(number)
            parent = begun.id if begun else self._place.parent
            spans.append(self._checked(number, task.check, task.proof, event.at, parent))
        if number in self._begun and task.status is not Status.IN_PROGRESS:
            spans.append(self._ended(task, str(task.status.value), event.at, agent))
        return spans

    def _begin(self, task: Task, at: int, key: str) -> None:
        self._begun[task.number] = _Begun(span_id(self._place.trace, task.number, key), at)

    def _ended(self, task: Task, status: str, at: int, agent: str) -> TraceSpan:
        begun = self._begun.pop(task.number)
        attributes: dict[str, Attribute] = {"tildone.task.number": task.number, "tildone.task.status": status}
        if task.check:
            attributes["tildone.task.check"] = str(task.proof.result.value) if task.proof else "not run"
        if agent:
            attributes["tildone.agent"] = agent
        if self._shown:
            attributes["tildone.task.text"] = self._shown(task.text)
        place = self._place
        return TraceSpan(TASK, place.trace, begun.id, place.parent, begun.at, max(begun.at, at), attributes)

    def _checked(self, number: int, check: Check, proof: Proof, at: int, parent: int) -> TraceSpan:
        end = proof.at or at
        attributes: dict[str, Attribute] = {"tildone.check.result": str(proof.result.value)}
        if number:
            attributes["tildone.task.number"] = number
        if proof.exit_code is not None:
            attributes["process.exit.code"] = proof.exit_code
        if self._shown:
            attributes["tildone.check.command"] = self._shown(" ".join(check.command))
        error = "" if proof.result is Result.PASSED else str(proof.result.value)
        own = span_id(self._place.trace, "check", number, end, proof.result.value)
        return TraceSpan(CHECK, self._place.trace, own, parent, end - proof.milliseconds, end, attributes, error)


def _is_new(before: Proof | None, proof: Proof) -> bool:
    """Return whether the check was run since. Proofs that say the same are equal whenever they were made."""
    return before is None or (before, before.at) != (proof, proof.at)
