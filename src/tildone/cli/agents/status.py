"""`tildone status`: the plan in one line, and the agents that work on it."""

from __future__ import annotations

from tildone.cli.agents.steering import agent_line, agents_and_sessions
from tildone.cli.opening import open_to_read, session_title, settings_for, with_session
from tildone.cli.output.data import put_data
from tildone.cli.output.screen import put
from tildone.cli.parsing.table import ParsedArgs
from tildone.core.query import next_task, progress
from tildone.log.events import Directive
from tildone.typing import TYPE_CHECKING
from tildone.views.status import status_line

if TYPE_CHECKING:
    from tildone.agents.registry import Agent
    from tildone.log.state import State

HOLD_MESSAGES = {Directive.PAUSE: "Paused", Directive.STOP: "Stopped"}


def run(args: ParsedArgs) -> int:
    """Print one line for a status bar, or several for a person."""
    settings = settings_for(args)
    store = open_to_read(settings)
    settings = with_session(args, settings, store)
    agents, sessions = agents_and_sessions(settings, store)
    states = {session.name: session.state for session in sessions}
    state = states[settings.session]
    line = status_line(state)
    if args.has("json"):
        put_data(**_as_data(settings.session, state, [(agent, states[agent.session]) for agent in agents]))
        return 0
    if args.has("line"):
        put(line)
        return 0
    put(line or f"No tasks in {session_title(settings.session)}. Add one with: tildone todo add TEXT")
    if state.directive in HOLD_MESSAGES:
        put(f"{HOLD_MESSAGES[state.directive]}. To resume: tildone resume")
    for agent in agents:
        put(agent_line(agent, states[agent.session]))
    return 0


def _as_data(session: str, state: State, agents: list[tuple[Agent, State]]) -> dict[str, object]:
    counts, upcoming = progress(state.plan), next_task(state.plan)
    return {
        "session": session,
        "line": status_line(state),
        "closed": counts.closed,
        "total": counts.total,
        "next": upcoming and {"number": upcoming[1].number, "text": upcoming[1].text},
        "directive": state.directive.value,
        "nudges": state.nudges,
        "tripped": state.tripped,
        "agents": [
            {"id": str(agent.id), "session": agent.session, "pid": agent.pid, "line": status_line(theirs)}
            for agent, theirs in agents
        ],
    }
