"""The answer to a command: messages to show, changes to apply, and a request that the shell has to carry out."""

from __future__ import annotations

from enum import Enum

from tildone.core.plan import Status
from tildone.core.reduce import Step
from tildone.core.rules import Focus, Rules
from tildone.value import replace, value

MARKED_MESSAGES = {status: status.value.capitalize() for status in Status}
MARKED_MESSAGES |= {Status.COMPLETED: "Done", Status.ABANDONED: "Dropped"}
"""How messages begin about tasks that were given a status."""


class Level(Enum):
    """How a message is shown."""

    STATUS = "status"
    WARNING = "warning"
    ERROR = "error"


class FailureReason(Enum):
    """Why a command failed. The command line maps each reason to an exit code."""

    USAGE = "the verb or its arguments are invalid"
    UNMATCHED = "no task or phase matches, or several do"
    REFUSED = "the task is not in a status that allows it"
    NO_PLAN = "there is no plan"
    UNREADABLE = "the text is not a plan"
    REQUEST_FAILED = "the request could not be carried out"


@value
class Message:
    """A message to the person."""

    level: Level
    text: str


@value
class CopyText:
    """A request to copy this text to the clipboard."""

    text: str


@value
class WriteFile:
    """A request to write this text to a file; a relative path starts at the person's working directory."""

    path: str
    text: str


@value
class ReadFile:
    """A request to read a file as UTF-8."""

    path: str


@value
class OpenEditor:
    """A request to open this text in the person's editor."""

    text: str


Request = CopyText | WriteFile | ReadFile | OpenEditor


@value
class Answer:
    """The answer to a command.

    `messages` are shown once `steps` have been applied without a fault. A `request` has to be carried out first; its
    result leads to another answer. `enforces_rules` says whether the session's rules on tasks in progress and unique
    texts apply to the steps, as they do to a model's call. `failure` is None if the command succeeded.
    """

    messages: tuple[Message, ...] = ()
    steps: tuple[Step, ...] | None = None
    enforces_rules: bool = True
    request: Request | None = None
    failure: FailureReason | None = None

    def rules(self, own: Rules) -> Rules:
        """Return the rules for these steps, given the session's own rules. Its limits always apply."""
        return own if self.enforces_rules else replace(own, focus=Focus.ANY, unique_texts=False)


def status(text: str) -> tuple[Message, ...]:
    """Return a message that reports success."""
    return (Message(Level.STATUS, text),)


def warning(reason: FailureReason, text: str) -> Answer:
    """Return an answer that changes nothing and shows a warning."""
    return Answer((Message(Level.WARNING, text),), failure=reason)


def refusal(reason: FailureReason, text: str) -> Answer:
    """Return an answer that changes nothing and shows an error."""
    return Answer((Message(Level.ERROR, text),), failure=reason)
