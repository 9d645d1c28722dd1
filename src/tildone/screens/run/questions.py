"""The question above the editor: where it is drawn, and when its keys count.

Theory of operation. A question appears while the person may be typing, so a key must never answer it that was meant for
the editor. The editor keeps the keys when a question appears. The question takes them by itself only once it has been
shown for 300 ms, the editor is empty, and no key has come for a second; Tab takes them at once. Its keys count 300 ms
after the first frame in which its end was visible: nobody can have read a longer command before. A key that arrives
earlier and a paste go to the editor, and Enter answers nothing. A character that answers nothing leaves the keys to the
question, which says what answers. If another one follows within a second, somebody is typing: both go to the editor,
and what comes then. So no key inside a word answers.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from string import ascii_lowercase, digits
from time import monotonic
from typing import Any, Generic, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.strip import Strip
from textual.widgets import Input

from tildone.base import value
from tildone.plan.text.amounts import format_count
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import Role, Span, display_width, wrap_text
from tildone.run.extension import PermissionAnswer, PermissionReply, PermissionRequest
from tildone.run.host import asking
from tildone.screens.watch.need_panel import ARMING_SECONDS, BAR
from tildone.screens.widgets.keys import Line, Palette, painted
from tildone.screens.widgets.prompt import LineInput
from tildone.screens.widgets.rows import ResizedWidget

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_NUMBER_COLUMNS = 5


@value
class DiffLine:
    """A line of a diff. `sign` is `+`, `-`, a space, or `@` at the beginning of a hunk."""

    sign: str
    text: str
    old: int = 0
    new: int = 0


def parse_diff(lines: Sequence[str]) -> list[DiffLine]:
    """Return the lines of a unified diff, with their numbers. Lines before the first hunk are kept as context."""
    old = new = 0
    found: list[DiffLine] = []
    for line in lines:
        hunk = _HUNK.match(line)
        sign, text = (line[:1], line[1:]) if line[:1] in ("+", "-", " ") else (" ", line)
        if hunk:
            old, new = int(hunk[1]), int(hunk[2])
            found.append(DiffLine("@", line, old, new))
            continue
        found.append(DiffLine(sign, text, old, new))
        old += sign != "+"
        new += sign != "-"
    return found


def unified(diff: Sequence[DiffLine], columns: int) -> list[list[Line]]:
    """Return the rows of each line of the diff; a long line is wrapped, so that nothing is hidden."""
    return [_unified(line, max(8, columns - _NUMBER_COLUMNS - 3)) for line in diff]


def fits_side_by_side(diff: Sequence[DiffLine], columns: int) -> bool:
    """Return whether every line fits into half of the columns."""
    room = (columns - 3) // 2 - _NUMBER_COLUMNS - 3
    return all(display_width(line.text) <= room for line in diff if line.sign != "@")


def side_by_side(diff: Sequence[DiffLine], columns: int) -> list[Line]:
    """Return the old text on the left and the new one on the right."""
    half = max(1, (columns - 3) // 2)
    rows: list[Line] = []
    removed: list[DiffLine] = []
    added: list[DiffLine] = []
    for line in (*diff, DiffLine("", "")):
        if line.sign == "-":
            removed.append(line)
        elif line.sign == "+":
            added.append(line)
        else:
            rows += _pairs(removed, added, half)
            removed, added = [], []
            if line.sign == "@":
                rows.append((Span(line.text, Role.DIM),))
            elif line.sign:
                rows.append(
                    (*_cell(line, line.old, None, half), Span(" │ ", Role.DIM), *_cell(line, line.new, None, 0))
                )
    return rows


def _unified(line: DiffLine, columns: int) -> list[Line]:
    if line.sign == "@":
        return [(Span(line.text, Role.DIM),)]
    role = {"+": Role.SUCCESS, "-": Role.ERROR}.get(line.sign)
    number = line.new if line.sign == "+" else line.old
    first, *more = wrap_text(line.text, columns) or [""]
    lead = Span(f"{number or '':>{_NUMBER_COLUMNS}} ", Role.DIM)
    rows: list[Line] = [(lead, Span(f"{line.sign} {first}", role))]
    return rows + [(Span(" " * (_NUMBER_COLUMNS + 3)), Span(text, role)) for text in more]


def _pairs(removed: Sequence[DiffLine], added: Sequence[DiffLine], half: int) -> Iterator[Line]:
    for old, new in zip_longest(removed, added):
        left = _cell(old, old.old, Role.ERROR, half) if old else (Span(" " * half),)
        right = _cell(new, new.new, Role.SUCCESS, 0) if new else ()
        yield (*left, Span(" │ ", Role.DIM), *right)


def _cell(line: DiffLine, number: int, role: Role | None, width: int) -> Line:
    lead = f"{number or '':>{_NUMBER_COLUMNS}} "
    text = f"{line.sign} {line.text}"
    text += " " * max(0, width - len(lead) - display_width(text))
    return Span(lead, Role.DIM), Span(text, role)


T = TypeVar("T")

WHY = "Why not? The model reads it. Enter alone says no without a reason; esc goes back"
INDENT = "   "
SIDE_BY_SIDE_COLUMNS, SIDE_BY_SIDE_DEFAULT = 120, 160
_NUMBERED = digits[1:] + ascii_lowercase
MAX_KEYS = 4


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

    def answers(self) -> dict[str, str]:
        """Return the keys that answer now, and their words."""
        return {}

    def hint(self) -> str:
        """Return what a person is told whose key answers nothing."""
        return f"Keys that answer: {' '.join(self.keys())}"

    def keys(self) -> tuple[str, ...]:
        """Return the keys that answer now, as they are listed: of many, the first and the last."""
        keys = tuple(self.answers()) or ("enter",)
        return keys if len(keys) <= MAX_KEYS else (f"{keys[0]}–{keys[-1]}",)

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
        mark = (Span(f"  {self.place}", Role.DIM),) if self.place else ()
        lines: list[Line] = [(Span("? ", Role.WARNING, bold=True), Span(wrapped[0], bold=True), *mark)]
        lines += [(Span(f"  {text}", bold=True),) for text in wrapped[1:]]
        return lines + [(Span(f"{INDENT}{text}"),) for line in more for text in _wrapped(line, columns)]

    def key_line(self, columns: int) -> list[Line]:  # noqa: ARG002  a question without keys
        return []

    def hunks(self, columns: int) -> list[int]:  # noqa: ARG002  a question without a diff
        return []


class AskedTextQuestion(AskedQuestion[str]):
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

    def answers(self) -> dict[str, str]:
        return {key: printable(choice.label) for key, choice in self.choices.items()}

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
        rows = super().rows(columns)
        if not self._listed:
            return rows
        for index, (key, label) in enumerate(self.answers().items()):
            mark = "●" if index == self._chosen else " "
            rows.append((Span(f" {mark} ", Role.ACCENT), Span(key, bold=True), Span(f" {label}")))
        return rows

    def key_line(self, columns: int) -> list[Line]:
        if self._listed:
            return [(Span(f"{INDENT}a key answers, or ↑ ↓ and enter", Role.DIM),)]
        return keys_line([*self.answers().items()], columns)


class AskedPermission(AskedQuestion[PermissionReply]):
    """A tool's question whether it may do something. `detail` is where, and for which task."""

    def __init__(self, request: PermissionRequest, detail: str = "") -> None:
        super().__init__(request.question)
        self._request, self._detail = request, detail
        self._diff: list[DiffLine] = parse_diff(request.details) if request.is_diff else []
        self._side_by_side: bool | None = None
        self._confirms = ""
        self._yes = "Y" if request.caution else "y"

    def answers(self) -> dict[str, str]:
        if self.asks_text:
            return {}
        always = f"{printable(self._request.always)}, {self._request.scope}"
        count = format_count(len(self._request.plan), "command")
        if self._confirms:
            again = always if self._confirms == "a" else f"exactly the {count} above"
            return {self._confirms: f"again: {again}"}
        plan = {"p": f"all {count} of the plan"} if self._request.plan else {}
        return {self._yes: "once", "a": always, **plan, "n": "no, and say why"}

    def hint(self) -> str:
        return f"{self._yes} allows, n refuses"

    def press(self, key: str) -> bool:
        """Apply a key. An answer that covers more than this call is asked for once more."""
        confirms, self._confirms = self._confirms, ""
        if key == self._yes:
            self._reply(PermissionAnswer.ONCE)
        elif key == "n":
            self.asks_text = True
        elif key in ("a", "p") and key in self.answers():
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
        self.asks_text = False
        return True

    def rows(self, columns: int) -> list[Line]:
        rows = super().rows(columns)
        if self._is_side_by_side(columns):
            rows += side_by_side(self._diff, columns)
        elif self._diff:
            rows += [row for rows in unified(self._diff, columns) for row in rows]
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
        if self.asks_text:
            return [(Span(f"{INDENT}{WHY}", Role.MUTED),)]
        keys = [*self.answers().items()]
        if self._confirms:
            return keys_line([*keys, ("any other key", "back")], columns)
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
        if not self._diff or columns < SIDE_BY_SIDE_COLUMNS or not fits_side_by_side(self._diff, columns):
            return False
        return columns >= SIDE_BY_SIDE_DEFAULT if self._side_by_side is None else self._side_by_side

    def _reply(self, answer: PermissionAnswer) -> None:
        self.set_answer(PermissionReply(answer))


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


