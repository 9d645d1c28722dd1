"""Reader of the Markdown checklists that `writer` writes, and of the same form written by others."""

from __future__ import annotations

import re

from tildone.core.plan import Phase, Plan, Status, Task
from tildone.formats.markdown.attributes import Attributes, is_attribute, restore_attributes, with_line
from tildone.formats.markdown.exact import COMMENT, OPENING, restore_notes, restore_text, split_notes
from tildone.formats.whitespace import JS_WHITESPACE
from tildone.typing import TYPE_CHECKING
from tildone.value import replace, value
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

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
_OF_PLAN = ("$", "(folder", "(seconds", "(retries", "(watch", OPENING)
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
    """Parse a checklist. Tasks above the first heading are in a phase called `unnamed`."""
    parser = _ChecklistParser(unnamed)
    for number, line in enumerate(re.split(_LINE_END, text), start=1):
        parser.parse_line(number, line)
    return parser.result()


class _ParsedTask:
    """A task whose notes and attributes are being parsed."""

    def __init__(self, text: str, status: Status) -> None:
        self._text = text
        self._status = status
        self.attributes = _ParsedAttributes()
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
        task = Task(self._text, self._status, (*self._notes, *split_notes(self._lines)))
        found = self.attributes.found
        return replace(task, check=found.check, after=found.after, **found.words)


class _ParsedAttributes:
    """The lines of a task, or of the plan, with its attributes."""

    def __init__(self) -> None:
        self._lines: list[tuple[int, str]] = []
        self.found = Attributes()

    def add(self, number: int, line: str) -> None:
        self._lines.append((number, line))

    def problems(self, tasks: int) -> Iterator[LineProblem]:
        """Parse all lines; yield the problems with them. `tasks` is how many tasks there are."""
        try:
            self.found = restore_attributes([line for _, line in self._lines])
        except ValueError:
            yield from self._each_problem()
        if any(not 0 < position <= tasks for position in self.found.after):
            yield LineProblem(self._lines[-1][0], f"(after …) takes the numbers of tasks, 1 to {tasks}")

    def _each_problem(self) -> Iterator[LineProblem]:
        found = Attributes()
        for number, line in self._lines:
            try:
                found = with_line(found, line)
            except ValueError as problem:
                yield LineProblem(number, str(problem))


class _ChecklistParser:
    """The state of the line-by-line parser."""

    def __init__(self, unnamed: str) -> None:
        self._unnamed = unnamed
        self._phases: list[tuple[str, list[_ParsedTask]]] = []
        self._problems: list[LineProblem] = []
        self._task: _ParsedTask | None = None
        self._attributes = _ParsedAttributes()

    def parse_line(self, number: int, line: str) -> None:
        note = re.fullmatch(_NOTE, line)
        if note and self._task:
            self._task.add_note_line(note[1])
            return
        stripped = line.strip(JS_WHITESPACE)
        if not stripped:
            return
        if self._parse_attribute(number, line, stripped):
            return
        self._task = None
        problem = self._parse_element(stripped)
        if problem:
            reason = "a note (> text) without a task above it" if note else problem
            self._problems.append(LineProblem(number, reason))

    def result(self) -> ParsedChecklist:
        """Return the plan and the problems."""
        parsed = [task for _, tasks in self._phases for task in tasks]
        for attributes in (self._attributes, *(task.attributes for task in parsed)):
            self._problems += attributes.problems(len(parsed))
        phases = (Phase(name, tuple(task.task() for task in tasks)) for name, tasks in self._phases)
        plan = Plan(tuple(phases), check=self._attributes.found.check)
        return ParsedChecklist(plan, tuple(sorted(self._problems, key=lambda problem: problem.line)))

    def _parse_attribute(self, number: int, line: str, stripped: str) -> bool:
        """Parse a line about the task above it or, before all others, about the plan; False if it is no such line."""
        if not is_attribute(stripped) and not stripped.startswith(OPENING):
            return False
        if self._task is not None and line[:1] in JS_WHITESPACE:
            self._task.attributes.add(number, stripped)
            return True
        if self._phases or not stripped.startswith(_OF_PLAN):
            return False
        self._attributes.add(number, stripped)
        return True

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
            self._phases.append((self._unnamed, []))
        if mark not in STATUSES:
            return f"unknown mark [{printable(mark)}]; known are [ ], [/], [x], [-] and [!]"
        if text is None:
            return "a task without text"
        self._task = _ParsedTask(text, STATUSES[mark])
        self._phases[-1][1].append(self._task)
        return None
