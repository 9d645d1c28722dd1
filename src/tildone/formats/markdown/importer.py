"""Importer of tasks from arbitrary Markdown: notes, issues and pull requests, with other content around the tasks.

Text that tildone wrote is passed to `reader.read`. Other text is first converted to that form, so that an exported plan
is still restored after prose was added around it.
"""

from __future__ import annotations

import re

from tildone.formats.conversion import ImportedPlan, WarningCollector
from tildone.formats.markdown import reader
from tildone.formats.markdown.attributes import is_attribute, restore_attributes
from tildone.formats.markdown.lines import (
    BOX,
    FENCE,
    HEADING,
    ITEM,
    NESTED_INDENT,
    QUOTE,
    RULE,
    TAB_COLUMNS,
    UNDERLINE,
    dedented,
    front_matter_length,
    has_box,
    indentation,
    is_foreign,
    without_comments,
)
from tildone.formats.whitespace import JS_WHITESPACE
from tildone.typing import TYPE_CHECKING
from tildone.value import value
from tildone.views.sanitize import printable, single_line

if TYPE_CHECKING:
    from collections.abc import Iterator

_TASKLIST = "[tasklist]"
"""The info string of the fenced task lists that GitHub used to support."""


def read(text: str) -> ImportedPlan:
    """Return the plan in a Markdown text: headings with tasks become phases, in order."""
    lines = re.split("\r?\n", text)
    parsed = reader.read(text)
    if not parsed.problems and not any(map(is_foreign, lines)):
        return ImportedPlan(parsed.plan)
    skipped = front_matter_length(lines)
    parser = _MarkdownParser(skipped)
    for number, line in enumerate(lines[skipped:], start=skipped + 1):
        parser.parse_line(number, line)
    return parser.result()


def has_checkbox(text: str) -> bool:
    """Return whether the text contains a list item with a check box."""
    return any(map(has_box, text.split("\n")))


class _FoundTask:
    """A task that is being parsed."""

    def __init__(self, mark: str, text: str) -> None:
        self.mark = mark
        self.text = text
        self.notes: list[str] = []
        self.attributes: list[str] = []

    def lines(self) -> Iterator[str]:
        """Yield the task in tildone's own format."""
        yield f"- [{self.mark}] {single_line(self.text)}"
        yield from (f"  {line}" for line in self.attributes)
        yield from (f"  > {single_line(line)}" if line else "  >" for line in self.notes)


@value
class _ListItem:
    """An open list item: its indentation, its text, and its task if it has a check box."""

    indent: int
    text: str
    task: _FoundTask | None = None


