"""The line at the bottom where a person types a text or answers a question, and the screen that lists the keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input

from tildone.kit.text import display_width
from tildone.kit.theme import Role, Span
from tildone.tui.painting import painted
from tildone.tui.palette import Palette
from tildone.tui.row_list import Line, Lines, ListRow, RowList
from tildone.views.sanitize import printable, single_line, visible


def shown_in_field(text: str) -> str:
    """Return a text on one line, with symbols in place of control characters."""
    return visible(single_line(text)).replace("\t", " ")


class LineInput(Input):
    """A field for one line. What is pasted into it cannot contain characters that act on the terminal."""

    def validate_value(self, value: str) -> str:
        """Replace control characters by symbols."""
        return shown_in_field(value)


class Prompt(Horizontal):
    """A label and a field; hidden while nothing is asked."""

    DEFAULT_CSS = "Prompt { height: 1; display: none; }"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", show=False)]

    def __init__(self, palette: Palette) -> None:
        super().__init__()
        self._label = Lines(palette, raised=True, id="prompt-label")
        self.field = LineInput(compact=True, id="prompt-field", select_on_focus=False)
        self._done: Callable[[str], object] = lambda _: None
        self._changed: Callable[[str], object] | None = None
        self._ended: Callable[[], object] = lambda: None

    def compose(self) -> ComposeResult:
        yield self._label
        yield self.field

    def ask(
        self,
        label: str,
        value: str,
        done: Callable[[str], object],
        ended: Callable[[], object],
        changed: Callable[[str], object] | None = None,
    ) -> None:
        """Ask for a text. `done` is called with it; `ended`, when the prompt is closed; `changed`, after each key."""
        self._done, self._ended, self._changed = done, ended, changed
        text = f" {printable(label)} "
        self._label.styles.width = display_width(text)
        self._label.show(lambda _: [(Span(text, Role.ACCENT, bold=True),)])
        self.display = True
        self.field.value = value
        self.field.cursor_position = len(self.field.value)
        self.field.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.display and self._changed:
            self._changed(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._close()
        self._done(event.value)

    def action_cancel(self) -> None:
        """Close the prompt without a text."""
        changed = self._changed
        self._close()
        if changed:
            changed("")

    def _close(self) -> None:
        self._changed = None
        self.display = False
        self._ended()


class QuestionLine(Widget, can_focus=True):
    """A question that is answered with one of a few keys. Enter is never one of them; esc closes it."""

    DEFAULT_CSS = "QuestionLine { height: 1; display: none; }"

    def __init__(self, palette: Palette) -> None:
        super().__init__()
        self._palette = palette
        self._lines: Sequence[Line] = ()
        self._answers: Mapping[str, Callable[[], object]] = {}
        self._ended: Callable[[], object] = lambda: None

    def ask(
        self,
        question: str,
        answers: Mapping[str, tuple[str, Callable[[], object]]],
        ended: Callable[[], object],
        above: Sequence[Line] = (),
    ) -> None:
        """Ask; `answers` has a word for each key, and what it does. `ended` is called when the question is closed.

        The lines `above` the question are what it is about.
        """
        line: Line = (Span(f" {question}", Role.WARNING, bold=True),) if question else ()
        for key, (word, _) in answers.items():
            line = (*line, Span(f"{'  ' if line else ' '}{key}", bold=True), Span(f" {word}", Role.MUTED))
        self._lines, self._ended = [*above, line], ended
        self._answers = {key: answer for key, (_, answer) in answers.items()}
        self.styles.height = len(self._lines)
        self.display = True
        self.focus()
        self.refresh()

    def on_key(self, event: events.Key) -> None:
        """Take the answer; other keys do nothing."""
        event.stop()
        event.prevent_default()
        answer = self._answers.get(event.character or "")
        if event.key == "escape" or answer:
            self.display = False
            self._ended()
        if answer:
            answer()

    def render_line(self, y: int) -> Strip:
        return painted(
            self._lines[y] if y < len(self._lines) else (), self.size.width, self._palette, self._palette.bar
        )


class HelpScreen(ModalScreen[None]):
    """All keys, as lines. Any of the keys that close things closes it."""

    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen > RowList { width: 76; max-width: 100%; height: 100%; max-height: 46; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1,enter,ctrl+c", "dismiss", show=False, priority=True),
        Binding("j,down", "scroll(1)", show=False),
        Binding("k,up", "scroll(-1)", show=False),
        Binding("pagedown,space", "scroll(10)", show=False),
        Binding("pageup", "scroll(-10)", show=False),
    ]

    def __init__(
        self, palette: Palette, build: Callable[[int], Sequence[Line]], closing: str = "esc closes this"
    ) -> None:
        super().__init__()
        self._rows, self._help, self._way_out = RowList(palette), build, closing

    def compose(self) -> ComposeResult:
        yield self._rows

    def on_mount(self) -> None:
        closing: Line = (Span(self._way_out, Role.DIM),)
        self._rows.show(lambda columns: [ListRow(line) for line in ((), closing, (), *self._help(columns))])

    def action_scroll(self, rows: int) -> None:
        self._rows.scroll_rows(rows)
