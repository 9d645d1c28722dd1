"""The target of an installation: the user's home or a project, the platform, and the program that agents run."""

from __future__ import annotations

import os
import shlex
import sys

from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

USER, PROJECT = "user", "project"
"""The scopes of an installation: all projects of the user, or one project, in files that can be shared."""


@value
class Site:
    """The target of an installation. `mcp` and `hooks` select the parts of tildone to install."""

    home: str
    project: str
    scope: str
    environ: Mapping[str, str]
    program: str
    arguments: tuple[str, ...] = ("mcp",)
    platform: str = sys.platform
    mcp: bool = True
    hooks: bool = True

    @property
    def for_user(self) -> bool:
        """Whether the installation is for all projects of the user."""
        return self.scope == USER

    @property
    def within(self) -> str:
        """The folder that the settings files must not be outside of; empty if they may be anywhere."""
        return "" if self.for_user else self.project

    def at(self, user: str, project: str) -> str:
        """Return the path `user` below the home folder, or `project` below the project, depending on the scope."""
        return os.path.join(self.home, user) if self.for_user else os.path.join(self.project, project)

    def hook_command(self, agent: str, *event: str) -> str:
        """Return the command line of a hook, quoted for the platform's shell."""
        words = [self.program, "hook", agent, *event]
        if self.platform == "win32":
            return " ".join(f'"{word}"' if " " in word else word for word in words)
        return shlex.join(words)

    @property
    def mcp_server(self) -> dict[str, Any]:
        """The program and arguments that start our MCP server, as most settings files spell them."""
        return {"command": self.program, "args": list(self.arguments)}

    @property
    def config_home(self) -> str:
        """The folder in which this platform keeps the settings of programs."""
        if self.platform == "darwin":
            return os.path.join(self.home, "Library", "Application Support")
        if self.platform == "win32":
            return self.environ.get("APPDATA") or os.path.join(self.home, "AppData", "Roaming")
        return self.environ.get("XDG_CONFIG_HOME") or os.path.join(self.home, ".config")
