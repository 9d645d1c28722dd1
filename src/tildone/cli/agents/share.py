"""`tildone share`: let all agents of a project work on one plan, or each on its own."""

from __future__ import annotations

from tildone.app.opening import open_agents
from tildone.app.settings import Settings
from tildone.base import UsageError
from tildone.base.ids import now
from tildone.cli.opening import settings_for
from tildone.cli.output import put
from tildone.cli.output.prompts import put_data
from tildone.cli.output.titles import agent_name
from tildone.cli.table import ParsedArgs
from tildone.stores.assignment import is_shared, set_shared

STATES = {"on": True, "off": False}
SHARED = "agents share one plan; each is held to its own tasks and to those that nobody has taken."
SEPARATE = "each agent has a plan of its own; the first one works on the project's."


def run(args: ParsedArgs) -> int:
    """Set whether agents share the project's plan; without an argument, tell whether they do."""
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
    """Let all agents of the project work on its plan, and say so."""
    set_shared(open_agents(settings), shared=True)
    put(f"In {settings.project}, {SHARED} To change it: tildone share off")


def _tell_exceptions(settings: Settings, *, shared: bool) -> None:
    """Name the agents at work that keep the plan they have."""
    agents = list(open_agents(settings).active(now()))
    on_project = [agent for agent in agents if agent.session == settings.project]
    exceptions = [agent for agent in agents if agent.session != settings.project] if shared else on_project[1:]
    if not exceptions:
        return
    names = ", ".join(agent_name(agent.id) for agent in (exceptions if shared else on_project))
    kept = "have plans of their own" if shared else "share the project's plan"
    put(f"At work already, and unchanged until they start a new conversation: {names}, which {kept}.")
