"""Checklists in Markdown of any hand: notes, issues and pull requests, with whatever else stands around the tasks.

What tildone writes is left to `markdown.read`. Anything else is brought into that form first, so that a plan that was
exported and then surrounded with prose still comes back.
"""

from __future__ import annotations

import re

from tildone.formats import markdown
from tildone.formats.checklists.lines import (
    BOX,
    DEEPER,
    FENCE,
    HEADING,
    ITEM,
    QUOTE,
    RULE,
    TAB,
    UNDERLINE,
    boxed,
    dedented,
    front_matter,
    is_foreign,
    width,
    without_comments,
)
from tildone.formats.conversion import ImportedPlan, WarningCollector
from tildone.formats.whitespace import JS_WHITESPACE
from tildone.typing import TYPE_CHECKING
from tildone.value import value
from tildone.views.sanitize import printable, single_line

if TYPE_CHECKING:
    from collections.abc import Iterator

TASKLIST = "[tasklist]"


def read(text: str) -> ImportedPlan:
    """The plan in a Markdown text: headings that have tasks are phases, in order."""
    lines = re.split("\r?\n", text)
    ours = markdown.read(text)
    if not ours.problems and not any(map(is_foreign, lines)):
        return ImportedPlan(ours.plan)
    data = front_matter(lines)
    reader = _Reader()
    reader.prose += range(1, data + 1)
    for number, line in enumerate(lines[data:], start=data + 1):
        reader.take(number, line)
    return reader.taken()


def looks_like_one(text: str) -> bool:
    """Whether there is a box to tick anywhere."""
    return any(map(boxed, text.split("\n")))


class _Draft:
    """A task while more of it is being read."""

    def __init__(self, mark: str, text: str) -> None:
        self.mark = mark
        self.text = text
        self.notes: list[str] = []

    def lines(self) -> Iterator[str]:
        """The task as tildone writes it."""
        yield f"- [{self.mark}] {single_line(self.text)}"
        yield from (f"  > {single_line(line)}" if line else "  >" for line in self.notes)


@value
class _Item:
    """An item of a list that more may belong to: how far in it stands, its text, and its task if it is one."""

    indent: int
    text: str
    task: _Draft | None = None


