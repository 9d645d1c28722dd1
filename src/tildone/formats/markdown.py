"""Plans as Markdown checklists: a portable and a lossless writer, and a reader for both.

The lossless writer adds an HTML comment with the exact JSON value to each element that the reader would not reproduce
from its visible text. The reader uses a comment only while it matches the visible text next to it: an edit by a person
takes precedence.
"""

from __future__ import annotations

import re

from tildone.core.plan import Phase, Plan, Status, Task
from tildone.formats.whitespace import JS_WHITESPACE
from tildone.log import codec
from tildone.typing import TYPE_CHECKING
from tildone.value import value
from tildone.views.sanitize import printable, single_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

STATUSES = {status.checkbox: status for status in Status} | {
    "": Status.PENDING,
    "X": Status.COMPLETED,
    ">": Status.IN_PROGRESS,
    "~": Status.ABANDONED,
}
EMPTY = "# Todos\n"

# `.` in a JavaScript regular expression, and one UTF-16 code unit of it.
_ANY = "[^\n\r\u2028\u2029]"
_UNIT = "[^\n\r\u2028\u2029\U00010000-\U0010ffff]"

# Patterns are strings, compiled by `re` on first use: hooks read no Markdown and skip the cost.
_LINE_END = "\r?\n"
_HEADING = f"#{{1,6}}[{JS_WHITESPACE}]+({_ANY}+)"
_TASK = f"[-*+][{JS_WHITESPACE}]*\\[({_UNIT}?)\\][{JS_WHITESPACE}]+({_ANY}+)"
_NOTE = f"[{JS_WHITESPACE}]*>[{JS_WHITESPACE}]?({_ANY}*)"

_OPENING = "<!--tildone"
_COMMENT = f"(.*){_OPENING} ([^<>]*)-->"
_HALVES = "[\ud800-\udfff]"
_BETWEEN_HALVES = "(?<=[\ud800-\udbff])(?=[\udc00-\udfff])"


@value
class LineProblem:
    """A line that could not be parsed, and the reason."""

    line: int
    why: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.why}"


@value
class ParsedChecklist:
    """The plan in a text, and the lines that could not be parsed."""

    plan: Plan
    problems: tuple[LineProblem, ...] = ()


def portable_checklist(plan: Plan) -> str:
    """The plan in the form that other tools write and read; line breaks within an element become a symbol."""
    return _joined([_checklist_lines(phase) for phase in plan.phases]) or EMPTY


def lossless_checklist(plan: Plan) -> str:
    """The plan in a form from which `read` restores the same plan, whatever its texts contain.

    Equal to `portable_checklist` where that is lossless. A flat list has no heading.
    """
    return _joined([_document_lines(phase, first=not index) for index, phase in enumerate(plan.phases)])


def read(text: str, unnamed: str = "") -> ParsedChecklist:
    """The plan in a checklist, whoever wrote it. A phase without a name is called `unnamed`.

    Tasks above the first heading are in a phase without a name.
    """
    reader = _Reader()
    for number, line in enumerate(re.split(_LINE_END, text), start=1):
        reader.take(number, line)
    return reader.reading(unnamed)


def _joined(blocks: list[list[str]]) -> str:
    return "\n".join("".join(f"{line}\n" for line in lines) for lines in blocks)


def _checklist_lines(phase: Phase) -> list[str]:
    lines = [f"# {_shown(phase.name)}"]
    for task in phase.tasks:
        lines.append(f"- [{task.status.checkbox}] {_shown(task.text)}")
        lines += _quoted(_note_lines(task.notes, _shown_in_note))
    return lines


def _document_lines(phase: Phase, *, first: bool) -> list[str]:
    flat = first and not phase.name and phase.tasks
    lines = [] if flat else [f"# {_exact(phase.name)}"]
    for task in phase.tasks:
        lines.append(f"- [{task.status.checkbox}] {_exact(task.text)}")
        lines += _quoted(_exact_notes(task.notes))
    return lines


def _exact(text: str) -> str:
    """A phase name or task text, with a comment if it would not be restored without one."""
    if text and text == text.strip(JS_WHITESPACE) and text == _shown(text) and _OPENING not in text:
        return text
    return f"{_visible(text)} {_comment(_pieces(text))}".lstrip(" ")


def _exact_notes(notes: tuple[str, ...]) -> list[str]:
    """The lines of a task's notes, with one comment for all if they would not be restored without one."""
    lines = _note_lines(notes, str)
    if _parted(lines) == list(notes) and all(line == _shown(line) and _OPENING not in line for line in lines):
        return lines
    return [*_note_lines(notes, _visible_in_note), _comment([_pieces(note) for note in notes])]


def _note_lines(notes: tuple[str, ...], shown: Callable[[str], str]) -> list[str]:
    """The lines of all notes, separated by empty lines."""
    lines: list[str] = []
    for index, note in enumerate(notes):
        lines += [""] if index else []
        lines += map(shown, note.split("\n"))
    return lines


