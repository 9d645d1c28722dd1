"""Forks: a conversation that begins as a copy of another one begins with a copy of its plan, too.

The agent of a fork has a session of its own, in which the plan of its parent is the first event; a label names the
parent. Later changes of one plan do not reach the other. Coding agents tell of the parent in the event, in the
transcript or by the options of their command line. Where they tell only that it is a fork, its plan is that of the
project: the one that the parent would find if it were resumed.
"""

from __future__ import annotations

from itertools import dropwhile, pairwise

from tildone.agents.hooks.event import at_path
from tildone.agents.integrations import HookPoint
from tildone.base import TYPE_CHECKING, replace
from tildone.base.json import parse
from tildone.plan.events import latest_state
from tildone.plan.model import with_tasks
from tildone.plan.text.safe import printable
from tildone.stores.agents import FORMER_NOTE, agent_id, command_line
from tildone.stores.assignment import own_session

if TYPE_CHECKING:
    from tildone.agents.hooks.event import HookEvent
    from tildone.log.session import Session
    from tildone.log.store import Store
    from tildone.plan.model import Task
    from tildone.stores.agents import Agent, AgentId, AgentRegistry

MAX_TRANSCRIPT_BYTES = 1_000_000
"""How much of a transcript is read; its first entries name the parent."""


def parent_of(event: HookEvent) -> str | None:
    """Return the conversation that a new one was forked from; empty if that is not told, None if it is no fork."""
    option, *resume = event.hooks.fork_options or ("",)
    words = command_line(event.process) if option else []
    if not event.is_fork and (option not in words or event.point is not HookPoint.PROMPT):
        return None
    return event.text("forked_from") or _in_transcript(event) or _after(words, resume)


def copy_plan(event: HookEvent, agents: AgentRegistry, agent: Agent, session: Session, parent: str) -> None:
    """Begin the session of a fork with its parent's plan, as it was where the text of the fork ends, if that is told.

    A fork whose parent has no plan has none, and one that has begun keeps its own. It is held to what its parent was.
    """
    parent_id, store = agent_id(event.integration.name, parent, 0), session.store
    name = _session_of(agents, store, parent_id) if parent else agents.project
    before, history = event.get("forked_before"), store.history(name)
    if isinstance(before, int):
        history = dropwhile(lambda each: each.at >= before, history)
    plan = latest_state(history).plan
    if plan.tasks:
        former = {str(parent_id), *agents.note(parent_id, FORMER_NOTE).splitlines()}

        def taken_over(task: Task) -> Task:
            is_own = task.owner and (task.owner in former or not parent)
            return replace(task, owner=str(agent.id)) if is_own else task

        plan = with_tasks(plan, taken_over)
        label = f"fork of {printable(str(parent_id)) if parent else 'the project'}"
        session.begin_with(plan, latest_state(store.history(name)).directive, label)


def _session_of(agents: AgentRegistry, store: Store, parent: AgentId) -> str:
    """Return the session of an agent, which may have no record any more."""
    record, own = agents.get(parent), own_session(agents, parent)
    if record is not None:
        return record.session
    return agents.project if store.session_info(own) is None else own


def _in_transcript(event: HookEvent) -> str:
    path = event.payload.get("transcript_path")
    if not event.hooks.fork_entry or not isinstance(path, str):
        return ""
    try:
        with open(path, "rb") as file:
            lines = file.read(MAX_TRANSCRIPT_BYTES).splitlines()
    except OSError:
        return ""
    for line in lines:
        try:
            found = at_path(parse(line.decode("utf-8", "replace")), event.hooks.fork_entry)
        except ValueError:
            continue
        if isinstance(found, str) and found:
            return found
    return ""


def _after(words: list[str], options: list[str]) -> str:
    """Return the word after one of the options; empty if there is none, or it is an option itself."""
    return next((word for option, word in pairwise(words) if option in options and not word.startswith("-")), "")
