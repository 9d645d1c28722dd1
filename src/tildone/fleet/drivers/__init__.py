"""Drivers: how each agent is started without a person for a run of a fleet.

Nothing is installed in the repository or in the agent's own settings. Our tools and hooks are given on the command
line, in an environment variable, or in a file of a private folder. An agent gets no secrets but those of its provider.

To add a driver, add a module here with a function `launch`, and a line to `AGENTS`. Command lines complete the names of
agents, so this package imports no driver until it is used.
"""

from tildone.base import Registry
from tildone.fleet.drivers.launch import Driver

SHELL, RUN = "shell", "run"
"""The agents that are part of tildone. The shell agent needs no model."""

AGENTS: Registry[Driver, str] = Registry(
    __name__,
    "launch",
    {
        SHELL: "",
        RUN: "",
        "claude": "anthropic",
        "codex": "openai",
        "gemini": "google",
        "opencode": "",
        "pi": "",
    },
)
"""The drivers by the names of the agents, each with the provider of all its models, if they have the same one."""
