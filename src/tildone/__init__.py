"""The plan your agents actually finish.

    from tildone import INDEXED, MemoryStore, session_in

    session = session_in(MemoryStore(), "my-agent", INDEXED)
    session.call("write_todos", {"mode": "replace", "todos": [{"text": "Write the parser"}]})

Names are imported when they are first used, so importing the package costs nothing.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tildone.core.ops import Append, At, Everything, InPhase, Insert, Mark, Named, Note, Remove, Write
    from tildone.core.plan import Phase, Plan, Status, Task, flat
    from tildone.dialects.base import Reply
    from tildone.dialects.brief import DIALECT as BRIEF
    from tildone.dialects.declared import DIALECT as DECLARED
    from tildone.dialects.indexed import DIALECT as INDEXED
    from tildone.dialects.phased import DIALECT as PHASED
    from tildone.errors import TildoneError
    from tildone.loop.decision import GiveUp, GoOn, Patience, Rest
    from tildone.session import Session, Verdict
    from tildone.stores.memory import MemoryStore
    from tildone.stores.sqlite.store import SqliteStore
    from tildone.wiring import session_in

_HOMES = {
    "tildone.core.ops": "Append At Everything InPhase Insert Mark Named Note Remove Write",
    "tildone.core.plan": "Phase Plan Status Task flat",
    "tildone.dialects.base": "Reply",
    "tildone.dialects.brief": "DIALECT:BRIEF",
    "tildone.dialects.declared": "DIALECT:DECLARED",
    "tildone.dialects.indexed": "DIALECT:INDEXED",
    "tildone.dialects.phased": "DIALECT:PHASED",
    "tildone.errors": "TildoneError",
    "tildone.loop.decision": "GiveUp GoOn Patience Rest",
    "tildone.session": "Session Verdict",
    "tildone.stores.memory": "MemoryStore",
    "tildone.stores.sqlite.store": "SqliteStore",
    "tildone.wiring": "session_in",
}
"""The imports above, for run time: `NAME`, or `NAME:ALIAS`. A test holds the two to each other."""

_HOME = {
    alias or name: (home, name)
    for home, names in _HOMES.items()
    for name, _, alias in (entry.partition(":") for entry in names.split())
}

__all__ = [
    "BRIEF",
    "DECLARED",
    "INDEXED",
    "PHASED",
    "Append",
    "At",
    "Everything",
    "GiveUp",
    "GoOn",
    "InPhase",
    "Insert",
    "Mark",
    "MemoryStore",
    "Named",
    "Note",
    "Patience",
    "Phase",
    "Plan",
    "Remove",
    "Reply",
    "Rest",
    "Session",
    "SqliteStore",
    "Status",
    "Task",
    "TildoneError",
    "Verdict",
    "Write",
    "flat",
    "session_in",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'tildone' has no attribute {name!r}")
    home, attribute = _HOME[name]
    found: object = getattr(__import__(home, fromlist=[attribute]), attribute)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
