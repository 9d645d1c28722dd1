"""Edits with a base: ops on the plan that a person saw become steps on the plan as it is now, or clashes.

Theory of operation. The head that a request names pins the plan that its positions refer to. Meanwhile, others may have
changed the plan. The tasks of both plans are matched, so that each op concerns the task that the person meant, wherever
it is now. An op fits if nobody has changed what it changes:

- a status, if it is the one that the person saw, or already the one that they want;
- a text, an order and the files of a task, likewise;
- a removal, if the task is as the person saw it, or gone already;
- a note or a new task always fits;
- a place never clashes: if the neighbour is gone, the task goes behind the one above, else to the end of its phase.

If one op does not fit, nothing is applied, and every clash is reported with all three values. So each answer is either
the change as it was meant, or a clash: no change by others is overwritten unseen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any, assert_never

from tildone.app.checks import SessionChecks
from tildone.app.conflict import Conflict
from tildone.app.edits import Edited, refuse_faults
from tildone.base import UsageError, replace, value
from tildone.log.session import Session
from tildone.plan.events import Event, PlanChanged, latest_state
from tildone.plan.history.changes import differing_in_place, match_plans, task_at, task_locations
from tildone.plan.model import WORD_FIELDS, Focus, Plan, Rules, Status, Task
from tildone.plan.ops import Append, Mark, Move, Note, Numbered, Order, Remove, Rename, Touch
from tildone.plan.reduce import Outcome, Step

MAX_OPS, MAX_POSITIONS = 100, 1000
MAX_CHARACTERS = 100_000
MAX_EVENTS_SEARCHED = 500
"""How many of the newest events are searched for the one that somebody else changed a task with."""

TEXT, STATUS, TASK = "text", "status", "task"
ORDER = "order"
REMOVED = "removed"


@value
class TaskPart:
    """A part of a task that an op sets: how it is read, set and shown in a clash."""

    of: Callable[[Task], Any]
    step: Callable[[Numbered, Any], Step]
    shown: Callable[[Any], str]


def _words_part(name: str) -> TaskPart:
    return TaskPart(attrgetter(name), lambda target, words: Touch(target, words, name), ", ".join)


PARTS = {
    STATUS: TaskPart(lambda task: task.status, Mark, lambda status: str(status.value)),
    TEXT: TaskPart(lambda task: task.text, Rename, str),
    ORDER: TaskPart(lambda task: task.after, Order, lambda numbers: ", ".join(f"#{number}" for number in numbers)),
    **{field.thing: _words_part(name) for name, field in WORD_FIELDS.items()},
}
_FIELDS_BY_OP = {field.op: field for field in WORD_FIELDS.values()}


@value
class SetPart:
    """Set a part of tasks. `base` is the text that the person saw, if it is older than the plan."""

    at: tuple[int, ...]
    part: str
    to: Status | str | tuple[int, ...] | tuple[str, ...]
    base: str | None = None


@value
class NoteOnTask:
    """Add a note to a task."""

    at: int
    text: str


@value
class NewTasks:
    """Add tasks in front of the one at a position; without one, at the end of a phase, of which None is the last."""

    texts: tuple[str, ...]
    at: int | None = None
    phase: str | None = None


@value
class MoveTasks:
    """Move tasks in front of another one; without one, to the end of a phase, or of the plan."""

    at: tuple[int, ...]
    before: int | None = None
    phase: str | None = None


@value
class RemoveTasks:
    """Remove tasks."""

    at: tuple[int, ...]


PlanOp = SetPart | NoteOnTask | NewTasks | MoveTasks | RemoveTasks


@value
class Clash:
    """What a person and somebody else both changed. `at` is the position that the person saw, `now` the one now.

    `number` is the number of the task, `now` is None if it is gone, and `event` is what changed it, if that is known.
    """

    at: int
    now: int | None
    number: int
    field: str
    base: str
    theirs: str
    yours: str
    event: Event | None = None


def edit_seen(session: Session, seen: str, given: object, checks: SessionChecks) -> tuple[Edited, bool]:
    """Apply the ops of a request to the newest plan. `seen` is the head that the person saw; empty before any event.

    The checks of tasks that are completed are run first, which may take minutes. Return the change, and whether others
    had changed the plan.

    Raises:
        UsageError: the ops are not as documented.
        Conflict: others have changed the same, or a check is being run already.
        Refused: the rules of the plan do not allow it, a check cannot be run here, or it is not approved.
    """
    base = session.plan_at(seen) if seen else Plan()
    if base is None:
        raise Conflict("the plan that you saw is gone", hint="Load the page again.")
    ops = parse_ops(given, len(base.tasks))
    completed = [
        base.tasks[at].number
        for op in ops
        if isinstance(op, SetPart) and op.to is Status.COMPLETED
        for at in op.at
        if base.tasks[at].status.is_open
    ]
    current = base

    def steps(plan: Plan) -> Sequence[Step]:
        # Called again with the newest plan if somebody else has changed it meanwhile.
        nonlocal current
        current, rebase = plan, Rebase(base, plan)
        found = [step for op in ops for step in rebase.steps(op)]
        if rebase.clashes:
            clashes = [replace(clash, event=_changed_by(session, seen, plan, clash)) for clash in rebase.clashes]
            raise Conflict("somebody else changed the same task", state=session.state, clashes=clashes)
        return found

    def change(session: Session) -> Outcome:
        return session.change(steps, rules=rules_for(ops, session.dialect.rules))

    outcome, proofs = checks.complete(session, completed, change)
    refuse_faults(outcome)
    return Edited(outcome, marks_done=bool(completed), proofs=proofs), current != base


def rules_for(ops: Sequence[PlanOp], own: Rules) -> Rules:
    """Return the rules for ops, given the session's: all or nothing, and a new task does not start another one."""
    only_new = all(isinstance(op, NewTasks) for op in ops)
    return replace(own, atomic=True, focus=Focus.ANY if only_new else own.focus)


