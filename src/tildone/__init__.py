"""The plan your agents actually finish.

    from tildone import INDEXED, MemoryStore, session_in

    session = session_in(MemoryStore(), "my-agent", INDEXED)
    session.call("write_todos", {"mode": "replace", "todos": [{"text": "Write the parser"}]})

Names are imported when they are first used, so importing the package costs nothing.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

    from tildone.app.opening import session_in, store_at
    from tildone.base import (
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
    from tildone.log.session import Session
    from tildone.log.store import Store
    from tildone.plan.dialects import Dialect, Reply, Tool
    from tildone.plan.dialects.arguments import anthropic_tools, openai_tools, tool_instructions
    from tildone.plan.dialects.brief import DIALECT as BRIEF
    from tildone.plan.dialects.declared import DIALECT as DECLARED
    from tildone.plan.dialects.indexed import DIALECT as INDEXED
    from tildone.plan.dialects.phased import DIALECT as PHASED
    from tildone.plan.events import Actor, Author, Bound, Directive, StopFingerprint
    from tildone.plan.gate import Asks, Decision, GiveUp, GoOn, Patience, Rest, RestReason, Turn, Verdict
    from tildone.plan.model import Phase, Plan, Status, Task, flat, next_task, open_tasks
    from tildone.plan.ops import (
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
    from tildone.plan.reduce import Outcome
    from tildone.stores.memory import MemoryStore
    from tildone.stores.sqlite.store import SqliteStore
    from tildone.version import __version__

_HOMES = {
    "tildone.plan.ops": (
        "Append At Everything InPhase Insert Mark Move Named Note Numbered Order Remove Rename SetCheck StartNext "
        "Touch Write"
    ),
    "tildone.plan.model": "Phase Plan Status Task flat next_task open_tasks",
    "tildone.plan.reduce": "Outcome",
    "tildone.plan.dialects": "Dialect Reply Tool",
    "tildone.plan.dialects.brief": "DIALECT:BRIEF",
    "tildone.plan.dialects.declared": "DIALECT:DECLARED",
    "tildone.plan.dialects.indexed": "DIALECT:INDEXED",
    "tildone.plan.dialects.phased": "DIALECT:PHASED",
    "tildone.plan.dialects.arguments": "anthropic_tools openai_tools tool_instructions",
    "tildone.base": (
        "HeadMoved NotFound Refused RunFenced StoreBusy StoreDamaged StoreError StoreTooNew StoreUnreachable "
        "TildoneError UnknownEvent UnknownNeed UsageError"
    ),
    "tildone.plan.events": "Actor Author Bound Directive StopFingerprint",
    "tildone.log.store": "Store",
    "tildone.plan.gate": "Asks Decision GiveUp GoOn Patience Rest RestReason Turn Verdict",
    "tildone.log.session": "Session",
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
    "Asks",
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


class _MovedModules:
    """Finds documented modules under the names that they had before version 0.2."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> "ModuleSpec | None":
        if not name.startswith(("tildone.host", "tildone.kit", "tildone.value")):
            return None
        # Only extensions that were written before need it.
        from tildone.base.moved import moved_spec

        return moved_spec(name)


sys.meta_path.insert(0, _MovedModules)
