"""Conversations and hosts, built from settings."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from tildone.agents.identity import AgentId
from tildone.agents.worktree import fingerprint
from tildone.app.opening import dialect_of_session, open_agents, open_session, person_here
from tildone.config import Settings
from tildone.dialects import dialect_named, dialect_of_tool
from tildone.dialects.base import Dialect
from tildone.dialects.by_hand import BY_HAND
from tildone.errors import TildoneError, UsageError
from tildone.extensions import extension_of
from tildone.extensions.presence import presence
from tildone.extensions.request_bounds import request_bounds
from tildone.extensions.steering import steering
from tildone.host.conversations import Conversations
from tildone.host.host import Extension, Host
from tildone.host.model import Model
from tildone.host.shell_model import ShellModel
from tildone.host.subagents import Subagents
from tildone.host.tools.builtin import builtin_tools
from tildone.host.tools.permissions import PermissionPolicy
from tildone.host.tools.task import task_tool
from tildone.host.transcript import Transcript
from tildone.host.ui import UI
from tildone.ids import new_conversation_id, now
from tildone.log.events import Author
from tildone.log.store import Store
from tildone.session import Session
from tildone.value import replace
from tildone.wiring.ask_limits import ask_limits
from tildone.wiring.metering import HostUsage
from tildone.wiring.questions import Asker, SharedQuestions
from tildone.wiring.run_plan import RunPlan
from tildone.wiring.subagents import SubagentOpener

AGENT = "tildone"
"""What the host is called where agents are named, in place of an integration."""

DEFAULT_DIALECT = "indexed"
"""The dialect of a new conversation in the host, unless another is configured or the plan was written in another."""

SHELL_DIALECT = "brief"
"""The dialect of the shell driver, unless another is configured: it names tasks by their numbers, as people do."""


def open_conversations(
    settings: Settings, cwd: str, *, kept: bool = True, new_id: Callable[[], str] = new_conversation_id
) -> Conversations:
    """Return the conversations of a working folder; those that are not `kept` leave no file.

    Raises:
        UsageError: the store is in the folder of the conversations. In one file with a plan's events, the messages of
            a conversation would look like a branch that was abandoned, and the events likewise.
    """
    if kept and settings.store.path == settings.session_dir:
        raise UsageError(f"{settings.session_dir} can't be both the store and the session-dir: choose another for one")
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
    conversations: Conversations | None = None,
    opened: Callable[[Host], None] | None = None,
    plan: RunPlan | None = None,
) -> Host:
    """Return a host, with the extension of a dialect.

    With a policy it has the built-in tools; a language model also has subagents, whose conversations are among
    `conversations`. `opened` is called with each host of a language model: this one, and those of its subagents.
    `plan` says which plan each conversation works on; without it, all of them work on the one that the settings name.

    Raises:
        TildoneError: an extension cannot be loaded.
    """

    def here() -> Settings:
        return plan.settings_of(host.transcript) if plan else settings

    def by_hand(_conversation: str) -> Session:
        return open_session(here(), BY_HAND, store)

    name = _dialect_name(plan.settings_of(transcript) if plan else settings, store, transcript, model)
    tools = builtin_tools(policy, lambda _conversation: by_hand("").plan) if policy else ()
    if ui is not None and ui.has_ui and store.durable:
        asker = Asker(lambda: here().session, lambda: str(_agent_id(host)), lambda: person_here(settings, store))
        ui = SharedQuestions(ui, store, asker, ask_limits(os.environ))
    host = Host(model=model, transcript=transcript, cwd=cwd, now=now, ui=ui, mode=mode, tools=tools)
    usage = HostUsage(host, lambda: str(_agent_id(host)), lambda: store.history(here().session))
    parts = [
        (name, plan_extension(name, store, here, host, usage=usage)),
        ("steering", steering(by_hand, open_agents(settings) if store.durable else None)),
        ("request bounds", request_bounds(lambda _conversation: _opened(here(), BY_HAND, store, host, usage))),
    ]
    failures = host.load([*parts, ("presence", presence(by_hand))] if store.durable else parts)
    if failures:
        raise TildoneError(f"the {failures[0].extension} extension cannot be loaded: {failures[0].error}")
    if opened and not isinstance(model, ShellModel):
        opened(host)
    if policy and conversations and not isinstance(model, ShellModel):
        opener = SubagentOpener(
            here, store, conversations, host, lambda: _agent_id(host), partial(_subagent_extension, name, store)
        )
        opener.opened = opened
        host.add_tool(task_tool(Subagents(host, opener.open)))
    return host


def _dialect_name(settings: Settings, store: Store, transcript: Transcript, model: Model) -> str:
    """Return the dialect of a host: the configured one, else that of the conversation, else that of the plan."""
    named = settings.dialect or dialect_of_conversation(transcript)
    if named:
        return named
    if isinstance(model, ShellModel):
        return SHELL_DIALECT
    of_plan = dialect_of_session(settings, store)
    return DEFAULT_DIALECT if of_plan is BY_HAND else of_plan.name


def dialect_of_conversation(transcript: Transcript) -> str | None:
    """Return the name of the dialect whose tools were called in a conversation."""
    return next((name for tool in reversed(transcript.called_tools()) if (name := dialect_of_tool(tool))), None)


def _subagent_extension(name: str, store: Store, settings: Settings, host: Host, agent: AgentId) -> Extension:
    return plan_extension(name, store, lambda: settings, host, agent)


def plan_extension(
    name: str,
    store: Store,
    here: Callable[[], Settings],
    host: Host,
    agent: AgentId | None = None,
    usage: HostUsage | None = None,
) -> Extension:
    """Return the extension of a dialect; `here` returns the settings with the session of the open conversation's plan.

    Without `agent`, the agent is that of the host's conversation.
    """
    dialect = dialect_named(name)

    def session(_conversation: str) -> Session:
        settings = here()
        opened = _opened(settings, dialect, store, host, usage, agent)
        ignored = (settings.store.location, settings.agents_dir, settings.session_dir)
        return opened.using(parts=replace(opened.parts, files=lambda: fingerprint(settings.project, ignored)))

    return extension_of(dialect, session, here())


def _opened(
    settings: Settings,
    dialect: Dialect,
    store: Store,
    host: Host,
    usage: HostUsage | None,
    agent: AgentId | None = None,
) -> Session:
    """Return the session of a host's plan. Its events have the agent, its model and what it has used."""

    def author() -> Author:
        return Author(agent=str(agent or _agent_id(host)), model=f"{host.model.provider}:{host.model.id}")

    return open_session(settings, dialect, store, author, usage=usage.of if usage is not None else None)


def _agent_id(host: Host) -> AgentId:
    """Return the agent of the host's conversation, which may change."""
    return AgentId(AGENT, host.transcript.id)
