"""Applies replacements to a text, and builds unified diffs, from replacements or by comparing two texts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import accumulate

from tildone.base import value

CONTEXT_LINES = 3

MAX_COMPARED_LINES = 2000
"""How many lines are compared with each other: comparing takes quadratic time. Beyond, all of them count as changed."""


@value
class Replacement:
    """New text for a range of characters of the old one."""

    start: int
    end: int
    new: str


@value
class Hunk:
    """Old lines and the lines that replace them; `at` is the number of lines before them."""

    at: int
    old: tuple[str, ...]
    new: tuple[str, ...]

    @property
    def end_line(self) -> int:
        """The number of lines before the line that follows the old ones."""
        return self.at + len(self.old)


def apply_replacements(text: str, replacements: Sequence[Replacement]) -> str:
    """Return the text after the replacements, which must be sorted and must not overlap."""
    parts, at = [], 0
    for change in replacements:
        parts += [text[at : change.start], change.new]
        at = change.end
    return "".join([*parts, text[at:]])


def hunks(text: str, replacements: Sequence[Replacement]) -> list[Hunk]:
    """Return the changes by whole lines; replacements in the same or adjacent lines form one hunk."""
    lines = split_lines(text)
    ends = list(accumulate(map(len, lines)))
    finished: list[Hunk] = []
    group: list[Replacement] = []
    last = 0
    for change in replacements:
        first = bisect_right(ends, change.start)
        if group and first > last + 1:
            finished.append(_hunk(text, ends, group))
            group = []
        group.append(change)
        last = bisect_right(ends, max(change.end - 1, change.start))
    return [_trimmed(hunk) for hunk in [*finished, _hunk(text, ends, group)]]


def changed_lines(old: str, new: str) -> list[Hunk]:
    """Return the changes between two texts by whole lines."""
    whole = _trimmed(Hunk(0, tuple(split_lines(old)), tuple(split_lines(new))))
    if max(len(whole.old), len(whole.new)) > MAX_COMPARED_LINES:
        return [whole]
    opcodes = SequenceMatcher(None, whole.old, whole.new, autojunk=False).get_opcodes()
    return [
        Hunk(whole.at + start, whole.old[start:end], whole.new[new_start:new_end])
        for tag, start, end, new_start, new_end in opcodes
        if tag != "equal"
    ]


def unified_diff(text: str, changes: Sequence[Hunk], name: str) -> str:
    """Return the changes in the format of `diff -u`."""
    lines = split_lines(text)
    parts = [f"--- {name}", f"+++ {name}"]
    line_offset = 0
    group: list[Hunk] = []
    for change in changes:
        if group and change.at - group[-1].end_line > 2 * CONTEXT_LINES:
            parts += _section(lines, group, line_offset)
            line_offset += sum(len(hunk.new) - len(hunk.old) for hunk in group)
            group = []
        group.append(change)
    return "\n".join([*parts, *_section(lines, group, line_offset)])


def split_lines(text: str) -> list[str]:
    """Split a text into lines with their line feeds; no other character ends a line."""
    *ended, rest = text.split("\n")
    return [f"{line}\n" for line in ended] + ([rest] if rest else [])


def _hunk(text: str, ends: list[int], group: Sequence[Replacement]) -> Hunk:
    """Return the lines that these replacements touch, before and after."""
    first = bisect_right(ends, group[0].start)
    last = bisect_right(ends, max(group[-1].end - 1, group[-1].start))
    start = ends[first - 1] if first else 0
    end = ends[last] if last < len(ends) else len(text)
    inner = [Replacement(change.start - start, change.end - start, change.new) for change in group]
    old = text[start:end]
    new = apply_replacements(old, inner)
    if new and not new.endswith("\n") and end < len(text):
        # The line feed was removed with the old text, so the next line, which no other group touches, joins this one.
        follows = ends[last + 1]
        old, new = text[start:follows], new + text[end:follows]
    return Hunk(first, tuple(split_lines(old)), tuple(split_lines(new)))


def _trimmed(hunk: Hunk) -> Hunk:
    """Return the hunk without equal lines at both ends."""
    old, new = hunk.old, hunk.new
    shared = min(len(old), len(new))
    before = next((i for i in range(shared) if old[i] != new[i]), shared)
    shared -= before
    after = next((i for i in range(shared) if old[-1 - i] != new[-1 - i]), shared)
    return Hunk(hunk.at + before, old[before : len(old) - after], new[before : len(new) - after])


def _section(lines: list[str], group: Sequence[Hunk], line_offset: int) -> list[str]:
    start = max(group[0].at - CONTEXT_LINES, 0)
    end = min(group[-1].end_line + CONTEXT_LINES, len(lines))
    body: list[str] = []
    at = start
    for hunk in group:
        body += _prefixed(" ", lines[at : hunk.at]) + _prefixed("-", hunk.old) + _prefixed("+", hunk.new)
        at = hunk.end_line
    body += _prefixed(" ", lines[at:end])
    growth = sum(len(hunk.new) - len(hunk.old) for hunk in group)
    return [f"@@ -{_range(start, end - start)} +{_range(start + line_offset, end - start + growth)} @@", *body]


def _prefixed(sign: str, lines: Sequence[str]) -> list[str]:
    marked = [f"{sign}{line}" for line in lines]
    return [
        line.removesuffix("\n") if line.endswith("\n") else f"{line}\n\\ No newline at end of file" for line in marked
    ]


def _range(start: int, count: int) -> str:
    if count == 1:
        return f"{start + 1}"
    return f"{start + 1 if count else start},{count}"