def _parted(lines: Iterable[str]) -> list[str]:
    """The notes in these lines, which empty lines separate."""
    notes: list[list[str]] = [[]]
    for line in lines:
        if line:
            notes[-1].append(line)
        else:
            notes.append([])
    return ["\n".join(note) for note in notes if note]


def _quoted(lines: list[str]) -> list[str]:
    return [f"  > {line}" if line else "  >" for line in lines]


def _shown(text: str) -> str:
    """The portable form: one line, with lone surrogates replaced."""
    return re.sub(_HALVES, "\ufffd", single_line(text))


def _shown_in_note(line: str) -> str:
    """The same for a line of a note, where a final carriage return is part of a CRLF."""
    return f"{_shown(line[:-1])}\r" if line.endswith("\r") else _shown(line)


def _visible(text: str) -> str:
    """The visible text before a comment."""
    return _visible_in_note(text).lstrip(JS_WHITESPACE)


def _visible_in_note(line: str) -> str:
    return printable(line).replace(_OPENING, f"‹{_OPENING[1:]}").rstrip(JS_WHITESPACE)


def _comment(exact: str | list[str] | list[str | list[str]]) -> str:
    """A comment whose content cannot close it."""
    json = codec.dump(exact).replace("--", "\\u002d\\u002d").replace("<", "\\u003c").replace(">", "\\u003e")
    return f"{_OPENING} {json}-->"


def _pieces(text: str) -> str | list[str]:
    """The text for JSON, split between surrogates that JSON would join into one character."""
    pieces = re.split(_BETWEEN_HALVES, text)
    return text if len(pieces) == 1 else pieces


def _whole(pieces: object) -> str | None:
    """The inverse of `_pieces`; None for other data."""
    match pieces:
        case str(text):
            return text
        case [*parts] if all(isinstance(part, str) for part in parts):
            return "".join(map(str, parts))
        case _:
            return None


def _parsed(json: str) -> object:
    try:
        return codec.parse(json)
    except ValueError:
        return None


def _meant(written: str) -> str | None:
    """The phase name or task text that a line denotes; None if it is empty."""
    found = re.fullmatch(_COMMENT, written)
    if found is None:
        return written
    visible = found[1].rstrip(JS_WHITESPACE)
    exact = _whole(_parsed(found[2]))
    return exact if exact is not None and _visible(exact) == visible else visible or None


def _meant_notes(lines: list[str], json: str) -> list[str]:
    """The notes that the lines above a comment denote."""
    pieces = _parsed(json)
    exact = [_whole(note) for note in pieces] if isinstance(pieces, list) else []
    notes = tuple(note for note in exact if note is not None)
    if len(notes) == len(exact) and _note_lines(notes, _visible_in_note) == lines:
        return list(notes)
    return _parted(lines)


class _Draft:
    """A task whose notes are being parsed."""

    def __init__(self, text: str, status: Status) -> None:
        self._text = text
        self._status = status
        self._notes: list[str] = []
        self._lines: list[str] = []

    def note(self, line: str) -> None:
        """Add a line of a note, or the comment after the notes."""
        comment = re.fullmatch(_COMMENT, line)
        if comment is None or comment[1]:
            self._lines.append(line)
            return
        self._notes += _meant_notes(self._lines, comment[2])
        self._lines = []

    def task(self) -> Task:
        """The task with its notes."""
        return Task(self._text, self._status, (*self._notes, *_parted(self._lines)))


class _Reader:
    """The state of the line-by-line parser."""

    def __init__(self) -> None:
        self._phases: list[tuple[str, list[_Draft]]] = []
        self._problems: list[LineProblem] = []
        self._draft: _Draft | None = None

    def take(self, number: int, line: str) -> None:
        """Parse one line."""
        note = re.fullmatch(_NOTE, line)
        if note and self._draft:
            self._draft.note(note[1])
            return
        stripped = line.strip(JS_WHITESPACE)
        if not stripped:
            return
        self._draft = None
        why = self._element(stripped)
        if why:
            self._problems.append(LineProblem(number, "a note (> text) without a task above it" if note else why))

    def reading(self, unnamed: str) -> ParsedChecklist:
        """The result."""
        phases = (Phase(name or unnamed, tuple(draft.task() for draft in drafts)) for name, drafts in self._phases)
        return ParsedChecklist(Plan(tuple(phases)), tuple(self._problems))

    def _element(self, line: str) -> str | None:
        """Parse a heading or a task; returns the problem with it, if any."""
        heading, task = re.fullmatch(_HEADING, line), re.fullmatch(_TASK, line)
        name = _meant(heading[1]) if heading else None
        if name is not None:
            self._phases.append((name, []))
            return None
        if task:
            return self._begin(task[1], _meant(task[2]))
        return "not a heading (# name), a task (- [ ] text) or a note (> text)"

    def _begin(self, mark: str, text: str | None) -> str | None:
        if not self._phases:
            self._phases.append(("", []))
        if mark not in STATUSES:
            return f"unknown mark [{printable(mark)}]; known are [ ], [/], [x], [-] and [!]"
        if text is None:
            return "a task without text"
        self._draft = _Draft(text, STATUSES[mark])
        self._phases[-1][1].append(self._draft)
        return None
