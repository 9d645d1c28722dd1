"""What comes of a command a person typed: words, changes to make, and what only the outside can do."""

from __future__ import annotations

from enum import Enum

from tildone.core.reduce import Step
from tildone.core.rules import Focus, Rules
from tildone.value import replace, value


class Level(Enum):
    """How a message is shown."""

    STATUS = "status"
    WARNING = "warning"
    ERROR = "error"


class Trouble(Enum):
    """Why a command came to nothing."""

    MISUSED = "the words make no sense"
    UNMATCHED = "no task or phase is meant, or more than one"
    NOTHING_THERE = "there is no plan to do it with"
    UNREADABLE = "the text is not a plan"
    OUTSIDE = "the outside could not do its part"


@value
class Message:
    """Something to tell the person."""

    level: Level
    text: str


@value
class CopyText:
    """Put this into the clipboard."""

    text: str


@value
class WriteFile:
    """Write this into a file; a relative path starts at the person's working folder."""

    path: str
    text: str


@value
class ReadFile:
    """Read a file, as UTF-8."""

    path: str


@value
class OpenEditor:
    """Let the person edit this text in their own editor."""

    text: str


Request = CopyText | WriteFile | ReadFile | OpenEditor


@value
class Answer:
    """What comes of a command.

    `messages` hold once `steps` have been applied without a fault. A `request` has to be carried out first; what
    it gives leads to a further answer. `settles` says whether the session's own care for what is in progress
    follows, as it does for a model's call.
    """

    messages: tuple[Message, ...] = ()
    steps: tuple[Step, ...] | None = None
    settles: bool = True
    request: Request | None = None
    trouble: Trouble | None = None

    def rules(self, own: Rules) -> Rules:
        """The rules for these steps in a session that has rules of its own: its limits always hold."""
        return own if self.settles else replace(own, focus=Focus.ANY, unique_texts=False)


def status(text: str) -> tuple[Message, ...]:
    """A message that all is well."""
    return (Message(Level.STATUS, text),)


def warned(trouble: Trouble, text: str) -> Answer:
    """Nothing came of it, and nothing is wrong."""
    return Answer((Message(Level.WARNING, text),), trouble=trouble)


def refused(trouble: Trouble, text: str) -> Answer:
    """Nothing came of it: the person has to say it differently."""
    return Answer((Message(Level.ERROR, text),), trouble=trouble)
