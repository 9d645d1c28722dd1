"""pi: `pi -p`, with our tools and hooks in an extension that its command line names."""

from tildone.base import Refused
from tildone.fleet.drivers.launch import AgentContext, AgentLaunch, agent_environment, providers_of, shim_of


def launch(context: AgentContext) -> AgentLaunch:
    """Return how pi is started.

    Raises Refused if the worker does not allow every command, and pi runs any, OSError if the extension cannot be
    written.
    """
    if not context.allows_anything:
        raise Refused("pi runs every command that its model asks for, which this worker does not allow: --allow '*'")
    arguments = ["pi", "--extension", shim_of(context, "pi")]
    provider, slash, name = context.model.partition("/")
    if slash:
        arguments += ["--provider", provider, "--model", name]
    elif context.model:
        arguments += ["--model", context.model]
    environ = agent_environment(context, providers_of(context.model))
    return AgentLaunch((*arguments, "-p", context.prompt), environ)
