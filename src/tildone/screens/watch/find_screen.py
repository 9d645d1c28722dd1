"""A list that is narrowed down by typing: the palette of all actions, and the conversations to go on with."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from tildone.base import value
from tildone.base.keys import KeyBindings
from tildone.plan.text.styles import Role, Span
from tildone.screens.widgets.keys import Line, Palette, spread
from tildone.screens.widgets.prompt import LineInput, ScreenKey, shown_keys
from tildone.screens.widgets.rows import Lines, ListRow, RowList


@value
class Choice:
    """A row that can be chosen: its key, what is searched in it, and its line for a number of columns."""

    key: str
    searched: str
    line: Callable[[int], Line]


class FindScreen(ModalScreen[str | None]):
    """A field and the rows that contain all words typed in it. Enter dismisses it with the key at the cursor.

    `nothing` returns what is shown if no row contains the words. With a `footer`, it fills the screen.
    """

    DEFAULT_CSS = """
    FindScreen { align: center top; }
    FindScreen > Vertical { width: 64; max-width: 100%; height: 20; max-height: 80%; margin-top: 2; }
    FindScreen LineInput, FindScreen LineInput:focus { background: $surface; color: $foreground; padding: 0; }
    FindScreen.whole { background: $background; }
    FindScreen.whole > Vertical { width: 100%; height: 100%; max-height: 100%; margin-top: 0; }
    FindScreen.whole LineInput, FindScreen.whole LineInput:focus { padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", show=False),
        Binding("f4", "close_whole", show=False, priority=True),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("pagedown", "move(10)", show=False, priority=True),
        Binding("pageup", "move(-10)", show=False, priority=True),
    ]

    def __init__(
        self,
        palette: Palette,
        choices: Sequence[Choice],
        title: Line,
        nothing: Callable[[str], Line],
        footer: Line | None = None,
    ) -> None:
        super().__init__(classes="whole" if footer else None)
        self.choices = choices
        self._nothing, self._lines = nothing, (title, *([footer] if footer else []))
        self._texts = [Lines(palette, raised=True) for _ in self._lines]
        self._field = LineInput(compact=True, placeholder="find" if footer else "")
        self._rows = RowList(palette)
        self._rows.is_always_active = footer is None

    def compose(self) -> ComposeResult:
        with Vertical():
            yield from (self._texts[0], self._field, self._rows, *self._texts[1:])

    def on_mount(self) -> None:
        for text, line in zip(self._texts, self._lines, strict=True):
            text.show(lambda _, line=line: [line])  # type: ignore[misc]  # mypy does not infer lambdas with defaults
        self._show("")
        self._field.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._show(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(self._rows.key or None)

    def action_close_whole(self) -> None:
        if self.has_class("whole"):
            self.dismiss(None)

    def action_move(self, rows: int) -> None:
        self._rows.action_move(rows)

    def _show(self, words: str) -> None:
        wanted = words.casefold().split()
        found = [each for each in self.choices if all(word in each.searched for word in wanted)]
        nothing = [ListRow(self._nothing(words))]
        self._rows.show(lambda columns: [ListRow(each.line(columns), each.key) for each in found] or nothing)


def action_screen(palette: Palette, actions: Sequence[ScreenKey], keys: KeyBindings) -> FindScreen:
    title = Span(" What is to be done?", bold=True), Span("  enter, esc closes", Role.DIM)
    nothing = (Span(" No action has these words.", Role.MUTED),)
    return FindScreen(palette, [_choice(action, keys) for action in actions], title, lambda _: nothing)


def _choice(action: ScreenKey, keys: KeyBindings) -> Choice:
    shown = " ".join(shown_keys(keys[action.name]))
    left = Span(f" {action.does}"), Span(f"  {action.name}", Role.DIM)
    right = (Span(f" {shown} ", Role.ACCENT),)
    searched = f"{action.does} {action.name} {shown}".casefold()
    return Choice(action.name, searched, lambda columns: spread(left, right, columns))