QUIET_SECONDS = 1.0
"""How long no key must have come before a question takes the keys by itself."""

MIN_ROWS = 5
SCROLLED = {"down": 1, "up": -1, "pagedown": 8, "pageup": -8}


class QuestionRows(ResizedWidget, can_focus=True):
    DEFAULT_CSS = "QuestionRows { height: auto; }"

    def __init__(self, palette: Palette) -> None:
        super().__init__(id="question-rows")
        self.palette = palette
        self.question: AskedQuestion[Any] | None = None
        self.top = 0
        self.room = MIN_ROWS
        self.is_armed: Callable[[], bool] = lambda: False
        self.pressed: Callable[[events.Key], None] = lambda _: None
        self._built: tuple[list[Line], list[Line]] = ([], [])

    def build(self) -> None:
        if self.question is not None:
            columns = max(8, self.size.width - 2 if self.size.width else self.app.size.width - 2)
            body = self.question.rows(columns)
            self._built = body, self.question.key_line(columns)[: max(1, self.room - 1)]
            if not (self.question.asks_text or (self.is_armed() and self.has_focus)):
                self._built = body, self._waiting_lines(columns)
            self.scroll_to_row(self.top)
            self.styles.height = min(sum(map(len, self._built)), self.room)
        self.refresh()

    @property
    def visible_rows(self) -> int:
        return max(1, min(len(self._built[0]), self.room - len(self._built[1])))

    @property
    def end_is_visible(self) -> bool:
        return self.top + self.visible_rows >= len(self._built[0])

    def scroll_to_row(self, row: int) -> None:
        """Make a line of the question the first that is visible, as far as there are lines below it."""
        self.top = max(0, min(row, len(self._built[0]) - self.visible_rows))
        self.refresh()

    def on_resize(self) -> None:
        self.build()

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        self.pressed(event)

    def render_line(self, y: int) -> Strip:
        body, keys = self._built
        shown = [*body[self.top : self.top + self.visible_rows], *keys]
        line = shown[y] if y < len(shown) else ()
        return painted((Span(BAR, Role.WARNING), Span(" "), *line), self.size.width, self.palette, self.palette.bar)

    def _waiting_lines(self, columns: int) -> list[Line]:
        """The keys, or what has to be done before they count."""
        if not self.has_focus:
            return keys_line([("tab", "answers · what you type goes to the editor")], columns)
        if not self.end_is_visible:
            return keys_line([("↓", "read to its end first")], columns)
        return self._built[1]


