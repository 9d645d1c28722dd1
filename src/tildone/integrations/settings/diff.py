"""A change of a settings file as lines for a person to read."""

from __future__ import annotations

from difflib import ndiff

from tildone.kit.theme import Role, Span
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tildone.integrations.settings.files import SettingsChange

    Line = tuple[Span, ...]

CONTEXT_LINES = 1
ROLES = {"+": Role.SUCCESS, "-": Role.ERROR}


def diff_lines(change: SettingsChange) -> Iterator[Line]:
    """Yield the name of the file, then the lines removed and added, with a line of context."""
    before, after = (change.before or "").splitlines(), (change.after or "").splitlines()
    state = "new" if change.before is None else "removed" if change.after is None else ""
    yield Span(change.file, bold=True), Span(f"  ({state})" if state else "", Role.MUTED)
    # ndiff is quadratic and settings files may be long, so it only gets the part that differs.
    head = _common_prefix(before, after)
    tail = _common_prefix(before[head:][::-1], after[head:][::-1])
    first = max(head - CONTEXT_LINES, 0)
    for line in before[first:head]:
        yield (Span(f"  {line}", Role.DIM),)
    for line in ndiff(before[head : len(before) - tail], after[head : len(after) - tail]):
        if not line.startswith("?"):
            yield (Span(line, ROLES.get(line[0], Role.DIM)),)
    for line in before[len(before) - tail :][:CONTEXT_LINES]:
        yield (Span(f"  {line}", Role.DIM),)


def _common_prefix(one: list[str], other: list[str]) -> int:
    """Return the number of leading lines that both have in common."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count
