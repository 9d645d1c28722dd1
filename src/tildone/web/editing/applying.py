"""Applies a person's ops to a session, and says what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from tildone.core.check import Proof, Result
from tildone.core.plan import Plan, Status
from tildone.core.query import has_checks
from tildone.core.reduce import Outcome, Step
from tildone.core.rules import Focus, Rules
from tildone.errors import UnknownEvent
from tildone.log.events import Event, PlanChanged
from tildone.log.state import latest_state
from tildone.overview.checks import SessionChecks
from tildone.session import Session
from tildone.value import replace, value
from tildone.views.faults import describe_fault
from tildone.web.data import Data, actor_data, proof_data
from tildone.web.editing.ops import AppendTasks, BoardOp, InsertTasks, MarkTasks, parse_ops
from tildone.web.editing.rebase import FILES, ORDER, TEXT, Clash, Rebase

MAX_EVENTS_SEARCHED = 500
"""How many of the newest events are searched for the one that somebody else changed a task with."""


@value
class Applied:
    """The change was made. `event` records it, None if nothing changed; `rebased` means that the plan had changed.

    `unproved` are the results, as data, of the checks of tasks that were not completed because they did not pass.
    """

    head: str | None
    plan: Plan
    event: str | None
    rebased: bool
    unproved: tuple[Data, ...] = ()


class CheckRunning(Exception):
    """The check of one of the tasks is being run already."""


@value
class Clashed:
    """Nothing was changed: others have changed the same. `clashes` are data."""

    head: str | None
    plan: Plan
    clashes: tuple[Data, ...]


@value
class Faulty:
    """Nothing was changed: the plan's rules do not allow it."""

    faults: tuple[str, ...]


def apply_ops(session: Session, seen: str, given: object, checks: SessionChecks) -> Applied | Clashed | Faulty:
    """Apply the ops of a request to the newest plan. `seen` is the head that the person saw; empty before any event.

    The checks of tasks that are completed are run first, which may take minutes.

    Raises:
        UnknownEvent: there is no such event.
        BadOps: the ops are not as documented.
        CheckRunning: the check of one of the tasks is being run already.
        Refused: a check cannot be run here, or is not approved.
    """
    base = plan_seen(session, seen)
    ops = parse_ops(given, len(base.tasks))
    current, clashes = base, list[Clash]()

    def steps(plan: Plan) -> Sequence[Step]:
        # Called again with the newest plan if somebody else has changed it meanwhile.
        nonlocal current, clashes
        rebase = Rebase(base, plan)
        found = [step for op in ops for step in rebase.steps(op)]
        current, clashes = plan, rebase.clashes
        return () if clashes else found

    def change() -> Outcome:
        return session.change(steps, rules=rules_for(ops, session.dialect.rules))

    outcome, proofs = _completed(session, checks, _completing(ops, base), change)
    head = session.last_state.head
    if clashes:
        return Clashed(head, current, tuple(clash_data(session, seen, current, clash) for clash in clashes))
    if outcome.faults:
        return Faulty(tuple(map(describe_fault, outcome.faults)))
    unproved = tuple(proof_data(number, proof) for number, proof in proofs.items() if proof.result is not Result.PASSED)
    return Applied(head, outcome.after, head if outcome.changed else None, current != base, unproved)


def _completing(ops: Sequence[BoardOp], base: Plan) -> list[int]:
    """Return the numbers of the open tasks that the ops complete."""
    marks = (op for op in ops if isinstance(op, MarkTasks) and op.status is Status.COMPLETED)
    tasks = base.tasks
    return [tasks[at].number for op in marks for at in op.at if tasks[at].status.is_open]


def _completed(
    session: Session, checks: SessionChecks, numbers: Sequence[int], change: Callable[[], Outcome]
) -> tuple[Outcome, Mapping[int, Proof]]:
    if not numbers or not has_checks(session.plan):
        return change(), {}
    if not checks.begin(session.name, numbers):
        raise CheckRunning
    try:
        return checks.complete(session, numbers, change)
    finally:
        checks.end(session.name, numbers)


def plan_seen(session: Session, seen: str) -> Plan:
    """Return the plan that a person saw at a head; an empty one before any event.

    Raises:
        UnknownEvent: there is no such event.
    """
    if not seen:
        return Plan()
    plan = session.plan_at(seen)
    if plan is None:
        raise UnknownEvent(f"there is no event {seen}")
    return plan


def rules_for(ops: Sequence[BoardOp], own: Rules) -> Rules:
    """Return the rules for ops, given the session's: all or nothing, and a new task does not start another one."""
    only_new = all(isinstance(op, AppendTasks | InsertTasks) for op in ops)
    return replace(own, atomic=True, focus=Focus.ANY if only_new else own.focus)


def clash_data(session: Session, seen: str, now: Plan, clash: Clash) -> Data:
    """Return a clash with who changed the task, and when."""
    event = _changed_by(session, seen, now, clash)
    return {
        "at": clash.at,
        "now": clash.now,
        "gone": clash.now is None,
        "number": clash.number,
        "field": clash.field,
        "base": clash.base,
        "theirs": clash.theirs,
        "yours": clash.yours,
        **(actor_data(event) if event else dict.fromkeys(("who", "by", "agent"))),
        "when": event.at if event else None,
    }


def _changed_by(session: Session, seen: str, now: Plan, clash: Clash) -> Event | None:
    """Return the newest event since `seen` that made the task what it is now."""
    wanted = _part(now, clash)
    found: Event | None = None
    for event in islice(session.store.history(session.name), MAX_EVENTS_SEARCHED):
        if event.id == seen:
            return found
        if isinstance(event.fact, PlanChanged):
            if _part(latest_state([event]).plan, clash) != wanted:
                return found
            found = event
    return found


def _part(plan: Plan, clash: Clash) -> object:
    """Return what of a task the clash is about."""
    task = next((task for task in plan.tasks if task.number == clash.number), None)
    if task is None:
        return None
    parts: dict[str, object] = {TEXT: task.text, ORDER: task.after, FILES: task.touches}
    return parts.get(clash.field, (task.status, task.notes))
