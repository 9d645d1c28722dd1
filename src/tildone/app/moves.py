"""Moves in the history of a plan: undo, redo, checkout, labels; and taking back one change while later ones stay.

The newest change is undone by moving the head, so that it can be redone. An older one is taken back by a new change,
if nobody has touched its tasks since: they become what they were before it. Otherwise it is refused, with what would go
with it.
"""

from __future__ import annotations

from itertools import islice

from tildone.app.conflict import Conflict
from tildone.base import NotFound, Refused, UsageError, replace, value
from tildone.log.session import Session
from tildone.plan.events import PlanChanged, SessionHead, latest_state
from tildone.plan.history.changes import PlanMatch, change_sentences, changes, match_plans, task_at, task_locations
from tildone.plan.history.refs import SHORT_ID_LENGTH, events_by_label, label_problem
from tildone.plan.model import WORD_FIELDS, Check, Phase, Plan, Task
from tildone.plan.ops import Numbered, Order, SetCheck, Touch, Write
from tildone.plan.reduce import Outcome, Step, reduce
from tildone.plan.text.safe import printable

MAX_EVENTS_BACK = 2000
"""How many events back a change can be taken back."""


@value
class Moved:
    """A move in the history: its outcome, and the plans before and after the change that it undid or redid."""

    outcome: Outcome
    before: Plan
    after: Plan

    def sentences(self, *, numbers: bool = True) -> list[str]:
        return change_sentences(changes(self.before, self.after), numbers=numbers)


@value
class LabelSet:
    """The label that an event has now, the one that it had before, and whether it is another one."""

    event: str
    name: str
    former: str | None = None
    changed: bool = True


def undo(session: Session, count: int = 1) -> Moved:
    """Undo the newest changes.

    Raises Refused if there are fewer changes, or a model would take a check away; nothing is undone.
    """
    outcome = session.undo(count)
    return Moved(outcome, outcome.after, outcome.before)


def redo(session: Session, count: int = 1, *, seen: str | None = None) -> Moved:
    """Redo the changes that were undone last. `seen` is the head that the person saw, if they saw one.

    Raises Refused if fewer were undone; nothing is redone, Conflict if the head is another one.
    """
    if seen is not None and (session.store.session_head(session.name).head or "") != seen:
        raise _moved_meanwhile(session)
    outcome = session.redo(count)
    return Moved(outcome, outcome.before, outcome.after)


def restore(session: Session, event: str | None, *, seen: str | None = None) -> Moved:
    """Move to the plan of an event; None is before the first one. `seen` is the head that the person saw, if any.

    Raises:
        UnknownEvent: there is no such event.
        Refused: a model would take a check away; nothing is moved.
        Conflict: the head is another one.
    """

    def choose(current: SessionHead) -> SessionHead:
        if seen is not None and (current.head or "") != seen:
            raise _moved_meanwhile(session)
        return SessionHead(event)

    outcome = session.move(choose)
    return Moved(outcome, outcome.before, outcome.after)


def take_back(session: Session, event: str, seen: str) -> Moved:
    """Take back a change: the event that is named, else the newest change that a person saw at a head.

    Raises Refused if there is no such change, or the plan does not allow it, Conflict if later changes touched the same
    tasks.
    """
    now, recent = session.plan, list(islice(session.store.history(session.name), MAX_EVENTS_BACK))
    if not event:
        before = islice(session.store.history(session.name, seen), MAX_EVENTS_BACK) if seen else ()
        event = next((each.id for each in before if isinstance(each.fact, PlanChanged)), "")
        if not event:
            raise Refused("nothing to undo")
    found = next((each for each in recent if each.id == event), None)
    if found is None or not isinstance(found.fact, PlanChanged):
        raise Refused("that is no change of this plan")
    was = latest_state(session.store.history(session.name, found.parent)).plan if found.parent else Plan()
    is_newest = found is next(each for each in recent if isinstance(each.fact, PlanChanged))
    if not is_newest or not _moved_back(session, found.id, found.parent):
        _reverse(session, was, found.fact.plan)
    return Moved(Outcome(now, session.plan), was, found.fact.plan)


def _moved_back(session: Session, newest: str, parent: str | None) -> bool:
    """Undo the newest change by moving the head. Return False if it is no longer the newest one."""

    def choose(current: SessionHead) -> SessionHead:
        if newest_change(session) != newest:
            raise _moved_meanwhile(session)
        return SessionHead(parent, (current.head or newest, *current.redo))

    try:
        session.move(choose)
    except Conflict:
        return False
    return True


def _reverse(session: Session, before: Plan, after: Plan) -> None:

    def steps(plan: Plan) -> list[Step]:
        attributes, touched = attributes_before((before, after), plan)
        # A task is completed again only after its check is as it was.
        found = plan_without((before, after), reduce(plan, attributes, session.dialect.rules).after)
        if isinstance(found, Plan) and not touched:
            return [*attributes, Write(found.phases)]
        texts = [*touched, *(found if isinstance(found, list) else [])]
        hint = "Undo those first, or restore an earlier plan."
        raise Conflict("later changes touched the same tasks", hint=hint, touched=texts)

    if session.change(steps, rules=replace(session.dialect.rules, atomic=True)).faults:
        raise Refused("the plan does not allow it")


