"""A connection whose server has to answer in time.

A peer that is gone without a word, such as one behind a firewall that has forgotten the connection, may leave a
statement waiting for ever: keepalives and `tcp_user_timeout` notice only a kernel that does not answer. So a statement
has a time limit. psycopg wakes up ten times a second while it waits for the server, and gives up after the limit.
"""

from __future__ import annotations

from contextlib import contextmanager
from time import monotonic

import psycopg
from psycopg.waiting import Ready

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeVar

    from psycopg.abc import PQGen

    T = TypeVar("T")


WAKE_SECONDS = 0.1


class TimedConnection(psycopg.Connection[tuple[object, ...]]):
    """A connection that is closed if the server has not answered a statement after `patience` seconds."""

    patience = float("inf")

    @contextmanager
    def limit(self, seconds: float) -> Iterator[None]:
        """Close the connection if the server does not answer a statement of the block in this time."""
        self.patience = seconds
        try:
            yield
        finally:
            self.patience = float("inf")

    def wait(self, gen: PQGen[T], interval: float = WAKE_SECONDS, timeout: float | None = None) -> T:
        """Wait for the server, as psycopg does."""
        if timeout is None:
            return super().wait(self._in_time(gen), interval)
        return super().wait(self._in_time(gen), interval, timeout)

    def _in_time(self, gen: PQGen[T]) -> PQGen[T]:
        until = monotonic() + self.patience
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if ready == Ready.NONE and monotonic() > until:
                    self.close()
                    raise psycopg.OperationalError("the server does not answer")
                wanted = gen.send(ready)
        except StopIteration as end:
            result: T = end.value
            return result
