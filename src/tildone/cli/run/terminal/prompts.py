"""Questions to the person during a run.

Most are answered with a single key, without Enter. A question may appear while the person is typing, so its keys count
only once it is *armed*: a moment after it was shown, while the person types nothing. Until then keys go to the input
line. Enter and pasted text never answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from string import ascii_lowercase, digits
from typing import Generic, TypeVar

from tildone.cli.run.terminal.keys import Key
from tildone.cli.run.terminal.line_editor import LineEditor
from tildone.host.permission_request import PermissionAnswer, PermissionReply, PermissionRequest
from tildone.host.tools.result_view import diff_role
from tildone.kit.components import Component, Text
from tildone.kit.components.drawing import draw
from tildone.kit.components.fitting import Line
from tildone.kit.formatting import format_count
from tildone.kit.theme import LINE_BREAK, Role, Span
from tildone.value import value
from tildone.views.sanitize import printable

T = TypeVar("T")
Show = Callable[[Component], None]

UNARMED = "Tab answers; what you type now goes into the line below"
NO_REASON = "Why not? The model reads it. Enter alone says no without a reason"
EXPLAINED = """\
{once}  allows this one call. The next one is asked for again.
{always}  allows everything that is named behind it, until this conversation ends. A * is any arguments, except
   those that run other programs or write other files.
{plan}n  refuses this call; the model is told, and goes on.
r  refuses it, and tells the model your reason.
Esc and Ctrl-C refuse it and stop the model. Enter does nothing."""
PLAN_EXPLAINED = (
    "p  lists the commands in the open tasks of the plan, and allows exactly those if you press it again.\n"
)

_NUMBERED_KEYS = digits[1:] + ascii_lowercase


@value
class Choice(Generic[T]):
    """An answer that a key gives, and its words."""

    label: str
    answer: T


class Question(Generic[T]):
    """One question. `answer` is the person's answer, or None if they declined. `line` is where they type a text."""

    def __init__(self, title: str) -> None:
        self.answer: asyncio.Future[T | None] = asyncio.get_running_loop().create_future()
        self.line: LineEditor | None = None
        self.armed = False
        self.stops_turn = False
        self._title = title

    def press(self, key: Key) -> None:
        """Apply a key."""
        if key.name == "escape":
            self.set_answer(None)

    def set_answer(self, answer: T | None) -> None:
        """Set the answer, unless it is already set."""
        if not self.answer.done():
            self.answer.set_result(answer)

    def lines(self, columns: int) -> list[Line]:
        """Return the lines of the question."""
        first, *more = self._title.split("\n")
        rows = draw(Text(f"? {first}", Role.WARNING, bold=True), columns, safe=printable)
        return rows + (draw(Text("\n".join(f"  {line}" for line in more)), columns, safe=printable) if more else [])


class TextQuestion(Question[str]):
    """A question that is answered with a line of text. It is armed at once, because only Enter answers it."""

    def __init__(self, title: str) -> None:
        super().__init__(title)
        self.line = LineEditor()
        self.armed = True

    def press(self, key: Key) -> None:
        """Apply a key."""
        super().press(key)
        typed = self.line.press(key) if self.line else None
        if typed is not None:
            self.set_answer(typed)


class KeyQuestion(Question[T]):
    """A question that is answered with a single key."""

    def __init__(self, title: str, choices: Mapping[str, Choice[T]]) -> None:
        super().__init__(title)
        self.choices = dict(choices)

    def press(self, key: Key) -> None:
        """Apply a key; only one that belongs to a choice answers."""
        super().press(key)
        choice = self.choices.get(key.text if not key.pasted else "") or self.choices.get(typed_letter(key))
        if choice is not None:
            self.set_answer(choice.answer)

    def lines(self, columns: int) -> list[Line]:
        """Return the lines of the question and its keys, or how to answer while it is not armed."""
        rows = super().lines(columns)
        if not self.armed:
            return [*rows, *draw(Text(f"  {UNARMED}", Role.MUTED), columns, safe=printable)]
        return [*rows, *self.key_lines(columns)]

    def key_lines(self, columns: int) -> list[Line]:
        """Return a line for each key."""
        return [row for key, choice in self.choices.items() for row in _key_row(key, choice.label, columns)]