class QuestionPanel(Vertical):
    """The open question, if there is one, and the line where a text is typed."""

    DEFAULT_CSS = """
    QuestionPanel { height: auto; display: none; }
    #question-field, #question-field:focus { background: $surface; color: $foreground; padding: 0 0 0 4; }
    """

    def __init__(
        self,
        palette: Palette,
        *,
        may_take_keys: Callable[[], bool],
        give_back: Callable[[events.Key | events.Paste | None], None],
        answered: Callable[[str], None],
        changed: Callable[[str], None],
    ) -> None:
        """`give_back` gives the keys to the editor, with one that was meant for it; `answered` has the key that did.

        `changed` is called after a key of the question, with what to tell the person.
        """
        super().__init__(id="question")
        self._may_take_keys, self._give_back, self._answered, self._changed = (
            may_take_keys,
            give_back,
            answered,
            changed,
        )
        self._clock: Callable[[], float] = monotonic
        self.body = QuestionRows(palette)
        self.body.is_armed = lambda: self._is_armed(self._clock())
        self.body.pressed = self._pressed
        self._field = LineInput(compact=True, id="question-field", select_on_focus=False)
        self._readable_since: float | None = None
        self._taken_at = self._typed_at = self._took_itself_at = 0.0
        self._typed: events.Key | None = None

    def compose(self) -> ComposeResult:
        yield self.body
        yield self._field

    @property
    def question(self) -> AskedQuestion[Any] | None:
        return self.body.question

    @property
    def has_keys(self) -> bool:
        return self.body.has_focus or self._field.has_focus

    def open(self, question: AskedQuestion[Any] | None) -> None:
        """Show this question; None hides the panel."""
        had_keys = self.has_keys
        self.body.question, self.body.top = question, 0
        self._readable_since = None
        self.display = question is not None
        self._field.display = False
        if had_keys:
            # Each question takes the keys on its own terms.
            self._give_back(None)
        if question is None:
            return
        self._field.value = ""
        self._field.display = question.asks_text
        self.fit()
        self.call_after_refresh(self._shown)
        self.set_timer(ARMING_SECONDS, lambda: self._take_keys_later(question))

    def fit(self) -> None:
        """Fit the question to half of the height of the screen."""
        rows = self.app.size.height
        self.body.room = max(1, min(MIN_ROWS, rows - 2), rows // 2)
        self.body.build()

    def took_keys_itself(self) -> bool:
        """Return whether the question has taken the keys by itself, a moment ago."""
        return self.has_keys and self._clock() - self._took_itself_at < QUIET_SECONDS

    def take_keys(self) -> None:
        question = self.question
        if question is not None:
            self._taken_at, self._typed_at, self._typed = self._clock(), 0.0, None
            (self._field if question.asks_text else self.body).focus()
            self.call_after_refresh(self.body.build)
            self.set_timer(ARMING_SECONDS, self.body.build)

    def leave(self) -> None:
        """Give the keys back to the editor; the question stays."""
        if self.question is not None:
            self.question.was_left = True
            self.question.press("")
        self._give_back(None)
        self.call_after_refresh(self.body.build)

    def _pressed(self, event: events.Key) -> None:
        """Scroll, answer, or hand the key on to the editor."""
        question = self.question
        if question is None or event.time < self._taken_at:
            self._give_back(event)
            if question is not None:
                # Somebody was typing when the question took the keys: it takes them again later.
                self.set_timer(ARMING_SECONDS, lambda: self._take_keys_later(question))
        elif event.key == "escape":
            self.leave()
        elif not self._is_armed(event.time) or event.key in SCROLLED:
            self._scroll(event, question)
        else:
            self._press(question, event)

    def on_paste(self, event: events.Paste) -> None:
        """A paste never answers."""
        if not self._field.has_focus:
            event.stop()
            self._give_back(event)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self.question is not None and self.question.asks_text:
            self.question.answer_text(event.value)
            self._answered("enter")

    def on_key(self, event: events.Key) -> None:
        question = self.question
        if event.key == "escape" and self._field.has_focus and question is not None:
            event.stop()
            event.prevent_default()
            if question.leave_text():
                self._field.display = False
                self.take_keys()
            else:
                self.leave()

    def _shown(self) -> None:
        """The first frame with the question is drawn."""
        if self._readable_since is None and self.body.end_is_visible:
            self._readable_since = self._clock()

    def _is_armed(self, at: float) -> bool:
        return self._readable_since is not None and at - self._readable_since >= ARMING_SECONDS

    def _take_keys_later(self, question: AskedQuestion[Any]) -> None:
        """Take the keys if nobody is typing; otherwise look again a little later."""
        if question is not self.question or question.was_left or self.has_keys:
            return
        if self._may_take_keys():
            self.take_keys()
            self._took_itself_at = self._taken_at
        else:
            self.set_timer(ARMING_SECONDS, lambda: self._take_keys_later(question))

    def _scroll(self, event: events.Key, question: AskedQuestion[Any]) -> None:
        """Scroll with the keys for that; a listed question has the arrows for itself once its keys count."""
        step = SCROLLED.get(event.key, 0)
        if step and self._is_armed(event.time) and question.press(event.key):
            self.body.build()
        elif step:
            self.body.scroll_to_row(self.body.top + step)
            self.call_after_refresh(self._shown)
            self.set_timer(ARMING_SECONDS, self.body.build)
        else:
            self._give_back(event)

    def _press(self, question: AskedQuestion[Any], event: events.Key) -> None:
        key = event.character if event.is_printable and event.character else event.key
        if event.is_printable and event.time - self._typed_at < QUIET_SECONDS:
            for typed in filter(None, (self._typed, event)):
                self._give_back(typed)
            self._typed, self._typed_at = None, event.time
            return
        hunks = question.hunks(max(8, self.body.size.width - 2))
        if key in ("j", "k") and hunks:
            later = [row for row in hunks if row > self.body.top]
            earlier = [row for row in hunks if row < self.body.top]
            self.body.scroll_to_row((later or hunks[-1:])[0] if key == "j" else (earlier or [0])[-1])
            return
        if not question.press(key):
            if event.is_printable:
                self._changed(question.hint())
                # The letter of an answer, with or without shift, is a slip and no text.
                if key.swapcase() not in question.answers():
                    self._typed, self._typed_at = event, event.time
            return
        self._field.display = question.asks_text
        if question.answer.done():
            self._answered(key)
        elif question.asks_text:
            self._field.value = ""
            self._field.focus()
        self.body.build()
        self._changed("")


class RunUI:
    """Keeps what extensions show, and asks the person.

    `changed` is called when something that is shown has changed, `opened` with the question that is asked now (None, if
    there is none), `noted` with a message and its kind. `edit` lets the person edit a text; `pager` shows one. `detail`
    returns where a command would run.
    """

    has_ui = True

    def __init__(
        self,
        *,
        changed: Callable[[], None],
        opened: Callable[[AskedQuestion[Any] | None], None],
        noted: Callable[[str, str], None],
        edit: Callable[[str], Awaitable[str | None]],
        pager: Callable[[str], Awaitable[None]],
        detail: Callable[[], str],
    ) -> None:
        self.statuses: dict[str, str] = {}
        self.widgets: dict[str, tuple[str, ...]] = {}
        self._changed, self._opened, self._noted = changed, opened, noted
        self._edit, self._pager, self._detail = edit, pager, detail
        self._queue: list[AskedQuestion[Any]] = []
        self._asked = 0

    @property
    def question(self) -> AskedQuestion[Any] | None:
        return self._queue[0] if self._queue else None

    def set_status(self, key: str, text: str | None) -> None:
        """Show a short text under a key; None removes it."""
        if text:
            self.statuses[key] = text
        else:
            self.statuses.pop(key, None)
        self._changed()

    def set_widget(self, key: str, lines: Sequence[str] | None, placement: str | None = None) -> None:  # noqa: ARG002  all widgets are drawn above the editor
        """Show lines under a key; None removes them."""
        if lines:
            self.widgets[key] = tuple(lines)
        else:
            self.widgets.pop(key, None)
        self._changed()

    def notify(self, message: str, kind: str = "info") -> None:
        self._noted(message, kind)

    async def page(self, text: str) -> None:
        await self._pager(text)

    async def select(self, title: str, options: Sequence[str], timeout: float | None = None) -> str | None:  # noqa: ASYNC109  the protocol's
        choices = {key: QuestionChoice(option, option) for key, option in zip(_NUMBERED, options, strict=False)}
        return await self._ask(AskedKeyQuestion(title, choices, listed=True), timeout)

    async def confirm(self, title: str, message: str, timeout: float | None = None) -> bool:  # noqa: ASYNC109  the protocol's
        choices = {"y": QuestionChoice("yes", answer=True), "n": QuestionChoice("no", answer=False)}
        question: AskedKeyQuestion[bool] = AskedKeyQuestion(f"{title}\n{message}" if message else title, choices)
        confirmed = await self._ask(question, timeout)
        return bool(confirmed)

    async def input(self, title: str, placeholder: str = "") -> str | None:
        return await self._ask(AskedTextQuestion(f"{title}\n{placeholder}" if placeholder else title), None)

    async def ask_permission(self, request: PermissionRequest) -> PermissionReply | None:
        return await self._ask(AskedPermission(request, self._detail()), None)

    async def editor(self, title: str, prefill: str = "") -> str | None:
        """Ask for a text of several lines, in the person's own editor."""
        self.notify(title)
        return await self._edit(prefill)

    async def _ask(self, question: AskedQuestion[T], seconds: float | None) -> T | None:
        """Ask, after the questions that were asked before. A question that is cancelled disappears."""
        self._asked = self._asked + 1 if self._queue else 1
        self._queue.append(question)
        self._show()
        try:
            with asking():
                return await asyncio.wait_for(asyncio.shield(question.answer), seconds)
        except TimeoutError:
            return None
        finally:
            self._queue.remove(question)
            self._show()

    def _show(self) -> None:
        question = self.question
        if question is not None:
            place = self._asked - len(self._queue) + 1
            question.place = f"{place} of {self._asked}" if self._asked > 1 else ""
        self._opened(question)
