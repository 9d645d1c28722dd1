"""Questions to the person: what they show, and what each key means.

A question knows nothing of the screen. `rows` are its lines, `key_line` the keys that answer, and `press` applies one.
The panel decides when keys count.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from string import ascii_lowercase, digits
from typing import Generic, TypeVar

from tildone.host.permission_request import PermissionAnswer, PermissionReply, PermissionRequest
from tildone.kit.formatting import format_count
from tildone.kit.text import wrap_text
from tildone.kit.theme import Role, Span
from tildone.tui.row_list import Line
from tildone.tui.run.diff_view import DiffLine, fits_side_by_side, parse_diff, side_by_side, unified
from tildone.value import value
from tildone.views.sanitize import printable

T = TypeVar("T")

WHY = "Why not? The model reads it. Enter alone says no without a reason; esc goes back"
INDENT = "   "
SIDE_BY_SIDE_COLUMNS, SIDE_BY_SIDE_DEFAULT = 120, 160
_NUMBERED = digits[1:] + ascii_lowercase


@value
class QuestionChoice(Generic[T]):
    """An answer that a key gives, and its words."""

    label: str
    answer: T


class AskedQuestion(Generic[T]):
    """One question. `answer` is the person's answer, or None if they declined.

    With `asks_text`, what the person types is a text, which `answer_text` takes. `was_left` means that the person went
    back to the editor: the question does not take the keys again by itself.
    """

    def __init__(self, title: str) -> None:
        self.answer: asyncio.Future[T | None] = asyncio.get_running_loop().create_future()
        self.asks_text = False
        self.was_left = False
        self.place = ""
        self._title = title

    def set_answer(self, answer: T | None) -> None:
        """Set the answer, unless it is already set."""
        if not self.answer.done():
            self.answer.set_result(answer)

    def press(self, key: str) -> bool:  # noqa: ARG002  a question without keys
        """Apply a key: a character, or Textual's name of another key. Return whether it meant something."""
        return False

    def answer_text(self, text: str) -> None:
        """Take a text that was typed."""

    def leave_text(self) -> bool:
        """Return to the keys from a text; return False if there are none."""
        return False

    def rows(self, columns: int) -> list[Line]:
        first, *more = self._title.split("\n")
        wrapped = wrap_text(printable(first), max(1, columns - 4)) or [""]
        lines: list[Line] = [(Span("? ", Role.WARNING, bold=True), Span(wrapped[0], bold=True), *self._marks())]
        lines += [(Span(f"  {text}", bold=True),) for text in wrapped[1:]]
        return lines + [(Span(f"{INDENT}{text}"),) for line in more for text in _wrapped(line, columns)]

    def key_line(self, columns: int) -> list[Line]:  # noqa: ARG002  a question without keys
        return []

    def hunks(self, columns: int) -> list[int]:  # noqa: ARG002  a question without a diff
        return []

    def _marks(self) -> Line:
        return (Span(f"  {self.place}", Role.DIM),) if self.place else ()


class AskedTextQuestion(AskedQuestion[str]):
    """A question that is answered with a line of text."""

    def __init__(self, title: str) -> None:
        super().__init__(title)
        self.asks_text = True

    def answer_text(self, text: str) -> None:
        self.set_answer(text)


class AskedKeyQuestion(AskedQuestion[T]):
    """A question that is answered with a single key, or with Enter after an arrow key has chosen an answer."""

    def __init__(self, title: str, choices: Mapping[str, QuestionChoice[T]], *, listed: bool = False) -> None:
        super().__init__(title)
        self.choices = dict(choices)
        self._listed = listed
        self._chosen = -1

    def press(self, key: str) -> bool:
        choice = self.choices.get(key)
        if self._listed and key in ("up", "down"):
            step = -1 if key == "up" else 1
            self._chosen = max(0, min(self._chosen + step, len(self.choices) - 1))
            return True
        if self._listed and key == "enter" and self._chosen >= 0:
            choice = list(self.choices.values())[self._chosen]
        if choice is not None:
            self.set_answer(choice.answer)
        return choice is not None

    def rows(self, columns: int) -> list[Line]:
        """Return the question; below it the answers, if each has a line."""
        rows = super().rows(columns)
        if not self._listed:
            return rows
        for index, (key, choice) in enumerate(self.choices.items()):
            mark = "●" if index == self._chosen else " "
            rows.append((Span(f" {mark} ", Role.ACCENT), Span(key, bold=True), Span(f" {printable(choice.label)}")))
        return rows

    def key_line(self, columns: int) -> list[Line]:
        if self._listed:
            return [(Span(f"{INDENT}a key answers, or ↑ ↓ and enter", Role.DIM),)]
        return keys_line([(key, printable(choice.label)) for key, choice in self.choices.items()], columns)


