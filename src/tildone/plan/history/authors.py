"""Authors of events as short texts for a screen.

Names come from other programs and other people. They are made printable and are clipped, so that a name cannot imitate
or displace what stands beside it.
"""

from __future__ import annotations

from itertools import islice

from tildone.base import TYPE_CHECKING
from tildone.plan.events import Actor, PlanChanged
from tildone.plan.text.safe import printable, short_agent
from tildone.plan.text.styles import clip_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tildone.plan.events import Author, Event

MAX_NAME_COLUMNS = 20
MAX_MODEL_COLUMNS = 60
MAX_EVENTS_READ = 50
MAX_AUTHORS_LISTED = 4

_SUFFIXES = {Actor.USER: " (shell)", Actor.TIMER: " (timer)", Actor.IMPORT: " (import)"}


def who(event: Event, *, with_person: bool = False) -> str:
    """Return who caused an event: the person, or the agent and, with `with_person`, the person it works for.

    What was typed in the shell of an agent is the agent's doing. Events of earlier versions have no author; their actor
    is returned.
    """
    author, actor = event.author, event.actor
    name = _clipped(author.name)
    if author.agent:
        person = f" for {name}" if with_person and name else ""
        return f"{short_agent(author.agent)}{person}{_SUFFIXES.get(actor, '')}"
    if not name:
        return actor.value
    return name if actor is Actor.USER else f"{name} ({actor.value})"


def others_since(newest_first: Iterable[Event], since: str | None, own: Author) -> list[str]:
    """Return who changed the plan after `since`, as a model reads it, except the agent `own`; at most some are read."""
    found: dict[str, None] = {}
    for event in islice(newest_first, MAX_EVENTS_READ):
        if event.id == since:
            break
        author = event.author
        if not isinstance(event.fact, PlanChanged) or (author.agent and author.agent == own.agent):
            continue
        if author.agent:
            found[short_agent(author.agent)] = None
        elif event.actor in (Actor.USER, Actor.IMPORT):
            found["the user" if author.name in ("", own.name) else f"user {_clipped(author.name)}"] = None
    return list(found)[:MAX_AUTHORS_LISTED][::-1]


def of_several_people(events: Iterable[Event]) -> bool:
    """Return whether agents of different people are among the authors, so that they have to be told apart."""
    return len({event.author.name for event in events if event.author.agent}) > 1


def describe_author(author: Author) -> str:
    agent = short_agent(author.agent)
    if agent and author.model:
        agent += f" ({_clipped(author.model, MAX_MODEL_COLUMNS)})"
    return " for ".join(part for part in (agent, _clipped(author.name)) if part)


def _clipped(text: str, columns: int = MAX_NAME_COLUMNS) -> str:
    return clip_text(printable(text), columns)
