"""A clock that runs ahead of the system's."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

NS_PER_HOUR = 3_600_000_000_000


@contextmanager
def running_ahead(hours: Callable[[], float]) -> Iterator[None]:
    """Let every clock of tildone in this process run ahead by so many hours."""
    real = time.time_ns

    def ahead() -> int:
        return real() + int(hours() * NS_PER_HOUR)

    # The fast path of hooks has a name of its own for it.
    with patch("time.time_ns", ahead), patch("tildone.hooks.fast_path.time_ns", ahead):
        yield
