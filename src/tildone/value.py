"""Frozen, slotted records that cost nothing to import.

`dataclasses` takes longer to import than a hook takes to run, so this is the small part of it that tildone needs:
fields with defaults, equality, hash, repr, `match`, and no way to change one. `__init__` is compiled once a class
has made a few records, so a class that a short command hardly uses costs it next to nothing.
"""

from __future__ import annotations

from tildone.typing import TYPE_CHECKING

try:
    # The C module behind `operator`, which takes as long to import as three modules of ours.
    from _operator import attrgetter
except ImportError:
    from operator import attrgetter

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar, dataclass_transform

    R = TypeVar("R")

    @dataclass_transform(frozen_default=True)
    def value(cls: type[R]) -> type[R]:
        """Make `cls` a frozen record of its annotated fields."""

else:

    def value(cls):
        """Make `cls` a frozen record of its annotated fields."""
        fields = tuple(getattr(cls, "__annotations__", ()))
        defaults = {name: cls.__dict__[name] for name in fields if name in cls.__dict__}
        body = {
            name: item
            for name, item in cls.__dict__.items()
            if name not in defaults and name not in ("__dict__", "__weakref__")
        }
        body.update(
            __slots__=fields,
            __match_args__=fields,
            __init__=_first_init(fields, defaults),
            __setattr__=_refuse,
            __delattr__=_refuse,
            __eq__=_equality(fields),
            __hash__=_hashing(fields),
            __repr__=_showing(fields),
            __reduce__=_reducing(fields),
        )
        return type(cls)(cls.__name__, cls.__bases__, body)


def replace(record: R, **changes: Any) -> R:
    """A copy of `record` with some fields changed."""
    fields: tuple[str, ...] = type(record).__match_args__  # type: ignore[attr-defined]  # every value has them
    kept = [changes.pop(name) if name in changes else getattr(record, name) for name in fields]
    return type(record)(*kept, **changes)


UNCOMPILED_RECORDS = 8
"""How many records a class makes before its `__init__` is compiled, which takes as long as making thirty."""


def _first_init(fields: tuple[str, ...], defaults: dict[str, Any]) -> Callable[..., None]:
    """An `__init__` that makes a few records itself, then compiles the real one and is replaced by it.

    Arguments that do not fit are left to the compiled one, which raises the usual TypeError.
    """
    made = 0
    known = frozenset(fields)

    def __init__(self: Any, *args: Any, **named: Any) -> None:  # noqa: N807  it becomes the method
        nonlocal made
        made += 1
        cls = type(self)
        given = dict(zip(fields, args, strict=False)) | named
        held = defaults | given
        if made <= UNCOMPILED_RECORDS and len(given) == len(args) + len(named) and held.keys() == known:
            for name in fields:
                getattr(cls, name).__set__(self, held[name])
            return
        real = _compiled_init(cls, fields, defaults)
        cls.__init__ = real
        real(self, *args, **named)

    return __init__


def _compiled_init(cls: type[Any], fields: tuple[str, ...], defaults: dict[str, Any]) -> Callable[..., None]:
    scope: dict[str, Any] = {f"_set_{name}": getattr(cls, name).__set__ for name in fields}
    scope |= {f"_default_{name}": default for name, default in defaults.items()}
    params = [f"{name}=_default_{name}" if name in defaults else name for name in fields]
    lines = [f"    _set_{name}(self, {name})" for name in fields] or ["    pass"]
    source = "\n".join([f"def __init__({', '.join(['self', *params])}):", *lines])
    exec(source, scope)  # noqa: S102  field names come from our own class bodies
    made: Callable[..., None] = scope["__init__"]
    return made


def _refuse(self: object, name: str, _value: object = None) -> None:
    message = f"{type(self).__name__}.{name} cannot be changed: records are frozen"
    raise AttributeError(message)


def _row(fields: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    if not fields:
        return lambda _: ()
    read = attrgetter(*fields)
    return read if len(fields) > 1 else lambda record: (read(record),)


def _equality(fields: tuple[str, ...]) -> Callable[[Any, object], bool]:
    row = _row(fields)

    def __eq__(self: object, other: object) -> bool:  # noqa: N807  it becomes the method
        if self is other:
            return True
        if type(other) is not type(self):
            return NotImplemented
        return row(self) == row(other)

    return __eq__


def _hashing(fields: tuple[str, ...]) -> Callable[[Any], int]:
    row = _row(fields)
    return lambda record: hash((type(record), row(record)))


def _showing(fields: tuple[str, ...]) -> Callable[[Any], str]:
    def __repr__(self: object) -> str:  # noqa: N807  it becomes the method
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in fields)
        return f"{type(self).__name__}({shown})"

    return __repr__


def _reducing(fields: tuple[str, ...]) -> Callable[[Any], Any]:
    row = _row(fields)
    return lambda record: (type(record), row(record))
