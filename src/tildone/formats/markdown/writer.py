"""Writers of Markdown checklists: a portable and a lossless one."""

from __future__ import annotations

import re

from tildone.core.plan import has_attributes
from tildone.formats.markdown.attributes import Attributes, attribute_lines
from tildone.formats.markdown.exact import (
    OPENING,
    note_lines,
    notes_comment,
    split_notes,
    text_comment,
    visible_note_line,
    visible_text,
)
from tildone.formats.whitespace import JS_WHITESPACE
from tildone.typing import TYPE_CHECKING
from tildone.views.limits import bounded_plan
from tildone.views.sanitize import safe_text, single_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tildone.core.plan import Phase, Plan, Task

EMPTY = "# Todos\n"
_SURROGATES = "[\ud800-\udfff]"


def portable_checklist(plan: Plan) -> str:
    """Return the plan in the form that other tools write and read; line breaks within an element become a symbol."""
    return _joined([_portable_lines(phase) for phase in plan.phases]) or EMPTY


def bounded_checklist(plan: Plan, max_characters: int) -> str:
    """Return `portable_checklist` of the part of a plan that fits, and what is missing."""
    part = bounded_plan(plan, max_characters)
    return portable_checklist(part.plan) + "".join(f"{line}\n" for line in part.omissions)


def lossless_checklist(plan: Plan, *, escaped: bool = False, all_headings: bool = False) -> str:
    """Return the plan in a form from which `reader.read` restores the same plan, whatever its texts contain.

    Equal to `portable_checklist` where that is lossless. A flat list has no heading, except with `all_headings`, for
    readers that give a name to tasks without one. If `escaped`, texts that are not harmless are in comments too, for a
    reader that may be a model or a terminal.
    """
    is_literal = _is_safe if escaped else _is_literal
    positions = {task.number: position for position, task in enumerate(plan.tasks, 1) if task.number}
    blocks = [
        _lossless_lines(phase, is_literal, positions, flat=not index and not phase.name and not all_headings)
        for index, phase in enumerate(plan.phases)
    ]
    if plan.check is None:
        return _joined(blocks)
    return _joined([attribute_lines(Attributes(plan.check), is_literal), *blocks])


def _joined(blocks: list[list[str]]) -> str:
    return "\n".join("".join(f"{line}\n" for line in lines) for lines in blocks)


def _portable_lines(phase: Phase) -> list[str]:
    lines = [f"# {_portable(phase.name)}"]
    for task in phase.tasks:
        lines.append(f"- [{task.status.checkbox}] {_portable(task.text)}")
        lines += _quoted(note_lines(task.notes, _portable_note_line))
    return lines


def _lossless_lines(
    phase: Phase, is_literal: Callable[[str], bool], positions: Mapping[int, int], *, flat: bool
) -> list[str]:
    lines = [] if flat and phase.tasks else [f"# {_exact_text(phase.name, is_literal)}"]
    for task in phase.tasks:
        lines.append(f"- [{task.status.checkbox}] {_exact_text(task.text, is_literal)}")
        if has_attributes(task):
            lines += [f"  {line}" for line in attribute_lines(_attributes(task, positions), is_literal)]
        lines += _quoted(_exact_notes(task.notes, is_literal))
    return lines


def _attributes(task: Task, positions: Mapping[int, int]) -> Attributes:
    after = tuple(positions[other] for other in task.after if other in positions) if task.number else task.after
    return Attributes(task.check, after, task.words)


def _exact_text(text: str, is_literal: Callable[[str], bool]) -> str:
    """A phase name or task text, with a comment if it would not be restored without one."""
    if text and text == text.strip(JS_WHITESPACE) and is_literal(text):
        return text
    return f"{visible_text(text)} {text_comment(text)}".lstrip(" ")


def _exact_notes(notes: tuple[str, ...], is_literal: Callable[[str], bool]) -> list[str]:
    """The lines of a task's notes, with one comment for all if they would not be restored without one."""
    lines = note_lines(notes, str)
    if split_notes(lines) == list(notes) and all(map(is_literal, lines)):
        return lines
    return [*note_lines(notes, visible_note_line), notes_comment(notes)]


def _is_literal(line: str) -> bool:
    return line == _portable(line) and OPENING not in line


def _is_safe(line: str) -> bool:
    """Whether the line can be written as it is, for any reader."""
    return _is_literal(line) and line == safe_text(line)


def _quoted(lines: list[str]) -> list[str]:
    return [f"  > {line}" if line else "  >" for line in lines]


def _portable(text: str) -> str:
    """The text on one line, with lone surrogates replaced."""
    return re.sub(_SURROGATES, "\ufffd", single_line(text))


def _portable_note_line(line: str) -> str:
    """The same for a line of a note, where a final carriage return is part of a CRLF."""
    return f"{_portable(line[:-1])}\r" if line.endswith("\r") else _portable(line)
