"""`tildone pause`, `resume` and `stop`, and the agents and the sessions that they apply to."""

from __future__ import annotations

from tildone.app.opening import open_agents, open_session, open_store, session_title
from tildone.app.steering import STEERED, steer_sessions
from tildone.base import TYPE_CHECKING, replace, value
from tildone.base.ids import now
from tildone.cli.opening import settings_for, with_session
from tildone.cli.output import put
from tildone.cli.output.titles import MAX_NAME_CHARACTERS, agent_name
from tildone.cli.table import ParsedArgs
from tildone.plan.dialects import BY_HAND
from tildone.plan.events import Directive
from tildone.plan.model import open_tasks
from tildone.plan.text.amounts import format_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.app.settings import Settings
    from tildone.log.session import Session
    from tildone.log.store import Store
    from tildone.plan.events import State
    from tildone.stores.agents import Agent


@value
class Messages:
    """What is printed for a directive: that it was in force already; its effect; how to revert it."""

    already: str
    effect: str
    revert: str = ""


MESSAGES = {
    Directive.PAUSE: Messages(
        "Already paused",
        "An agent that reaches the end of its turn is not told to continue; until then it keeps working.",
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
    """Set the directive of the verb in the sessions that the command line selects, and print its effect."""
    settings, directive = settings_for(args), DIRECTIVES[args.verb.name]
    store = open_store(settings)
    settings = with_session(args, settings, store)
    agents, sessions = agents_and_sessions(settings, store)
    changed = steer_sessions(settings, sessions, directive)
    messages = MESSAGES[directive]
    put(f"{STEERED[directive].capitalize() if changed else messages.already}: {session_title(settings.session)}.")
    put(messages.effect)
    _print_agents(agents, sessions)
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


def agent_line(agent: Agent, state: State, tasks: Sequence[int] = ()) -> str:
    """An active agent, as a line of a list; on a shared plan, with the numbers of the tasks that it has started."""
    who, left = agent_name(agent.id, MAX_NAME_CHARACTERS), len(open_tasks(state.plan))
    own = f"; works on {' '.join(f'#{number}' for number in tasks)}" if tasks else ""
    return f"  {who}: {left} of {len(state.plan.tasks)} tasks open{own}"


def _print_agents(agents: list[Agent], sessions: list[Session]) -> None:
    if not agents:
        put("No active agent is known here; this applies to the next one.")
        return
    states = {session.name: session.state for session in sessions}
    put(f"Active here: {format_count(len(agents), 'agent')}.")
    for agent in agents:
        put(agent_line(agent, states[agent.session]))