def _changed_by(session: Session, seen: str, now: Plan, clash: Clash) -> Event | None:
    """Return the newest event since `seen` that made the task what it is now."""
    wanted = _compared(now, clash)
    found: Event | None = None
    for event in islice(session.store.history(session.name), MAX_EVENTS_SEARCHED):
        if event.id == seen:
            return found
        if isinstance(event.fact, PlanChanged):
            if _compared(latest_state([event]).plan, clash) != wanted:
                return found
            found = event
    return found


def _compared(plan: Plan, clash: Clash) -> object:
    task = next((task for task in plan.tasks if task.number == clash.number), None)
    if task is None:
        return None
    return PARTS[clash.field].of(task) if clash.field in PARTS and clash.field != STATUS else (task.status, task.notes)


class Rebase:
    """The tasks of the plan that a person saw (`base`), and what became of them in the plan `now`."""

    def __init__(self, base: Plan, now: Plan) -> None:
        self._now = now
        self.clashes: list[Clash] = []
        self._last_number = max(now.last_number, max((task.number for task in now.tasks), default=0))
        self._added = 0
        """How many tasks the steps so far add: they get the next numbers."""
        if differing_in_place(base, now) is not None:
            self._tasks: list[tuple[Task, Task | None, int | None]] = list(
                zip(base.tasks, now.tasks, range(len(now.tasks)), strict=True)
            )
        else:
            places = {location: index for index, location in enumerate(task_locations(now))}
            origins = match_plans(base, now).origins
            found = {origin: location for location, origin in origins.items()}
            self._tasks = [
                (task_at(base, location), _found(now, found.get(location)), places.get(found.get(location, (-1, -1))))
                for location in task_locations(base)
            ]
        self._phases = [phase.name for phase in base.phases for _ in phase.tasks]

    def steps(self, op: PlanOp) -> list[Step]:
        """Return the steps of an op that fits; else its clashes are noted, and there are no steps."""
        match op:
            case SetPart(positions):
                return [step for at in positions for step in self._set(at, op)]
            case NoteOnTask(at, text):
                task = self._present(at, text)
                return [Note(Numbered((task.number,)), text)] if task else []
            case NewTasks():
                first = self._last_number + self._added + 1
                self._added += len(op.texts)
                is_last = op.at is None or op.at == len(self._tasks)
                phase = op.phase if op.at is None or is_last else self._phases[op.at]
                name = "" if phase is None and not self._now.phases else phase
                steps: list[Step] = [Append(tuple(map(Task, op.texts)), name)]
                if op.at is None or is_last:
                    return steps
                return [*steps, self._placed(tuple(range(first, first + len(op.texts))), op.at)]
            case MoveTasks():
                return self._move(op)
            case RemoveTasks(positions):
                return [step for at in positions for step in self._remove(at)]
            case _:
                assert_never(op)

    def _set(self, at: int, op: SetPart) -> list[Step]:
        seen, now, _ = self._tasks[at]
        part = PARTS[op.part]
        base = part.of(seen) if op.base is None else op.base
        if now is None or part.of(now) not in (base, op.to):
            self._clash(at, op.part, part.shown(base), part.shown(op.to))
            return []
        return [part.step(Numbered((now.number,)), op.to)]

    def _remove(self, at: int) -> list[Step]:
        seen, now, _ = self._tasks[at]
        if now is None:
            return []
        field = TEXT if now.text != seen.text else STATUS if now.status is not seen.status else TASK
        if (now.text, now.status, now.notes) != (seen.text, seen.status, seen.notes):
            self._clash(at, field, seen.text if field == TEXT else seen.status.value, REMOVED)
            return []
        return [Remove(Numbered((now.number,)))]

    def _move(self, op: MoveTasks) -> list[Step]:
        numbers = tuple(task.number for at in op.at if (task := self._present(at, "moved")))
        if len(numbers) < len(op.at) or op.before in op.at:
            return []
        if op.before is None:
            return [Move(Numbered(numbers), phase=op.phase)]
        return [self._placed(numbers, op.before)]

    def _placed(self, numbers: tuple[int, ...], at: int) -> Move:
        """Return the move of tasks to the place where the person saw the task at a position.

        That is in front of it. If it is gone, it is behind the neighbour above; else, the end of its phase.
        """
        now = self._tasks[at][1]
        if now is None:
            phase = self._phases[at]
            above = [self._tasks[index][1] for index in range(at) if self._phases[index] == phase]
            present = [task.number for task in above if task and task.number not in numbers]
            following = self._following(present[-1], numbers) if present else None
            return (
                Move(Numbered(numbers), Numbered((following,))) if following else Move(Numbered(numbers), phase=phase)
            )
        return Move(Numbered(numbers), Numbered((now.number,)))

    def _following(self, number: int, without: tuple[int, ...]) -> int | None:
        """Return the number of the task that now follows another one in its phase, without those that move."""
        for phase in self._now.phases:
            numbers = [task.number for task in phase.tasks if task.number not in without]
            if number in numbers:
                return next(iter(numbers[numbers.index(number) + 1 :]), None)
        return None

    def _present(self, at: int, yours: str) -> Task | None:
        seen, now, _ = self._tasks[at]
        if now is None:
            self._clash(at, TASK, seen.text, yours)
        return now

    def _clash(self, at: int, field: str, base: str, yours: str) -> None:
        seen, now, place = self._tasks[at]
        theirs = REMOVED if now is None else _shown(now, field)
        self.clashes.append(Clash(at, place, seen.number, field, base, theirs, yours))


