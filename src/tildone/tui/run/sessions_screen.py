"""The conversations of this folder (F4): search them, and go on with another one."""

from __future__ import annotations

from functools import partial

from tildone.errors import TildoneError
from tildone.host.conversations import Conversations
from tildone.host.messages import UserMessage, text_of
from tildone.ids import local_time
from tildone.kit.theme import Role, Span
from tildone.tui.find_screen import Choice, FindScreen
from tildone.tui.painting import spread
from tildone.tui.palette import Palette
from tildone.tui.row_list import Line
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


def sessions_screen(found: list[ListedConversation], here: str | None, palette: Palette) -> FindScreen:
    """Return the list. It is dismissed with the file of the conversation that was chosen."""
    title = Span(" Conversations  ", bold=True), Span(f"{len(found)} in this folder", Role.MUTED)
    footer = (Span(" ↑↓ move  enter go on with it  type to find  esc back", Role.MUTED),)
    choices = [Choice(each.file, each.searched, partial(_line, each, is_here=each.file == here)) for each in found]

    def nothing(words: str) -> Line:
        return (Span("  Nothing matches." if words else "  No conversation to go back to.", Role.MUTED),)

    return FindScreen(palette, choices, title, nothing, footer)


def _line(each: ListedConversation, columns: int, *, is_here: bool) -> tuple[Span, ...]:
    when = local_time(each.began) if each.began else ""
    sign = Span("● ", Role.ACCENT) if is_here else Span("  ")
    right = (Span(f"  {each.messages} messages  {when} ", Role.DIM),)
    return spread((sign, Span(printable(each.title), bold=is_here)), right, columns)
