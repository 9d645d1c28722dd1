"""Decides which plan is used when a conversation is opened, forked, or continued from another point.

A conversation may have a plan of its own, in the session with its id, or work on a plan that others share. Its own plan
follows the conversation: it is restored from the results in it. A shared plan stays as it is, because restoring an
older one would silently undo the work of others. There is one exception: when the person forks the conversation or
chooses another branch of it, and the newest change of the plan was made in this conversation, the plan is moved back to
that point as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from tildone.agents.identity import AgentId
from tildone.core.numbers import same_content
from tildone.core.plan import Plan, Status
from tildone.core.rules import Rules
from tildone.host.extension_context import ConversationView
from tildone.log.events import Event, PlanChanged
from tildone.session import Session

OpenSession = Callable[[str], Session]

NO_RULES = Rules()
"""The rules for plans that are restored or imported: no limits, and no task is started automatically."""

MAX_RECENT_EVENTS = 200
"""How many events are searched for a former plan."""

RUN_ENTRY, SESSION, OWN_LIST = "tildone_run", "session", "own_list"
"""The entry with the options of a run, and two of them: the session of its plan, or that it is the conversation's."""

FORK = "fork"
"""The reason with which a forked conversation is opened."""

NOT_RESTORED = "The plan stays as it is: it was changed outside of this conversation since."


def store_is_ahead(session: Session, last_plan: Plan | None) -> bool:
    """Return whether the store's history contains the last plan of the conversation, and may continue after it."""
    return last_plan is None or any(same_content(_plan(event), last_plan) for event in _recent_changes(session))


def records_of_plan(conversation: ConversationView) -> Sequence[Mapping[str, Any]]:
    """Return the entries since the conversation took up its plan: earlier results are about another one."""
    records = conversation.branch_records()
    since, plan = 0, None
    for place, record in enumerate(records):
        if record.get("customType") == RUN_ENTRY and isinstance(data := record.get("data"), dict):
            taken_up = data.get(SESSION), data.get(OWN_LIST)
            since = place if plan not in (None, taken_up) else since
            plan = taken_up
    return records[since:]


def is_shared(session: Session, conversation: ConversationView) -> bool:
    """Return whether the plan belongs to more than this conversation."""
    return session.name != conversation.id


def plan_to_restore(session: Session, recovered: Plan | None, conversations: set[str]) -> Plan | None:
    """Return the shared plan as it was at a point of the conversation; None if it has to stay as it is.

    `recovered` is the plan in the results up to that point, and `conversations` are the ids of the conversation and of
    the one that it was forked from. Events that match the recovered plan restore what results do not contain: phases,
    notes and numbers.
    """
    authors = _authors(conversations)
    changes = _recent_changes(session)
    newest = next(changes, None)
    if newest is None or newest.author.agent not in authors:
        return recovered if newest is None else None
    if recovered is None:
        before = (event for event in changes if event.author.agent not in authors)
        return next(map(_plan, before), Plan())
    matching = (event for event in (newest, *changes) if same_tasks(_plan(event), recovered))
    return next(map(_plan, matching), recovered)


def has_changed(session: Session, conversations: set[str]) -> bool:
    """Return whether one of these conversations has changed the plan."""
    authors = _authors(conversations)
    return any(event.author.agent in authors for event in _recent_changes(session))


def _authors(conversations: set[str]) -> set[str]:
    return {str(AgentId("tildone", conversation)) for conversation in conversations}


def _recent_changes(session: Session) -> Iterator[Event]:
    recent = islice(session.store.history(session.name), MAX_RECENT_EVENTS)
    return (event for event in recent if isinstance(event.fact, PlanChanged))


def _plan(event: Event) -> Plan:
    return event.fact.plan if isinstance(event.fact, PlanChanged) else Plan()


def same_tasks(one: Plan, other: Plan) -> bool:
    """Return whether two plans consist of the same tasks with the same statuses."""
    return _content(one) == _content(other)


def _content(plan: Plan) -> list[tuple[str, Status]]:
    """Return the part of a plan that the results of every dialect contain."""
    return [(task.text, task.status.basic) for task in plan.tasks]
