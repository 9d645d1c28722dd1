"""The conversations of this folder (F4): search them, and go on with another one."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Input

from tildone.errors import TildoneError
from tildone.host.conversations import Conversations
from tildone.host.messages import UserMessage, text_of
from tildone.ids import local_time
from tildone.kit.theme import Role, Span
from tildone.tui.painting import spread
from tildone.tui.palette import Palette
from tildone.tui.prompt import LineInput
from tildone.tui.row_list import Lines, ListRow, RowList
from tildone.value import value
from tildone.views.sanitize import printable

MAX_LISTED = 200


@value
class ListedConversation:
    """A conversation: its file, what it is called, how many messages it has, when it was begun, and its text."""

    file: str
    title: str
    messages: int
    began: int
    searched: str


def list_conversations(conversations: Conversations) -> list[ListedConversation]:
    """Read the newest conversations, in a thread. A file that cannot be read is left out."""
    found: list[ListedConversation] = []
    try:
        for transcript in conversations.newest_first():
            messages = transcript.messages()
            said = [text_of(message) for message in messages if isinstance(message, UserMessage)]
            title = transcript.name or next((text.strip().partition("\n")[0] for text in said), "")
            began = next((entry.timestamp for entry in transcript.entries if entry.timestamp), 0) or 0
            if transcript.file and title:
                searched = " ".join([title, *said]).casefold()
                found.append(ListedConversation(transcript.file, title, len(messages), began, searched))
            if len(found) >= MAX_LISTED:
                break
    except (TildoneError, OSError):
        pass
    return found


class SessionsScreen(ModalScreen[str | None]):
    """The list. It is dismissed with the file of the conversation that was chosen."""

    DEFAULT_CSS = """
    SessionsScreen { background: $background; }
    #find, #find:focus { background: $surface; color: $foreground; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f4", "dismiss(None)", show=False, priority=True),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("pagedown", "move(10)", show=False, priority=True),
        Binding("pageup", "move(-10)", show=False, priority=True),
    ]

    def __init__(self, found: list[ListedConversation], here: str | None, palette: Palette) -> None:
        super().__init__()
        self._found, self._here = found, here
        self._rows = RowList(palette)
        self._field = LineInput(compact=True, id="find", placeholder="find")
        self._title, self._footer = Lines(palette, raised=True), Lines(palette, raised=True)

    def compose(self) -> ComposeResult:
        """Create the field and the list."""
        yield from (self._title, self._field, self._rows, self._footer)

    def on_mount(self) -> None:
        """Show all conversations."""
        count = f"{len(self._found)} in this folder"
        self._title.show(lambda _: [(Span(" Conversations  ", bold=True), Span(count, Role.MUTED))])
        self._footer.show(lambda _: [(Span(" ↑↓ move  enter go on with it  type to find  esc back", Role.MUTED),)])
        self._draw("")
        self._field.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show those that contain the words."""
        event.stop()
        self._draw(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Choose the one with the cursor."""
        event.stop()
        self.dismiss(self._rows.key or None)

    def action_move(self, rows: int) -> None:
        """Move the cursor."""
        self._rows.action_move(rows)

    def _draw(self, words: str) -> None:
        wanted = words.casefold().split()
        shown = [each for each in self._found if all(word in each.searched for word in wanted)]

        def rows(columns: int) -> list[ListRow]:
            return [ListRow(_line(each, columns, is_here=each.file == self._here), each.file) for each in shown] or [
                ListRow((Span("  No conversation to go back to." if not words else "  Nothing matches.", Role.MUTED),))
            ]

        self._rows.show(rows)


def _line(each: ListedConversation, columns: int, *, is_here: bool) -> tuple[Span, ...]:
    when = local_time(each.began) if each.began else ""
    sign = Span("● ", Role.ACCENT) if is_here else Span("  ")
    right = (Span(f"  {each.messages} messages  {when} ", Role.DIM),)
    return spread((sign, Span(printable(each.title), bold=is_here)), right, columns)
