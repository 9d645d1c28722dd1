"""Where the parts are put together: stores, sessions, dialects and hosts by name, the clock, and ids."""

import os
import time
from itertools import islice

from tildone.config import Settings, is_url, nearest
from tildone.core.rules import Rules
from tildone.dialects.base import Dialect, Reply
from tildone.errors import TildoneError, UsageError
from tildone.log.events import PlanChanged
from tildone.loop.machine import Patience
from tildone.session import Session
from tildone.value import but

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tildone.host.agent import Extension, Host
    from tildone.host.conversations import Conversations
    from tildone.host.model import Model
    from tildone.host.tools.confine import Policy
    from tildone.host.transcript import Transcript
    from tildone.host.ui import UI
    from tildone.log.store import Store
    from tildone.session import Completions

TOOLS = {
    "indexed": ("write_todos", "list_todos", "edit_todos"),
    "phased": ("todo_write",),
    "declared": ("TodoWrite",),
}
"""Every dialect with its tools, known here so that looking one up loads no other."""

BY_HAND = Dialect(
    name="by hand",
    rules=Rules(),
    tools=(),
    refuse=lambda *_: Reply("", {}, is_error=True),
    context=lambda _: None,
    carry_on=lambda _: "",
    recover=lambda _: None,
)
"""For a person's edits where no model has written yet: no limits, and nothing is started by itself."""

LOOK_BACK = 200
DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
ID_LENGTH = 20
CHANCE_BITS = 50


def now() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def id_maker(clock: "Callable[[], int]", chance: "Callable[[int], bytes]") -> "Callable[[], str]":
    """A source of short ids that sort by the time they were made, whatever the clock does."""
    newest = 0

    def new_id() -> str:
        nonlocal newest
        drawn = int.from_bytes(chance(8), "big") >> (64 - CHANCE_BITS)
        newest = max((clock() << CHANCE_BITS) | drawn, newest + 1)
        return "".join([DIGITS[(newest >> 5 * place) & 31] for place in reversed(range(ID_LENGTH))])

    return new_id


def conversation_id() -> str:
    """A UUID of version 7, which sorts by the time it was made, as pi names its sessions."""
    # Late, because only a new conversation needs one.
    from uuid import UUID  # noqa: PLC0415  see above

    chance = int.from_bytes(os.urandom(10), "big")
    marked = chance & ~(0xF << 76) & ~(0x3 << 62) | 0x7 << 76 | 0x2 << 62
    return str(UUID(int=now() << 80 | marked))


def open_store(settings: Settings, *, kept: bool = True) -> "Store":
    """The store that the settings name; one that forgets with the process where nothing is to be `kept`.

    Raises:
        UsageError: this version has no such kind of store.
        StoreError: there is no getting at it.
    """
    if not kept:
        from tildone.stores.memory import MemoryStore  # noqa: PLC0415  most sessions are kept

        return MemoryStore()
    if is_url(settings.store):
        scheme = settings.store.split("://")[0]
        raise UsageError(f"{scheme}:// stores are not supported by this version; name a file instead")
    # Late, so that a shell that never opens a store does not pay for SQLite.
    from tildone.stores.sqlite import SqliteStore  # noqa: PLC0415  see above

    return SqliteStore(settings.store)


def session_in(store: "Store", name: str, dialect: Dialect, patience: Patience = Patience()) -> Session:  # noqa: B008  frozen
    """A session of that name in a store, on the machine's clock and with ids of its own."""
    return Session(store, name, dialect, now=now, new_id=id_maker(now, os.urandom), patience=patience)


def open_session(settings: Settings, dialect: Dialect, store: "Store | None" = None) -> Session:
    """The session that the settings name, in a dialect."""
    usual = Patience()
    return Session(
        store or open_store(settings),
        settings.session,
        dialect,
        now=now,
        new_id=id_maker(now, os.urandom),
        patience=usual if settings.max_nudges is None else but(usual, nudges=settings.max_nudges),
        completions=_completions(settings.project) if dialect.name == "declared" else None,
    )


def dialect_named(name: str) -> Dialect:
    """A dialect by its name. Only that one is loaded: the others' schemas and words cost time, too.

    Raises:
        UsageError: there is no such dialect.
    """
    match name:
        case "indexed":
            from tildone.dialects.indexed import INDEXED  # noqa: PLC0415  only the one that is needed

            return INDEXED
        case "phased":
            from tildone.dialects.phased import PHASED  # noqa: PLC0415  only the one that is needed

            return PHASED
        case "declared":
            from tildone.dialects.declared import DECLARED  # noqa: PLC0415  only the one that is needed

            return DECLARED
        case _:
            raise UsageError(f"there is no dialect {name!r}; {nearest(name, tuple(TOOLS))}")


