"""What everything stands on: records, registries, errors, ids, JSON, files, keys. It imports no other wing.

Records (`value`) are frozen and slotted. `dataclasses` takes longer to import than a hook takes to run, so this module
implements the part of it that tildone needs: fields with defaults, equality, hash, repr, `match`, and immutability. The
fields that a class names in `__uncompared__` do not count for equality and hash. A class with a method `__check__` has
it called for every new record: it raises if the values are not allowed, so that no such record exists. `__init__` is
compiled only after a class has created a few records, so that classes that a command hardly uses cost next to nothing.
"""

from __future__ import annotations

MYPY = False
if MYPY:
    from typing import TYPE_CHECKING as TYPE_CHECKING
else:
    TYPE_CHECKING = False


if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, Generic, TypeVar

    T = TypeVar("T")
    F = TypeVar("F")
else:
    # Importing `typing` takes as long as a whole hook may take.
    T = F = None

    class Generic:
        """Replaces `typing.Generic` at run time."""

        def __class_getitem__(cls, _types: object) -> type:
            return cls


class Registry(Generic[T, F]):
    """The members of `package`, imported when they are first used, so that a command loads only those that it uses.

    `entries` maps each name to the facts that are available without importing the member. A name is the name of a
    submodule, with `-` in place of `_`. The member is the submodule's global `attribute`, or the one that follows a
    colon in the name: `module:function`. A registry is declared in the package whose submodules it imports, so that it
    crosses no boundary that the import contracts check.
    """

    def __init__(self, package: str, attribute: str, entries: Mapping[str, F]) -> None:
        self.package = package
        self.attribute = attribute
        self.entries = entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def __getitem__(self, name: str) -> T:
        """Import and return the member of that name. Raises KeyError if the registry has no such member."""
        if name not in self.entries:
            raise KeyError(name)
        submodule, _, attribute = name.partition(":")
        attribute = attribute or self.attribute
        # Not importlib: importing it takes longer than importing all the members that a hook needs.
        module = __import__(f"{self.package}.{submodule.replace('-', '_')}", fromlist=[attribute])
        member: T = getattr(module, attribute)
        return member


try:
    # The C implementation of `operator`: `operator` itself is slow to import.
    from _operator import attrgetter as attrgetter
except ImportError:
    from operator import attrgetter as attrgetter

if TYPE_CHECKING:
    from typing import dataclass_transform

    R = TypeVar("R")

    @dataclass_transform(frozen_default=True)
    def value(cls: type[R]) -> type[R]:
        """Make `cls` a frozen record of its annotated fields."""

else:

    def value(cls):
        """Make `cls` a frozen record of its annotated fields."""
        fields = tuple(getattr(cls, "__annotations__", ()))
        own = cls.__dict__
        defaults = {name: own[name] for name in fields if name in own}
        uncompared = own.get("__uncompared__", ())
        compared = tuple(name for name in fields if name not in uncompared)
        body = {name: item for name, item in own.items() if name not in defaults and name not in _NOT_COPIED}
        body.update(
            _METHODS,
            __slots__=fields,
            __match_args__=fields,
            __init__=_initial_init(fields, defaults),
            # A function from a record to its values: a tuple, or the value itself if there is only one.
            __compared__=attrgetter(*compared) if compared else lambda _: (),
        )
        return type(cls)(cls.__name__, cls.__bases__, body)


def replace(record: R, **changes: Any) -> R:
    """Return a copy of `record` with some fields changed."""
    fields: tuple[str, ...] = type(record).__match_args__  # type: ignore[attr-defined]  # every record has it
    values = [changes.pop(name) if name in changes else getattr(record, name) for name in fields]
    return type(record)(*values, **changes)


UNCOMPILED_RECORDS = 8
"""How many records a class creates before its `__init__` is compiled, which takes as long as creating thirty."""


