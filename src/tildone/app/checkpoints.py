"""Waiting for the checkpoint of a task, so that it has no files of the next one."""

import time

from tildone.base import StoreError
from tildone.log.store import Store
from tildone.plan.runs import Kept, RunFence


def wait_until_kept(store: Store, session: str, held: RunFence, event: str, seconds: float) -> bool:
    """Wait until the worker has kept the files as of an event; return False if it has not in so many seconds."""
    until = time.monotonic() + seconds
    try:
        while True:
            head = store.session_head(session).head
            if _is_kept(store, session, held, event):
                return True
            if not store.wait(session, head, max(0.0, until - time.monotonic())):
                return False
    except StoreError:
        return False


def _is_kept(store: Store, session: str, held: RunFence, event: str) -> bool:
    """Return whether a checkpoint of the lease has what was done with an event."""
    kept, since = set[str](), set[str]()
    for each in store.history(session):
        if isinstance(each.fact, Kept) and (each.fact.run, each.fact.hand) == (held.run, held.hand):
            kept.add(each.fact.as_of)
        since.add(each.id)
        if each.id == event:
            break
    return bool(kept & since)
