"""A summary of a session from the JSON text of its events, without decoding them.

The codec writes no white space between tokens and escapes every quotation mark inside a string. So `"status":"pending"`
occurs in an event if and only if one of its tasks is pending, whatever the texts of the tasks say, and looking for such
a marker replaces decoding. Hooks depend on that: importing the codec takes longer than all the rest of a hook that
has nothing to say. `tests/log/test_summary.py` holds the markers, and the summary as a whole, to the codec.
"""

from __future__ import annotations

from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable

PLAN_CHANGED = '"fact":"plan_changed"'
DIRECTIVE_SET = '"fact":"steered"'
TRIPPED = '"fact":"tripped"'
PENDING = '"status":"pending"'
IN_PROGRESS = '"status":"in_progress"'
BLOCKED = '"status":"blocked"'
DIRECTIVE = '"course":"'

GO, STOP = "go", "stop"
"""The values of two directives, as `Directive` has them. The codec leaves GO out."""

MAX_EVENTS = 200
"""How many events are searched for the plan, newest first."""


@value
class SessionSummary:
    """A session at its head: whether a task can be worked on, whether one is blocked, and the person's directive.

    `tripped` says that a bound ended the chain of nudges, and that neither a directive nor a change followed.
    """

    head: str | None = None
    workable: bool = False
    blocked: bool = False
    directive: str = GO
    tripped: bool = False


def summarize(head: str, newest_first: Iterable[str]) -> SessionSummary | None:
    """The summary of the session whose events, from `head` to the root, have these texts.

    No more of them are taken than it needs. None where the plan is more than MAX_EVENTS back.
    """
    directive, tripped = "", False
    for count, event in enumerate(newest_first):
        if count == MAX_EVENTS:
            return None
        tripped = tripped or (TRIPPED in event and not directive)
        if (DIRECTIVE_SET in event or PLAN_CHANGED in event) and not directive:
            directive = event.partition(DIRECTIVE)[2].partition('"')[0] or GO
        if PLAN_CHANGED in event:
            workable = PENDING in event or IN_PROGRESS in event
            return SessionSummary(head, workable, BLOCKED in event, directive, tripped)
    return SessionSummary(head, directive=directive or GO, tripped=tripped)
