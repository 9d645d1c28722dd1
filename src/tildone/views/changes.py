"""What became of a plan, as a person would tell it."""

from bisect import bisect_left
from enum import Enum

from tildone.core.plan import Status, Task
from tildone.value import value
from tildone.views.harmless import seen
from tildone.views.plain import UNNAMED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tildone.core.plan import Phase, Plan

    Pairs = list[tuple[int, int]]
    Spot = tuple[int, int]
    Chain = tuple[int, "Chain | None"]

MANY = 4


class What(Enum):
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
    REOPENED = ("reopened", "reopened {} tasks")
    PAUSED = ("put back", "put back {} tasks")
    STARTED = ("started", "started {} tasks")
    NOTED = ("noted on", "added {} notes")
    UNNOTED = ("took a note off", "took off {} notes")

    def __init__(self, verb: str, count: str) -> None:
        self.verb = verb
        self.count = count


_ORDER = {what: index for index, what in enumerate(What)}
_VERBS = {
    Status.IN_PROGRESS: What.STARTED,
    Status.COMPLETED: What.COMPLETED,
    Status.ABANDONED: What.DROPPED,
}


@value
class Change:
    """One difference: of which kind, to which task or phase, and the new name, the new phase or the note."""

    what: What
    subject: str
    detail: str | None = None


def changes(before: "Plan", after: "Plan") -> list[Change]:
    """How the two plans differ; nothing if and only if they are equal.

    A task is known by its text, a phase by its name or by sharing a task. What was added was added pending, so a
    task that came in progress was also started.
    """
    pairs = _phase_pairs(before.phases, after.phases)
    origins = _origins(before.phases, after.phases, pairs)
    found = [*_phase_changes(before.phases, after.phases, pairs), *_task_changes(before, after, pairs, origins)]
    return sorted(found, key=lambda change: _ORDER[change.what])


def told(found: "Sequence[Change]") -> list[str]:
    """The changes as sentences for a screen, many of a kind in one."""
    said: list[str] = []
    for what in What:
        alike = [change for change in found if change.what is what]
        said += [what.count.format(len(alike))] if len(alike) >= MANY else map(_sentence, alike)
    return said


def _sentence(change: Change) -> str:
    subject = f"{change.what.verb} {_named(change.subject)}"
    if change.detail is None:
        return subject
    if change.what in (What.NOTED, What.UNNOTED):
        return f"{subject}: {seen(change.detail)}"
    return f"{subject} to {_named(change.detail)}"


def _named(name: str) -> str:
    return f"“{seen(name)}”" if name else UNNAMED


def _phase_pairs(before: "Sequence[Phase]", after: "Sequence[Phase]") -> "Pairs":
    """Which phase became which: those of one name in turn, then those that share a task."""
    pairs = _in_turn([phase.name for phase in before], [phase.name for phase in after])
    old = [i for i in range(len(before)) if i not in {i for i, _ in pairs}]
    new = [j for j in range(len(after)) if j not in {j for _, j in pairs}]
    for i in old:
        texts = set(_texts(before[i]))
        heir = next((j for j in new if texts.intersection(_texts(after[j]))), None)
        if heir is not None:
            new.remove(heir)
            pairs.append((i, heir))
    return sorted(pairs, key=lambda pair: pair[1])


def _origins(before: "Sequence[Phase]", after: "Sequence[Phase]", pairs: "Pairs") -> "dict[Spot, Spot]":
    """Where each task of `after` was before: in the same phase if it can be, else in any."""
    origins = {(j, b): (i, a) for i, j in pairs for a, b in _in_turn(_texts(before[i]), _texts(after[j]))}
    taken = set(origins.values())
    old = [spot for spot in _spots(before) if spot not in taken]
    new = [spot for spot in _spots(after) if spot not in origins]
    crossed = _in_turn([_at(before, spot).text for spot in old], [_at(after, spot).text for spot in new])
    return origins | {new[b]: old[a] for a, b in crossed}


