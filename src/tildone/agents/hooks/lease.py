"""What hooks answer an agent whose run has passed to another worker: that it has to stop.

An agent of a fleet works under a lease. Every change of the plan is refused once the lease is another worker's, but an
agent that changes nothing would go on with its commands. So its hooks look at the lease first. They tell it once to
stop, end the turn where the agent lets them, refuse every tool call until then, and say nothing when it stops.
"""

import os

from tildone.agents.hooks.context import STORE_TIMEOUT_SECONDS
from tildone.agents.hooks.event import HookEvent, Remembered
from tildone.agents.hooks.reply import HookReply, can_reply, rendered
from tildone.agents.integrations import HookPoint, ReplyKind
from tildone.app.opening import open_store, run_leases
from tildone.app.settings import Settings
from tildone.base import RunFenced
from tildone.base.private import open_private
from tildone.plan import codec
from tildone.plan.dialects.native import FENCED, STILL_FENCED
from tildone.plan.runs import LEASE_VARIABLE, TRANSCRIPT_VARIABLE, LeaseState, fence_in
from tildone.stores.agents import digest

UNCHECKED = (HookPoint.SESSION_END, HookPoint.STATUS_LINE, HookPoint.OFFER_TOOLS)
"""The points at which nothing depends on the lease."""


def note_transcript(event: HookEvent) -> None:
    """Note where the transcript of the conversation is, for the worker, which keeps its end for the successor."""
    note, transcript = os.environ.get(TRANSCRIPT_VARIABLE), event.text("transcript")
    if not note or not transcript:
        return
    try:
        file_number = open_private(note, os.O_RDWR | os.O_CREAT)
        with os.fdopen(file_number, "r+", encoding="utf-8", errors="surrogateescape") as file:
            if file.read() != transcript:
                file.seek(0)
                file.truncate()
                file.write(transcript)
    except (OSError, UnicodeError):
        # The successor gets less to read, and nothing depends on it.
        return


def check_lease(event: HookEvent, settings: Settings) -> None:
    """Check that the run is still that of the agent's worker."""
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


def fenced_reply(event: HookEvent, pid: int) -> tuple[str, str]:
    """Return the reply that tells the agent to stop; empty where it is about to, or where it accepts no reply."""
    if event.point is HookPoint.CALL_TOOL:
        return f"{codec.dump({'text': _words(event, pid), 'failed': True, 'line': ''})}\n", ""
    if can_reply(event, ReplyKind.HALT):
        return rendered(event, HookReply(ReplyKind.HALT, _words(event, pid)))
    if can_reply(event, ReplyKind.ADD_CONTEXT) and _words(event, pid) == FENCED:
        return rendered(event, HookReply(ReplyKind.ADD_CONTEXT, FENCED))
    return "", ""


def _words(event: HookEvent, pid: int) -> str:
    """Return what the agent is told: the first time, why it has to stop."""
    agent_id = event.agent_id(pid)
    lease = digest(os.environ[LEASE_VARIABLE])
    is_told = not agent_id.is_unknown and Remembered(event.environ, agent_id).is_new(f"fenced-{lease}") is False
    return STILL_FENCED if is_told else FENCED
