"""The edits that install tildone into a coding agent, collected from its integration.

Integrations call this class instead of importing the edits, because hooks import integrations and must start fast.
"""

from __future__ import annotations

import json
import os

from tildone.integrations.settings.edits import ArrayItem, Edit, ObjectMember, WholeFile
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tildone.integrations.settings.site import Site

SHIMS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "shims")


class Installation:
    """Collects edits of settings files for one site."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.edits: list[Edit] = []

    def set_member(self, file: str, path: tuple[str, ...], entry: object, *, yields: bool = False) -> None:
        """Set a member of a JSON or TOML file. If it `yields`, a value that another program or a person set stays."""
        self.edits.append(ObjectMember(file, path, entry, yields))

    def add_item(self, file: str, path: tuple[str, ...], entry: object) -> None:
        """Add an item to an array in a JSON or TOML file."""
        self.edits.append(ArrayItem(file, path, entry))

    def write_file(self, file: str, text: str) -> None:
        """Write a file that is ours alone."""
        self.edits.append(WholeFile(file, text))

    def write_json(self, file: str, data: object) -> None:
        """Write a JSON file that is ours alone."""
        self.write_file(file, json.dumps(data, indent=2) + "\n")

    def write_shim(self, file: str, shim: str) -> None:
        """Write one of our shims, with its placeholders replaced."""
        with open(os.path.join(SHIMS, shim), encoding="utf-8") as opened:
            text = opened.read()
        parts = {"mcp": self.site.mcp, "hooks": self.site.hooks}
        filled: dict[str, Any] = {
            "PROGRAM": self.site.program,
            "ARGUMENTS": list(self.site.arguments),
            "PARTS": parts,
        }
        for placeholder, setting in filled.items():
            text = text.replace(f'"%{placeholder}%"', json.dumps(setting))
        self.write_file(file, text)


def edits_for(configure: Callable[[Installation], None], site: Site) -> list[Edit]:
    """Return the edits that an integration's `configure` makes at a site.

    Raises:
        UsageError: the agent can't be configured for that site.
    """
    installation = Installation(site)
    configure(installation)
    return installation.edits
