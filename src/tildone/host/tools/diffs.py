"""Replacements in a text and their unified diff, built from the replacements without comparing the texts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from tildone.value import value

CONTEXT = 3


@value
class Replacement:
    """New text for a range of the old one."""

    start: int
    end: int
    new: str


@value
class Hunk:
    """Lines that are replaced by others; `at` is the number of lines before them."""

    at: int
    old: tuple[str, ...]
    new: tuple[str, ...]

    @property
    def behind(self) -> int:
        """The number of lines up to the end of the old ones."""
        return self.at + len(self.old)


def replaced(text: str, replacements: Sequence[Replacement]) -> str:
    """The text after replacements that are ordered and do not overlap."""
    parts, at = [], 0
    for each in replacements:
        parts += [text[at : each.start], each.new]
        at = each.end
    return "".join([*parts, text[at:]])


def hunks(text: str, replacements: Sequence[Replacement]) -> list[Hunk]:
    """The changes by whole lines; replacements in the same or neighbouring lines are one change."""
    lines = lines_of(text)
    ends = list(accumulate(map(len, lines)))
    found: list[Hunk] = []
    group: list[Replacement] = []
    last = 0
    for each in replacements:
        first = bisect_right(ends, each.start)
        if group and first > last + 1:
            found.append(_hunk(text, ends, group))
            group = []
        group.append(each)
        last = bisect_right(ends, max(each.end - 1, each.start))
    return [_trimmed(hunk) for hunk in [*found, _hunk(text, ends, group)]]


def unified(text: str, changes: Sequence[Hunk], name: str) -> str:
    """The changes as `diff -u` writes them."""
    lines = lines_of(text)
    parts = [f"--- {name}", f"+++ {name}"]
    grown = 0
    group: list[Hunk] = []
    for each in changes:
        if group and each.at - group[-1].behind > 2 * CONTEXT:
            parts += _section(lines, group, grown)
            grown += sum(len(hunk.new) - len(hunk.old) for hunk in group)
            group = []
        group.append(each)
    return "\n".join([*parts, *_section(lines, group, grown)])


def lines_of(text: str) -> list[str]:
    """The lines with their line feeds, which alone end a line."""
    *ended, rest = text.split("\n")
    return [f"{line}\n" for line in ended] + ([rest] if rest else [])


def _hunk(text: str, ends: list[int], group: Sequence[Replacement]) -> Hunk:
    """The lines that these replacements touch, before and after."""
    first = bisect_right(ends, group[0].start)
    last = bisect_right(ends, max(group[-1].end - 1, group[-1].start))
    start = ends[first - 1] if first else 0
    end = ends[last] if last < len(ends) else len(text)
    inner = [Replacement(each.start - start, each.end - start, each.new) for each in group]
    old = text[start:end]
    new = replaced(old, inner)
    if new and not new.endswith("\n") and end < len(text):
        # The line feed was removed with the old text, so the next line, which no other group touches, joins this one.
        follows = ends[last + 1]
        old, new = text[start:follows], new + text[end:follows]
    return Hunk(first, tuple(lines_of(old)), tuple(lines_of(new)))


def _trimmed(hunk: Hunk) -> Hunk:
    """The hunk without equal lines at both ends."""
    old, new = hunk.old, hunk.new
    shared = min(len(old), len(new))
    before = next((i for i in range(shared) if old[i] != new[i]), shared)
    shared -= before
    behind = next((i for i in range(shared) if old[-1 - i] != new[-1 - i]), shared)
    return Hunk(hunk.at + before, old[before : len(old) - behind], new[before : len(new) - behind])


def _section(lines: list[str], group: Sequence[Hunk], grown: int) -> list[str]:
    start = max(group[0].at - CONTEXT, 0)
    end = min(group[-1].behind + CONTEXT, len(lines))
    body: list[str] = []
    at = start
    for hunk in group:
        body += _signed(" ", lines[at : hunk.at]) + _signed("-", hunk.old) + _signed("+", hunk.new)
        at = hunk.behind
    body += _signed(" ", lines[at:end])
    growth = sum(len(hunk.new) - len(hunk.old) for hunk in group)
    return [f"@@ -{_range(start, end - start)} +{_range(start + grown, end - start + growth)} @@", *body]


def _signed(sign: str, lines: Sequence[str]) -> list[str]:
    marked = [f"{sign}{line}" for line in lines]
    return [
        line.removesuffix("\n") if line.endswith("\n") else f"{line}\n\\ No newline at end of file" for line in marked
    ]


def _range(start: int, count: int) -> str:
    if count == 1:
        return f"{start + 1}"
    return f"{start + 1 if count else start},{count}"
