"""Presence: which agents are in a session, and what each of them does.

A presence is not an event: the next one of the same agent replaces it, and it is never copied with a session.
"""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, value
from tildone.base.json import decode_record, dump

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tildone.base.json import FieldTypes

AT_WORK_MS = 90_000
"""An agent whose newest sign of life is younger than this is at work."""

PRESENCE_LIFETIME_MS = 24 * 60 * 60 * 1000
"""A sign of life removes the presences of other agents that are older by more than this."""


@value
class Presence:
    """An agent in a session; a store has at most one for each agent. Times are in milliseconds since 1970.

    `agent` is the text of its id, such as `claude:5f0c`. `doing` is what it does, and `since` when it began that. `why`
    is the value of the `Why` with which it rests, empty while it works. `cost` is in US dollars. `beat` is the time of
    its newest sign of life.
    """

    agent: str
    session: str
    host: str = ""
    machine: str = ""
    model: str = ""
    doing: str = ""
    since: int = 0
    why: str = ""
    tokens: int = 0
    cost: float = 0.0
    beat: int = 0

    def at_work(self, now: int) -> bool:
        """Return whether the newest sign of life is recent."""
        return now - self.beat < AT_WORK_MS


_TYPES: FieldTypes = {
    **dict.fromkeys(("agent", "session", "host", "machine", "model", "doing", "why"), str),
    **dict.fromkeys(("since", "tokens", "beat"), int),
    "cost": (int, float),
}


def encode_presence(presence: Presence) -> str:
    """Return a presence as JSON text."""
    return dump({name: getattr(presence, name) for name in _TYPES})


def decode_presences(texts: Iterable[object]) -> list[Presence]:
    """Return the presences of JSON texts, ordered by agent. What cannot be decoded is left out."""
    found = (decode_record(Presence, _TYPES, text) for text in texts)
    return sorted((each for each in found if each is not None), key=lambda each: each.agent)


def with_presence(presences: Iterable[Presence], new: Presence) -> list[Presence]:
    """Return the presences with the newest one of an agent, without those that are too old."""
    oldest = new.beat - PRESENCE_LIFETIME_MS
    return [*(each for each in presences if each.agent != new.agent and each.beat >= oldest), new]
