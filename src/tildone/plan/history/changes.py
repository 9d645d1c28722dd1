"""The changes between two plans: which tasks of both are the same, what differs as facts, and these as sentences.

Also how long tasks were in progress.
"""

from __future__ import annotations

from bisect import bisect_left
from enum import Enum

from tildone.base import TYPE_CHECKING, replace, value
from tildone.plan.events import PlanChanged
from tildone.plan.model import DEFAULT_SECONDS, WORD_FIELDS, Check, Phase, Plan, Result, Status, Task, numbered
from tildone.plan.text.proofs import check_text
from tildone.plan.text.safe import UNNAMED_PHASE, clipped, printable, single_line

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from tildone.plan.events import Author, Event

    Pairs = list[tuple[int, int]]
    StartTimes = dict["Location", int]
    Chain = tuple[int, "Chain | None"]

Location = tuple[int, int]


@value
class PlanMatch:
    """Two plans and the `pairs` of indices of common phases; `origins` maps later to earlier locations of tasks."""

    before: Plan
    after: Plan
    pairs: Pairs
    origins: dict[Location, Location]

    def earlier(self, location: Location) -> Task | None:
        """Return the earlier version of the task at a location of `after`; None if it is new."""
        origin = self.origins.get(location)
        return None if origin is None else task_at(self.before, origin)


def match_plans(before: Plan, after: Plan) -> PlanMatch:
    """Match two plans: tasks by text or else by number, phases by name or by a shared task."""
    pairs = _phase_pairs(before.phases, after.phases)
    return PlanMatch(before, after, pairs, _origins(before, after, pairs))


def differing_in_place(before: Plan, after: Plan) -> list[Location] | None:
    """Return where tasks differ, which may be in owners only; None if more than the states of tasks has changed.

    That is if phases or tasks were added, removed, moved or renamed. What is found costs little for each task that is
    the same object in both plans.
    """
    if [phase.name for phase in before.phases] != [phase.name for phase in after.phases]:
        return None
    found: list[Location] = []
    for i, (was, now) in enumerate(zip(before.phases, after.phases, strict=True)):
        if was is now or was.tasks is now.tasks:
            continue
        if len(was.tasks) != len(now.tasks):
            return None
        pairs = [(a, *pair) for a, pair in enumerate(zip(was.tasks, now.tasks, strict=True)) if pair[0] is not pair[1]]
        if any(one.text != other.text or one.number != other.number or not one.number for _, one, other in pairs):
            return None
        found += [(i, a) for a, _, _ in pairs]
    return found


def narrowed(before: Plan, after: Plan, locations: Sequence[Location]) -> tuple[Plan, Plan]:
    """Return two plans with only the tasks at some locations, as one phase in this order."""

    def only(plan: Plan) -> Plan:
        return replace(plan, phases=(Phase("", tuple(task_at(plan, location) for location in locations)),))

    return only(before), only(after)


def task_locations(plan: Plan) -> list[Location]:
    return [(i, a) for i, phase in enumerate(plan.phases) for a in range(len(phase.tasks))]


def task_at(plan: Plan, location: Location) -> Task:
    return plan.phases[location[0]].tasks[location[1]]


def longest_increasing(numbers: Sequence[int]) -> set[int]:
    """Return the longest increasing subsequence of distinct numbers; the others are those that moved."""
    if list(numbers) == sorted(numbers):
        return set(numbers)
    ends: list[int] = []
    chains: list[Chain] = []
    for number in numbers:
        length = bisect_left(ends, number)
        ends[length : length + 1] = [number]
        chains[length : length + 1] = [(number, chains[length - 1] if length else None)]
    longest = set()
    link: Chain | None = chains[-1]
    while link:
        number, link = link
        longest.add(number)
    return longest


def _phase_pairs(before: Sequence[Phase], after: Sequence[Phase]) -> Pairs:
    """Pairs of matching phases: by name, in order, then by a shared task."""
    pairs = _pair_equal([phase.name for phase in before], [phase.name for phase in after])
    old = [i for i in range(len(before)) if i not in {i for i, _ in pairs}]
    new = [j for j in range(len(after)) if j not in {j for _, j in pairs}]
    for i in old:
        texts = set(_texts(before[i]))
        successor = next((j for j in new if texts.intersection(_texts(after[j]))), None)
        if successor is not None:
            new.remove(successor)
            pairs.append((i, successor))
    return sorted(pairs, key=lambda pair: pair[1])


