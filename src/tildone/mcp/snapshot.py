"""A session's state at one moment, as resources show it and the watcher compares it."""

from __future__ import annotations

from tildone.log.events import Event
from tildone.log.state import State
from tildone.value import value


@value
class SessionSnapshot:
    """The name of a session and its state when it was read.

    `changed` is the event that made the plan. `recent` are the events that the log resources show, oldest first.
    """

    session: str
    state: State
    changed: Event | None = None
    recent: tuple[Event, ...] = ()
