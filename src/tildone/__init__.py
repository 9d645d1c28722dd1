"""The plan your agents actually finish.

    from tildone import INDEXED, MemoryStore, session_in

    session = session_in(MemoryStore(), "my-agent", INDEXED)
    session.call("write_todos", {"mode": "replace", "todos": [{"text": "Write the parser"}]})

Names are imported when they are first used, so importing the package costs nothing.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tildone.app.opening import session_in, store_at
    from tildone.core.ops import (
        Append,
        At,
        Everything,
        InPhase,
        Insert,
        Mark,
        Move,
        Named,
        Note,
        Numbered,
        Order,
        Remove,
        Rename,
        SetCheck,
        StartNext,
        Touch,
        Write,
    )
    from tildone.core.plan import Phase, Plan, Status, Task, flat
    from tildone.core.query import next_task, open_tasks
    from tildone.core.reduce import Outcome
    from tildone.dialects.base import Dialect, Reply, Tool
    from tildone.dialects.brief import DIALECT as BRIEF
    from tildone.dialects.declared import DIALECT as DECLARED
    from tildone.dialects.indexed import DIALECT as INDEXED
    from tildone.dialects.phased import DIALECT as PHASED
    from tildone.dialects.provider_tools import anthropic_tools, openai_tools, tool_instructions
    from tildone.errors import (
        HeadMoved,
        NotFound,
        Refused,
        RunFenced,
        StoreBusy,
        StoreDamaged,
        StoreError,
        StoreTooNew,
        StoreUnreachable,
        TildoneError,
        UnknownEvent,
        UnknownNeed,
        UsageError,
    )
    from tildone.log.events import Actor, Author, Bound, Directive, StopFingerprint
    from tildone.log.store import Store
    from tildone.loop.decision import Decision, GiveUp, GoOn, Patience, Rest, RestReason, Turn, Verdict
    from tildone.session import Session
    from tildone.stores.memory import MemoryStore
    from tildone.stores.sqlite.store import SqliteStore
    from tildone.version import __version__

_HOMES = {
    "tildone.core.ops": (
        "Append At Everything InPhase Insert Mark Move Named Note Numbered Order Remove Rename SetCheck StartNext "
        "Touch Write"
    ),
    "tildone.core.plan": "Phase Plan Status Task flat",
    "tildone.core.query": "next_task open_tasks",
    "tildone.core.reduce": "Outcome",
    "tildone.dialects.base": "Dialect Reply Tool",
    "tildone.dialects.brief": "DIALECT:BRIEF",
    "tildone.dialects.declared": "DIALECT:DECLARED",
    "tildone.dialects.indexed": "DIALECT:INDEXED",
    "tildone.dialects.phased": "DIALECT:PHASED",
    "tildone.dialects.provider_tools": "anthropic_tools openai_tools tool_instructions",
    "tildone.errors": "HeadMoved NotFound Refused RunFenced StoreBusy StoreDamaged StoreError StoreTooNew"
    " StoreUnreachable TildoneError UnknownEvent UnknownNeed UsageError",
    "tildone.log.events": "Actor Author Bound Directive StopFingerprint",
    "tildone.log.store": "Store",
    "tildone.loop.decision": "Decision GiveUp GoOn Patience Rest RestReason Turn Verdict",
    "tildone.session": "Session",
    "tildone.stores.memory": "MemoryStore",
    "tildone.stores.sqlite.store": "SqliteStore",
    "tildone.version": "__version__",
    "tildone.app.opening": "session_in store_at",
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
    "Actor",
    "Append",
    "At",
    "Author",
    "Bound",
    "Decision",
    "Dialect",
    "Directive",
    "Everything",
    "GiveUp",
    "GoOn",
    "HeadMoved",
    "InPhase",
    "Insert",
    "Mark",
    "MemoryStore",
    "Move",
    "Named",
    "NotFound",
    "Note",
    "Numbered",
    "Order",
    "Outcome",
    "Patience",
    "Phase",
    "Plan",
    "Refused",
    "Remove",
    "Rename",
    "Reply",
    "Rest",
    "RestReason",
    "RunFenced",
    "Session",
    "SetCheck",
    "SqliteStore",
    "StartNext",
    "Status",
    "StopFingerprint",
    "Store",
    "StoreBusy",
    "StoreDamaged",
    "StoreError",
    "StoreTooNew",
    "StoreUnreachable",
    "Task",
    "TildoneError",
    "Tool",
    "Touch",
    "Turn",
    "UnknownEvent",
    "UnknownNeed",
    "UsageError",
    "Verdict",
    "Write",
    "__version__",
    "anthropic_tools",
    "flat",
    "next_task",
    "open_tasks",
    "openai_tools",
    "session_in",
    "store_at",
    "tool_instructions",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'tildone' has no attribute {name!r}")
    home, attribute = _HOME[name]
    found: object = getattr(__import__(home, fromlist=[attribute]), attribute)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
