"""Time of a hook in a large store, against the same hook on an ordinary plan.

The store holds thousands of sessions, the registry holds thousands of agents, and the plan thousands of tasks. What a
hook does must not depend on the first two, and on the third only as far as it reads the plan.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.hooks import environ, hook, plan, project
from bench.measure import Row, medians
from tildone.app.opening import open_session
from tildone.app.settings import load
from tildone.base.ids import now
from tildone.plan.dialects import BY_HAND
from tildone.plan.events import Actor, Event, PlanChanged, SessionHead
from tildone.plan.model import Plan, Status, Task, assign_numbers, flat
from tildone.plan.ops import Append, Mark, Numbered
from tildone.stores.agents import Agent, AgentId, AgentRegistry
from tildone.stores.assignment import ProvidedTools
from tildone.stores.sqlite.store import SqliteStore

BASE = "same hook, ordinary plan"
EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")
AIMS = {"SessionStart": 2.0, "UserPromptSubmit": 1.3, "PreToolUse": 1.3, "PostToolUse": 1.3, "Stop": 2.0}
CHANGES = 50
"""How many changes by a person the history of the large plan begins with."""


def rows(folder: Path, rounds: int, tasks: int, sessions: int, agents: int) -> Iterator[Row]:
    """Every event that hooks are called for most often, in both settings."""
    small, large = folder / "small", folder / "large"
    for place in (small, large):
        place.mkdir()
    here, there = project(small / "todo"), project(large / "todo")
    plan(small, here, Status.PENDING)
    fill(environ(large), there, tasks, sessions, agents)
    with tools_for(small, here), tools_for(large, there):
        for event in EVENTS:
            ordinary, took = medians([hook(small, here, event), hook(large, there, event)], rounds)
            yield Row(f"large: hook {event}", BASE, AIMS[event], took, ordinary)


def tools_for(folder: Path, where: Path) -> ProvidedTools:
    """This process is the coding agent, and its model has our tools."""
    return ProvidedTools(load({}, environ(folder), str(where)).agents_dir, os.getpid())


def fill(environment: Mapping[str, str], where: Path, tasks: int, sessions: int, agents: int) -> None:
    """Write a plan of that many tasks, and beside it that many sessions and agents."""
    settings = load({}, environment, str(where))
    store = SqliteStore(settings.store.location)
    small = assign_numbers(Plan(), flat(*(Task(f"Task number {number} of a plan of ten") for number in range(10))))
    for number in range(sessions):
        event = Event(f"e{number}", None, now(), Actor.USER, PlanChanged(small))
        store.import_events(f"{settings.session}#claude:{number}", [event], SessionHead(event.id))
    session = open_session(settings, BY_HAND, store)
    session.change((Append(tuple(Task(f"Task number {number} of a long plan") for number in range(tasks))),))
    for number in range(1, CHANGES):
        session.change((Mark(Numbered((number,)), Status.COMPLETED),))
    store.close()
    registry = AgentRegistry(settings.agents_dir, settings.project)
    for number in range(agents):
        own = AgentId("claude", str(number))
        # A process that has ended: most agents on record have.
        registry.save(Agent(own, f"{settings.session}#{own}", str(own), 2**22 + number, now(), 1))
