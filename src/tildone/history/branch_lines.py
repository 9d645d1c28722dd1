"""The branches of a session as lines for a terminal."""

from __future__ import annotations

from tildone.history.authors import who
from tildone.history.timeline import HeadRelation
from tildone.kit.theme import Role, Span
from tildone.log.refs import ROOT, short_ids
from tildone.typing import TYPE_CHECKING
from tildone.views.line_layout import clip_line, hanging_lines
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tildone.history.branches import Branch
    from tildone.views.line_layout import Line

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