def _origins(before: Plan, after: Plan, pairs: Pairs) -> dict[Location, Location]:
    """The earlier location of each task of `after`.

    That is the task with the same number and text, else with the same text in its phase, else with the same text in any
    phase, else with the same number: it was renamed. Numbers alone come last, because the tasks of plans of earlier
    versions are numbered in their order whenever such a plan is read.
    """
    earlier_phase = {j: i for i, j in pairs}
    origins: dict[Location, Location] = {}
    for key in _KEYS:
        taken = set(origins.values())
        old = [at for at in task_locations(before) if at not in taken]
        new = [at for at in task_locations(after) if at not in origins]
        keys = [key(at[0], task_at(before, at)) for at in old]
        wanted = [key(earlier_phase.get(at[0]), task_at(after, at)) for at in new]
        origins |= {new[b]: old[a] for a, b in _pair_equal(keys, wanted)}
    return origins


_KEYS: tuple[Callable[[int | None, Task], Hashable], ...] = (
    lambda _, task: (task.number, task.text) if task.number else None,
    lambda phase, task: None if phase is None else (phase, task.text),
    lambda _, task: task.text,
    lambda _, task: task.number or None,
)
"""Functions of the index of a phase in the earlier plan, and a task in it; None matches nothing."""


def _pair_equal(before: Sequence[Hashable], after: Sequence[Hashable]) -> Pairs:
    """Pairs of indices of equal keys: the first with the first, the second with the second."""
    waiting: dict[Hashable, list[int]] = {}
    for i in reversed(range(len(before))):
        waiting.setdefault(before[i], []).append(i)
    return [(waiting[key].pop(), j) for j, key in enumerate(after) if key is not None and waiting.get(key)]


def _texts(phase: Phase) -> list[str]:
    return [task.text for task in phase.tasks]


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

_RESULTS = {result: ChangeKind[f"CHECK_{result.name}"] for result in Result}
_WORDS_SET = {name: ChangeKind[f"{field.thing.upper()}_SET"] for name, field in WORD_FIELDS.items()}
ATTRIBUTE_KINDS = frozenset(kind for kind in ChangeKind if kind.name.startswith("CHECK_"))
ATTRIBUTE_KINDS |= {ChangeKind.ORDERED, *_WORDS_SET.values()}
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


def task_differences(before: Task, after: Task) -> Iterator[Change]:
    if before.status is not after.status:
        if after.status is Status.PENDING:
            kind = ChangeKind.PAUSED if before.status is Status.IN_PROGRESS else ChangeKind.REOPENED
        else:
            kind = _VERBS.get(after.status, ChangeKind.MARKED if after.status.is_open else ChangeKind.CLOSED)
        detail = after.status.value if kind in STATUS_NAMING_KINDS else None
        yield Change(kind, after.text, detail, after.number)
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


MIN_GROUP_SIZE = 4
"""How many changes of one kind are replaced by a sentence with their number."""


def change_sentences(found: Sequence[Change], *, numbers: bool = True) -> list[str]:
    """Return the changes as sentences, many of one kind as one; without `numbers` for a model that counts positions."""
    return [sentence for sentence, _ in grouped_sentences(found, numbers=numbers)]


def grouped_sentences(found: Sequence[Change], *, numbers: bool = True) -> list[tuple[str, list[Change]]]:
    """Return the same sentences, each with the changes that it describes."""
    grouped: list[tuple[str, list[Change]]] = []
    for kind in ChangeKind:
        alike = [change for change in found if change.kind is kind]
        grouped += (
            [(kind.count.format(len(alike)), alike)]
            if len(alike) >= MIN_GROUP_SIZE
            else [(_sentence(change, numbers=numbers), [change]) for change in alike]
        )
    return grouped


_TOLD = {
    ChangeKind.COMPLETED: "✓ Done",
    ChangeKind.DROPPED: "✗ Dropped",
    ChangeKind.BLOCKED: "! Blocked",
    ChangeKind.ADDED: "+ Added",
    ChangeKind.STARTED: "▸ Started",
    ChangeKind.REMOVED: "− Removed",
    ChangeKind.REOPENED: "– Open again",
    ChangeKind.PAUSED: "– Put back",
    ChangeKind.RENAMED: "~ Renamed",
    ChangeKind.MOVED: "↕ Moved",
    ChangeKind.NOTED: "· Noted",
    ChangeKind.CHECK_SET: "$ Check set",
    ChangeKind.CHECK_CHANGED: "$ Check changed",
    ChangeKind.CHECK_REMOVED: "$ Check removed",
    ChangeKind.ORDERED: "↕ Ordered",
    ChangeKind.FILES_SET: "· Files set",
}
"""How a person is told what a call has changed, with its sign, the most important first."""

MAX_TOLD, MAX_TOLD_TASKS, MAX_TOLD_CHARACTERS = 4, 3, 120
"""How many lines tell of one call, of how many tasks each, and how much of the text of a task."""


def told_changes(found: Sequence[Change]) -> list[str]:
    """Return what a call has changed in the plan as a few lines: `✓ Done: Write the parser`, `+ Added 5: A; B; C …`."""
    lines = [line for kind in _TOLD if (line := _told(kind, [change for change in found if change.kind is kind]))]
    left = len(lines) - MAX_TOLD
    return [*lines[: MAX_TOLD - 1], f"… and {left + 1} other changes"] if left > 0 else lines


