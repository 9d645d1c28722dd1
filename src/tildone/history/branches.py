"""The branches of a session: where each ends, where it parted from the one the head is on, and what it did since."""

from __future__ import annotations

from tildone.core.plan import Plan
from tildone.core.query import progress
from tildone.history.changes import change_sentences, changes
from tildone.history.timeline import HeadRelation
from tildone.kit.theme import Role, Span
from tildone.log.events import PlanChanged
from tildone.log.refs import ROOT, short_ids
from tildone.log.tree import by_id, labels, leaves
from tildone.typing import TYPE_CHECKING
from tildone.value import value
from tildone.views.line_layout import clip_line, hanging_lines
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tildone.core.query import Progress
    from tildone.log.events import Event
    from tildone.views.line_layout import Line

    Known = dict[str, Event]

LISTED = 4
"""How many lines say what a branch did."""


@value
class Branch:
    """A branch by its end, which is its newest change of the plan; None where nothing was changed yet.

    `label` is the nearest name on it, given `since` changes before the end. `parted` is the event it shares with the
    current branch last, None for none; `did` is what became of the plan since, as sentences.
    """

    end: Event | None
    far: Progress
    label: str | None = None
    since: int = 0
    parted: str | None = None
    onward: bool = False
    did: tuple[str, ...] = ()
    current: bool = False


def branches(events: Iterable[Event], head: str | None) -> list[Branch]:
    """The branch of the head first, then the others, the newest first.

    What only names, steers or nudges makes no branch: one is there for each plan that nothing came after.
    """
    known = by_id(events)
    names = labels(known.values())
    here = {event.id for event in _back(known, head)}
    current = _newest_change(known, head)
    found = [Branch(current, progress(_plan(current)), *_nearest_name(known, head, None, names), current=True)]
    for tip in _tips(known, here):
        parted = next((event.id for event in _back(known, tip.id) if event.id in here), None)
        shared = _newest_change(known, parted)
        did = change_sentences(changes(_plan(shared), _plan(tip)))
        name = _nearest_name(known, tip.id, parted, names)
        found.append(Branch(tip, progress(_plan(tip)), *name, parted, shared is current, tuple(did)))
    return found


def branch_lines(
    found: Iterable[Branch], ids: Iterable[str], when: Callable[[int], str], columns: int | None = None
) -> list[Line]:
    """A line for each branch and, below, where it parted and what it did; `ids` are all that must be told apart."""
    short = short_ids(ids)
    lines: list[Line] = []
    for branch in found:
        end = branch.end
        name = "" if branch.label is None else printable(branch.label) + (f"+{branch.since}" if branch.since else "")
        lead = (
            Span((HeadRelation.HEAD if branch.current else HeadRelation.ELSEWHERE).value, Role.ACCENT),
            Span(f" {printable(short[end.id]) if end else ROOT}", Role.WARNING),
            Span(f"  {when(end.at)}" if end else "", Role.MUTED),
            Span(f"  {branch.far.closed}/{branch.far.total}"),
        )
        lines += hanging_lines(lead, [(Span(name, Role.ACCENT), ())], columns) if name else [lead]
        lines += [] if branch.current else _since(branch, short)
    return lines if columns is None else [clip_line(line, columns) for line in lines]


def _since(branch: Branch, short: Mapping[str, str]) -> Iterator[Line]:
    place = ROOT if branch.parted is None else printable(short[branch.parted])
    yield (Span("    goes on from here:" if branch.onward else f"    from {place}:", Role.MUTED),)
    did = branch.did or ("left the plan as it was",)
    for text in did[:LISTED]:
        yield Span("      "), Span(text, Role.TEXT)
    if len(did) > LISTED:
        yield (Span(f"      and {len(did) - LISTED} more", Role.MUTED),)


def _tips(known: Known, here: set[str]) -> list[Event]:
    """The newest change of each branch but the current one: on the way to no other, the last one written first."""
    ends = [_newest_change(known, leaf) for leaf in leaves(known.values())]
    passed = set(here)
    for end in ends:
        above = end.parent if end else None
        while above is not None and above not in passed:
            passed.add(above)
            above = known[above].parent
    tips = {end.id for end in ends if end and end.id not in passed}
    return [event for event in reversed(known.values()) if event.id in tips]


def _nearest_name(
    known: Known, head: str | None, until: str | None, names: Mapping[str, str]
) -> tuple[str | None, int]:
    """The nearest name on the way back, and how many changes it takes to get there."""
    since = 0
    for event in _back(known, head):
        if event.id == until:
            break
        if event.id in names:
            return names[event.id], since
        since += isinstance(event.fact, PlanChanged)
    return None, 0


def _newest_change(known: Known, head: str | None) -> Event | None:
    return next((event for event in _back(known, head) if isinstance(event.fact, PlanChanged)), None)


def _plan(change: Event | None) -> Plan:
    return change.fact.plan if change and isinstance(change.fact, PlanChanged) else Plan()


def _back(known: Known, head: str | None) -> Iterator[Event]:
    while head is not None:
        yield known[head]
        head = known[head].parent
