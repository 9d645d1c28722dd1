"""Everything tildone raises for a caller or an operator to act on.

    TildoneError            1
    ├── UsageError          2   the words typed make no sense
    ├── Refused             3   what was asked for cannot be done to this plan
    ├── NotFound            4
    │   └── UnknownEvent
    └── StoreError          5   the place where plans are kept
        ├── HeadMoved           somebody else wrote first: think again
        ├── StoreBusy           locked for longer than we wait
        ├── StoreDamaged        not a tildone store, or broken
        └── StoreTooNew         written by a newer tildone

The number is the exit code of a command that ends with that error.
"""


class TildoneError(Exception):
    """Something the caller or the operator has to act on."""

    exit_code = 1


class UsageError(TildoneError):
    """The words typed make no sense."""

    exit_code = 2


class Refused(TildoneError):
    """What was asked for cannot be done to this plan; nothing changed."""

    exit_code = 3


class NotFound(TildoneError):
    """A named thing does not exist."""

    exit_code = 4


class UnknownEvent(NotFound):
    """No event with that id is in this session."""


class StoreError(TildoneError):
    """The place where plans are kept could not do its work."""

    exit_code = 5


class HeadMoved(StoreError):
    """The head is no longer where the writer thought it was."""


class StoreBusy(StoreError):
    """Another process held the store for longer than we wait."""


class StoreDamaged(StoreError):
    """The file is not a tildone store, or it is broken."""


class StoreTooNew(StoreError):
    """The store was written by a newer tildone than this one."""
