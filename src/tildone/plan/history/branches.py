"""The branches of a session: the end of each, where it forked from the current branch, and its changes since."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from tildone.base import value
from tildone.plan.events import Event, PlanChanged, ancestors, by_id, labels, leaves
from tildone.plan.history.authors import who
from tildone.plan.history.changes import change_sentences, changes
from tildone.plan.history.refs import ROOT, short_ids
from tildone.plan.history.timeline import HeadRelation
from tildone.plan.model import Plan, PlanProgress, progress
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import Line, Role, Span, clip_line, hanging_lines

Known = dict[str, Event]


@value
class Branch:
    """A branch, identified by `end`, its newest plan change; None if it has none.

    `label` is the nearest label, `since` changes before the end. `fork_point` is the last event shared with the current
    branch, None if they share none; `changes` describes the changes since then. `continues_current` means that the
    branch continues from the current plan.
    """

    end: Event | None
    progress: PlanProgress
    label: str | None = None
    since: int = 0
    fork_point: str | None = None
    continues_current: bool = False
    changes: tuple[str, ...] = ()
    current: bool = False


def branches(events: Iterable[Event], head: str | None) -> list[Branch]:
    """Return the current branch, then the others, newest first. Only changes of the plan make a branch."""
    known = by_id(events)
    names = labels(known.values())
    on_current = {event.id for event in ancestors(known, head)}
    current = _newest_change(known, head)
    found = [Branch(current, progress(_plan(current)), *_nearest_label(known, head, None, names), current=True)]
    for tip in _tips(known, on_current):
        fork_point = next((event.id for event in ancestors(known, tip.id) if event.id in on_current), None)
        shared = _newest_change(known, fork_point)
        sentences = change_sentences(changes(_plan(shared), _plan(tip)))
        name = _nearest_label(known, tip.id, fork_point, names)
        found.append(Branch(tip, progress(_plan(tip)), *name, fork_point, shared is current, tuple(sentences)))
    return found


MAX_CHANGES = 4
"""How many changes of a branch are listed."""


def branch_lines(
    found: Iterable[Branch], ids: Iterable[str], when: Callable[[int], str], columns: int | None = None
) -> list[Line]:
    """Return a line for each branch, with its fork point and changes; short ids are unique among `ids`."""
    short = short_ids(ids)
    lines: list[Line] = []
    for branch in found:
        end = branch.end
        name = "" if branch.label is None else printable(branch.label) + (f"+{branch.since}" if branch.since else "")
        lead = (
            Span((HeadRelation.HEAD if branch.current else HeadRelation.ELSEWHERE).value, Role.ACCENT),
            Span(f" {printable(short[end.id]) if end else ROOT}", Role.WARNING),
            Span(f"  {when(end.at)}  {who(end)}" if end else "", Role.MUTED),
            Span(f"  {branch.progress.closed}/{branch.progress.total}"),
        )
        lines += hanging_lines(lead, [(Span(name, Role.ACCENT), ())], columns) if name else [lead]
        lines += [] if branch.current else _since(branch, short)
    return lines if columns is None else [clip_line(line, columns) for line in lines]


def _since(branch: Branch, short: Mapping[str, str]) -> Iterator[Line]:
    place = ROOT if branch.fork_point is None else printable(short[branch.fork_point])
    yield (Span("    goes on from here:" if branch.continues_current else f"    from {place}:", Role.MUTED),)
    changes = branch.changes or ("left the plan as it was",)
    for text in changes[:MAX_CHANGES]:
        yield Span("      "), Span(text, Role.TEXT)
    if len(changes) > MAX_CHANGES:
        yield (Span(f"      and {len(changes) - MAX_CHANGES} more", Role.MUTED),)


def _tips(known: Known, current: set[str]) -> list[Event]:
    """The newest plan change of each branch except the current one, most recently written first."""
    ends = [_newest_change(known, leaf) for leaf in leaves(known.values())]
    passed = set(current)
    for end in ends:
        above = end.parent if end else None
        while above is not None and above not in passed:
            passed.add(above)
            above = known[above].parent
    tips = {end.id for end in ends if end and end.id not in passed}
    return [event for event in reversed(known.values()) if event.id in tips]


def _nearest_label(
    known: Known, head: str | None, until: str | None, names: Mapping[str, str]
) -> tuple[str | None, int]:
    """The nearest label among the ancestors, and the number of changes since."""
    since = 0
    for event in ancestors(known, head):
        if event.id == until:
            break
        if event.id in names:
            return names[event.id], since
        since += isinstance(event.fact, PlanChanged)
    return None, 0


def _newest_change(known: Known, head: str | None) -> Event | None:
    return next((event for event in ancestors(known, head) if isinstance(event.fact, PlanChanged)), None)


def _plan(change: Event | None) -> Plan:
    return change.fact.plan if change and isinstance(change.fact, PlanChanged) else Plan()
