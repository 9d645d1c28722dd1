"""The changes between two plans, as facts: what was added, removed, moved, renamed, noted or given a new status."""

from __future__ import annotations

from enum import Enum

from tildone.core.check import DEFAULT_SECONDS, Check, Result
from tildone.core.plan import WORD_FIELDS, Status, Task
from tildone.history.matching import longest_increasing, match_plans, task_at, task_locations
from tildone.typing import TYPE_CHECKING
from tildone.value import value
from tildone.views.proofs import check_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tildone.core.plan import Plan
    from tildone.history.matching import Location, PlanMatch


class ChangeKind(Enum):
    """The kinds of change in the order of reporting, each with a verb and the phrase for several at once."""

    PHASE_REMOVED = ("removed phase", "removed {} phases")
    PHASE_RENAMED = ("renamed phase", "renamed {} phases")
    PHASE_ADDED = ("added phase", "added {} phases")
    PHASE_MOVED = ("moved phase", "moved {} phases")
    REMOVED = ("removed", "removed {} tasks")
    ADDED = ("added", "added {} tasks")
    RENAMED = ("renamed", "renamed {} tasks")
    MOVED = ("moved", "moved {} tasks")
    COMPLETED = ("completed", "completed {} tasks")
    DROPPED = ("dropped", "dropped {} tasks")
    BLOCKED = ("blocked", "blocked {} tasks")
    CLOSED = ("closed", "closed {} tasks")
    MARKED = ("marked", "marked {} tasks")
    REOPENED = ("reopened", "reopened {} tasks")
    PAUSED = ("put back", "put back {} tasks")
    STARTED = ("started", "started {} tasks")
    NOTED = ("noted on", "added {} notes")
    UNNOTED = ("took a note off", "took off {} notes")
    CHECK_SET = ("set the check of", "set the checks of {} tasks")
    CHECK_CHANGED = ("changed the check of", "changed the checks of {} tasks")
    CHECK_REMOVED = ("removed the check of", "removed the checks of {} tasks")
    CHECK_PASSED = ("check passed for", "checks passed for {} tasks")
    CHECK_FAILED = ("check failed for", "checks failed for {} tasks")
    CHECK_INCONCLUSIVE = ("check inconclusive for", "checks inconclusive for {} tasks")
    CHECK_REFUSED = ("check not approved for", "checks not approved for {} tasks")
    CHECK_RESULT_REMOVED = ("removed the result of the check of", "removed the results of {} checks")
    ORDERED = ("ordered", "ordered {} tasks")
    FILES_SET = ("set the files of", "set the files of {} tasks")

    def __init__(self, verb: str, count: str) -> None:
        self.verb = verb
        self.count = count


_ORDER = {kind: index for index, kind in enumerate(ChangeKind)}
_VERBS = {
    Status.IN_PROGRESS: ChangeKind.STARTED,
    Status.COMPLETED: ChangeKind.COMPLETED,
    Status.ABANDONED: ChangeKind.DROPPED,
    Status.BLOCKED: ChangeKind.BLOCKED,
}
STATUS_NAMING_KINDS = frozenset({ChangeKind.CLOSED, ChangeKind.MARKED})
"""Kinds for statuses that have no verb of their own: `detail` names the status."""

_RESULTS = {
    Result.PASSED: ChangeKind.CHECK_PASSED,
    Result.FAILED: ChangeKind.CHECK_FAILED,
    Result.INCONCLUSIVE: ChangeKind.CHECK_INCONCLUSIVE,
    Result.REFUSED: ChangeKind.CHECK_REFUSED,
}
_WORDS_SET = {name: ChangeKind[f"{field.thing.upper()}_SET"] for name, field in WORD_FIELDS.items()}
ATTRIBUTE_KINDS = frozenset(
    {
        ChangeKind.CHECK_SET,
        ChangeKind.CHECK_CHANGED,
        ChangeKind.CHECK_REMOVED,
        ChangeKind.CHECK_RESULT_REMOVED,
        *_RESULTS.values(),
        ChangeKind.ORDERED,
        *_WORDS_SET.values(),
    }
)
"""Kinds of changes of a check, its result, the order or the files of a task."""


@value
class Change:
    """One change of a task or phase; `detail` is the new name, phase or status, the note, or what an attribute is now.

    `number` is the number of the task; 0 for a phase, and for a task without one. `of_plan` means that the check is
    that of the plan.
    """

    kind: ChangeKind
    subject: str
    detail: str | None = None
    number: int = 0
    of_plan: bool = False


def changes(before: Plan, after: Plan) -> list[Change]:
    """Return the changes from one plan to the other; empty if and only if they differ in numbers at most.

    Tasks are matched by text or else by number, phases by name or by a shared task. A task counts as added in the
    pending status, so one that is added in progress is also started.
    """
    return changes_in(match_plans(before, after))


def changes_in(match: PlanMatch) -> list[Change]:
    """Return the changes between two matched plans, in the order of reporting."""
    found = [
        *_phase_changes(match),
        *(removal(task_at(match.before, location)) for location in removed_locations(match)),
        *plan_changes(match.before, match.after),
    ]
    for more in task_changes(match).values():
        found += more
    return sorted(found, key=lambda change: _ORDER[change.kind])


