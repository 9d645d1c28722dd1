"""The plan your agents actually finish.

    from tildone import INDEXED, MemoryStore, session_in

    session = session_in(MemoryStore(), "my-agent", INDEXED)
    session.call("write_todos", {"mode": "replace", "todos": [{"text": "Write the parser"}]})

Names are loaded when they are first used, so importing the package costs nothing.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tildone.core.ops import Append, At, Everything, InPhase, Insert, Mark, Named, Note, Remove, Write
    from tildone.core.plan import Phase, Plan, Status, Task, flat
    from tildone.dialects.base import Reply
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
    "tildone.dialects.declared": "DECLARED",
    "tildone.dialects.indexed": "INDEXED",
    "tildone.dialects.phased": "PHASED",
    "tildone.errors": "TildoneError",
    "tildone.loop.decision": "GiveUp GoOn Patience Rest",
    "tildone.session": "Session Verdict",
    "tildone.stores.memory": "MemoryStore",
    "tildone.stores.sqlite.store": "SqliteStore",
    "tildone.wiring": "session_in",
}
_DIALECTS = ("DECLARED", "INDEXED", "PHASED")
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
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
    attribute = "DIALECT" if name in _DIALECTS else name
    found: object = getattr(__import__(_HOME[name], fromlist=[attribute]), attribute)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
