"""Substrings of an event's JSON text that answer a question about the event without parsing it.

The codec writes no white space between tokens and escapes every quotation mark inside a string, so `"status":"pending"`
occurs in an event if and only if one of its tasks is pending, whatever the texts of the tasks say. Hooks rely on this
because importing the codec takes longer than all the rest of a hook that has nothing to say.
`tests/log/test_json_markers.py` holds every marker to the codec.
"""

from __future__ import annotations

PLAN_CHANGED = '"fact":"plan_changed"'
DIRECTIVE_SET = '"fact":"steered"'
TRIPPED = '"fact":"tripped"'
PENDING = '"status":"pending"'
IN_PROGRESS = '"status":"in_progress"'
BLOCKED = '"status":"blocked"'

GO, STOP = "go", "stop"
"""The values of two directives, as `Directive` has them."""

_DIRECTIVE = '"course":"'


def directive_in(event: str) -> str:
    """The value of the directive in the text of an event; GO, which the codec leaves out, where there is none."""
    return event.partition(_DIRECTIVE)[2].partition('"')[0] or GO