def _moved_meanwhile(session: Session) -> Conflict:
    return Conflict("the plan has changed meanwhile", state=session.state)


def newest_change(session: Session) -> str | None:
    """Return the event that made the current plan; nudges and labels since then are skipped."""
    history = session.store.history(session.name)
    return next((event.id for event in history if isinstance(event.fact, PlanChanged)), None)


def set_label(session: Session, name: str, event: str | None, *, force: bool = False) -> LabelSet:
    """Label an event. With `force`, a label of another event is moved to it.

    Raises UsageError if that is no name of a label, Refused if there is no event, or another one has the label.
    """
    if event is None:
        raise Refused("there is no event to label before the first change")
    events = list(session.store.events(session.name))
    is_id = any(each.id == name for each in events)
    wrong = label_problem(name) or (f"{name!r} is the id of an event" if is_id else None)
    if wrong or printable(name) != name:
        raise UsageError(wrong or "a label is one line of printable characters")
    names = events_by_label(events)
    other = names.get(name)
    if other == event:
        return LabelSet(event, name, changed=False)
    if other is not None:
        if not force:
            has = f"{short_id(other)} has the label {name!r}"
            raise Refused(f"{has}; to move it to {short_id(event)}, use --force")
        session.label(other, "")
    session.label(event, name)
    return LabelSet(event, name, next((known for known, each in names.items() if each == event), None))


def remove_label(session: Session, name: str) -> str:
    """Remove a label, and return the event that had it. Raises NotFound if no event has it."""
    event = events_by_label(session.store.events(session.name)).get(name)
    if event is None:
        raise NotFound(f"no event has the label {name!r}")
    session.label(event, "")
    return event


def short_id(event: str) -> str:
    return printable(event[:SHORT_ID_LENGTH])


def plan_without(change: tuple[Plan, Plan], now: Plan) -> Plan | list[str]:
    """Return the plan of now without a change from one plan to another.

    If later changes have touched the same tasks, return the texts of those as they are now, or as they were.
    """
    made, since = match_plans(*change), match_plans(change[1], now)
    origins = {origin: location for location, origin in since.origins.items()}
    touched: list[str] = []
    restored: dict[tuple[int, int], Task | None] = {}
    for location in task_locations(made.after):
        before, after = made.earlier(location), task_at(made.after, location)
        if before is not None and _same(before, after):
            continue
        place = origins.get(location)
        today = None if place is None else task_at(now, place)
        if today is None or place is None or not _same(today, after):
            if today is not None or before is not None:
                touched.append((today or after).text)
            continue
        restored[place] = None if before is None else _as_before(today, before)
    if touched:
        return touched
    phases = [
        Phase(phase.name, tuple(task for j, each in enumerate(phase.tasks) if (task := restored.get((i, j), each))))
        for i, phase in enumerate(now.phases)
    ]
    return _with_removed(made, replace(now, phases=tuple(phases)))


def attributes_before(change: tuple[Plan, Plan], now: Plan) -> tuple[list[SetCheck | Order | Touch], list[str]]:
    """Return the steps that take back what a change did to checks, order and files.

    The second value are the texts of the tasks whose checks, order or files were changed again since.
    """
    before, after = change
    earlier, today = ({task.number: task for task in plan.tasks} for plan in (before, now))
    steps: list[SetCheck | Order | Touch] = []
    touched: list[str] = []
    if before.check != after.check:
        steps.append(SetCheck(None, before.check))
        touched += ["the check of the plan"] if now.check != after.check else []
    for task in after.tasks:
        was, current, target = earlier.get(task.number), today.get(task.number), Numbered((task.number,))
        if was is None or _attributes(was) == _attributes(task):
            continue
        if current is None or _attributes(current) != _attributes(task):
            touched.append((current or task).text)
            continue
        steps += [SetCheck(target, was.check), Order(target, was.after)]
        steps += [Touch(target, getattr(was, name), name) for name in WORD_FIELDS]
    return steps, touched


def _attributes(task: Task) -> tuple[Check | None, tuple[int, ...], dict[str, tuple[str, ...]]]:
    return task.check, task.after, task.words


def _same(one: Task, other: Task) -> bool:
    return (one.text, one.status, one.notes) == (other.text, other.status, other.notes)


def _as_before(today: Task, before: Task) -> Task:
    return replace(today, text=before.text, status=before.status, notes=before.notes)


def _with_removed(made: PlanMatch, plan: Plan) -> Plan:
    """Return the plan with the tasks that a change removed, each behind the one that it followed."""
    kept = set(made.origins.values())
    phases = list(plan.phases)
    for i, j in task_locations(made.before):
        if (i, j) in kept:
            continue
        task, name = task_at(made.before, (i, j)), made.before.phases[i].name
        index = next((at for at, phase in enumerate(phases) if phase.name == name), None)
        if index is None:
            index = len(phases)
            phases.append(Phase(name))
        above = {each.number for each in made.before.phases[i].tasks[:j]}
        tasks = phases[index].tasks
        place = max((at + 1 for at, each in enumerate(tasks) if each.number in above), default=0)
        phases[index] = replace(phases[index], tasks=(*tasks[:place], task, *tasks[place:]))
    return replace(plan, phases=tuple(phases))
