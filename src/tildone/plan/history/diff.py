"""The difference between two plans: added, removed and changed tasks, by phase, in the plan's order."""

from __future__ import annotations

from difflib import SequenceMatcher
from enum import Enum

from tildone.base import TYPE_CHECKING, replace, value
from tildone.plan.history.changes import (
    ATTRIBUTE_KINDS,
    Change,
    ChangeKind,
    describe_change,
    longest_increasing,
    match_plans,
    plan_changes,
    removed_locations,
    task_at,
    task_changes,
    task_differences,
)
from tildone.plan.model import Plan, progress
from tildone.plan.text.safe import UNNAMED_PHASE, printable, printable_lines
from tildone.plan.text.styles import INDENT, Role, Span, display_width, plain, wrap_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tildone.plan.history.changes import Location, PlanMatch
    from tildone.plan.model import PlanProgress, Task
    from tildone.plan.text.styles import Line

    ChangesByLocation = dict[Location, list[Change]]


MIN_SIMILARITY = 0.6
"""The minimum similarity ratio for a removed and an added task to count as one reworded task."""

MAX_COMPARED_CHARS = 300
"""How many characters of a text are compared; the time is quadratic in their number."""


class DiffSign(Enum):
    ADDED = "+"
    REMOVED = "-"
    CHANGED = "~"


@value
class TaskDiff:
    """A changed task. `was` is the earlier text of a reworded task, `origin` the earlier phase of a moved one.

    `number` is its number, 0 if it has none.

    `what` lists the other changes; notes, moves, and the check, the order and the files have fields of their own.
    """

    sign: DiffSign
    text: str
    was: str | None = None
    what: tuple[ChangeKind, ...] = ()
    moved: bool = False
    origin: str | None = None
    notes: tuple[tuple[DiffSign, str], ...] = ()
    number: int = 0
    attributes: tuple[Change, ...] = ()


@value
class PhaseDiff:
    """A phase with changes, without `sign` if only its tasks changed; `of_plan` are those of the plan's check."""

    name: str
    entries: tuple[TaskDiff, ...]
    sign: DiffSign | None = None
    was: str | None = None
    moved: bool = False
    progress: PlanProgress | None = None
    of_plan: tuple[Change, ...] = ()


def diff_plans(before: Plan, after: Plan) -> list[PhaseDiff]:
    """Return the phases with changes, in the order of the later plan; removed ones at their former place.

    Tasks are matched by text or else by number. A removed task and one added in its place count as one if their texts
    are similar.
    """
    match = match_plans(before, after)
    changed, lost = task_changes(match), removed_locations(match)
    in_order = longest_increasing([i for i, _ in match.pairs])
    of_plan = tuple(plan_changes(before, after))
    sections = [PhaseDiff("", (), DiffSign.CHANGED, of_plan=of_plan)] if of_plan else []
    for i, j in _order(match):
        removed_here = [a for x, a in lost if x == i]
        if j is None:
            phase = before.phases[i or 0]
            entries = [_removed(phase.tasks[a]) for a in removed_here]
            sections.append(PhaseDiff(phase.name, tuple(entries), DiffSign.REMOVED))
            continue
        phase = after.phases[j]
        entries = list(_entries(match, changed, removed_here, i, j))
        moved = i is not None and i not in in_order
        was = before.phases[i].name if i is not None and before.phases[i].name != phase.name else None
        sign = DiffSign.ADDED if i is None else DiffSign.CHANGED if moved or was is not None else None
        sections.append(PhaseDiff(phase.name, tuple(entries), sign, was, moved, progress(Plan((phase,)))))
    return [section for section in sections if section.entries or section.sign]


def _order(match: PlanMatch) -> list[tuple[int | None, int | None]]:
    """The phases of both plans in display order, as pairs of indices into the earlier and the later plan."""
    became = {j: i for i, j in match.pairs}
    order: list[tuple[int | None, int | None]] = [(became.get(j), j) for j in range(len(match.after.phases))]
    for i in range(len(match.before.phases)):
        if i not in became.values():
            earlier = [(other, place) for place, (other, _) in enumerate(order) if other is not None and other < i]
            order.insert(max(earlier)[1] + 1 if earlier else 0, (i, None))
    return order


