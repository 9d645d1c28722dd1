"""Gemini CLI: `gemini -p`, with our tools and hooks in a settings file that an environment variable names."""

from __future__ import annotations

import json

from tildone.fleet.drivers.environment import agent_environment
from tildone.fleet.drivers.launch import AgentContext, AgentLaunch
from tildone.fleet.drivers.settings import private_file, settings_of

SETTINGS_VARIABLE = "GEMINI_CLI_SYSTEM_SETTINGS_PATH"
"""The settings of the machine, which no others override. Our file replaces `/etc/gemini-cli/settings.json`."""


def launch_gemini(context: AgentContext) -> AgentLaunch:
    """Return how Gemini CLI is started. Without a person, it refuses whatever is not allowed.

    Raises:
        OSError: the settings cannot be written.
    """
    text = json.dumps(settings_of(context, "gemini"), indent=1)
    path = private_file(context, "gemini.json", text)
    arguments = ["gemini", "--skip-trust", "-p", context.prompt]
    if context.allows_anything:
        arguments += ["--approval-mode", "yolo"]
    else:
        arguments += ["--approval-mode", "auto_edit"]
        arguments += [f"--allowed-tools=run_shell_command({pattern.rstrip(' *')})" for pattern in context.allow]
    arguments += ["--model", context.model] if context.model else []
    return AgentLaunch(tuple(arguments), agent_environment(context, ("google",)) | {SETTINGS_VARIABLE: path})
