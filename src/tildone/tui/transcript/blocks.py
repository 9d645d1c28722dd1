"""The blocks of a transcript: what was said and done, independent of how it is drawn."""

from __future__ import annotations

from enum import Enum

from tildone.kit.components import Component
from tildone.kit.definition import ToolResult
from tildone.kit.theme import Role, Styled
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from tildone.host.call_row import CallRow


class CallState(Enum):
    """How far a call is."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@value
class PersonMessage:
    """What a person said."""

    text: str


@value
class AnswerBlock:
    """What the model answered, as Markdown. While it is streamed, `TranscriptPane.append_text` adds to it."""

    text: str = ""


@value
class Thinking:
    """What the model thought. It is folded unless the person shows thinking."""

    text: str = ""


@value
class CallBlock:
    """A call of a tool. While it runs, `result` is the partial one and `since` the time at which it began, in seconds.

    `seconds` is how long it took; None if that is not known. `path` is the file that it is about, as it was given.
    """

    view: CallRow
    result: ToolResult = ToolResult((), {})
    state: CallState = CallState.RUNNING
    since: float | None = None
    seconds: float | None = None
    path: str = ""


@value
class Separator:
    """A line across the transcript, such as `told to go on (1 of 20)`."""

    words: str


@value
class Remark:
    """Anything else that is said in the conversation: a component of an extension, or of the host."""

    component: Component


@value
class Offer:
    """A key, and what it does."""

    key: str
    words: str


@value
class NoticeBlock:
    """An error or a warning, where it happened, with the keys that are offered while it is the last block."""

    text: str
    aside: Styled = ""
    details: tuple[str, ...] = ()
    offers: tuple[Offer, ...] = ()
    role: Role = Role.ERROR

    @property
    def sign(self) -> str:
        """The sign before it."""
        return "✗" if self.role is Role.ERROR else "!"


Block = PersonMessage | AnswerBlock | Thinking | CallBlock | Separator | Remark | NoticeBlock


def source_text(block: Block) -> str:
    """Return the text of a block as it was written, without layout."""
    match block:
        case PersonMessage(text) | AnswerBlock(text) | Thinking(text) | NoticeBlock(text):
            return text
        case CallBlock():
            return block.result.text
        case Separator(words):
            return words
        case Remark():
            return ""
