"""Outlines as text: a store keeps them, so that the next index reads only the sessions that changed since.

The text is of use only to the same version of this module and the same limit of nudges, which is part of a state's
reason. Anything else reads as nothing, and the session is read.
"""

from __future__ import annotations

from typing import Any

from tildone.log import codec
from tildone.log.tree import SessionInfo
from tildone.overview.costs import AgentCost
from tildone.overview.rows import SessionOutline
from tildone.views.session_state import SessionState, SessionWord

VERSION = 4
_TYPES = (int, int, str, str, str, str, str, int, int, str, str, int, str, list)


def encode(known: SessionOutline, nudge_limit: int) -> str:
    return codec.dump(
        [
            VERSION,
            nudge_limit,
            known.title,
            known.at_work.word.name,
            known.at_work.why,
            known.at_rest.word.name,
            known.at_rest.why,
            known.closed,
            known.total,
            known.strip,
            known.doing,
            known.nudges,
            known.searched,
            [[cost.agent, float(cost.spent), float(cost.newest)] for cost in known.costs],
        ]
    )


def decode(text: str, info: SessionInfo, head: str | None, nudge_limit: int) -> SessionOutline | None:
    """Return the outline of a session; None if the text is not one that `encode` returns for this limit."""
    try:
        found: Any = codec.parse_strictly(text)
    except ValueError:
        return None
    if not isinstance(found, list) or tuple(map(type, found)) != _TYPES or found[:2] != [VERSION, nudge_limit]:
        return None
    _, _, title, work_word, work_why, rest_word, rest_why, closed, total, strip, doing, nudges, searched, costs = found
    words = SessionWord.__members__
    if work_word not in words or rest_word not in words or not all(map(_is_cost, costs)):
        return None
    at_work, at_rest = SessionState(words[work_word], work_why), SessionState(words[rest_word], rest_why)
    known = tuple(AgentCost(*cost) for cost in costs)
    return SessionOutline(info, head, title, at_work, at_rest, closed, total, strip, doing, nudges, searched, known)


def _is_cost(found: object) -> bool:
    return isinstance(found, list) and tuple(map(type, found)) == (str, float, float)
