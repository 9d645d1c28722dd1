"""Where the parts are put together: stores, sessions, dialects and hosts by name, the clock, and ids."""

from __future__ import annotations

import os
import time
from itertools import islice

from tildone import stores
from tildone.config import Settings
from tildone.dialects import dialect_named, dialect_of_tool, plan_in_entry
from tildone.dialects.by_hand import BY_HAND
from tildone.errors import TildoneError, UsageError
from tildone.extensions import extension_of
from tildone.ids import id_maker, new_conversation_id, now
from tildone.log.events import PlanChanged
from tildone.loop.decision import Patience
from tildone.session import Session
from tildone.stores.base import TIMEOUT_SECONDS, OpenOptions
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from tildone.agents.registry import AgentRegistry
    from tildone.dialects.base import Dialect
    from tildone.host.conversations import Conversations
    from tildone.host.host import Extension, Host
    from tildone.host.model import Model
    from tildone.host.tools.permissions import PermissionPolicy
    from tildone.host.transcript import Transcript
    from tildone.host.ui import UI
    from tildone.log.store import Store
    from tildone.session import Completions

LOOK_BACK = 200


def open_store(settings: Settings, *, timeout: float = TIMEOUT_SECONDS, read_only: bool = False) -> Store:
    """Open the store that the settings name.

    `timeout` bounds, in seconds, how long it waits for other processes or for a server.

    Raises:
        UsageError: no store answers to the address, or its driver is not installed.
        StoreError: it cannot be opened.
    """
    return stores.open_store(settings.store, OpenOptions(timeout, read_only, plan_in_entry))


def session_in(store: Store, name: str, dialect: Dialect, patience: Patience = Patience()) -> Session:  # noqa: B008  frozen
    """A session of that name in a store, on the machine's clock and with ids of its own."""
    return Session(store, name, dialect, now=now, new_id=id_maker(now, os.urandom), patience=patience)


def open_session(settings: Settings, dialect: Dialect, store: Store | None = None) -> Session:
    """The session that the settings name, in a dialect."""
    return Session(
        store or open_store(settings),
        settings.session,
        dialect,
        now=now,
        new_id=id_maker(now, os.urandom),
        patience=_patience(settings),
        completions=_completions(settings.project) if dialect.completion else None,
    )


def _patience(settings: Settings) -> Patience:
    """The usual bounds, with those that somebody has set."""
    said = {
        "nudges": settings.max_nudges,
        "repeats": settings.max_same,
        "minutes": settings.max_minutes,
        "cost": settings.max_cost,
    }
    return replace(Patience(), **{bound: limit for bound, limit in said.items() if limit is not None})


def open_agents(settings: Settings) -> AgentRegistry:
    """The agents at work in a project."""
    from tildone.agents.registry import AgentRegistry  # noqa: PLC0415  most commands are a person's

    return AgentRegistry(settings.agents_dir, settings.project)


def dialect_of_session(settings: Settings, store: Store) -> Dialect:
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


def dialect_of_conversation(transcript: Transcript) -> str | None:
    """The name of the dialect that a conversation was held in, if a tool of one was called."""
    return next((name for tool in reversed(transcript.called_tools()) if (name := dialect_of_tool(tool))), None)


def open_conversations(
    settings: Settings, cwd: str, *, kept: bool = True, new_id: Callable[[], str] = new_conversation_id
) -> Conversations:
    """The conversations held in a working folder; those that are not `kept` leave no file."""
    # In one file with plans, each would take what the other adds for a branch that was left.
    if kept and settings.store.path == settings.session_dir:
        raise UsageError(f"{settings.session_dir} can't be both the store and the session-dir: choose another for one")
    # Late, here and below: a host takes several times as long to load as a whole command without one.
    from tildone.host.conversations import Conversations  # noqa: PLC0415  see above

    return Conversations(settings.session_dir if kept else None, cwd, now=now, new_conversation_id=new_id)


def open_host(  # noqa: PLR0913  everything a host stands on comes in by name
    settings: Settings,
    store: Store,
    transcript: Transcript,
    *,
    cwd: str,
    model: Model,
    mode: str,
    ui: UI | None = None,
    policy: PermissionPolicy | None = None,
) -> Host:
    """A host for one conversation, with the extension of its dialect, and the built-in tools if a policy is given.

    The plan is kept in the store, in the session of the conversation's id.
    """
    from tildone.host.host import Host  # noqa: PLC0415  see open_conversations
    from tildone.host.tools import builtin_tools  # noqa: PLC0415  see open_conversations

    name = settings.dialect or dialect_of_conversation(transcript) or "indexed"
    tools = builtin_tools(policy) if policy is not None else ()
    host = Host(model=model, transcript=transcript, cwd=cwd, now=now, ui=ui, mode=mode, tools=tools)
    failures = host.load([(name, _extension(settings, name, store)), ("steering", _steering(settings, store))])
    if failures:
        raise TildoneError(f"the {failures[0].extension} extension cannot be loaded: {failures[0].error}")
    return host


def _extension(settings: Settings, name: str, store: Store) -> Extension:
    dialect = dialect_named(name)

    def session(conversation: str) -> Session:
        return open_session(replace(settings, session=conversation), dialect, store)

    return extension_of(dialect, session, settings)


def _steering(settings: Settings, store: Store) -> Extension:
    from tildone.extensions.steering import steering  # noqa: PLC0415  see open_conversations

    agents = open_agents(settings) if store.durable else None
    return steering(lambda conversation: open_session(replace(settings, session=conversation), BY_HAND, store), agents)


def _completions(project: str) -> Completions:
    """Where finished plans are written down for people, in a project."""
    # Late, because one dialect of three needs it.
    from tildone.agents.completion_log import CompletionLog  # noqa: PLC0415  see above

    return CompletionLog(project, lambda: time.strftime("%Y%m%d-%H%M%S"))
