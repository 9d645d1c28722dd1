"""The composition root: sessions, stores and agents, built from settings."""

from __future__ import annotations

import os
from itertools import islice

from tildone import stores
from tildone.app.settings import Settings, default_agents_dir
from tildone.app.values import LIMITS
from tildone.base import TYPE_CHECKING, replace
from tildone.base.ids import id_maker, local_time, now
from tildone.log.session import Session, SessionParts
from tildone.plan.dialects import dialect_named, dialect_of_tool, plan_in_entry
from tildone.plan.events import Actor, Author, PlanChanged
from tildone.plan.gate import Patience
from tildone.stores import TIMEOUT_SECONDS, OpenOptions, parse_address
from tildone.stores.agents import SUBAGENT_MARK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tildone.app.check_runner import CheckRunner
    from tildone.app.claims import AgentClaims
    from tildone.app.trust import Approvals
    from tildone.log.store import Store
    from tildone.plan.claims import Claim
    from tildone.plan.dialects import Completions, Dialect
    from tildone.plan.events import AgentUsage, Event
    from tildone.plan.lists import BadRow
    from tildone.plan.runs import RunFence
    from tildone.stores.agents import Agent, AgentRegistry
    from tildone.stores.leasing import RunLeases

MAX_EVENTS_SEARCHED = 200
"""How many events back a session is searched for a tool call that tells its dialect."""

APPROVED = "approved"
"""The folder of the checks that the person has approved."""


def open_store(settings: Settings, *, timeout: float = TIMEOUT_SECONDS, read_only: bool = False) -> Store:
    """Open the store that the settings name.

    `timeout` bounds, in seconds, how long an operation waits for other processes or for a server. Raises UsageError if
    no store answers to the address, or its driver is not installed, StoreError if it cannot be opened.
    """
    if not read_only:
        _note_if_lost(settings)
    return stores.open_store(settings.store, OpenOptions(timeout, read_only, plan_in_entry, _fence()))


def _note_if_lost(settings: Settings) -> None:
    """Note that a store is created anew in the place of one with a plan that an agent was held to, if it is."""
    path = settings.store.path
    if path is not None and not os.path.exists(path):
        # Imported here because nearly every store exists.
        from tildone.app.held_marks import note_lost

        note_lost(settings)


def store_at(address: str, *, timeout: float = TIMEOUT_SECONDS) -> Store:
    """Open the store at an address, which has the form of `--store`: a path, `jsonl:FOLDER` or `postgresql://…`.

    `timeout` bounds, in seconds, how long an operation waits for other processes or for a server. Raises UsageError if
    no store answers to the address, or its driver is not installed, StoreError if it cannot be opened.
    """
    return stores.open_store(parse_address(address), OpenOptions(timeout, plan_in_entry=plan_in_entry, fence=_fence()))


def run_leases(
    store: Store,
    author: Author = Author(),  # noqa: B008  frozen
    on_bad_row: Callable[[BadRow], object] | None = None,
) -> RunLeases:
    """Return the leases of runs in a store. `author` is recorded with the events about them.

    `on_bad_row` is told of rows that somebody else has changed, which are passed over. Raises UsageError if the store
    has no leases.
    """
    # Imported here because only workers and their commands need them.
    from tildone.stores.leasing import Recorder, leases_of

    return leases_of(store, Recorder(id_maker(now, os.urandom), now, author, on_bad_row or (lambda _row: None)))


def _fence() -> RunFence | None:
    """Return the lease that this process works under, if a worker has started it.

    Raises UsageError if the environment names a lease in another form.
    """
    text = os.environ.get("TILDONE_LEASE")
    if not text:
        return None
    from tildone.plan.runs import fence_in

    return fence_in(text)


def session_in(
    store: Store,
    name: str,
    dialect: Dialect,
    patience: Patience = Patience(),  # noqa: B008  frozen
    author: Author = Author(),  # noqa: B008  frozen
    *,
    project: str | os.PathLike[str] = "",
) -> Session:
    """Return the session of that name in a store, with the system clock and new ids.

    A session that does not exist yet is created by its first change. `patience` bounds how often an agent is told to
    go on. `author` is recorded with each event. `project` is the folder in which a dialect logs finished plans for
    people, as `DECLARED` does; without it, no file is written but those of the store.
    """
    return Session(
        store,
        name,
        dialect,
        now=now,
        new_id=id_maker(now, os.urandom),
        patience=patience,
        completions=_completions_in(os.fspath(project)) if project and dialect.completion else None,
        author=lambda _: author,
    )