def _entries(
    match: PlanMatch, changed: ChangesByLocation, removed_here: Sequence[int], i: int | None, j: int
) -> Iterator[TaskDiff]:
    for removed, present in _gaps(match, changed, removed_here, i, j):
        old = [task_at(match.before, (i or 0, a)) for a in removed]
        new = [b for b in present if _is(ChangeKind.ADDED, changed.get((j, b)))]
        reworded = _reworded(old, [task_at(match.after, (j, b)) for b in new])
        yield from (_removed(task) for number, task in enumerate(old) if number not in reworded.values())
        former = {new[number]: old[earlier] for number, earlier in reworded.items()}
        for b in present:
            if b in former:
                before, after = former[b], task_at(match.after, (j, b))
                yield _task_diff(DiffSign.CHANGED, after, list(task_differences(before, after)), before.text)
            elif (j, b) in changed:
                yield _entry(match, (j, b), changed[j, b])


def _gaps(
    match: PlanMatch, changed: ChangesByLocation, removed_here: Sequence[int], i: int | None, j: int
) -> Iterator[tuple[list[int], list[int]]]:
    """A phase, split after each task that kept its place: the tasks removed before it, and those present up to it."""
    waiting, present = list(removed_here), list[int]()
    for b in range(len(match.after.phases[j].tasks)):
        present.append(b)
        origin = match.origins.get((j, b))
        if origin and origin[0] == i and not _is(ChangeKind.MOVED, changed.get((j, b))):
            yield [a for a in waiting if a < origin[1]], present
            waiting, present = [a for a in waiting if a > origin[1]], []
    yield waiting, present


def _reworded(old: Sequence[Task], new: Sequence[Task]) -> dict[int, int]:
    """The new tasks that are rewordings of old ones, by index."""
    found: dict[int, int] = {}
    for number, task in enumerate(new):
        for earlier, former in enumerate(old):
            one, other = (text[:MAX_COMPARED_CHARS].lower() for text in (former.text, task.text))
            pair = SequenceMatcher(None, one, other, autojunk=False)
            ratios = (pair.real_quick_ratio, pair.quick_ratio, pair.ratio)
            if earlier not in found.values() and all(ratio() >= MIN_SIMILARITY for ratio in ratios):
                found[number] = earlier
                break
    return found


def _removed(task: Task) -> TaskDiff:
    return TaskDiff(DiffSign.REMOVED, task.text, number=task.number)


def _entry(match: PlanMatch, spot: Location, found: list[Change]) -> TaskDiff:
    sign = DiffSign.ADDED if _is(ChangeKind.ADDED, found) else DiffSign.CHANGED
    moved = _is(ChangeKind.MOVED, found)
    # Only a move to another phase has a detail.
    other_phase = any(change.kind is ChangeKind.MOVED and change.detail is not None for change in found)
    origin = match.before.phases[match.origins[spot][0]].name if other_phase else None
    was = next((change.subject for change in found if change.kind is ChangeKind.RENAMED), None)
    return replace(_task_diff(sign, task_at(match.after, spot), found, was), moved=moved, origin=origin)


def _task_diff(sign: DiffSign, task: Task, found: Sequence[Change], was: str | None) -> TaskDiff:
    excluded = {ChangeKind.ADDED, ChangeKind.RENAMED, ChangeKind.MOVED, *_NOTE_SIGNS, *ATTRIBUTE_KINDS}
    return TaskDiff(
        sign,
        task.text,
        was,
        tuple(change.kind for change in found if change.kind not in excluded),
        notes=tuple((_NOTE_SIGNS[each.kind], each.detail or "") for each in found if each.kind in _NOTE_SIGNS),
        number=task.number,
        attributes=tuple(change for change in found if change.kind in ATTRIBUTE_KINDS),
    )


def _is(what: ChangeKind, found: Sequence[Change] | None) -> bool:
    return any(change.kind is what for change in found or ())


MIN_COLUMNS = 20

_ROLES = {DiffSign.ADDED: Role.SUCCESS, DiffSign.REMOVED: Role.ERROR, DiffSign.CHANGED: Role.WARNING}
_NOTE_SIGNS = {ChangeKind.NOTED: DiffSign.ADDED, ChangeKind.UNNOTED: DiffSign.REMOVED}


