"""`tildone run`, tildone's own agent."""

import sys

from tildone.fleet.drivers.launch import AgentContext, AgentLaunch, agent_environment, providers_of

TRACES = "otel"
"""As a provider: whose variables configure the traces of `tildone run`."""


def launch(context: AgentContext) -> AgentLaunch:
    """Return how `tildone run` is started. Without a model, it runs the commands in the texts of the tasks."""
    arguments = [sys.executable, "-m", "tildone", "run", "--mode", "json", "--allow-write", "*"]
    arguments += [f"--allow={pattern}" for pattern in context.allow]
    if context.model:
        arguments += [f"--model={context.model}", "--", context.prompt]
    # It traces the requests to models; its own commands do not get the headers of the exporter.
    environ = agent_environment(context, (*(providers_of(context.model) if context.model else ()), TRACES))
    return AgentLaunch(tuple(arguments), environ | {"TILDONE_COUNTDOWN": "0"})