def _initial_init(fields: tuple[str, ...], defaults: dict[str, Any]) -> Callable[..., None]:
    """Return an `__init__` that initializes the first few records, then replaces itself with a compiled one.

    Invalid arguments are passed to the compiled one, which raises the usual TypeError.
    """
    created = 0

    def __init__(self: Any, *args: Any, **named: Any) -> None:  # noqa: N807  defines the method
        nonlocal created
        created += 1
        cls = type(self)
        if created <= UNCOMPILED_RECORDS:
            given = dict(zip(fields, args, strict=False)) | named
            values = defaults | given
            if len(given) == len(args) + len(named) and values.keys() == set(fields):
                for name in fields:
                    getattr(cls, name).__set__(self, values[name])
                if hasattr(cls, "__check__"):
                    self.__check__()
                return
        compiled = _compiled_init(cls, fields, defaults)
        cls.__init__ = compiled
        compiled(self, *args, **named)

    return __init__


def _compiled_init(cls: type[Any], fields: tuple[str, ...], defaults: dict[str, Any]) -> Callable[..., None]:
    scope: dict[str, Any] = {f"_set_{name}": getattr(cls, name).__set__ for name in fields}
    scope |= {f"_default_{name}": default for name, default in defaults.items()}
    params = [f"{name}=_default_{name}" if name in defaults else name for name in fields]
    lines = [f"    _set_{name}(self, {name})" for name in fields] or ["    pass"]
    lines += ["    self.__check__()"] if hasattr(cls, "__check__") else []
    source = "\n".join([f"def __init__({', '.join(['self', *params])}):", *lines])
    exec(source, scope)  # noqa: S102  field names come from our own class bodies
    compiled: Callable[..., None] = scope["__init__"]
    return compiled


def _refuse(self: object, name: str, _value: object = None) -> None:
    message = f"{type(self).__name__}.{name} cannot be changed: records are frozen"
    raise AttributeError(message)


def _eq(self: Any, other: object) -> bool:
    if self is other:
        return True
    values_of = type(self).__compared__
    if type(other) is not type(self):
        return NotImplemented  # type: ignore[no-any-return]  # as every `__eq__`
    return bool(values_of(self) == values_of(other))


def _hash(self: Any) -> int:
    cls = type(self)
    return hash((cls, cls.__compared__(self)))


def _repr(self: Any) -> str:
    arguments = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
    return f"{type(self).__name__}({arguments})"


def _reduce(self: Any) -> tuple[type[Any], tuple[Any, ...]]:
    return type(self), tuple(getattr(self, name) for name in self.__match_args__)


_METHODS = {
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__eq__": _eq,
    "__hash__": _hash,
    "__repr__": _repr,
    "__reduce__": _reduce,
}
"""The methods of all records. Methods of their own would slow down the creation of classes, which every hook does."""

_NOT_COPIED = ("__dict__", "__weakref__")


MAX_SUGGESTIONS = 3
MAX_LISTED = 12
"""How many known words are listed if none is close to the unknown one."""

MIN_PREFIX = 2
MAX_ERRORS, CHARACTERS_PER_ERROR = 3, 3
"""Words are close if they differ by at most three typing errors, and by at most one in three characters."""

MAX_DIGITS, MAX_SHOWN = 15, 40
"""How many digits a number of a person may have, and how many characters of an invalid value are shown."""


class TildoneError(Exception):
    """An error that the caller or the operator has to act on.

        TildoneError            1
        ├── UsageError          2   invalid command line or setting
        ├── Refused             3   the request cannot be applied to this plan; also if a check did not pass
        ├── NotFound            4
        │   ├── UnknownEvent
        │   └── UnknownNeed
        └── StoreError          5   a store failed
            ├── RunFenced       6   the run has passed to another worker: stop
            ├── HeadMoved           another writer was faster: decide again
            ├── StoreBusy           locked for longer than the timeout
            ├── StoreUnreachable    its server does not answer; a later attempt may succeed
            ├── StoreDamaged        not a tildone store, or corrupt
            └── StoreTooNew         written by a newer tildone

    The number is the exit code of a command that ends with that error; `tildone help exit-codes` shows all of them.
    """

    exit_code = 1


