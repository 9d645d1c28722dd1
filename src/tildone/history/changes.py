"""What became of a plan, as a person would tell it."""

from __future__ import annotations

from enum import Enum

from tildone.core.plan import Status, Task
from tildone.history.matching import longest_increasing, match_plans, task_at, task_locations
from tildone.typing import TYPE_CHECKING
from tildone.value import value
from tildone.views.plain_list import UNNAMED_PHASE
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tildone.core.plan import Plan
    from tildone.history.matching import Location, PlanMatch

MIN_GROUP_SIZE = 4


class ChangeKind(Enum):
    """The kinds of change in the order they are told: what is said of one, and of many."""

    PHASE_REMOVED = ("removed phase", "removed {} phases")
    PHASE_RENAMED = ("renamed phase", "renamed {} phases")
    PHASE_ADDED = ("added phase", "added {} phases")
    PHASE_MOVED = ("moved phase", "moved {} phases")
    REMOVED = ("removed", "removed {} tasks")
    ADDED = ("added", "added {} tasks")
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

    def __init__(self, verb: str, count: str) -> None:
        self.verb = verb
        self.count = count


_ORDER = {what: index for index, what in enumerate(ChangeKind)}
_VERBS = {
    Status.IN_PROGRESS: ChangeKind.STARTED,
    Status.COMPLETED: ChangeKind.COMPLETED,
    Status.ABANDONED: ChangeKind.DROPPED,
    Status.BLOCKED: ChangeKind.BLOCKED,
}
_WITH_STATUS = frozenset({ChangeKind.CLOSED, ChangeKind.MARKED})
"""What is said of statuses that have no verb of their own: the status is named."""


@value
class Change:
    """One difference: of which kind, to which task or phase, and the new name, the new phase or the note."""

    what: ChangeKind
    subject: str
    detail: str | None = None


def changes(before: Plan, after: Plan) -> list[Change]:
    """How the two plans differ; nothing if and only if they are equal.

    A task is known by its text, a phase by its name or by sharing a task. What was added was added pending, so a
    task that came in progress was also started.
    """
    return changes_in(match_plans(before, after))


def changes_in(match: PlanMatch) -> list[Change]:
    """How two plans differ that were matched already, in the order it is told."""
    found = [
        *_phase_changes(match),
        *(Change(ChangeKind.REMOVED, task_at(match.before, spot).text) for spot in removed_locations(match)),
    ]
    for more in task_changes(match).values():
        found += more
    return sorted(found, key=lambda change: _ORDER[change.what])


def task_changes(match: PlanMatch) -> dict[Location, list[Change]]:
    """What happened to each task of the later plan that anything happened to, by where it is now."""
    found: dict[Location, list[Change]] = {}
    same_phase = {j: i for i, j in match.pairs}
    for j, phase in enumerate(match.after.phases):
        here = [match.origins[j, b] for b in range(len(phase.tasks)) if (j, b) in match.origins]
        in_order = longest_increasing([a for i, a in here if i == same_phase.get(j)])
        for b, task in enumerate(phase.tasks):
            origin = match.origins.get((j, b))
            happened: list[Change] = []
            if origin is None:
                happened.append(Change(ChangeKind.ADDED, task.text))
            elif origin[0] != same_phase.get(j):
                happened.append(Change(ChangeKind.MOVED, task.text, phase.name))
            elif origin[1] not in in_order:
                happened.append(Change(ChangeKind.MOVED, task.text))
            before = Task(task.text) if origin is None else task_at(match.before, origin)
            if before.status is not task.status or before.notes != task.notes:
                happened += task_differences(before, task)
            if happened:
                found[j, b] = happened
    return found


def removed_locations(match: PlanMatch) -> list[Location]:
    """Where the tasks were that are there no more."""
    remaining = set(match.origins.values())
    return [spot for spot in task_locations(match.before) if spot not in remaining]


def change_sentences(found: Sequence[Change]) -> list[str]:
    """The changes as sentences for a screen, many of a kind in one."""
    return [sentence for sentence, _ in grouped_sentences(found)]


def grouped_sentences(found: Sequence[Change]) -> list[tuple[str, list[Change]]]:
    """The same, each sentence with the changes that it tells."""
    said: list[tuple[str, list[Change]]] = []
    for what in ChangeKind:
        alike = [change for change in found if change.what is what]
        said += (
            [(what.count.format(len(alike)), alike)]
            if len(alike) >= MIN_GROUP_SIZE
            else [(_sentence(c), [c]) for c in alike]
        )
    return said


def _sentence(change: Change) -> str:
    subject = f"{change.what.verb} {_named(change.subject)}"
    if change.detail is None:
        return subject
    if change.what in _WITH_STATUS:
        return f"{subject} as {change.detail}"
    if change.what in (ChangeKind.NOTED, ChangeKind.UNNOTED):
        return f"{subject}: {printable(change.detail)}"
    return f"{subject} to {_named(change.detail)}"


def _named(name: str) -> str:
    return f"“{printable(name)}”" if name else UNNAMED_PHASE


def _phase_changes(match: PlanMatch) -> Iterator[Change]:
    """An unnamed phase with tasks comes and goes unsaid: its tasks say enough."""
    before, after = match.before.phases, match.after.phases
    kept, heirs = {i for i, _ in match.pairs}, {j for _, j in match.pairs}
    for i, phase in enumerate(before):
        if i not in kept and (phase.name or not phase.tasks):
            yield Change(ChangeKind.PHASE_REMOVED, phase.name)
    for j, phase in enumerate(after):
        if j not in heirs and (phase.name or not phase.tasks):
            yield Change(ChangeKind.PHASE_ADDED, phase.name)
    in_order = longest_increasing([i for i, _ in match.pairs])
    for i, j in match.pairs:
        if before[i].name != after[j].name:
            yield Change(ChangeKind.PHASE_RENAMED, before[i].name, after[j].name)
        if i not in in_order:
            yield Change(ChangeKind.PHASE_MOVED, after[j].name)


def _change_of_status(before: Task, after: Task) -> Change:
    if after.status is Status.PENDING:
        return Change(ChangeKind.PAUSED if before.status is Status.IN_PROGRESS else ChangeKind.REOPENED, after.text)
    what = _VERBS.get(after.status, ChangeKind.MARKED if after.status.is_open else ChangeKind.CLOSED)
    return Change(what, after.text, after.status.value if what in _WITH_STATUS else None)


def task_differences(before: Task, after: Task) -> Iterator[Change]:
    """What became of a task, wherever it is."""
    if before.status is not after.status:
        yield _change_of_status(before, after)
    shared = 0
    while before.notes[shared : shared + 1] == after.notes[shared : shared + 1] != ():
        shared += 1
    for note in before.notes[shared:]:
        yield Change(ChangeKind.UNNOTED, after.text, note)
    for note in after.notes[shared:]:
        yield Change(ChangeKind.NOTED, after.text, note)