def _phase_changes(before: "Sequence[Phase]", after: "Sequence[Phase]", pairs: "Pairs") -> "Iterator[Change]":
    """An unnamed phase with tasks comes and goes unsaid: its tasks say enough."""
    kept, heirs = {i for i, _ in pairs}, {j for _, j in pairs}
    for i, phase in enumerate(before):
        if i not in kept and (phase.name or not phase.tasks):
            yield Change(What.PHASE_REMOVED, phase.name)
    for j, phase in enumerate(after):
        if j not in heirs and (phase.name or not phase.tasks):
            yield Change(What.PHASE_ADDED, phase.name)
    in_order = _longest_rising([i for i, _ in pairs])
    for i, j in pairs:
        if before[i].name != after[j].name:
            yield Change(What.PHASE_RENAMED, before[i].name, after[j].name)
        if i not in in_order:
            yield Change(What.PHASE_MOVED, after[j].name)


def _task_changes(before: "Plan", after: "Plan", pairs: "Pairs", origins: "dict[Spot, Spot]") -> "Iterator[Change]":
    remaining = set(origins.values())
    for spot in _spots(before.phases):
        if spot not in remaining:
            yield Change(What.REMOVED, _at(before.phases, spot).text)
    same_phase = {j: i for i, j in pairs}
    for j, phase in enumerate(after.phases):
        here = [origins[j, b] for b in range(len(phase.tasks)) if (j, b) in origins]
        in_order = _longest_rising([a for i, a in here if i == same_phase.get(j)])
        for b, task in enumerate(phase.tasks):
            origin = origins.get((j, b))
            if origin is None:
                yield Change(What.ADDED, task.text)
                yield from _differences(Task(task.text), task)
                continue
            if origin[0] != same_phase.get(j):
                yield Change(What.MOVED, task.text, phase.name)
            elif origin[1] not in in_order:
                yield Change(What.MOVED, task.text)
            yield from _differences(_at(before.phases, origin), task)


def _differences(before: Task, after: Task) -> "Iterator[Change]":
    if before.status is not after.status:
        back = What.PAUSED if before.status is Status.IN_PROGRESS else What.REOPENED
        yield Change(_VERBS.get(after.status, back), after.text)
    shared = 0
    while before.notes[shared : shared + 1] == after.notes[shared : shared + 1] != ():
        shared += 1
    for note in before.notes[shared:]:
        yield Change(What.UNNOTED, after.text, note)
    for note in after.notes[shared:]:
        yield Change(What.NOTED, after.text, note)


def _in_turn(before: "Sequence[str]", after: "Sequence[str]") -> "Pairs":
    """The positions of equal names: the first with the first, the second with the second."""
    waiting: dict[str, list[int]] = {}
    for i in reversed(range(len(before))):
        waiting.setdefault(before[i], []).append(i)
    return [(waiting[name].pop(), j) for j, name in enumerate(after) if waiting.get(name)]


def _longest_rising(numbers: "Sequence[int]") -> set[int]:
    """The most of these different numbers that already stand in order; the others are those that moved."""
    ends: list[int] = []
    chains: list[Chain] = []
    for number in numbers:
        length = bisect_left(ends, number)
        ends[length : length + 1] = [number]
        chains[length : length + 1] = [(number, chains[length - 1] if length else None)]
    rising = set()
    link = chains[-1] if chains else None
    while link:
        number, link = link
        rising.add(number)
    return rising


def _texts(phase: "Phase") -> list[str]:
    return [task.text for task in phase.tasks]


def _spots(phases: "Sequence[Phase]") -> "list[Spot]":
    return [(i, a) for i, phase in enumerate(phases) for a in range(len(phase.tasks))]


def _at(phases: "Sequence[Phase]", spot: "Spot") -> Task:
    return phases[spot[0]].tasks[spot[1]]