class AskedPermission(AskedQuestion[PermissionReply]):
    """A tool's question whether it may do something. `detail` is where, and for which task."""

    def __init__(self, request: PermissionRequest, detail: str = "") -> None:
        super().__init__(request.question)
        self._request, self._detail = request, detail
        self._diff: list[DiffLine] = parse_diff(request.details) if request.is_diff else []
        self._side_by_side: bool | None = None
        self._confirms = ""
        self._yes = "Y" if request.caution else "y"

    def press(self, key: str) -> bool:
        """Apply a key. An answer that covers more than this call is asked for once more."""
        confirms, self._confirms = self._confirms, ""
        if key == self._yes:
            self._reply(PermissionAnswer.ONCE)
        elif key == "n":
            self.asks_text = True
        elif key in ("a", "p") and (key == "a" or self._request.plan):
            if confirms != key:
                self._confirms = key
            else:
                self._reply(PermissionAnswer.ALWAYS if key == "a" else PermissionAnswer.PLAN)
        elif key == "v" and self._diff:
            self._side_by_side = not self._side_by_side
        else:
            return bool(confirms)
        return True

    def answer_text(self, text: str) -> None:
        self.set_answer(PermissionReply(PermissionAnswer.NO, text.strip()))

    def leave_text(self) -> bool:
        """Return to the keys."""
        self.asks_text = False
        return True

    def rows(self, columns: int) -> list[Line]:
        """Return the question, and the whole command or diff."""
        rows = super().rows(columns)
        if self._diff:
            rows += self._diff_rows(columns)
        elif self._request.details:
            texts = [text for line in self._request.details for text in _wrapped(line, columns)]
            rows += [(), *((Span(f"{INDENT}{text}", bold=True),) for text in texts), ()]
        caution = self._request.caution
        rows += [(Span(f"{INDENT}{text}", Role.ERROR),) for text in _wrapped(caution, columns) if text]
        rows += [(Span(f"{INDENT}{text}", Role.DIM),) for text in _wrapped(self._detail, columns) if text]
        if self._confirms == "p":
            listed = [text for line in self._request.plan for text in _wrapped(line, columns)]
            rows += [(Span(f"{INDENT}{text}", Role.MUTED),) for text in listed]
        return rows

    def key_line(self, columns: int) -> list[Line]:
        """Return the keys; those of a text, while a reason is typed."""
        if self.asks_text:
            return [(Span(f"{INDENT}{WHY}", Role.MUTED),)]
        always = f"{printable(self._request.always)}, {self._request.scope}"
        if self._confirms == "a":
            return keys_line([("a", f"again: {always}"), ("any other key", "back")], columns)
        count = format_count(len(self._request.plan), "command")
        if self._confirms == "p":
            return keys_line([("p", f"again: exactly the {count} above"), ("any other key", "back")], columns)
        keys = [(self._yes, "once"), ("a", always), ("n", "no, and say why")]
        keys[2:2] = [("p", f"all {count} of the plan")] if self._request.plan else []
        if len(self.hunks(columns)) > 1:
            keys.append(("j k", "next"))
        if self._diff and columns >= SIDE_BY_SIDE_COLUMNS and fits_side_by_side(self._diff, columns):
            keys.append(("v", "unified" if self._is_side_by_side(columns) else "side by side"))
        return keys_line(keys, columns)

    def hunks(self, columns: int) -> list[int]:
        if not self._diff or self._is_side_by_side(columns):
            return []
        row = len(super().rows(columns))
        found: list[int] = []
        for line, rows in zip(self._diff, unified(self._diff, columns), strict=True):
            found += [row] if line.sign == "@" else []
            row += len(rows)
        return found

    def _is_side_by_side(self, columns: int) -> bool:
        if columns < SIDE_BY_SIDE_COLUMNS or not fits_side_by_side(self._diff, columns):
            return False
        return columns >= SIDE_BY_SIDE_DEFAULT if self._side_by_side is None else self._side_by_side

    def _diff_rows(self, columns: int) -> list[Line]:
        if self._is_side_by_side(columns):
            return side_by_side(self._diff, columns)
        return [row for rows in unified(self._diff, columns) for row in rows]

    def _reply(self, answer: PermissionAnswer) -> None:
        self.set_answer(PermissionReply(answer))


def numbered_choices(options: Sequence[str]) -> dict[str, QuestionChoice[str]]:
    """Return a key for each option: the digits, then letters."""
    return {key: QuestionChoice(option, option) for key, option in zip(_NUMBERED, options, strict=False)}


def keys_line(keys: Sequence[tuple[str, str]], columns: int) -> list[Line]:
    """Return keys and what they do, in as few lines as they need."""
    lines: list[Line] = []
    line: Line = ()
    used = 0
    for key, label in keys:
        width = len(key) + len(label) + 4
        if line and used + width > columns - 2:
            lines.append(line)
            line, used = (), 0
        lead = "   " if line else INDENT
        texts = wrap_text(label, max(8, columns - len(key) - 6)) or [""]
        line = (*line, Span(f"{lead}{key}", bold=True), Span(f" {texts[0]}", Role.MUTED))
        used += width
        for text in texts[1:]:
            lines.append(line)
            line, used = (Span(f"{INDENT}{' ' * len(key)} {text}", Role.MUTED),), len(key) + len(text) + 4
    return [*lines, line]


def _wrapped(text: str, columns: int) -> list[str]:
    return wrap_text(printable(text), max(1, columns - len(INDENT) - 1)) or [""]
