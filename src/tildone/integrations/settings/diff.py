"""What will change in a file, as lines for a person."""

from __future__ import annotations

from tildone.kit.theme import Role, Span
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tildone.integrations.settings.files import Change

    Line = tuple[Span, ...]

AROUND = 1


def lines(change: Change) -> Iterator[Line]:
    """The file's name, then what goes and what comes, with a line around it."""
    before, after = (change.before or "").splitlines(), (change.after or "").splitlines()
    what = "new" if change.before is None else "removed" if change.after is None else ""
    yield Span(change.file, bold=True), Span(f"  ({what})" if what else "", Role.MUTED)
    # Files of hosts may be long, and comparing takes time with their square: most of them is the same on both sides.
    head = _shared(before, after)
    tail = _shared(before[head:][::-1], after[head:][::-1])
    from difflib import ndiff  # noqa: PLC0415  only where there is something to compare

    first = max(head - AROUND, 0)
    for line in before[first:head]:
        yield (Span(f"  {line}", Role.DIM),)
    for line in ndiff(before[head : len(before) - tail], after[head : len(after) - tail]):
        if not line.startswith("?"):
            yield (Span(line, {"+": Role.SUCCESS, "-": Role.ERROR}.get(line[0], Role.DIM)),)
    for line in before[len(before) - tail :][:AROUND]:
        yield (Span(f"  {line}", Role.DIM),)


def _shared(one: list[str], other: list[str]) -> int:
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        count += 1
    return count