def open_session(
    settings: Settings,
    dialect: Dialect,
    store: Store | None = None,
    agent: Callable[[], Author] = Author,
    reader: str = "",
    usage: Callable[[str], AgentUsage | None] | None = None,
) -> Session:
    """Return the session that the settings name, in a dialect.

    `agent` returns the agent that this process works for, and its model, as far as they are known. `reader` is the name
    under which the store records what the model has seen. `usage` returns what an agent has used; by default, what was
    noted.
    """
    opened = store or open_store(settings)
    author = _author(settings, opened, agent)
    # The list of a subagent is its own.
    claims = opened.durable and settings.claim_seconds and SUBAGENT_MARK not in settings.session
    parts = SessionParts(
        # It does not refer to the session: in a cycle, the store would not be closed when the session is not used.
        prover=lambda: check_runner(settings, lambda: _name(author(Actor.AGENT))),
        usage=usage or (lambda agent_id: _noted_usage(settings, agent_id)),
        claims=(lambda: agent_claims(settings)) if claims else None,
        taken=(lambda: tasks_of_others(settings, opened, agent().agent)) if claims else frozenset,
        # Others use a store with users, too, on their machines.
        source=person_here(settings, opened) if opened.user else "",
        # Nobody is there to say what may go on without a step that waits.
        in_order=bool(lease := os.environ.get("TILDONE_LEASE")),
        completed=(lambda event: _wait_until_kept(opened, settings.session, event))
        if lease and os.environ.get("TILDONE_CHECKPOINTS")
        else None,
    )
    return Session(
        opened,
        settings.session,
        dialect,
        now=now,
        new_id=id_maker(now, os.urandom),
        patience=patience_of(settings),
        completions=_completions(settings, opened) if dialect.completion else None,
        author=author,
        reader=reader,
        parts=parts,
    )


KEPT_SECONDS = 30.0
"""How long an agent of a fleet waits until its worker has kept the files of a task that is done."""


def _wait_until_kept(store: Store, session: str, event: str) -> None:
    from tildone.app.checkpoints import wait_until_kept

    held = _fence()
    if held is not None:
        wait_until_kept(store, session, held, event, KEPT_SECONDS)


def agent_claims(settings: Settings) -> AgentClaims:
    # Imported here because most commands concern no agent.
    from tildone.app.claims import AgentClaims

    return AgentClaims(settings)


def tasks_of_others(settings: Settings, store: Store, agent: str) -> frozenset[int]:
    """Return the numbers of the tasks that agents other than this one hold; none if no agent is named."""
    return frozenset(claim.task for claim in claims_of_others(settings, store, agent)) if agent else frozenset()


def claims_of_others(settings: Settings, store: Store, agent: str) -> list[Claim]:
    """Return the claims of agents at work other than this one; of all agents if none is named."""
    held = [claim for claim in store.records.claims(settings.session) if claim.is_held and claim.agent != agent]
    if not held:
        return []
    claims = agent_claims(settings)
    return [claim for claim in held if not claims.is_gone(claim, agent)]


def check_runner(settings: Settings, by: Callable[[], str] = str, seconds: float | None = None) -> CheckRunner:
    """Return what runs the checks of the plan that the settings name, in its working tree.

    `by` returns who runs them, for their proofs. `seconds` limits how long all of them together may take.
    """
    # Imported here because most plans have no checks.
    from tildone.app.check_runner import CheckRunner

    outputs, listings, approved = (_data_folder(settings, name) for name in ("outputs", "listings", APPROVED))
    own = (settings.store.location, settings.agents_dir, settings.session_dir, outputs, listings, approved)
    return CheckRunner(
        settings.project,
        check_approvals(settings),
        ignored=[path for path in own if path],
        outputs=outputs,
        listings=listings,
        now=now,
        by=by,
        seconds=seconds,
        nobody=lambda: agent_here(settings),
    )


def check_approvals(settings: Settings) -> Approvals:
    from tildone.app.trust import Approvals

    return Approvals(
        _data_folder(settings, APPROVED),
        settings.project,
        settings.check_allow,
        lambda: not agent_here(settings) and not os.environ.get("TILDONE_LEASE"),
    )


def check_outputs(settings: Settings) -> str:
    """Return the folder with the outputs of checks that did not pass; empty if none are kept."""
    return _data_folder(settings, "outputs")


def _data_folder(settings: Settings, name: str) -> str:
    """Return a folder for files of one person on this machine; empty if there is none, as in a store in memory."""
    return os.path.join(os.path.dirname(settings.agents_dir), name) if settings.agents_dir else ""


def _noted_usage(settings: Settings, agent: str) -> AgentUsage | None:
    # Imported here because most hooks write nothing.
    from tildone.stores.agents import AgentId

    try:
        return open_agents(settings).usage(AgentId.parse(agent))
    except ValueError:
        return None


def session_title(session: str) -> str:
    """The session as a sentence names it: a path as it is, any other name in quotes."""
    return session if os.path.isabs(session) else f"session {session!r}"


