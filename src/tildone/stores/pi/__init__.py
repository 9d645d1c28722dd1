"""The store in a folder of session files in pi's format.

Each module imports only modules above it in this list:

    session_file.py  the format: lines, header, versions, time stamps; writing one file
    entries.py       events as entries, and entries of other programs as events
    tree.py          the tree of a file's entries, by their positions
    outline.py       scanning a file into a tree, incrementally
    history.py       the events among the entries: the plan's own tree
    drafts.py        lines to append: new events, moves of the head
    folder.py        finding the file of a session, naming new files, writing drafts
    seen.py          what readers have seen of a session
    histories.py     the histories of a folder's sessions, cached, and changes of them
    records.py       what is kept beside the log: presences, questions, claims and summaries
    feed.py          what changed in the files of a folder
    listing.py       the sessions of a folder, cached
    examination.py   the integrity check
    interchange.py   reading and writing one file, for import and export
    store.py         the store
"""

from __future__ import annotations

from tildone.base import TYPE_CHECKING
from tildone.stores import StoreKind

if TYPE_CHECKING:
    from tildone.log.store import Store
    from tildone.stores import OpenOptions, StoreAddress


def _open(address: StoreAddress, options: OpenOptions) -> Store:
    # Late, so that nothing is loaded for a store of another kind.
    from tildone.stores.pi.store import JsonlStore  # noqa: PLC0415  see above

    return JsonlStore(address.location, options.plan_in_entry, timeout=options.timeout)


STORE = StoreKind(_open)