class _MarkdownParser:
    """The state of the line-by-line parser."""

    def __init__(self, front_matter_lines: int) -> None:
        self._prose = list(range(1, front_matter_lines + 1))
        self._warnings = WarningCollector()
        self._phases: list[tuple[int, str, list[_FoundTask]]] = [(0, "", [])]
        self._items: list[_ListItem] = []
        self._fence = self._tasklist = ""
        self._in_comment = False
        # The task that the next line may continue, and the line that the next may underline as a heading.
        self._wrapped: _FoundTask | None = None
        self._title: str | None = None
        self._after_blank = False

    def result(self) -> ImportedPlan:
        """Return the plan, and warnings about content that is not in it."""
        for number, name, tasks in self._phases:
            if name and not tasks:
                self._warnings.add("a heading without tasks is not imported", number)
        if self._prose:
            self._warnings.add("text outside of tasks is not imported", *self._prose)
        phases = [(name, tasks) for _, name, tasks in self._phases if tasks]
        lines = [line for name, tasks in phases for line in _phase_lines(name, tasks)]
        parsed = reader.read("\n".join(lines))
        for problem in parsed.problems:
            is_order = problem.reason.startswith("(after")
            self._warnings.add(
                "an order of tasks is not imported" if is_order else "a task without text is not imported"
            )
        return ImportedPlan(parsed.plan, self._warnings.all())

    def parse_line(self, number: int, line: str) -> None:
        if self._fence:
            self._parse_code(number, line)
            return
        line = self._without_comments(number, line)
        content = line.strip(JS_WHITESPACE)
        wrapped, title = self._wrapped, self._title
        self._wrapped = self._title = None
        fence, rule = re.fullmatch(FENCE, content), re.fullmatch(RULE, content)
        item = None if rule else re.fullmatch(ITEM, content)
        if fence:
            self._open_fence(number, line, fence)
        elif title is not None and re.fullmatch(UNDERLINE, content):
            self._prose.pop()
            self._begin_phase(number - 1, title)
        elif item and (self._items or indentation(line) < TAB_COLUMNS):
            self._parse_item(number, line, item[2] or "")
        elif is_attribute(content) and (owner := self._owner(line)):
            self._add_attribute(number, owner[0], content)
        elif content and (rule or not self._continue_task(line, wrapped)):
            self._parse_other(number, line)
        self._after_blank = not content

    def _add_attribute(self, number: int, task: _FoundTask, line: str) -> None:
        """Add a check or another attribute to a task; a warning if it has no meaning."""
        try:
            restore_attributes([*task.attributes, line])
        except ValueError as problem:
            self._warnings.add(f"an attribute of a task is not imported: {problem}", number)
        else:
            task.attributes.append(line)

    def _parse_code(self, number: int, line: str) -> None:
        content = line.strip(JS_WHITESPACE)
        if content and not self._add_note(line):
            self._prose.append(number)
            self._warn_of_task(number, line, "code")
        if content.startswith(self._fence) and not content.strip(self._fence[0]):
            self._fence = ""
        self._after_blank = not content

    def _open_fence(self, number: int, line: str, fence: re.Match[str]) -> None:
        """Begin a code block. A `[tasklist]` block, formerly used by GitHub, is not code."""
        signs, info = fence[1] or fence[3], fence[2] or fence[4] or ""
        if self._tasklist and not info and signs.startswith(self._tasklist):
            self._tasklist = ""
        elif info.strip() == _TASKLIST:
            self._tasklist = signs
        else:
            self._fence = signs
            if not self._add_note(line):
                self._items = []
                self._prose.append(number)

    def _warn_of_task(self, number: int, line: str, where: str) -> None:
        """Add a warning if the line, which is not imported, contains a task."""
        if has_box(line):
            self._warnings.add(f"a task in {where} is not imported", number)

    def _without_comments(self, number: int, line: str) -> str:
        """The line without comments; a comment at the start of a line may span several lines."""
        if self._in_comment:
            self._warn_of_task(number, line, "a comment")
            _, end, line = line.partition("-->")
            self._in_comment = not end
        if "<!--" not in line:
            return line
        plain = without_comments(line)
        if plain.lstrip(JS_WHITESPACE).startswith("<!--") and "<!--tildone " not in plain:
            self._in_comment = True
            plain = ""
        if plain != line:
            self._warnings.add("a comment is not imported", number)
        return plain

    def _begin_phase(self, number: int, name: str) -> None:
        self._items = []
        self._phases.append((number, name, []))

    def _parse_item(self, number: int, line: str, text: str) -> None:
        indent, box = indentation(line), re.fullmatch(BOX, text)
        if box is None and not self._add_note(line):
            self._prose.append(number)
        while self._items and indent < self._items[-1].indent + NESTED_INDENT:
            self._items.pop()
        if box is None:
            self._items.append(_ListItem(indent, text.rstrip(":")))
            return
        mark, text = box[1], self._text_with_context(number, box[2])
        if mark not in reader.STATUSES:
            self._warnings.add(f"unknown mark [{printable(mark)}]; the task is imported as pending", number)
            mark = " "
        task = _FoundTask(mark, text)
        # Two trailing spaces are a hard line break: the text does not continue.
        self._wrapped = None if line.endswith("  ") else task
        self._items.append(_ListItem(indent, text, task))
        self._phases[-1][2].append(task)

    def _text_with_context(self, number: int, text: str) -> str:
        """A task's text, prefixed by the text of an enclosing item without a check box."""
        parent = self._items[-1] if self._items else _ListItem(0, "")
        if parent.task:
            self._warnings.add("a nested task follows its parent; the nesting is lost", number)
        elif parent.text:
            self._warnings.add("a task below a plain list item is prefixed with that item's text", number)
            return f"{parent.text}: {text}"
        return text

    def _owner(self, line: str) -> tuple[_FoundTask, int] | None:
        """The innermost task that a line belongs to by its indentation, and the column of that task's content."""
        for item in reversed(self._items):
            if item.task and indentation(line) >= item.indent + NESTED_INDENT:
                return item.task, item.indent + NESTED_INDENT
        return None

    def _add_note(self, line: str) -> bool:
        """Add the line to the notes of the task that it belongs to; False if there is none."""
        owner = self._owner(line)
        if owner:
            self._append_to_notes(owner[0], dedented(line, owner[1]))
        return bool(owner)

    def _append_to_notes(self, task: _FoundTask, line: str) -> None:
        """Add a line to a task's notes; a line after a blank one starts another note."""
        task.notes += ["", line] if self._after_blank and task.notes else [line]

    def _continue_task(self, line: str, wrapped: _FoundTask | None) -> bool:
        """Add the line to the text or notes of the task that it continues; False if there is none."""
        quote, owner = re.fullmatch(QUOTE, line.lstrip(JS_WHITESPACE)), self._owner(line)
        task = owner[0] if owner else wrapped
        if quote and task:
            self._append_to_notes(task, quote[1])
            self._wrapped = task
            return True
        if not owner or not wrapped or wrapped.notes or wrapped is not task:
            return self._add_note(line)
        wrapped.text = f"{wrapped.text.rstrip(JS_WHITESPACE)} {line.strip(JS_WHITESPACE)}"
        self._wrapped = None if line.endswith("  ") else wrapped
        return True

    def _parse_other(self, number: int, line: str) -> None:
        """Parse a heading or text outside of lists."""
        content = line.strip(JS_WHITESPACE)
        heading, quote = re.fullmatch(HEADING, content), re.fullmatch(QUOTE, content)
        name = heading[1].strip(JS_WHITESPACE) if heading else ""
        if name:
            self._begin_phase(number, name)
            return
        self._items = []
        self._prose.append(number)
        self._title = None if quote else content
        self._warn_of_task(number, quote[1] if quote else line, "a quotation" if quote else "code")


def _phase_lines(name: str, tasks: list[_FoundTask]) -> Iterator[str]:
    if name:
        yield f"# {single_line(name)}"
    for task in tasks:
        yield from task.lines()