class UsageError(TildoneError):
    """The command line or a setting is invalid."""

    exit_code = 2


class Refused(TildoneError):
    """The request cannot be applied to this plan; nothing changed. Surfaces may show `facts` beside the message."""

    exit_code = 3

    def __init__(self, *message: str, **facts: object) -> None:
        super().__init__(*message)
        self.facts = facts


class NotFound(TildoneError):
    """A named thing does not exist."""

    exit_code = 4


class UnknownEvent(NotFound):
    """The session has no event with that id."""


class UnknownNeed(NotFound):
    """The store has no question with that id."""


class StoreError(TildoneError):
    """A store failed."""

    exit_code = 5


class RunFenced(StoreError):
    """This process works for a run that has passed to another worker, or has ended. Nothing was changed."""

    exit_code = 6

    def __init__(self, run: str) -> None:
        super().__init__(f"run {run} has passed to another worker or has ended; this process must stop")


class HeadMoved(StoreError):
    """The head is no longer the one that the writer read."""


class StoreBusy(StoreError):
    """Another process held the store's lock for longer than the timeout."""


class StoreUnreachable(StoreError):
    """The server of the store does not answer, or the connection to it was lost."""


class StoreDamaged(StoreError):
    """The file is not a tildone store, or it is corrupt."""


class StoreTooNew(StoreError):
    """The store was written by a newer tildone than this one."""


def shortened(given: str) -> str:
    """Return an invalid value as a message shows it: its beginning, if it is long."""
    return given if len(given) <= MAX_SHOWN else f"{given[:MAX_SHOWN]}…"


def nearest(word: str, known: tuple[str, ...], otherwise: str = "") -> str:
    """Return a hint for an unknown word: the closest known ones; if none is close, `otherwise` or a short list."""
    close = closest(word, known)
    if close:
        return did_you_mean(close)
    if otherwise or len(known) > MAX_LISTED:
        return otherwise or "see tildone --help"
    return f"known are {', '.join(known)}"


def did_you_mean(names: list[str]) -> str:
    """Return the suggestions as a question."""
    *others, last = map(repr, names)
    return f"did you mean {', '.join(others)} or {last}?" if others else f"did you mean {last}?"


def closest(word: str, known: tuple[str, ...]) -> list[str]:
    """Return up to three known words that differ from `word` by a typing error or that it begins, closest first."""
    if len(word) > MAX_SHOWN:
        return []
    typed = word.lower().lstrip("-")
    ranked = []
    for name in known:
        bare = name.lower().lstrip("-")
        distance = _edit_distance(typed, bare)
        if len(typed) >= MIN_PREFIX and bare.startswith(typed):
            distance = min(distance, 1)
        if distance <= min(MAX_ERRORS, max(len(typed), len(bare)) // CHARACTERS_PER_ERROR):
            ranked.append((distance, name))
    least = min((distance for distance, _ in ranked), default=0)
    # Beside a word with a single typing error, others are unlikely.
    likely = [pair for pair in ranked if pair[0] <= (1 if least <= 1 else least + 1)]
    return [name for _, name in sorted(likely, key=lambda pair: pair[0])][:MAX_SUGGESTIONS]


def _edit_distance(one: str, other: str) -> int:
    """Return how many insertions, deletions, substitutions and swaps of neighbours separate two words."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one):
        earlier, before, row = before, row, [i + 1]
        for j, theirs in enumerate(other):
            cost = min(before[j] + (letter != theirs), before[j + 1] + 1, row[j] + 1)
            if i and j and letter == other[j - 1] and theirs == one[i - 1]:
                cost = min(cost, earlier[j - 1] + 1)
            row.append(cost)
    return row[-1]
