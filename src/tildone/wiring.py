"""Where the parts are put together: stores, sessions and dialects by name, the clock, and ids."""

import os
import time
from itertools import islice

from tildone.config import Settings, is_url, nearest
from tildone.core.rules import Rules
from tildone.core.value import but
from tildone.dialects.base import Dialect, Reply
from tildone.errors import UsageError
from tildone.log.events import PlanChanged
from tildone.session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

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
        return "".join(DIGITS[(newest >> 5 * place) & 31] for place in reversed(range(ID_LENGTH)))

    return new_id


def open_store(settings: Settings) -> "Store":
    """The store that the settings name.

    Raises:
        UsageError: this version has no such kind of store.
        StoreError: there is no getting at it.
    """
    if is_url(settings.store):
        scheme = settings.store.split("://")[0]
        raise UsageError(f"{scheme}:// stores are not supported by this version; name a file instead")
    # Late, so that a shell that never opens a store does not pay for SQLite.
    from tildone.stores.sqlite import SqliteStore  # noqa: PLC0415  see above

    return SqliteStore(settings.store)


def open_session(settings: Settings, dialect: Dialect, store: "Store | None" = None) -> Session:
    """The session that the settings name, in a dialect."""
    return Session(
        store or open_store(settings),
        settings.session,
        dialect,
        now=now,
        new_id=id_maker(now, os.urandom),
        completions=_completions(settings.project) if dialect.name == "declared" else None,
    )


def under(session: Session, rules: Rules) -> Session:
    """The same session under other rules."""
    if rules == session.dialect.rules:
        return session
    dialect = but(session.dialect, rules=rules)
    return Session(session.store, session.name, dialect, now=now, new_id=id_maker(now, os.urandom))


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


def _completions(project: str) -> "Completions":
    """Where finished plans are written down for people, in a project."""
    # Late, because one dialect of three needs it.
    from tildone.stores.completions import CompletionLog  # noqa: PLC0415  see above

    return CompletionLog(project, lambda: time.strftime("%Y%m%d-%H%M%S"))