def diff_lines(sections: Sequence[PhaseDiff], columns: int | None = None) -> list[Line]:
    """Return each phase with its tasks and diff signs, fitted to `columns`; a flat list has no heading."""
    width = None if columns is None else max(columns, MIN_COLUMNS)
    phases = [section for section in sections if not section.of_plan]
    headed = len(phases) > 1 or any(section.name or section.was or not section.entries for section in phases)
    lines: list[Line] = []
    for section in sections:
        if section.of_plan:
            said = ", ".join(map(describe_change, section.of_plan))
            lead = (Span(f"{DiffSign.CHANGED.value} ", _ROLES[DiffSign.CHANGED]),)
            lines += _fitted(lead, Span("the plan", Role.TEXT), f": {said}", width)
            continue
        lines += [()] if lines else []
        lines += _heading(section, width) if headed else ()
        for entry in section.entries:
            lines += _entry_lines(entry, Span("  " if headed else ""), width)
    return lines


def diff_to_json(sections: Sequence[PhaseDiff]) -> list[dict[str, object]]:
    return [
        {
            "phase": section.name,
            "sign": section.sign and section.sign.value,
            "was": section.was,
            "moved": section.moved,
            "tasks": [_entry_data(entry) for entry in section.entries],
            **({"what": [*map(describe_change, section.of_plan)]} if section.of_plan else {}),
        }
        for section in sections
    ]


def _entry_data(entry: TaskDiff) -> dict[str, object]:
    return {
        "number": entry.number or None,
        "text": entry.text,
        "sign": entry.sign.value,
        "was": entry.was,
        "moved": entry.moved,
        "from": entry.origin,
        "what": [*(what.verb for what in entry.what), *map(describe_change, entry.attributes)],
        "notes": [{"sign": sign.value, "note": note} for sign, note in entry.notes],
    }


def _heading(section: PhaseDiff, width: int | None) -> Iterator[Line]:
    sign = (Span(f"{section.sign.value} ", _ROLES[section.sign]),) if section.sign else ()
    remarks = [f"was “{printable(section.was)}”"] if section.was else ["had no name"] if section.was == "" else []
    remarks += ["moved"] if section.moved else []
    progress = f" {section.progress.closed}/{section.progress.total}" if section.progress else ""
    suffix = progress + (f" ({', '.join(remarks)})" if remarks else "")
    yield from _fitted(sign, Span(printable(section.name) or UNNAMED_PHASE, Role.ACCENT, bold=True), suffix, width)


def _entry_lines(entry: TaskDiff, indent: Span, width: int | None) -> Iterator[Line]:
    lead = (indent, Span(f"{entry.sign.value} ", _ROLES[entry.sign]))
    remarks = [what.verb for what in entry.what]
    if entry.origin is not None:
        remarks.append(f"moved from {printable(entry.origin) or UNNAMED_PHASE}")
    elif entry.moved:
        remarks.append("moved")
    if entry.was is not None:
        remarks.append(f"was “{printable(entry.was)}”")
    remarks += map(describe_change, entry.attributes)
    number = f"#{entry.number} " if entry.number else ""
    text = Span(number + printable(entry.text), Role.DIM if entry.sign is DiffSign.REMOVED else Role.TEXT)
    yield from _fitted(lead, text, f": {', '.join(remarks)}" if remarks else "", width)
    for sign, note in entry.notes:
        below = (indent, Span("  "), Span(f"{sign.value} ", _ROLES[sign]))
        for line in printable_lines(note):
            yield from _fitted((*below, Span("│ ", Role.DIM)), Span(line, Role.MUTED), "", width)


def _fitted(lead: Line, text: Span, suffix: str, width: int | None) -> Iterator[Line]:
    """Wrapped text after its lead, with a suffix after the last line or, if that does not fit, below it."""
    margin = display_width(plain(lead))
    *above, last = [plain((text,))] if width is None else wrap_text(plain((text,)), width - margin)
    beside = width is None or margin + display_width(last + suffix) <= width
    before = lead
    for line in above:
        yield (*before, replace(text, text=line))
        before = (Span(" " * margin),)
    yield (*before, replace(text, text=last), *((Span(suffix, Role.MUTED),) if beside and suffix else ()))
    if width is not None and not beside:
        under = Span(" " * (margin + len(INDENT)))
        for line in wrap_text(suffix.lstrip(": "), width - margin - len(INDENT)):
            yield under, Span(line, Role.MUTED)
