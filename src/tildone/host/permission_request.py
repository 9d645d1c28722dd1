"""A tool's question whether it may do something, and the person's answer."""

from __future__ import annotations

from enum import Enum

from tildone.core.shell.danger import caution
from tildone.kit.formatting import format_count
from tildone.value import value


class PermissionAnswer(Enum):
    """The answers to a permission question."""

    ONCE = "once"
    ALWAYS = "always"
    PLAN = "plan"
    NO = "no"


@value
class PermissionRequest:
    """One question.

    `question` is a single line, and `details` are the lines of the whole command or diff; both are sanitized.
    `always` names what `PermissionAnswer.ALWAYS` covers, and `scope` where it does. `plan` lists the commands
    that `PermissionAnswer.PLAN` covers; if it is empty, that answer is not offered.
    """

    question: str
    details: tuple[str, ...] = ()
    always: str = ""
    plan: tuple[str, ...] = ()
    is_diff: bool = False
    scope: str = "in this conversation"

    @property
    def caution(self) -> str:
        """What the person is told before they permit it; empty unless it is a dangerous command."""
        return "" if self.is_diff else caution("\n".join(self.details))


@value
class PermissionReply:
    """The answer, and the reason that the person gives the model with a no."""

    answer: PermissionAnswer
    reason: str = ""


def answer_labels(request: PermissionRequest) -> dict[str, PermissionAnswer]:
    """Return the answers that a request offers, by the words for each, in the order in which they are shown."""
    labels = {
        "Allow once": PermissionAnswer.ONCE,
        f"Always allow {request.scope}: {request.always}": PermissionAnswer.ALWAYS,
    }
    if request.plan:
        count = format_count(len(request.plan), "command")
        labels[f"Allow {count} of the plan: {'; '.join(request.plan)}"] = PermissionAnswer.PLAN
    return labels | {"Deny": PermissionAnswer.NO}
