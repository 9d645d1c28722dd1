"""The store in a folder of session files in pi's format.

Each module imports only modules above it in this list:

    session_file.py  the format: lines, header, versions, time stamps; writing one file
    entries.py       events as entries, and entries of other programs as events
    outline.py       scanning a file into a tree of entries, incrementally
    history.py       the events among the entries: the plan's own tree; lines to append; import and export of one file
    folder.py        the files of a folder, what readers have seen, and the histories of the sessions, cached
    examination.py   the integrity check
    store.py         the store, what is kept beside the log, and the change feed
"""

from tildone.log.store import Store
from tildone.stores import OpenOptions, StoreAddress, StoreKind


def _open(address: StoreAddress, options: OpenOptions) -> Store:
    # Late, so that nothing is loaded for a store of another kind.
    from tildone.stores.pi.store import JsonlStore  # noqa: PLC0415  see above

    return JsonlStore(address.location, options.plan_in_entry, timeout=options.timeout)


STORE = StoreKind(_open)
