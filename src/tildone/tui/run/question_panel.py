"""The question above the editor: where it is drawn, and when its keys count.

Theory of operation. A question appears while the person may be typing, so a key must never answer it that was meant for
the editor. The editor keeps the keys when a question appears. The question takes them by itself only once it has been
shown for 300 ms, the editor is empty, and no key has come for a second; Tab takes them at once. Its keys count 300 ms
after the first frame in which its end was visible: nobody can have read a longer command before. A key that arrives
earlier, a paste, and a character that answers nothing go to the editor, and Enter answers nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.strip import Strip
from textual.widgets import Input

from tildone.kit.theme import Role, Span
from tildone.tui.need_panel import ARMING_SECONDS, BAR
from tildone.tui.painting import painted
from tildone.tui.palette import Palette
from tildone.tui.prompt import LineInput
from tildone.tui.resized import ResizedWidget
from tildone.tui.row_list import Line
from tildone.tui.run.questions import AskedQuestion, keys_line

QUIET_SECONDS = 1.0
"""How long no key must have come before a question takes the keys by itself."""

MIN_ROWS = 5
SCROLLED = {"down": 1, "up": -1, "pagedown": 8, "pageup": -8}


class QuestionRows(ResizedWidget, can_focus=True):
    """The lines of a question, and its keys."""

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
        """Build the lines again, because the question or the width has changed."""
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
        """How many lines of the question are visible at a time."""
        return max(1, min(len(self._built[0]), self.room - len(self._built[1])))

    @property
    def end_is_visible(self) -> bool:
        """Whether the last line of the question is visible."""
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
    ) -> None:
        """`give_back` gives the keys to the editor, with one that was meant for it; `answered` has the key that did."""
        super().__init__(id="question")
        self._may_take_keys, self._give_back, self._answered = may_take_keys, give_back, answered
        self._clock: Callable[[], float] = monotonic
        self.body = QuestionRows(palette)
        self.body.is_armed = lambda: self._is_armed(self._clock())
        self.body.pressed = self._pressed
        self._field = LineInput(compact=True, id="question-field", select_on_focus=False)
        self._readable_since: float | None = None
        self._taken_at = 0.0

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

    def take_keys(self) -> None:
        """Give the keys to the question."""
        question = self.question
        if question is not None:
            self._taken_at = self._clock()
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
        hunks = question.hunks(max(8, self.body.size.width - 2))
        if key in ("j", "k") and hunks:
            later = [row for row in hunks if row > self.body.top]
            earlier = [row for row in hunks if row < self.body.top]
            self.body.scroll_to_row((later or hunks[-1:])[0] if key == "j" else (earlier or [0])[-1])
            return
        if not question.press(key):
            if event.is_printable:
                self._give_back(event)
            return
        self._field.display = question.asks_text
        if question.answer.done():
            self._answered(key)
        elif question.asks_text:
            self._field.value = ""
            self._field.focus()
        self.body.build()
