"""Parsers of Markdown: of checklists as tildone writes them, and of any text with tasks in it, such as an issue.

`read_checklist` parses the former. `read` passes such a text to it; other text is first converted to that form, so that
an exported plan is still restored after prose was added around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tildone.base import replace, value
from tildone.plan.formats import JS_WHITESPACE, ImportedPlan, WarningCollector, markdown
from tildone.plan.model import Phase, Plan, Status, Task
from tildone.plan.text.safe import printable, single_line

TAB_COLUMNS = 4
NESTED_INDENT = 2
"""The extra indentation, in columns, of content that belongs to a list item."""

# Patterns are strings, compiled by `re` on first use.
ITEM = "(?s)([-*+]|[0-9]{1,9}[.)])(?:[ \t]+(.*)|$)"
BOX = f"(?s)\\[(.?)\\][{JS_WHITESPACE}]+(.*)"
HEADING = f"(?s)#{{1,6}}[{JS_WHITESPACE}]+(.*?)(?:[{JS_WHITESPACE}]#+)?"
UNDERLINE = "=+|-{2,}"
RULE = "(?:-[ \t]*){3,}|(?:\\*[ \t]*){3,}|(?:_[ \t]*){3,}"
FENCE = "(?s)(`{3,})([^`]*)|(~{3,})(.*)"
QUOTE = "(?s)>[ \t]?(.*)"
_CODE_OR_COMMENT = "`+|<!--(?!tildone )"


def has_box(line: str) -> bool:
    item = re.fullmatch(ITEM, line.strip(JS_WHITESPACE))
    return bool(item and re.fullmatch(BOX, item[2] or ""))


def is_foreign(line: str) -> bool:
    """Return whether tildone reads but never writes such a line: a nested task or a heading below level 1."""
    return line.startswith("##") or (line[:1] in {" ", "\t"} and has_box(line))


def front_matter_length(lines: list[str]) -> int:
    if lines[0].rstrip() != "---":
        return 0
    for count, line in enumerate(lines[1:], start=2):
        if has_box(line):
            return 0
        if line.rstrip() in {"---", "..."}:
            return count
    return 0


def without_comments(line: str) -> str:
    """Return the line without comments that end on it. Code spans and tildone's own comments are rest."""
    rest, at, last = "", 0, line.rfind("-->")
    for found in re.finditer(_CODE_OR_COMMENT, line):
        if found.start() >= at and found[0] != "<!--":
            closing = re.compile(f"(?<!`){found[0]}(?!`)").search(line, found.end())
            rest, at = (rest + line[at : closing.end()], closing.end()) if closing else (rest, at)
        elif at <= found.start() < found.end() <= last:
            rest += line[at : found.start()]
            at = line.index("-->", found.end()) + 3
    return rest + line[at:]


def indentation(line: str) -> int:
    expanded = line.expandtabs(TAB_COLUMNS)
    return len(expanded) - len(expanded.lstrip(" "))


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
_OF_PLAN = ("$", "(folder", "(seconds", "(retries", "(watch", markdown.OPENING)
_NOTE = f"[{JS_WHITESPACE}]*>[{JS_WHITESPACE}]?({_ANY}*)"


@value
class LineProblem:
    line: int
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


@value
class ParsedChecklist:
    plan: Plan
    problems: tuple[LineProblem, ...] = ()


def read_checklist(text: str, unnamed: str = "") -> ParsedChecklist:
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
        comment = re.fullmatch(markdown.COMMENT, line)
        if comment is None or comment[1]:
            self._lines.append(line)
            return
        self._notes += markdown.restore_notes(self._lines, comment[2])
        self._lines = []

    def task(self) -> Task:
        task = Task(self._text, self._status, (*self._notes, *markdown.split_notes(self._lines)))
        found = self.attributes.found
        return replace(task, check=found.check, after=found.after, **found.words)


class _ParsedAttributes:
    """The lines of a task, or of the plan, with its attributes."""

    def __init__(self) -> None:
        self._lines: list[tuple[int, str]] = []
        self.found = markdown.Attributes()

    def add(self, number: int, line: str) -> None:
        self._lines.append((number, line))

    def problems(self, tasks: int) -> Iterator[LineProblem]:
        """Parse all lines; yield the problems with them. `tasks` is how many tasks there are."""
        try:
            self.found = markdown.restore_attributes([line for _, line in self._lines])
        except ValueError:
            found = markdown.Attributes()
            for number, line in self._lines:
                try:
                    found = markdown.with_line(found, line)
                except ValueError as problem:
                    yield LineProblem(number, str(problem))
        if any(not 0 < position <= tasks for position in self.found.after):
            yield LineProblem(self._lines[-1][0], f"(after …) takes the numbers of tasks, 1 to {tasks}")


