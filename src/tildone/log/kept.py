"""What stores keep beside a log, or tell of it: findings of their checks, summaries, who has seen what, densities."""

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from itertools import islice

from tildone.base import value


def counts_of(times: Iterable[int], begin: int, end: int, buckets: int) -> list[int]:
    """Count times in `buckets` equal intervals of [begin, end). What is outside is not counted."""
    counts = [0] * buckets
    for at in times:
        if begin <= at < end:
            counts[(at - begin) * buckets // (end - begin)] += 1
    return counts


def filled(rows: Iterable[tuple[int, int]], buckets: int) -> list[int]:
    """Return the counts of all intervals from those that are not empty, each with its number."""
    counts = [0] * buckets
    for number, count in rows:
        counts[number] = count
    return counts


class Severity(Enum):
    """How serious a finding is."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "problem"


@value
class Finding:
    """One result of a check: its severity, what was found, and what to do about it."""

    severity: Severity
    what: str
    remedy: str = ""


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


@value
class KeptSummary:
    """A summary of a session at a head. It is valid only while that is the session's head.

    The text means something to readers only.
    """

    head: str | None
    text: str


MAX_READERS = 100
"""Of how many readers a session records what they have seen. A reader that was dropped is told the plan again."""


def with_seen(heads: dict[str, str], reader: str, head: str | None) -> dict[str, str]:
    """Return the heads with the one that a reader has seen; None removes it. The oldest beyond MAX_READERS go."""
    others = [(name, seen) for name, seen in heads.items() if name != reader]
    return dict(others if head is None else [*others[1 - MAX_READERS :], (reader, head)])
