"""A manual clock with timers, for tests."""

import itertools
from collections.abc import Callable


class FakeClock:
    """Milliseconds since the test began."""

    def __init__(self) -> None:
        self.at = 0
        self._order = itertools.count()
        self._timers: dict[int, tuple[int, Callable[[], None]]] = {}

    def now(self) -> int:
        return self.at

    def after(self, delay_ms: int, callback: Callable[[], None]) -> Callable[[], None]:
        """Schedule a callback. Return a function that cancels it."""
        number = next(self._order)
        self._timers[number] = (self.at + delay_ms, callback)
        return lambda: self._timers.pop(number, None) and None

    def advance(self, ms: int) -> None:
        """Advance the clock and call due callbacks in the order of their times."""
        until = self.at + ms
        while due := sorted((at, number) for number, (at, _) in self._timers.items() if at <= until):
            at, number = due[0]
            _, callback = self._timers.pop(number)
            self.at = max(self.at, at)
            callback()
        self.at = until
