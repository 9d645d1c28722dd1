"""The clock, the forms of times, and the ids of events and conversations.

Event ids sort by creation time: 50 bits of milliseconds since 1970, then 50 random bits, in 20 characters of
Crockford's base 32. Within one process, each id is greater than the previous one, even if the clock goes back. The ids
that two processes create in the same millisecond differ in their random bits.
"""

from __future__ import annotations

import os
import time

from tildone.base import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
ID_LENGTH = 20
RANDOM_BITS = 50

LATEST_MS = 253_402_300_799_999
"""The end of the year 9999: later times have no four-digit year."""


def now() -> int:
    """Return the number of milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def timestamp(at: int) -> str:
    """Format milliseconds since 1970 as an ISO 8601 time in UTC: `2026-03-01T12:00:00.000Z`."""
    seconds, milliseconds = divmod(min(max(at, 0), LATEST_MS), 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{milliseconds:03d}Z"


CLOCK = "%H:%M:%S"


def local_time(at: int, form: str = "%Y-%m-%d %H:%M") -> str:
    """Format milliseconds since 1970 as a time of this machine."""
    return time.strftime(form, time.localtime(at / 1000))


def id_maker(clock: Callable[[], int], random_bytes: Callable[[int], bytes]) -> Callable[[], str]:
    """Return a function that creates event ids in ascending order."""
    newest = 0

    def new_id() -> str:
        nonlocal newest
        random = int.from_bytes(random_bytes(8), "big") >> (64 - RANDOM_BITS)
        newest = max((clock() << RANDOM_BITS) | random, newest + 1)
        return "".join([ALPHABET[(newest >> 5 * digit) & 31] for digit in reversed(range(ID_LENGTH))])

    return new_id


def new_conversation_id() -> str:
    """Return a UUID of version 7, as pi uses for its sessions."""
    # Imported here because only a new conversation needs it.
    from uuid import UUID

    random = int.from_bytes(os.urandom(10), "big")
    with_version = random & ~(0xF << 76) & ~(0x3 << 62) | 0x7 << 76 | 0x2 << 62
    return str(UUID(int=now() << 80 | with_version))