def _shown(task: Task, field: str) -> str:
    """Return the part of a task that a clash is about, as a text."""
    part = PARTS.get(field, PARTS[STATUS])
    return part.shown(part.of(task))


def _found(plan: Plan, location: tuple[int, int] | None) -> Task | None:
    return None if location is None else task_at(plan, location)


def parse_ops(given: object, total: int) -> tuple[PlanOp, ...]:
    """Return the ops of a request about a plan of so many tasks. Raises UsageError if they are invalid."""
    if not isinstance(given, list) or not 0 < len(given) <= MAX_OPS:
        raise UsageError(f"ops has to be a list of 1 to {MAX_OPS} ops")
    return tuple(_parsed(_Fields(each, total)) for each in given)


def _parsed(fields: _Fields) -> PlanOp:
    match fields.name:
        case "mark":
            return SetPart(fields.positions(), STATUS, fields.status())
        case "reword":
            return SetPart((fields.position(),), TEXT, fields.text(), fields.optional("base"))
        case "order":
            return SetPart((fields.position(),), ORDER, fields.numbers("after"))
        case op if op in _FIELDS_BY_OP:
            field = _FIELDS_BY_OP[op]
            return SetPart((fields.position(),), field.thing, fields.words(field.words))
        case "note":
            return NoteOnTask(fields.position(), fields.text())
        case "append":
            return NewTasks(fields.texts(), phase=fields.optional("phase"))
        case "insert":
            return NewTasks(fields.texts(), fields.position(beyond=1))
        case "move":
            before = fields.position("before") if fields.has("before") else None
            return MoveTasks(fields.positions(), before, fields.optional("phase"))
        case "remove":
            return RemoveTasks(fields.positions())
        case _:
            raise fields.bad("there is no such op")


