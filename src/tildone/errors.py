"""The errors that a caller or an operator has to act on.

    TildoneError            1
    ├── UsageError          2   invalid command line or setting
    ├── Refused             3   the request cannot be applied to this plan
    ├── NotFound            4
    │   └── UnknownEvent
    └── StoreError          5   a store failed
        ├── HeadMoved           another writer was faster: decide again
        ├── StoreBusy           locked for longer than the timeout
        ├── StoreDamaged        not a tildone store, or corrupt
        └── StoreTooNew         written by a newer tildone

The number is the exit code of a command that ends with that error.
"""


class TildoneError(Exception):
    """An error that the caller or the operator has to act on."""

    exit_code = 1


class UsageError(TildoneError):
    """The command line or a setting is invalid."""

    exit_code = 2


class Refused(TildoneError):
    """The request cannot be applied to this plan; nothing changed."""

    exit_code = 3


class NotFound(TildoneError):
    """A named thing does not exist."""

    exit_code = 4


class UnknownEvent(NotFound):
    """The session has no event with that id."""


class StoreError(TildoneError):
    """A store failed."""

    exit_code = 5


class HeadMoved(StoreError):
    """The head is no longer the one that the writer read."""


class StoreBusy(StoreError):
    """Another process held the store's lock for longer than the timeout."""


class StoreDamaged(StoreError):
    """The file is not a tildone store, or it is corrupt."""


class StoreTooNew(StoreError):
    """The store was written by a newer tildone than this one."""


def nearest(word: str, known: tuple[str, ...]) -> str:
    """Return a hint for an unknown word: the closest known one, else all of them."""
    # Late, because it is only needed for an error message.
    from difflib import get_close_matches  # noqa: PLC0415  see above

    close = get_close_matches(word, known, 1)
    return f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"
