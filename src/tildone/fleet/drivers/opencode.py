"""opencode: `opencode run`, with our tools and the plugin that calls our hooks in `$OPENCODE_CONFIG_CONTENT`."""

import json
from pathlib import Path

from tildone.fleet.drivers.launch import (
    AgentContext,
    AgentLaunch,
    agent_environment,
    providers_of,
    settings_of,
    shim_of,
)

SETTINGS_VARIABLE = "OPENCODE_CONFIG_CONTENT"


def launch(context: AgentContext) -> AgentLaunch:
    """Return how opencode is started, which ends at the first stop. Raises OSError if the plugin cannot be written."""
    commands = {"*": "deny", **dict.fromkeys(context.allow, "allow")}
    settings = {
        **settings_of(context, "opencode"),
        "plugin": [Path(shim_of(context, "opencode")).as_uri()],
        "permission": {"edit": "allow", "bash": commands, "external_directory": "deny"},
        "autoupdate": False,
        "share": "disabled",
    }
    environ = agent_environment(context, providers_of(context.model)) | {SETTINGS_VARIABLE: json.dumps(settings)}
    return AgentLaunch(("opencode", "run", *context.model_option, context.prompt), environ, stops_early=True)
