"""What hooks answer an agent whose run has passed to another worker: that it has to stop.

An agent of a fleet works under a lease. Every change of the plan is refused once the lease is another worker's, but an
agent that changes nothing would go on with its commands. So its hooks look at the lease first. They end the turn where
the agent lets them, refuse every tool call until then, and say nothing when it stops.
"""

from __future__ import annotations

import os

from tildone.dialects.native import FENCED
from tildone.errors import RunFenced
from tildone.hooks.context import STORE_TIMEOUT_SECONDS
from tildone.hooks.reply import HookReply, can_reply, rendered
from tildone.integrations.record import HookPoint, ReplyKind
from tildone.log import codec
from tildone.log.fleet.lease import LEASE_VARIABLE, LeaseState, fence_in
from tildone.typing import TYPE_CHECKING
from tildone.wiring import open_store, run_leases

if TYPE_CHECKING:
    from tildone.config import Settings
    from tildone.hooks.event import HookEvent

UNCHECKED = (HookPoint.SESSION_END, HookPoint.STATUS_LINE, HookPoint.OFFER_TOOLS)
"""The points at which nothing depends on the lease."""


def check_lease(event: HookEvent, settings: Settings) -> None:
    """Check that the run is still that of the agent's worker.

    Raises:
        RunFenced: it is not.
        StoreError: the store cannot be read.
    """
    if event.point in UNCHECKED:
        return
    fence = fence_in(os.environ[LEASE_VARIABLE])
    store = open_store(settings, timeout=STORE_TIMEOUT_SECONDS, read_only=True)
    try:
        leases = [view.lease for view in run_leases(store).look(fence.run)]
    finally:
        store.close()
    if not any(each.fence == fence and each.is_held and each.state is LeaseState.OPEN for each in leases):
        raise RunFenced(fence.run)


def fenced_reply(event: HookEvent) -> str:
    """Return the reply that tells the agent to stop; empty where it is about to, or where it accepts no reply."""
    if event.point is HookPoint.CALL_TOOL:
        return f"{codec.dump({'text': FENCED, 'failed': True, 'line': ''})}\n"
    for kind in (ReplyKind.HALT, ReplyKind.ADD_CONTEXT):
        if can_reply(event, kind):
            return rendered(event, HookReply(kind, FENCED))
    return ""
