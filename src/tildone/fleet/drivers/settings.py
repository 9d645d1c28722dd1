"""Our tools and hooks as an agent's settings, taken from its integration without installing them."""

from __future__ import annotations

import os
import sys

from tildone import distribution
from tildone.config import data_folder
from tildone.errors import UsageError
from tildone.files.atomic import read_text, write_text
from tildone.files.private import make_private_folder
from tildone.integrations import INTEGRATIONS
from tildone.integrations.settings.edits import ArrayItem, ObjectMember, WholeFile, put_in
from tildone.integrations.settings.installation import edits_for
from tildone.integrations.settings.site import USER, Site
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from tildone.fleet.drivers.launch import AgentContext
    from tildone.integrations.settings.edits import Edit


def program() -> str:
    """Return the path of the `tildone` command that agents run.

    Raises:
        UsageError: this copy has none.
    """
    own = distribution.script()
    if own is None:
        raise UsageError(f"agents need the tildone command, which is missing beside {sys.executable}; install tildone")
    return own


def settings_of(context: AgentContext, agent: str) -> dict[str, Any]:
    """Return the settings with which an agent has our tools and hooks."""
    settings: dict[str, Any] = {}
    for edit in _edits(context, agent):
        match edit:
            case ObjectMember():
                _table(settings, edit.path[:-1])[edit.path[-1]] = edit.entry
            case ArrayItem():
                _table(settings, edit.path[:-1]).setdefault(edit.path[-1], []).append(edit.entry)
            case WholeFile():  # exhaustive
                continue
    return settings


def added_to(text: str | None, context: AgentContext, agent: str) -> str:
    """Return the text of a person's settings file with our tools and hooks; of None, a file with nothing else.

    Raises:
        Refused: the file cannot be parsed, or has an entry in the place of ours.
    """
    for edit in _edits(context, agent):
        text = put_in(text, edit)
    return text or ""


def shim_of(context: AgentContext, agent: str) -> str:
    """Write the shim of an agent to the private folder of the fleet, and return its path.

    Raises:
        OSError: it cannot be written.
    """
    [shim] = [edit for edit in _edits(context, agent) if isinstance(edit, WholeFile)]
    return private_file(context, f"{agent}{os.path.splitext(shim.file)[1]}", shim.text)


def private_file(context: AgentContext, name: str, text: str) -> str:
    """Write a file to the private folder of the fleet unless it is there already, and return its path.

    Raises:
        OSError: it cannot be written.
    """
    path = os.path.join(agents_folder(context), name)
    make_private_folder(os.path.dirname(path))
    if read_text(path) != text:
        write_text(path, text)
    return path


def agents_folder(context: AgentContext) -> str:
    """Return the private folder of the fleet's agents."""
    return os.path.join(data_folder(context.environ), "fleet", "agents")


def _edits(context: AgentContext, agent: str) -> list[Edit]:
    # An empty environment: the paths of the files are of no interest, and must not be those of the person.
    site = Site("", context.folder, USER, {}, program())
    return edits_for(INTEGRATIONS[agent].configure, site)


def _table(settings: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    for key in path:
        settings = settings.setdefault(key, {})
    return settings
