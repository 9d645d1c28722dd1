"""What the check of a database reports of its errors, whichever database it is."""

from __future__ import annotations

from itertools import islice

from tildone.base import TYPE_CHECKING
from tildone.log.kept import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MAX_FINDINGS = 20
"""How many errors are reported: more would not change the remedy."""


def error_findings(
    errors: Iterable[str],
    remedy: str,
    unreadable: type[Exception] | tuple[type[Exception], ...],
    totals: Callable[[], tuple[int, int]],
) -> Iterator[Finding]:
    """Return the first errors as findings, or that all sessions and events are intact.

    `unreadable` are the exceptions after which the rest cannot be read. `totals` counts the sessions and the events.
    """
    count = 0
    try:
        for error in islice(errors, MAX_FINDINGS + 1):
            count += 1
            yield Finding(Severity.ERROR, "there are more errors" if count > MAX_FINDINGS else error, remedy)
    except unreadable as error:
        count += 1
        yield Finding(Severity.ERROR, f"the rest cannot be read: {error}", remedy)
    if not count:
        sessions, events = totals()
        yield Finding(Severity.OK, f"{counted(sessions, 'session')} and {counted(events, 'event')}, all intact")


def counted(number: int, noun: str) -> str:
    """Return a number of things in words."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