def open_agents(settings: Settings) -> AgentRegistry:
    # Imported here because most commands concern no agent.
    from tildone.stores.agents import AgentRegistry

    return AgentRegistry(settings.agents_dir, settings.project)


def dialect_of_session(settings: Settings, store: Store, newest_first: Iterable[Event] | None = None) -> Dialect:
    """Return the dialect whose rules a person's edits follow: the configured one, else that of the newest tool call.

    A plan that an agent works on thereby keeps the form that its tools expect. Without either, no rules apply.
    `newest_first` are the events of the session in which the call is looked for, if they were read already.
    """
    name = dialect_name(settings, store, newest_first)
    if name:
        return dialect_named(name)
    # Imported here because the hooks of an agent know its dialect.
    from tildone.plan.dialects import BY_HAND

    return BY_HAND


def dialect_name(settings: Settings, store: Store, newest_first: Iterable[Event] | None = None) -> str | None:
    """Return the name of the configured dialect, else of that of the newest tool call; None if there is neither."""
    if settings.dialect:
        return settings.dialect
    events = store.history(settings.session) if newest_first is None else newest_first
    for event in islice(events, MAX_EVENTS_SEARCHED):
        if isinstance(event.fact, PlanChanged) and event.fact.call:
            return dialect_of_tool(event.fact.call.tool)
    return None


def _author(settings: Settings, store: Store, agent: Callable[[], Author]) -> Callable[[Actor], Author]:
    """Return a function that returns the author of an event: the person and the agent.

    If a person acts or imports, the agent is the one whose shell the command was typed in, if any.
    """
    name = ""

    def author(actor: Actor) -> Author:
        nonlocal name
        # Only a process that writes an event looks the name up: that reads files.
        name = name or person_here(settings, store)
        known = Author() if actor is Actor.USER else replace(agent(), name=name)
        by_command = actor in (Actor.USER, Actor.IMPORT) and not known.agent
        return Author(name, agent_here(settings)) if by_command else known

    return author


def _name(author: Author) -> str:
    return str(author.agent or author.name)


def agent_here(settings: Settings) -> str:
    """Return the text of the id of the agent in whose shell this process runs; empty if it is a person's."""
    # Imported here because most hooks write nothing.
    from tildone.app.person import agent_of_shell

    return agent_of_shell(os.environ, _agents_at_work(settings), noted=open_agents(settings).caller_in)


def _agents_at_work(settings: Settings) -> Iterator[Agent]:
    """Yield the agents at work, those of the project first.

    A command in the shell of an agent may name another project, or other folders by its environment. So the agents of
    all projects count, and those that are registered beside the store or where the user's data is by default.
    """
    # Imported here because few commands are run below an agent.
    from tildone.stores.agents import active_everywhere

    at = now()
    yield from open_agents(settings).active(at)
    beside = os.path.join(os.path.dirname(settings.store.path or settings.agents_dir), "agents")
    for folder in dict.fromkeys((settings.agents_dir, beside, default_agents_dir())):
        yield from active_everywhere(folder, at, marked_only=True)


def agent_of_client(settings: Settings) -> str:
    """Return the text of the id of the agent in whose shell the client of this server runs; empty if it is a person's.

    A coding agent starts the server itself. It is above this process then, and some give their servers the variables of
    their shells; only of the one that all have in common can be told whether it was set for a shell.
    """
    # Imported here because only a server that asks a person needs it.
    from tildone.app.person import agent_of_shell
    from tildone.stores.agents import agent_process

    client = agent_process()
    above = [agent for agent in open_agents(settings).active(now()) if agent.pid != client]
    return agent_of_shell(os.environ, above, {})


def person_here(settings: Settings, store: Store) -> str:
    """Return the name of the person at this machine: the configured one, that of the store's user, or that of git."""
    # Imported here because most hooks write nothing.
    from tildone.app.person import clean_name, person_name

    return clean_name(settings.user or store.user) or person_name(os.environ, settings.project)


def patience_of(settings: Settings) -> Patience:
    configured = {bound: getattr(settings, name) for name, bound in LIMITS.items()}
    return replace(Patience(), **{bound: limit for bound, limit in configured.items() if limit is not None})


def _completions(settings: Settings, store: Store) -> Completions:
    """Return the log of completed plans in the project: one file for a session that is stored."""
    # Imported here because only one dialect has such a log.
    from tildone.stores.agents import digest

    name = digest(f"{settings.store} {settings.session}")
    record = os.path.join(os.path.dirname(settings.agents_dir), "completions", name) if settings.agents_dir else ""
    return _completions_in(settings.project, record if store.durable else "")


def _completions_in(project: str, record: str = "") -> Completions:
    """Return the log in a project's folder. All that have the same `record` append to one file."""
    from tildone.app.completion_log import CompletionLog

    return CompletionLog(project, lambda: local_time(now(), "%Y%m%d-%H%M%S"), record)
