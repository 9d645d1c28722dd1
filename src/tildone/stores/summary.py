"""The summary of a session from the JSON text of its events, without decoding them.

The codec writes no white space between tokens and escapes every quotation mark inside a string. Therefore,
`"status":"pending"` occurs in an event if and only if one of its tasks is pending, regardless of the texts, and a
substring search can replace decoding. Hooks depend on this: importing the codec takes longer than everything else in a
hook that has nothing to say. `tests/log/test_state.py` checks the markers and the summaries against the codec.
"""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, value

if TYPE_CHECKING:
    from collections.abc import Iterable


PLAN_CHANGED = '"fact":"plan_changed"'
DIRECTIVE_SET = ('"fact":"directive_set"', '"fact":"steered"')
NUDGED = '"fact":"nudged"'
TRIPPED = '"fact":"tripped"'
PENDING = '"status":"pending"'
IN_PROGRESS = '"status":"in_progress"'
BLOCKED = '"status":"blocked"'
CHECK = '"check":{'
DIRECTIVE = ('"directive":"', '"course":"')
"""The key, and the one of older stores; the fact that sets it has two names, too."""
CONTINUED = '"ledger":{"continued":'

GO, STOP = "go", "stop"
"""The values of two members of `Directive`. The codec omits GO."""

MAX_EVENTS = 200
"""How many events, newest first, are searched for the plan."""


@value
class SessionSummary:
    """A session at its head: whether a task can be worked on, whether one is blocked, and the person's directive.

    `continued` means that the agent was told to go on since a person last spoke. `seen` is the head that the agent's
    model has seen. `checked` means that a task or the plan has a check.
    """

    head: str | None = None
    workable: bool = False
    blocked: bool = False
    directive: str = GO
    continued: bool = False
    seen: str | None = None
    checked: bool = False


def summarize(head: str, newest_first: Iterable[str], seen: str | None = None) -> SessionSummary | None:
    """Summarize a session from the JSON texts of its events, from `head` to the root.

    Only as many texts are read as necessary. The result is None if none of the first MAX_EVENTS has a plan.
    """
    directive, continued = "", False
    for count, event in enumerate(newest_first):
        if count == MAX_EVENTS:
            return None
        continued = continued or (not directive and (NUDGED in event or TRIPPED in event or CONTINUED in event))
        if not directive and (PLAN_CHANGED in event or any(marker in event for marker in DIRECTIVE_SET)):
            directive = next((event.partition(key)[2].partition('"')[0] for key in DIRECTIVE if key in event), GO)
        if PLAN_CHANGED in event:
            workable = PENDING in event or IN_PROGRESS in event
            return SessionSummary(head, workable, BLOCKED in event, directive, continued, seen, CHECK in event)
    return SessionSummary(head, directive=directive or GO, continued=continued, seen=seen)