class _Fields:
    """The fields of one op."""

    def __init__(self, given: object, total: int) -> None:
        if not isinstance(given, dict) or not isinstance(given.get("op"), str):
            raise UsageError("an op is an object with the field op")
        self._given: Mapping[str, Any] = given
        self._total = total
        self.name: str = given["op"]

    def positions(self) -> tuple[int, ...]:
        found = self._given.get("at")
        found = found if isinstance(found, list) else [found]
        if not 0 < len(found) <= MAX_POSITIONS:
            raise self.bad(f"at has to be a list of 1 to {MAX_POSITIONS} positions")
        return tuple(dict.fromkeys(self._position(each, self._total - 1) for each in found))

    def position(self, name: str = "at", *, beyond: int = 0) -> int:
        found = self._given.get(name)
        if isinstance(found, list) and len(found) == 1:
            found = found[0]
        return self._position(found, self._total - 1 + beyond)

    def text(self, name: str = "text") -> str:
        found = self._given.get(name)
        if not isinstance(found, str):
            raise self.bad(f"{name} has to be a text")
        if not found.strip():
            raise self.bad(f"{name} is empty")
        if len(found) > MAX_CHARACTERS:
            raise self.bad(f"{name} is longer than {MAX_CHARACTERS:,} characters")
        return found

    def optional(self, name: str) -> str | None:
        found = self._given.get(name)
        if found is not None and not isinstance(found, str):
            raise self.bad(f"{name} has to be a text")
        return found

    def texts(self) -> tuple[str, ...]:
        if "tasks" not in self._given:
            return (self.text(),)
        tasks = self._given["tasks"]
        if not isinstance(tasks, list) or not 0 < len(tasks) <= MAX_POSITIONS:
            raise self.bad("tasks has to be a list of tasks")
        return tuple(_Fields({"op": self.name, **each} if isinstance(each, dict) else each, 0).text() for each in tasks)

    def numbers(self, name: str) -> tuple[int, ...]:
        found = self._given.get(name)
        numbers = found if isinstance(found, list) and len(found) <= MAX_POSITIONS else [None]
        if any(not isinstance(each, int) or isinstance(each, bool) for each in numbers):
            raise self.bad(f"{name} has to be a list of numbers of tasks")
        return tuple(dict.fromkeys(numbers))

    def words(self, name: str) -> tuple[str, ...]:
        found = self._given.get(name)
        if not isinstance(found, list) or len(found) > MAX_POSITIONS:
            raise self.bad(f"{name} has to be a list of {name}")
        return tuple(_Fields({"op": self.name, "text": each}, 0).text() for each in found)

    def status(self) -> Status:
        found = self._given.get("status")
        known = {status.value: status for status in Status}
        if not isinstance(found, str) or found not in known:
            raise self.bad(f"status has to be one of {', '.join(known)}")
        return known[found]

    def has(self, name: str) -> bool:
        return self._given.get(name) is not None

    def bad(self, why: str) -> UsageError:
        return UsageError(f"{self.name[:20]}: {why}")

    def _position(self, found: object, last: int) -> int:
        if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found <= last:
            raise self.bad(f"there is no task at {str(found)[:20]}")
        return found
