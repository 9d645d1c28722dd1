"""Hooks that come to nothing, told without loading what it takes to come to something.

A hook runs at every stop and every tool call of every agent, and most have nothing to say. So the newest plan is not
read here, it is searched: inside a text of JSON every quote is escaped, so `"status":"pending"` stands in it if and
only if a task is pending.
"""

from __future__ import annotations

import os
from time import time_ns

from tildone.agents.identity import AgentId
from tildone.agents.registry import CALLER_NOTE, AgentRegistry
from tildone.hooks import hosts
from tildone.typing import TYPE_CHECKING
from tildone.value import replace, value

if TYPE_CHECKING:
    import apsw

    from tildone.config import Settings
    from tildone.hooks.event import HookEvent

LOOK_BACK = 200
PATIENCE_MS = 250
OWN_LISTS = ("TaskCreate", "TaskUpdate", "TaskList")
COST = "cost"
"""Under this name it is kept what an agent's session has come to, in dollars."""

OURS = "tildone"
"""What the names of our tools have in them, where hosts prefix them with their server's."""

LASTING = frozenset({"clear"})
"""Why a session ends that goes on under another id."""

_HEAD = "SELECT head FROM sessions WHERE name = ?"
_EVENT = "SELECT body, parent FROM events WHERE session = ? AND id = ?"
_PLAN, _STEERED, _TRIPPED = '"fact":"plan_changed"', '"fact":"steered"', '"fact":"tripped"'
_COURSE = '"course":"'
_TO_DO = ('"status":"pending"', '"status":"in_progress"')
_BLOCKED = '"status":"blocked"'


@value
class Glance:
    """What one look at a session tells: its head, whether there is something to do, or to wait for, and the course.

    `let_go` says that a bound was reached, and nothing has happened since.
    """

    head: str | None = None
    to_do: bool = False
    waiting: bool = False
    directive: str = "go"
    let_go: bool = False


def settled(heard: HookEvent, settings: Settings, pid: int) -> bool:
    """Whether all is done that this event asks for. If not, or if that can't be told from here, more has to be loaded.

    What is wrong with the store is for whoever looks closer to say.
    """
    agents = AgentRegistry(settings.agents_dir, settings.project)
    agent_id = heard.agent_id(pid)
    if agent_id.is_unknown or (heard.moment == hosts.STOP and (heard.beside_the_plan or not settings.gate)):
        return True
    if heard.moment in (hosts.END, hosts.FORGET):
        _let_go(heard, agents, agent_id, pid)
        return True
    if heard.host.many and heard.moment == hosts.BEFORE and OURS in heard.text("tool"):
        agents.set_note(AgentId(heard.host.name, pid=pid), CALLER_NOTE, str(agent_id))
    session = _session(agents, agent_id, pid, settings)
    if session is None or heard.moment == hosts.LINE or settings.store.scheme:
        return False
    found = glance(settings.store.location, session)
    if found is not None and found.head is None and session != settings.session:
        # A plan of its own that has not begun: what the person wants of the project's agents holds for this one, too.
        project = glance(settings.store.location, settings.session)
        found = None if project is None or project.directive != "go" else found
    return found is not None and _is_silent(heard, found, agents, agent_id)


def glance(store: str, session: str) -> Glance | None:
    """The session at its head, in a file of SQLite's; None where one has to look closer."""
    if not os.path.exists(store):
        return Glance()
    # Late, because there may be nothing to open.
    import apsw  # noqa: PLC0415  see above

    try:
        connection = apsw.Connection(store, flags=apsw.SQLITE_OPEN_READONLY)
        connection.set_busy_timeout(PATIENCE_MS)
        head = connection.execute(_HEAD, (session,)).get
        return Glance() if head is None else _at(connection, session, head)
    except (apsw.Error, UnicodeEncodeError, TypeError):
        return None


def _at(connection: apsw.Connection, session: str, head: str) -> Glance | None:
    course, event, let_go = "", head, False
    for _ in range(LOOK_BACK):
        body, parent = connection.execute(_EVENT, (session, event)).get
        let_go = let_go or (_TRIPPED in body and not course)
        if (_STEERED in body or _PLAN in body) and not course:
            course = body.partition(_COURSE)[2].partition('"')[0] or "go"
        if _PLAN in body:
            return Glance(head, any(status in body for status in _TO_DO), _BLOCKED in body, course, let_go)
        if parent is None:
            return Glance(head, directive=course or "go", let_go=let_go)
        event = parent
    return None


def _session(agents: AgentRegistry, agent_id: AgentId, pid: int, settings: Settings) -> str | None:
    """The session that the agent works on; None where it has to be admitted first."""
    agent = agents.get(agent_id)
    if agent is not None:
        fresh = agent.is_fresh(pid, time_ns() // 1_000_000)
        return agent.session if fresh and settings.named_session in (None, agent.session) else None
    return settings.session if next(agents.all(), None) is None else None


def _is_silent(heard: HookEvent, found: Glance, agents: AgentRegistry, agent_id: AgentId) -> bool:
    match heard.moment:
        case hosts.STOP:
            return not found.to_do or found.directive != "go"
        case hosts.START:
            return not (found.to_do or found.waiting)
        case hosts.PROMPT:
            agent = agents.get(agent_id)
            known = None if agent is None else agent.seen_head
            new = known != found.head if known else found.to_do or found.waiting
            return not new and not found.let_go
        case hosts.BEFORE:
            return found.directive != "stop"
        case hosts.AFTER:
            tool = heard.text("tool")
            return found.directive != "stop" and tool not in heard.host.lists and tool not in OWN_LISTS
        case _:
            return False


def _let_go(heard: HookEvent, agents: AgentRegistry, agent_id: AgentId, pid: int) -> None:
    """The model will forget its plan, or the session is over: then its agent is forgotten, and the plan stays."""
    agent = agents.get(agent_id)
    if agent is None:
        return
    if heard.moment == hosts.FORGET:
        if heard.host.forgets in ("", heard.text("trigger")):
            agents.save(replace(agent, seen_head=None))
    elif heard.text("reason") in LASTING:
        agents.save(replace(agent, id=AgentId(heard.host.name, pid=pid), seen_head=None))
        agents.remove(agent_id)
    else:
        agents.release(agent)
