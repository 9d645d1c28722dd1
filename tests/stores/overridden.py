"""The records of a store, with other functions in place of some of its calls."""

from collections.abc import Callable
from typing import Any

from tildone.log.store import Records


class _Overridden:
    def __init__(self, inner: Records, calls: dict[str, Callable[..., object]]) -> None:
        self._inner = inner
        self.__dict__.update(calls)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def overridden(records: Records, **calls: Callable[..., object]) -> Any:
    """Return records that answer some calls with these functions."""
    return _Overridden(records, calls)


def raising(error: Exception) -> Callable[..., object]:
    """Return a function that raises an error."""

    def fail(*_: object, **__: object) -> object:
        raise error

    return fail
