"""The palette: all actions of the pane in use, by what they do, with their keys. Typing narrows it down."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, Protocol, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from tildone.kit.keys import KeyBindings
from tildone.kit.theme import Role, Span
from tildone.tui.painting import spread
from tildone.tui.palette import Palette
from tildone.tui.prompt import LineInput
from tildone.tui.row_list import Line, Lines, ListRow, RowList
from tildone.tui.screen_keys import shown_keys


class ListedAction(Protocol):
    """An action: its name in the table of bindings, and what it does."""

    @property
    def name(self) -> str:
        """The name."""

    @property
    def does(self) -> str:
        """What it does."""


A = TypeVar("A", bound=ListedAction)


class ActionList(ModalScreen[None], Generic[A]):
    """A field and the actions that contain what is typed in it. Enter does the one with the cursor; esc closes it."""

    DEFAULT_CSS = """
    ActionList { align: center top; }
    ActionList > Vertical { width: 64; max-width: 100%; height: 20; max-height: 80%; margin-top: 2; }
    ActionList LineInput, ActionList LineInput:focus { background: $surface; color: $foreground; padding: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", show=False),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("pagedown", "move(10)", show=False, priority=True),
        Binding("pageup", "move(-10)", show=False, priority=True),
    ]

    def __init__(self, palette: Palette, actions: Sequence[A], keys: KeyBindings, run: Callable[[A], object]) -> None:
        super().__init__()
        self._actions, self._keys, self._run = actions, keys, run
        self._title = Lines(palette, raised=True)
        self.field = LineInput(compact=True)
        self.rows = RowList(palette)
        self.rows.is_always_active = True

    def compose(self) -> ComposeResult:
        """Create the field and the list."""
        with Vertical():
            yield self._title
            yield self.field
            yield self.rows

    def on_mount(self) -> None:
        """Show all actions."""
        hint = (Span(" What is to be done?", bold=True), Span("  enter, esc closes", Role.DIM))
        self._title.show(lambda _: [hint])
        self._show("")
        self.field.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the actions that contain all words."""
        event.stop()
        self._show(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Do the action with the cursor."""
        event.stop()
        chosen = next((action for action in self._actions if action.name == self.rows.key), None)
        self.dismiss()
        if chosen:
            self._run(chosen)

    def action_move(self, rows: int) -> None:
        """Move the cursor."""
        self.rows.action_move(rows)

    def _show(self, words: str) -> None:
        wanted = words.casefold().split()
        found = [each for each in self._actions if all(word in self._searched(each) for word in wanted)]
        nothing = [ListRow((Span(" No action has these words.", Role.MUTED),))]
        self.rows.show(lambda columns: [ListRow(self._line(each, columns), each.name) for each in found] or nothing)

    def _searched(self, action: A) -> str:
        return f"{action.does} {action.name} {' '.join(shown_keys(self._keys[action.name]))}".casefold()

    def _line(self, action: A, columns: int) -> Line:
        keys = Span(f" {' '.join(shown_keys(self._keys[action.name]))} ", Role.ACCENT)
        return spread((Span(f" {action.does}"), Span(f"  {action.name}", Role.DIM)), (keys,), columns)