class _Reader:
    """A text while it is being read, line by line."""

    def __init__(self) -> None:
        self.prose: list[int] = []
        self._remarks = WarningCollector()
        self._phases: list[tuple[int, str, list[_Draft]]] = [(0, "", [])]
        self._items: list[_Item] = []
        self._fence = self._tasklist = ""
        self._in_comment = False
        # The task whose text the next line may go on with, and the line that the next may make a heading of.
        self._wrapped: _Draft | None = None
        self._title: str | None = None
        self._after_blank = False

    def taken(self) -> ImportedPlan:
        """The plan, and what is not in it."""
        for number, name, drafts in self._phases:
            if name and not drafts:
                self._remarks.add("a heading without a task below it is left out", number)
        if self.prose:
            self._remarks.add("what is no task stays in the file", *self.prose)
        phases = [(name, drafts) for _, name, drafts in self._phases if drafts]
        lines = [line for name, drafts in phases for line in _phase_lines(name, drafts)]
        reading = markdown.read("\n".join(lines))
        if reading.problems:
            self._remarks.add("a task whose text is empty is left out")
        return ImportedPlan(reading.plan, self._remarks.all())

    def take(self, number: int, line: str) -> None:
        """Read one line."""
        if self._fence:
            self._fenced(number, line)
            return
        line = self._uncommented(number, line)
        content = line.strip(JS_WHITESPACE)
        wrapped, title = self._wrapped, self._title
        self._wrapped = self._title = None
        fence, rule = re.fullmatch(FENCE, content), re.fullmatch(RULE, content)
        item = None if rule else re.fullmatch(ITEM, content)
        if fence:
            self._open(number, line, fence)
        elif title is not None and re.fullmatch(UNDERLINE, content):
            self.prose.pop()
            self._begin_phase(number - 1, title)
        elif item and (self._items or width(line) < TAB):
            self._item(number, line, item[2] or "")
        elif content and (rule or not self._belongs(line, wrapped)):
            self._other(number, line)
        self._after_blank = not content

    def _fenced(self, number: int, line: str) -> None:
        """Read a line of code."""
        content = line.strip(JS_WHITESPACE)
        if content and not self._noted(line):
            self.prose.append(number)
            self._hide(number, line, "code")
        if content.startswith(self._fence) and not content.strip(self._fence[0]):
            self._fence = ""
        self._after_blank = not content

    def _open(self, number: int, line: str, fence: re.Match[str]) -> None:
        """Begin a block of code. A list of tasks in such a block, as GitHub has had it, is no code."""
        signs, about = fence[1] or fence[3], fence[2] or fence[4] or ""
        if self._tasklist and not about and signs.startswith(self._tasklist):
            self._tasklist = ""
        elif about.strip() == TASKLIST:
            self._tasklist = signs
        else:
            self._fence = signs
            if not self._noted(line):
                self._items = []
                self.prose.append(number)

    def _hide(self, number: int, line: str, where: str) -> None:
        if boxed(line):
            self._remarks.add(f"a task in {where} is none, and left out", number)

    def _uncommented(self, number: int, line: str) -> str:
        """The line without comments, which may go on over many lines if they began one."""
        if self._in_comment:
            self._hide(number, line, "a comment")
            _, end, line = line.partition("-->")
            self._in_comment = not end
        if "<!--" not in line:
            return line
        plain = without_comments(line)
        if plain.lstrip(JS_WHITESPACE).startswith("<!--") and "<!--tildone " not in plain:
            self._in_comment = True
            plain = ""
        if plain != line:
            self._remarks.add("a comment is left out", number)
        return plain

    def _begin_phase(self, number: int, name: str) -> None:
        self._items = []
        self._phases.append((number, name, []))

    def _item(self, number: int, line: str, text: str) -> None:
        """Read an item of a list, with a box or without."""
        indent, box = width(line), re.fullmatch(BOX, text)
        if box is None and not self._noted(line):
            self.prose.append(number)
        while self._items and indent < self._items[-1].indent + DEEPER:
            self._items.pop()
        if box is None:
            self._items.append(_Item(indent, text.rstrip(":")))
            return
        mark, text = box[1], self._placed(number, box[2])
        if mark not in markdown.STATUSES:
            self._remarks.add(f"the mark [{printable(mark)}] is not known; the task is taken as open", number)
            mark = " "
        draft = _Draft(mark, text)
        # Two spaces at the end of a line end it for good.
        self._wrapped = None if line.endswith("  ") else draft
        self._items.append(_Item(indent, text, draft))
        self._phases[-1][2].append(draft)

    def _placed(self, number: int, text: str) -> str:
        """A task's text, where it stands in the list."""
        above = self._items[-1] if self._items else _Item(0, "")
        if above.task:
            self._remarks.add("a task within a task follows it; that it belonged to it is not kept", number)
        elif above.text:
            self._remarks.add("a task within an item without a box has that item's text before its own", number)
            return f"{above.text}: {text}"
        return text

    def _owner(self, line: str) -> tuple[_Draft, int] | None:
        """The innermost task that a line belongs to, so far in as it stands, and where that task's content begins."""
        for item in reversed(self._items):
            if item.task and width(line) >= item.indent + DEEPER:
                return item.task, item.indent + DEEPER
        return None

    def _noted(self, line: str) -> bool:
        """Whether the line belongs to a task; it is a part of its notes then."""
        owner = self._owner(line)
        if owner:
            self._note(owner[0], dedented(line, owner[1]))
        return bool(owner)

    def _note(self, task: _Draft, line: str) -> None:
        """Add a line to a task's notes; behind a blank one begins another note."""
        task.notes += ["", line] if self._after_blank and task.notes else [line]

    def _belongs(self, line: str, wrapped: _Draft | None) -> bool:
        """Whether the line goes on with the text of a task, or with its notes."""
        quote, owner = re.fullmatch(QUOTE, line.lstrip(JS_WHITESPACE)), self._owner(line)
        task = owner[0] if owner else wrapped
        if quote and task:
            self._note(task, quote[1])
            self._wrapped = task
            return True
        if not owner or not wrapped or wrapped.notes or wrapped is not task:
            return self._noted(line)
        wrapped.text = f"{wrapped.text.rstrip(JS_WHITESPACE)} {line.strip(JS_WHITESPACE)}"
        self._wrapped = None if line.endswith("  ") else wrapped
        return True

    def _other(self, number: int, line: str) -> None:
        """Read a heading, or what is no part of a list."""
        content = line.strip(JS_WHITESPACE)
        heading, quote = re.fullmatch(HEADING, content), re.fullmatch(QUOTE, content)
        name = heading[1].strip(JS_WHITESPACE) if heading else ""
        if name:
            self._begin_phase(number, name)
            return
        self._items = []
        self.prose.append(number)
        self._title = None if quote else content
        self._hide(number, quote[1] if quote else line, "a quotation" if quote else "code")


def _phase_lines(name: str, drafts: list[_Draft]) -> Iterator[str]:
    if name:
        yield f"# {single_line(name)}"
    for draft in drafts:
        yield from draft.lines()
