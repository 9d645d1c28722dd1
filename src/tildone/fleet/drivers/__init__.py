"""Drivers: how each agent is started without a person for a run of a fleet.

Nothing is installed in the repository or in the agent's own settings. Our tools and hooks are given on the command
line, in an environment variable, or in a file of a private folder. An agent gets no secrets but those of its provider.
"""

from __future__ import annotations

from tildone.fleet.drivers.claude import launch_claude
from tildone.fleet.drivers.codex import launch_codex
from tildone.fleet.drivers.gemini import launch_gemini
from tildone.fleet.drivers.launch import AgentContext as AgentContext
from tildone.fleet.drivers.launch import AgentLaunch as AgentLaunch
from tildone.fleet.drivers.opencode import launch_opencode
from tildone.fleet.drivers.own import launch_run, launch_shell
from tildone.fleet.drivers.pi import launch_pi
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tildone.fleet.drivers.launch import Driver as Driver

AGENTS: Mapping[str, Driver] = {
    "shell": launch_shell,
    "run": launch_run,
    "claude": launch_claude,
    "codex": launch_codex,
    "gemini": launch_gemini,
    "opencode": launch_opencode,
    "pi": launch_pi,
}
"""The drivers, by the names of the agents. `shell` needs no model, `run` is `tildone run`."""