class PermissionQuestion(KeyQuestion[PermissionReply]):
    """A tool's permission question. `show` writes lines above it that are too long for it."""

    def __init__(self, request: PermissionRequest, show: Show) -> None:
        super().__init__(request.question, _permission_choices(request))
        self.stops_turn = True
        self._request = request
        self._show = show
        self._details: Component | None = _details(request) if request.details else None
        self._confirms_plan = False

    def spill(self, columns: int, rows: int) -> None:
        """Write the details above the question if the terminal has no room for them: nothing may stay hidden."""
        if self._details is not None and len(self.lines(columns)) + len(self.key_lines(columns)) > rows:
            self._show(self._details)
            self._details = None

    def press(self, key: Key) -> None:
        """Apply a key. The commands of the plan are listed before they are allowed."""
        if self.line is not None:
            self._type_reason(self.line, key)
            return
        letter = typed_letter(key)
        confirms, self._confirms_plan = self._confirms_plan, False
        if letter == "?":
            once, always = _keys(self._request)
            plan = PLAN_EXPLAINED if self._request.plan else ""
            self._show(Text(EXPLAINED.format(once=once, always=always, plan=plan), Role.MUTED))
        elif letter == "r":
            self.line = LineEditor()
        elif letter == "p" and self._request.plan and not confirms:
            listed = "\n".join(f"  {printable(command)}" for command in self._request.plan)
            self._show(Text(f"Commands in the open tasks of the plan:\n{listed}", Role.MUTED))
            self._confirms_plan = True
        else:
            super().press(key)

    def lines(self, columns: int) -> list[Line]:
        """Return the question, the command or the diff, and the keys."""
        rows = Question.lines(self, columns)
        rows += draw(self._details, columns, safe=str) if self._details else []
        caution = self._request.caution
        rows += draw(Text(f"  {caution}", Role.ERROR), columns, safe=printable) if caution else []
        if self.line is not None:
            return [*rows, *draw(Text(f"  {NO_REASON}", Role.MUTED), columns, safe=printable)]
        if not self.armed:
            return [*rows, *draw(Text(f"  {UNARMED}", Role.MUTED), columns, safe=printable)]
        return [*rows, *self.key_lines(columns)]

    def key_lines(self, columns: int) -> list[Line]:
        """Return a line for each key."""
        if self._confirms_plan:
            count = format_count(len(self._request.plan), "command")
            return _key_row("p", f"again: allow exactly the {count} listed above; any other key: back", columns)
        keys = super().key_lines(columns)
        more = {"r": "no, with a reason for the model", "?": "explain"}
        return keys + [row for key, label in more.items() for row in _key_row(key, label, columns)]

    def _type_reason(self, line: LineEditor, key: Key) -> None:
        if key.name == "escape":
            self.line = None
            return
        typed = line.press(key)
        if typed is not None:
            self.set_answer(PermissionReply(PermissionAnswer.NO, typed.strip()))


def numbered_choices(options: Sequence[str]) -> dict[str, Choice[str]]:
    """Return a key for each option: the digits, then letters."""
    return {key: Choice(option, option) for key, option in zip(_NUMBERED_KEYS, options, strict=False)}


def typed_letter(key: Key) -> str:
    """Return the single character that was typed, in lower case; empty for anything else, such as a paste."""
    return key.text.lower() if len(key.text) == 1 and not key.pasted else ""


def _keys(request: PermissionRequest) -> tuple[str, str]:
    """Return the keys that allow this call, and all like it. A dangerous command is allowed with a capital letter."""
    return ("Y", "A") if request.caution else ("y", "a")


def _permission_choices(request: PermissionRequest) -> dict[str, Choice[PermissionReply]]:
    once, always = _keys(request)
    choices = {
        once: Choice("once", PermissionReply(PermissionAnswer.ONCE)),
        always: Choice(f"always {request.scope}: {request.always}", PermissionReply(PermissionAnswer.ALWAYS)),
    }
    if request.plan:
        count = format_count(len(request.plan), "command")
        choices["p"] = Choice(f"all {count} of the plan, listed first", PermissionReply(PermissionAnswer.PLAN))
    return choices | {"n": Choice("no", PermissionReply(PermissionAnswer.NO))}


def _details(request: PermissionRequest) -> Component:
    """Return the command, or the coloured diff. The request is sanitized."""
    spans: list[Span] = []
    for line in request.details:
        role = diff_role(line) if request.is_diff else Role.TEXT
        spans += [LINE_BREAK, Span(f"  {line}" if line else "", role)]
    return Text(tuple(spans[1:]))


def _key_row(key: str, label: str, columns: int) -> list[Line]:
    return draw(Text((Span(f"  {key}", Role.ACCENT), Span(f"  {label}", Role.MUTED))), columns, safe=printable)