def task_changes(match: PlanMatch) -> dict[Location, list[Change]]:
    """Return the changes of tasks in the later plan, by their location there; unchanged tasks are omitted."""
    found: dict[Location, list[Change]] = {}
    same_phase = {j: i for i, j in match.pairs}
    for j, phase in enumerate(match.after.phases):
        origins = [match.origins[j, b] for b in range(len(phase.tasks)) if (j, b) in match.origins]
        in_order = longest_increasing([a for i, a in origins if i == same_phase.get(j)])
        for b, task in enumerate(phase.tasks):
            origin = match.origins.get((j, b))
            of_task: list[Change] = []
            if origin is None:
                of_task.append(Change(ChangeKind.ADDED, task.text, None, task.number))
            elif origin[0] != same_phase.get(j):
                of_task.append(Change(ChangeKind.MOVED, task.text, phase.name, task.number))
            elif origin[1] not in in_order:
                of_task.append(Change(ChangeKind.MOVED, task.text, None, task.number))
            before = Task(task.text) if origin is None else task_at(match.before, origin)
            if before.text != task.text:
                of_task.insert(0, Change(ChangeKind.RENAMED, before.text, task.text, task.number))
            if before.status is not task.status or before.notes != task.notes or _attributes_differ(before, task):
                of_task += task_differences(before, task)
            if of_task:
                found[j, b] = of_task
    return found


def removal(task: Task) -> Change:
    return Change(ChangeKind.REMOVED, task.text, None, task.number)


def removed_locations(match: PlanMatch) -> list[Location]:
    """Return the locations, in the earlier plan, of tasks that the later plan lacks."""
    remaining = set(match.origins.values())
    return [location for location in task_locations(match.before) if location not in remaining]


def _phase_changes(match: PlanMatch) -> Iterator[Change]:
    """The changes of phases. An unnamed phase with tasks is not reported: its tasks are."""
    before, after = match.before.phases, match.after.phases
    matched_before, matched_after = {i for i, _ in match.pairs}, {j for _, j in match.pairs}
    for i, phase in enumerate(before):
        if i not in matched_before and (phase.name or not phase.tasks):
            yield Change(ChangeKind.PHASE_REMOVED, phase.name)
    for j, phase in enumerate(after):
        if j not in matched_after and (phase.name or not phase.tasks):
            yield Change(ChangeKind.PHASE_ADDED, phase.name)
    in_order = longest_increasing([i for i, _ in match.pairs])
    for i, j in match.pairs:
        if before[i].name != after[j].name:
            yield Change(ChangeKind.PHASE_RENAMED, before[i].name, after[j].name)
        if i not in in_order:
            yield Change(ChangeKind.PHASE_MOVED, after[j].name)


def _status_change(before: Task, after: Task) -> Change:
    if after.status is Status.PENDING:
        kind = ChangeKind.PAUSED if before.status is Status.IN_PROGRESS else ChangeKind.REOPENED
    else:
        kind = _VERBS.get(after.status, ChangeKind.MARKED if after.status.is_open else ChangeKind.CLOSED)
    return Change(kind, after.text, after.status.value if kind in STATUS_NAMING_KINDS else None, after.number)


def task_differences(before: Task, after: Task) -> Iterator[Change]:
    """Yield the changes of a task's status, notes and attributes."""
    if before.status is not after.status:
        yield _status_change(before, after)
    shared = 0
    while before.notes[shared : shared + 1] == after.notes[shared : shared + 1] != ():
        shared += 1
    for note in before.notes[shared:]:
        yield Change(ChangeKind.UNNOTED, after.text, note, after.number)
    for note in after.notes[shared:]:
        yield Change(ChangeKind.NOTED, after.text, note, after.number)
    if _attributes_differ(before, after):
        yield from _attribute_changes(before, after)


def plan_changes(before: Plan, after: Plan) -> Iterator[Change]:
    """Yield the changes of the plan's own check and of its result."""
    if (before.check, before.proof) != (after.check, after.proof):
        for kind, detail in _check_changes(before, after):
            yield Change(kind, "", detail, of_plan=True)


def _attributes_differ(one: Task, other: Task) -> bool:
    return (one.check, one.proof, one.after, one.words) != (other.check, other.proof, other.after, other.words)


def _attribute_changes(before: Task, after: Task) -> Iterator[Change]:
    for kind, detail in _check_changes(before, after):
        yield Change(kind, after.text, detail, after.number)
    if before.after != after.after:
        now = ", ".join(f"#{number}" for number in after.after)
        yield Change(ChangeKind.ORDERED, after.text, f"after {now}" if now else "after no other", after.number)
    for name, kind in _WORDS_SET.items():
        if (words := getattr(after, name)) != getattr(before, name):
            yield Change(kind, after.text, " ".join(words) or "none", after.number)


def _check_changes(before: Task | Plan, after: Task | Plan) -> Iterator[tuple[ChangeKind, str]]:
    was, now, proof = before.check, after.check, after.proof
    match was, now:
        case Check(), None:
            yield ChangeKind.CHECK_REMOVED, f"was {_command(was)}"
        case None, Check():
            yield ChangeKind.CHECK_SET, _command(now)
        case Check(), Check() if was != now:
            yield ChangeKind.CHECK_CHANGED, f"{_command(now)} (was {_command(was)})"
    if proof is not None and proof != before.proof:
        yield _RESULTS[proof.result], proof.reason or f"$ {check_text(Check(proof.command))}"
    elif proof is None and before.proof is not None and was is not None and was == now:
        yield ChangeKind.CHECK_RESULT_REMOVED, _command(was)


def _command(check: Check) -> str:
    """A check as it is typed, with the options that are not the default."""
    options = [f"in {check.folder}"] if check.folder else []
    options += [f"{check.seconds} s"] if check.seconds != DEFAULT_SECONDS else []
    options += [f"{check.retries} retries"] if check.retries else []
    options += [f"watches {' '.join(check.watches)}"] if check.watches else []
    return f"$ {check_text(check)}" + (f" [{', '.join(options)}]" if options else "")
