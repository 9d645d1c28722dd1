"""What persons may be asked for in the store by an agent that a worker of a fleet has started.

Answers are rows of the store, and whoever can write to it can add one. So the worker tells its agents for which
commands an answer counts (`tildone fleet work --ask`).
"""

from __future__ import annotations

from collections.abc import Mapping

from tildone.host.permission_request import PermissionAnswer, PermissionReply, PermissionRequest
from tildone.host.tools.command_patterns import EVERYTHING, is_pattern, not_allowed
from tildone.log.fleet.lease import ASK_VARIABLE, LEASE_VARIABLE
from tildone.value import replace, value

NOT_ASKED = PermissionReply(
    PermissionAnswer.NO, "Nobody was asked: the settings of this worker do not let persons approve it."
)


@value
class AskLimits:
    """The patterns of the commands for which persons may be asked."""

    patterns: tuple[str, ...]

    def permit(self, request: PermissionRequest) -> bool:
        """Return whether persons may be asked. Files are no commands: only if everything may be asked for."""
        if EVERYTHING in self.patterns:
            return True
        if request.is_diff or not request.details:
            return False
        return not_allowed("\n".join(request.details), tuple(filter(is_pattern, self.patterns))) == ()

    def limited(self, reply: PermissionReply | None) -> PermissionReply | None:
        """Return what an answer permits: no more than what was asked, unless everything may be asked for."""
        if reply is None or reply.answer is PermissionAnswer.NO or EVERYTHING in self.patterns:
            return reply
        return replace(reply, answer=PermissionAnswer.ONCE)


def ask_limits(environ: Mapping[str, str]) -> AskLimits | None:
    """Return the limits that a worker has set for this process; None if no worker has started it."""
    if not environ.get(LEASE_VARIABLE):
        return None
    return AskLimits(tuple(environ.get(ASK_VARIABLE, "").splitlines()))
