"""Reader of the Markdown checklists that `writer` writes, and of the same form written by others."""

from __future__ import annotations

import re

from tildone.core.plan import Phase, Plan, Status, Task
from tildone.formats.markdown.exact import COMMENT, restore_notes, restore_text, split_notes
from tildone.formats.whitespace import JS_WHITESPACE
from tildone.value import value
from tildone.views.sanitize import printable

STATUSES = {status.checkbox: status for status in Status} | {
    "": Status.PENDING,
    "X": Status.COMPLETED,
    ">": Status.IN_PROGRESS,
    "~": Status.ABANDONED,
}

# `.` in a JavaScript regular expression, and one UTF-16 code unit of it.
_ANY = "[^\n\r\u2028\u2029]"
_UNIT = "[^\n\r\u2028\u2029\U00010000-\U0010ffff]"

# Patterns are strings, compiled by `re` on first use: hooks read no Markdown and skip the cost.
_LINE_END = "\r?\n"
_HEADING = f"#{{1,6}}[{JS_WHITESPACE}]+({_ANY}+)"
_TASK = f"[-*+][{JS_WHITESPACE}]*\\[({_UNIT}?)\\][{JS_WHITESPACE}]+({_ANY}+)"
_NOTE = f"[{JS_WHITESPACE}]*>[{JS_WHITESPACE}]?({_ANY}*)"


@value
class LineProblem:
    """A line that could not be parsed, and the reason."""

    line: int
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


@value
class ParsedChecklist:
    """The plan in a text, and the lines that could not be parsed."""

    plan: Plan
    problems: tuple[LineProblem, ...] = ()


def read(text: str, unnamed: str = "") -> ParsedChecklist:
    """Parse a checklist. A phase without a name is called `unnamed`.

    Tasks above the first heading are in a phase without a name.
    """
    parser = _ChecklistParser()
    for number, line in enumerate(re.split(_LINE_END, text), start=1):
        parser.parse_line(number, line)
    return parser.result(unnamed)


class _ParsedTask:
    """A task whose notes are being parsed."""

    def __init__(self, text: str, status: Status) -> None:
        self._text = text
        self._status = status
        self._notes: list[str] = []
        self._lines: list[str] = []

    def add_note_line(self, line: str) -> None:
        """Add a line of a note, or the comment after the notes."""
        comment = re.fullmatch(COMMENT, line)
        if comment is None or comment[1]:
            self._lines.append(line)
            return
        self._notes += restore_notes(self._lines, comment[2])
        self._lines = []

    def task(self) -> Task:
        """Return the task with its notes."""
        return Task(self._text, self._status, (*self._notes, *split_notes(self._lines)))


class _ChecklistParser:
    """The state of the line-by-line parser."""

    def __init__(self) -> None:
        self._phases: list[tuple[str, list[_ParsedTask]]] = []
        self._problems: list[LineProblem] = []
        self._task: _ParsedTask | None = None

    def parse_line(self, number: int, line: str) -> None:
        """Parse one line."""
        note = re.fullmatch(_NOTE, line)
        if note and self._task:
            self._task.add_note_line(note[1])
            return
        stripped = line.strip(JS_WHITESPACE)
        if not stripped:
            return
        self._task = None
        problem = self._parse_element(stripped)
        if problem:
            reason = "a note (> text) without a task above it" if note else problem
            self._problems.append(LineProblem(number, reason))

    def result(self, unnamed: str) -> ParsedChecklist:
        """Return the plan and the problems."""
        phases = (Phase(name or unnamed, tuple(task.task() for task in tasks)) for name, tasks in self._phases)
        return ParsedChecklist(Plan(tuple(phases)), tuple(self._problems))

    def _parse_element(self, line: str) -> str | None:
        """Parse a heading or a task; return the problem with it, if any."""
        heading, task = re.fullmatch(_HEADING, line), re.fullmatch(_TASK, line)
        name = restore_text(heading[1]) if heading else None
        if name is not None:
            self._phases.append((name, []))
            return None
        if task:
            return self._begin_task(task[1], restore_text(task[2]))
        return "not a heading (# name), a task (- [ ] text) or a note (> text)"

    def _begin_task(self, mark: str, text: str | None) -> str | None:
        """Add a task to the last phase; return the problem with it, if any."""
        if not self._phases:
            self._phases.append(("", []))
        if mark not in STATUSES:
            return f"unknown mark [{printable(mark)}]; known are [ ], [/], [x], [-] and [!]"
        if text is None:
            return "a task without text"
        self._task = _ParsedTask(text, STATUSES[mark])
        self._phases[-1][1].append(self._task)
        return None
