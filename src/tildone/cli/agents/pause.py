"""`tildone pause`, `resume` and `stop`: what the person wants of the agents at work in a project."""

from __future__ import annotations

from tildone.cli.opening import named, settings_for
from tildone.cli.output.screen import put
from tildone.cli.parsing.args import Typed
from tildone.core.query import open_tasks
from tildone.dialects.by_hand import BY_HAND
from tildone.ids import now
from tildone.log.events import Directive
from tildone.typing import TYPE_CHECKING
from tildone.value import replace, value
from tildone.views.sanitize import printable
from tildone.wiring import open_agents, open_session, open_store

if TYPE_CHECKING:
    from tildone.agents.registry import Agent
    from tildone.config import Settings
    from tildone.log.state import State
    from tildone.session import Session


@value
class Words:
    """What is said of a course: that it is set now, or was already, what that means, and how to go back."""

    done: str
    already: str
    means: str
    back: str = ""


WORDS = {
    Directive.PAUSE: Words(
        "Paused",
        "Paused already",
        "An agent that comes to the end of its turn is left alone; until then it works on.",
        "To hold agents to their plan again: tildone resume",
    ),
    Directive.STOP: Words(
        "Stopped",
        "Stopped already",
        "An agent ends its turn before its next tool call, or after the one that is running.",
        "To let agents work again: tildone resume",
    ),
    Directive.GO: Words(
        "Going on",
        "Nothing was paused or stopped",
        "Agents are held to their plan, and every count begins anew. One that has ended its turn waits for a word of\n"
        "yours: nobody can wake it from here.",
    ),
}


def pause(typed: Typed) -> int:
    """Let agents rest at the end of their turn."""
    return _steer(typed, Directive.PAUSE)


def resume(typed: Typed) -> int:
    """Hold agents to their plan again."""
    return _steer(typed, Directive.GO)


def stop(typed: Typed) -> int:
    """Have agents end their turn."""
    return _steer(typed, Directive.STOP)


def concerned(settings: Settings) -> tuple[list[Agent], list[Session]]:
    """The agents at work here, and the plans that are meant: the one that was named, or the project's and theirs."""
    store = open_store(settings)
    agents = list(open_agents(settings).active(now()))
    names = [settings.session]
    if settings.named_session is None:
        names += [agent.session for agent in agents]
    chosen = dict.fromkeys(names)
    at_work = [agent for agent in agents if agent.session in chosen]
    return at_work, [open_session(replace(settings, session=name), BY_HAND, store) for name in chosen]


def agent_line(agent: Agent, state: State) -> str:
    """An agent at work, as a list of them shows it."""
    who = " ".join(printable(part)[:36] for part in (agent.id.integration, agent.id.own) if part)
    left = len(open_tasks(state.plan))
    return f"  {who}: {left} of {len(state.plan.tasks)} tasks open"


def _steer(typed: Typed, course: Directive) -> int:
    settings = settings_for(typed)
    agents, sessions = concerned(settings)
    new = [session for session in sessions if session.set_directive(course)]
    words = WORDS[course]
    where = named(settings.session)
    put(f"{words.done}: {where}." if new else f"{words.already}: {where}.")
    put(words.means)
    if agents:
        states = {session.name: session.state for session in sessions}
        put(f"At work here: {len(agents)} agent{'' if len(agents) == 1 else 's'}.")
        for agent in agents:
            put(agent_line(agent, states[agent.session]))
    else:
        put("No agent is known to be at work here; the next one will find it so.")
    if words.back:
        put(words.back)
    return 0
