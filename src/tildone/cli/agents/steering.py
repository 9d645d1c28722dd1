"""`tildone status`, `pause`, `resume`, `stop` and `share`: the agents here, and how they are steered."""

from collections.abc import Mapping, Sequence

from tildone.app.opening import open_agents, open_session, open_store, session_title
from tildone.app.plan_agents import left_for, plan_agents
from tildone.app.settings import Settings
from tildone.app.who import STEERED, steer_sessions
from tildone.base import UsageError, replace, value
from tildone.base.ids import now
from tildone.cli.opening import no_tasks, open_to_read, settings_for, with_session
from tildone.cli.output import columns, put, put_spans
from tildone.cli.output.prompts import put_data
from tildone.cli.output.titles import sharing_data, subagent_line
from tildone.cli.table import ParsedArgs
from tildone.log.session import Session
from tildone.log.store import Store
from tildone.plan.dialects import BY_HAND
from tildone.plan.events import Directive, State
from tildone.plan.model import next_task, number_ranges, open_tasks, progress
from tildone.plan.text.amounts import describe_bound, format_count
from tildone.plan.text.lists import plan_lines
from tildone.plan.text.safe import short_agent, status_line
from tildone.plan.text.styles import Span
from tildone.stores.agents import Agent
from tildone.stores.assignment import is_shared, set_shared


@value
class Messages:
    """What is printed for a directive: that it was in force already; its effect; how to revert it."""

    already: str
    effect: str
    revert: str = ""


MESSAGES = {
    Directive.PAUSE: Messages(
        "Already paused",
        "An agent that reaches the end of its turn is not told to go on; until then it keeps working.",
        "To keep agents on their plan again: tildone resume",
    ),
    Directive.STOP: Messages(
        "Already stopped",
        "An agent ends its turn before its next tool call, or after the one that is running.",
        "To let agents work again: tildone resume",
    ),
    Directive.GO: Messages(
        "Nothing was paused or stopped",
        "Agents are kept on their plan, and all counters start again at 0. An agent that has ended its turn waits for\n"
        "your next prompt: it cannot be woken from here.",
    ),
}


DIRECTIVES = {"pause": Directive.PAUSE, "stop": Directive.STOP, "resume": Directive.GO}


def steer(args: ParsedArgs) -> int:
    settings, directive = settings_for(args), DIRECTIVES[args.verb.name]
    store = open_store(settings)
    settings = with_session(args, settings, store)
    agents, sessions = agents_and_sessions(settings, store)
    changed = steer_sessions(settings, sessions, directive)
    messages = MESSAGES[directive]
    put(f"{STEERED[directive].capitalize() if changed else messages.already}: {session_title(settings.session)}.")
    put(messages.effect)
    states = {session.name: session.state for session in sessions}
    if agents:
        put(f"Active here: {format_count(len(agents), 'agent')}.")
    else:
        put("No active agent is known here; this applies to the next one.")
    for agent in agents:
        put(agent_line(settings, agent, states[agent.session]))
    if messages.revert:
        put(messages.revert)
    return 0


pause = stop = resume = steer


def agents_and_sessions(settings: Settings, store: Store) -> tuple[list[Agent], list[Session]]:
    """The active agents and the sessions: the named one, or else the project's and those of its agents."""
    agents = list(open_agents(settings).active(now()))
    names = [settings.session]
    if settings.named_session is None:
        names += [agent.session for agent in agents]
    selected = dict.fromkeys(names)
    active = [agent for agent in agents if agent.session in selected]
    return active, [open_session(replace(settings, session=name), BY_HAND, store) for name in selected]


def agent_line(settings: Settings, agent: Agent, state: State, tasks: Sequence[int] = ()) -> str:
    """An active agent, as a line of a list; on a shared plan, with the numbers of the tasks that it has started."""
    who, still_open = short_agent(str(agent.id)), [task.number for _, task in open_tasks(state.plan)]
    others = left_for(settings, agent, state.plan)
    left = f"; not held to {number_ranges(others, '#', ' ')} of an earlier conversation" if others else ""
    works = f"; works on {' '.join(f'#{number}' for number in tasks)}" if tasks else ""
    return f"  {who}: {len(still_open)} of {len(state.plan.tasks)} tasks open{works}{left}"


INDENT = "    "


def status(args: ParsedArgs) -> int:
    settings = settings_for(args)
    store = open_to_read(settings)
    settings = with_session(args, settings, store)
    agents, sessions = agents_and_sessions(settings, store)
    states = {session.name: session.state for session in sessions}
    asides = {session.name: session.held_up for session in sessions}
    state = states[settings.session]
    lines = {
        each.name: status_line(states[each.name], held_up=asides[each.name], unapproved=each.unapproved)
        for each in sessions
    }
    line = lines[settings.session]
    if args.has("json"):
        data = _status_data(settings.session, state, asides[settings.session], agents, lines)
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
        put(agent_line(settings, agent, states[agent.session], tasks.get(str(agent.id), ())))
    if found.shared:
        put("  The plan is shared: each agent is held to its own tasks and to those that nobody has taken.")
    for each in found.subagents:
        put(f"  {subagent_line(each)}")
        width = columns()
        rows = plan_lines(each.plan, None if width is None else width - len(INDENT))
        put_spans([(Span(INDENT), *row) for row in rows])
    return 0


def _status_data(
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


STATES = {"on": True, "off": False}
SHARED = "agents share one plan; each is held to its own tasks and to those that nobody has taken."
SEPARATE = "each agent has a plan of its own; the first one works on the project's."


def run_share(args: ParsedArgs) -> int:
    settings = settings_for(args)
    word = next(iter(args.positional), "")
    if word and word not in STATES:
        raise UsageError(f"sharing is on or off, not {word!r}")
    changed = word != "" and set_shared(open_agents(settings), shared=STATES[word])
    shared = is_shared(open_agents(settings))
    if args.has("json"):
        put_data(project=settings.project, shared=shared, changed=changed)
        return 0
    put(f"In {settings.project}, {SHARED if shared else SEPARATE}")
    _tell_exceptions(settings, shared=shared)
    if not word:
        put(f"To change it: tildone share {'off' if shared else 'on'}")
    return 0


def share(settings: Settings) -> None:
    set_shared(open_agents(settings), shared=True)
    put(f"In {settings.project}, {SHARED} To change it: tildone share off")


def _tell_exceptions(settings: Settings, *, shared: bool) -> None:
    agents = list(open_agents(settings).active(now()))
    on_project = [agent for agent in agents if agent.session == settings.project]
    exceptions = [agent for agent in agents if agent.session != settings.project] if shared else on_project[1:]
    if not exceptions:
        return
    names = ", ".join(short_agent(str(agent.id)) for agent in (exceptions if shared else on_project))
    kept = "have plans of their own" if shared else "share the project's plan"
    put(f"At work already, and unchanged until they start a new conversation: {names}, which {kept}.")