def _told(kind: ChangeKind, alike: Sequence[Change]) -> str:
    if not alike:
        return ""
    told = {ChangeKind.RENAMED, ChangeKind.NOTED}
    texts = [change.detail or "" if kind in told else change.subject or "the plan" for change in alike]
    named = "; ".join(clipped(printable(single_line(text)), MAX_TOLD_CHARACTERS) for text in texts[:MAX_TOLD_TASKS])
    count, more = (f" {len(alike)}" if len(alike) > 1 else ""), (" …" if len(alike) > MAX_TOLD_TASKS else "")
    return f"{_TOLD[kind]}{count}: {named}{more}"


def describe_change(change: Change) -> str:
    """Describe a change without its subject, for a list below the task that changed."""
    match change.kind:
        case ChangeKind.NOTED:
            return f"noted: {printable(change.detail or '')}"
        case ChangeKind.UNNOTED:
            return f"took off the note: {printable(change.detail or '')}"
        case ChangeKind.CLOSED | ChangeKind.MARKED:
            return f"{change.kind.verb} as {change.detail}"
        case ChangeKind.MOVED if change.detail:
            return f"moved to {printable(change.detail)}"
        case ChangeKind.RENAMED:
            return f"renamed; it was {_named(change.subject)}"
        case ChangeKind.ORDERED:
            return f"ordered {change.detail}"
        case kind if kind in ATTRIBUTE_KINDS:
            return f"{kind.verb.rpartition(' ')[0]}: {printable(change.detail or '')}"
        case _:
            return change.kind.verb


def _sentence(change: Change, *, numbers: bool) -> str:
    number = f"#{change.number} " if change.number and numbers else ""
    named = "the plan" if change.of_plan else f"{number}{_named(change.subject)}"
    subject = f"{change.kind.verb} {named}"
    if change.detail is None:
        return subject
    if change.kind in STATUS_NAMING_KINDS:
        return f"{subject} as {change.detail}"
    if change.kind is ChangeKind.ORDERED:
        return f"{subject} {change.detail}"
    if change.kind in (ChangeKind.NOTED, ChangeKind.UNNOTED) or change.kind in ATTRIBUTE_KINDS:
        return f"{subject}: {printable(change.detail)}"
    return f"{subject} to {_named(change.detail)}"


def _named(name: str) -> str:
    return f"“{printable(name)}”" if name else UNNAMED_PHASE


def changes_by_others(
    seen: Plan, plan: Plan, newest_first: Sequence[Event], since: str | None, own: Author
) -> list[Change]:
    """Return the changes from the plan `seen`, at the event `since`, to `plan`, without those of the agent `own`.

    A change is the agent's if it has made one of the same kind to the same task. If `since` is not among the events,
    all changes are returned: too much was changed since to be told apart, or the history was moved.
    """
    found = changes(seen, plan)
    index = next((i for i, event in enumerate(newest_first) if event.id == since), None)
    if index is None:
        return found
    own_keys: set[tuple[ChangeKind, int | str]] = set()
    before = seen
    for event in reversed(newest_first[:index]):
        if not isinstance(event.fact, PlanChanged):
            continue
        after = numbered(event.fact.plan)
        if own.agent and event.author.agent == own.agent:
            own_keys |= {_key(change) for change in changes(before, after)}
        before = after
    return [change for change in found if _key(change) not in own_keys]


def _key(change: Change) -> tuple[ChangeKind, int | str]:
    return change.kind, change.number or change.subject


ENDING_KINDS = frozenset({ChangeKind.COMPLETED, ChangeKind.DROPPED, ChangeKind.CLOSED})
ENDING_KINDS |= {ChangeKind.BLOCKED, ChangeKind.MARKED, ChangeKind.PAUSED}
"""The kinds of change that end a task's time in progress."""


def in_progress_since(match: PlanMatch, earlier: StartTimes, at: int) -> StartTimes:
    """Return the known start times of the tasks in progress; `earlier` are those of the earlier plan."""
    found: StartTimes = {}
    for location in task_locations(match.after):
        if task_at(match.after, location).status is Status.IN_PROGRESS:
            earlier_task = match.earlier(location)
            started = earlier_task is None or earlier_task.status is not Status.IN_PROGRESS
            since = at if started else earlier.get(match.origins[location])
            if since is not None:
                found[location] = since
    return found


def finished_durations(match: PlanMatch, earlier: StartTimes, at: int) -> StartTimes:
    """Return, by later location, the known times in progress of tasks that no longer are; none if a clock went back."""
    return {
        location: at - earlier[origin]
        for location, origin in match.origins.items()
        if earlier.get(origin, at + 1) <= at and task_at(match.after, location).status is not Status.IN_PROGRESS
    }