def dialect_of_tool(tool: str) -> str | None:
    """The name of the dialect that has this tool."""
    return next((name for name, tools in TOOLS.items() if tool in tools), None)


def dialect_of_session(settings: Settings, store: "Store") -> Dialect:
    """The dialect whose rules a person's edits keep to: as settled, else that of the newest tool call.

    A plan that an agent works on is left in the form that its tools expect; where none is known, nothing is assumed.
    """
    if settings.dialect:
        return dialect_named(settings.dialect)
    for event in islice(store.history(settings.session), LOOK_BACK):
        if isinstance(event.fact, PlanChanged) and event.fact.call:
            name = dialect_of_tool(event.fact.call.tool)
            return dialect_named(name) if name else BY_HAND
    return BY_HAND


def dialect_of_conversation(transcript: "Transcript") -> str | None:
    """The name of the dialect that a conversation was held in, if a tool of one was called."""
    called = [entry["message"].get("toolName") for entry in transcript.branch() if entry["type"] == "message"]
    return next((name for tool in reversed(called) if (name := dialect_of_tool(str(tool)))), None)


def open_conversations(
    settings: Settings, cwd: str, *, kept: bool = True, new_id: "Callable[[], str]" = conversation_id
) -> "Conversations":
    """The conversations held in a working folder; those that are not `kept` leave no file."""
    # Late, here and below: a host takes several times as long to load as a whole command without one.
    from tildone.host.conversations import Conversations  # noqa: PLC0415  see above

    return Conversations(settings.session_dir if kept else None, cwd, now=now, new_session_id=new_id)


def open_host(  # noqa: PLR0913  everything a host stands on comes in by name
    settings: Settings,
    store: "Store",
    transcript: "Transcript",
    *,
    cwd: str,
    model: "Model",
    mode: str,
    ui: "UI | None" = None,
    policy: "Policy | None" = None,
) -> "Host":
    """A host for one conversation, with the extension of its dialect, and the built-in tools if a policy is given.

    The plan is kept in the store, in the session of the conversation's id.
    """
    from tildone.host.agent import Host  # noqa: PLC0415  see open_conversations
    from tildone.host.tools import builtin_tools  # noqa: PLC0415  see open_conversations

    name = settings.dialect or dialect_of_conversation(transcript) or "indexed"
    tools = builtin_tools(policy) if policy is not None else ()
    host = Host(model=model, transcript=transcript, cwd=cwd, now=now, ui=ui, mode=mode, tools=tools)
    complaints: list[dict[str, Any]] = []
    listening = host.listen(complaints.append)
    host.load([(name, _extension(settings, name, store))])
    listening()
    if complaints:
        raise TildoneError(f"the {name} extension cannot be loaded: {complaints[0]['error']}")
    return host


def _extension(settings: Settings, name: str, store: "Store") -> "Extension":
    dialect = dialect_named(name)

    def session(conversation: str) -> Session:
        return open_session(but(settings, session=conversation), dialect, store)

    match name:
        case "indexed":
            from tildone.extensions.til_done import til_done  # noqa: PLC0415  only the one that is needed
            from tildone.loop.countdown import countdown  # noqa: PLC0415  the same

            return til_done(session, countdown(settings.countdown))
        case "phased":
            from tildone.extensions.phases import phases  # noqa: PLC0415  only the one that is needed
            from tildone.extensions.phases.settings import Settings as Phases  # noqa: PLC0415  the same

            bound = {} if settings.max_nudges is None else {"todo.reminders.max": settings.max_nudges}
            return phases(session, Phases.from_mapping(dict(settings.phases) | bound))
        case _:
            from tildone.extensions.declared import declared  # noqa: PLC0415  only the one that is needed

            return declared(session, settings.project)


def _completions(project: str) -> "Completions":
    """Where finished plans are written down for people, in a project."""
    # Late, because one dialect of three needs it.
    from tildone.stores.completions import CompletionLog  # noqa: PLC0415  see above

    return CompletionLog(project, lambda: time.strftime("%Y%m%d-%H%M%S"))