class _ChecklistParser:
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
        parsed = [task for _, tasks in self._phases for task in tasks]
        for attributes in (self._attributes, *(task.attributes for task in parsed)):
            self._problems += attributes.problems(len(parsed))
        phases = (Phase(name, tuple(task.task() for task in tasks)) for name, tasks in self._phases)
        plan = Plan(tuple(phases), check=self._attributes.found.check)
        return ParsedChecklist(plan, tuple(sorted(self._problems, key=lambda problem: problem.line)))

    def _parse_attribute(self, number: int, line: str, stripped: str) -> bool:
        """Parse a line about the task above it or, before all others, about the plan; False if it is no such line."""
        if not markdown.is_attribute(stripped) and not stripped.startswith(markdown.OPENING):
            return False
        if self._task is not None and line[:1] in JS_WHITESPACE:
            self._task.attributes.add(number, stripped)
            return True
        if self._phases or not stripped.startswith(_OF_PLAN):
            return False
        self._attributes.add(number, stripped)
        return True

    def _parse_element(self, line: str) -> str | None:
        heading, task = re.fullmatch(_HEADING, line), re.fullmatch(_TASK, line)
        name = markdown.restore_text(heading[1]) if heading else None
        if name is not None:
            self._phases.append((name, []))
            return None
        if task:
            return self._begin_task(task[1], markdown.restore_text(task[2]))
        return "not a heading (# name), a task (- [ ] text) or a note (> text)"

    def _begin_task(self, mark: str, text: str | None) -> str | None:
        if not self._phases:
            self._phases.append((self._unnamed, []))
        if mark not in STATUSES:
            return f"unknown mark [{printable(mark)}]; known are [ ], [/], [x], [-] and [!]"
        if text is None:
            return "a task without text"
        self._task = _ParsedTask(text, STATUSES[mark])
        self._phases[-1][1].append(self._task)
        return None


_TASKLIST = "[tasklist]"
"""The info string of the fenced task lists that GitHub used to support."""


def read(text: str) -> ImportedPlan:
    """Return the plan in a Markdown text: headings with tasks become phases, in order."""
    lines = re.split("\r?\n", text)
    parsed = read_checklist(text)
    if not parsed.problems and not any(map(is_foreign, lines)):
        return ImportedPlan(parsed.plan, title=_title([(each.name, each.tasks) for each in parsed.plan.phases]))
    skipped = front_matter_length(lines)
    parser = _MarkdownParser(skipped)
    for number, line in enumerate(lines[skipped:], start=skipped + 1):
        parser.parse_line(number, line)
    return parser.result()


def _title(headings: Sequence[tuple[str, Sequence[object]]]) -> str:
    """Return the first heading if it has no tasks."""
    return next((name for name, tasks in headings[:1] if not tasks), "")


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
        parsed = read_checklist("\n".join(lines))
        for problem in parsed.problems:
            is_order = problem.reason.startswith("(after")
            self._warnings.add(
                "an order of tasks is not imported" if is_order else "a task without text is not imported"
            )
        title = _title([(name, tasks) for number, name, tasks in self._phases if number])
        return ImportedPlan(parsed.plan, self._warnings.all(), title)

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
        elif markdown.is_attribute(content) and (owner := self._owner(line)):
            self._add_attribute(number, owner[0], content)
        elif content and (rule or not self._continue_task(line, wrapped)):
            self._parse_other(number, line)
        self._after_blank = not content

    def _add_attribute(self, number: int, task: _FoundTask, line: str) -> None:
        """Add a check or another attribute to a task; a warning if it has no meaning."""
        try:
            markdown.restore_attributes([*task.attributes, line])
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
        if mark not in STATUSES:
            self._warnings.add(f"unknown mark [{printable(mark)}]; the task is imported as pending", number)
            mark = " "
        task = _FoundTask(mark, text)
        # Two trailing spaces are a hard line break: the text does not continue.
        self._wrapped = None if line.endswith("  ") else task
        self._items.append(_ListItem(indent, text, task))
        self._phases[-1][2].append(task)

    def _text_with_context(self, number: int, text: str) -> str:
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
            self._append_to_notes(owner[0], line.expandtabs(TAB_COLUMNS)[owner[1] :].rstrip(JS_WHITESPACE))
        return bool(owner)

    def _append_to_notes(self, task: _FoundTask, line: str) -> None:
        # A line after a blank one starts another note.
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
