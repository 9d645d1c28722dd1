"""`tildone status`: the plan in one line, and the agents that work on it."""

from __future__ import annotations

from tildone.app.opening import session_title
from tildone.app.plan_agents import plan_agents
from tildone.app.steering import STEERED
from tildone.base import TYPE_CHECKING
from tildone.cli.agents.steering import agent_line, agents_and_sessions
from tildone.cli.opening import open_to_read, settings_for, with_session
from tildone.cli.output import columns, put, put_spans
from tildone.cli.output.prompts import put_data
from tildone.cli.output.titles import sharing_data, subagent_line
from tildone.cli.plan.hints import no_tasks
from tildone.cli.table import ParsedArgs
from tildone.plan.events import Directive
from tildone.plan.model import next_task, progress
from tildone.plan.text.bounds import describe_bound
from tildone.plan.text.lists import plan_lines
from tildone.plan.text.safe import status_line
from tildone.plan.text.styles import Span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tildone.app.plan_agents import SubagentList
    from tildone.plan.events import State
    from tildone.stores.agents import Agent

INDENT = "    "


def run(args: ParsedArgs) -> int:
    """Print one line for a status bar, or several for a person."""
    settings = settings_for(args)
    store = open_to_read(settings)
    settings = with_session(args, settings, store)
    agents, sessions = agents_and_sessions(settings, store)
    states = {session.name: session.state for session in sessions}
    asides = {session.name: session.held_up for session in sessions}
    state = states[settings.session]
    lines = {name: status_line(each, held_up=asides[name]) for name, each in states.items()}
    line = lines[settings.session]
    if args.has("json"):
        data = _as_data(settings.session, state, asides[settings.session], agents, lines)
        put_data(**data, **sharing_data(plan_agents(settings, store)))
        return 0
    if args.has("line"):
        put(line)
        return 0
    put(line or no_tasks(settings.session))
    if state.directive is not Directive.GO:
        put(f"{STEERED[state.directive].capitalize()}. To resume: tildone resume")
    if any(asides.values()):
        put("To let the agent work on it again: tildone todo unblock N. To agree: tildone todo note N TEXT")
    for name, reached in [(name, each.tripped) for name, each in states.items() if each.tripped]:
        plan = "" if name == settings.session else f" on {session_title(name)}"
        put(f"The agent{plan} was let go: {describe_bound(reached.bound, reached.limit)}.")
        put("To hold it to its plan again: tildone resume")
    found = plan_agents(settings, store)
    tasks = {str(each.agent.id): each.tasks for each in found.agents}
    for agent in agents:
        put(agent_line(agent, states[agent.session], tasks.get(str(agent.id), ())))
    if found.shared:
        put("  The plan is shared: each agent is held to its own tasks and to those that nobody has taken.")
    for each in found.subagents:
        _print_subagent(each)
    return 0


def _print_subagent(found: SubagentList) -> None:
    put(f"  {subagent_line(found)}")
    width = columns()
    lines = plan_lines(found.plan, None if width is None else width - len(INDENT))
    put_spans([(Span(INDENT), *line) for line in lines])


def _as_data(
    session: str, state: State, aside: str, agents: list[Agent], lines: Mapping[str, str]
) -> dict[str, object]:
    counts, upcoming = progress(state.plan), next_task(state.plan)
    return {
        "session": session,
        "line": lines[session],
        "closed": counts.closed,
        "total": counts.total,
        "next": upcoming and {"number": upcoming[1].number, "text": upcoming[1].text},
        "directive": state.directive.value,
        "nudges": state.nudges,
        "tripped": state.tripped is not None,
        "held_up": aside,
        "agents": [
            {"id": str(agent.id), "session": agent.session, "pid": agent.pid, "line": lines[agent.session]}
            for agent in agents
        ],
    }
