"""Settings of a coding agent that keep it from running what is installed: hooks disabled, a server switched off.

Each integration names the settings of its coding agent (`Integration.silencers`), through the class below, which reads
them. A file that is missing or cannot be parsed has no settings.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from tildone.agents.install import Site, jsonc
from tildone.agents.install.files import read
from tildone.agents.install.jsonc import InvalidJson
from tildone.base import Refused, value


@value
class Silencer:
    """What keeps the coding agent from running our tools or hooks, and what the person can do about it."""

    what: str
    remedy: str


class Inspection:
    """Reads the settings of a coding agent for one site, and collects what silences us."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.found: list[Silencer] = []
        self._parsed: dict[str, Any] = {}

    def silenced(self, what: str, remedy: str) -> None:
        """Add a finding."""
        self.found.append(Silencer(what, remedy))

    def get(self, file: str, *path: str) -> Any:
        """Return the setting at a path in a JSON or TOML file; None if there is none."""
        if file not in self._parsed:
            self._parsed[file] = _parse(file)
        data = self._parsed[file]
        for key in path:
            data = data.get(key) if isinstance(data, dict) else None
        return data

    def last(self, files: Sequence[str], *path: str) -> tuple[Any, str]:
        """Return the setting in the last of several files that has it, and that file; each overrides those before."""
        for file in reversed(files):
            found = self.get(file, *path)
            if found is not None:
                return found, file
        return None, ""

    def lists(self, files: Sequence[str], item: str, *path: str) -> str:
        """Return the first of several files with an array at a path that contains an item; empty if none has."""
        for file in files:
            found = self.get(file, *path)
            if isinstance(found, list) and item in found:
                return file
        return ""

    def items(self, data: object) -> list[dict[str, Any]]:
        """Return the objects in an array; none if it is none."""
        return [item for item in data if isinstance(item, dict)] if isinstance(data, list) else []

    def nearest(self, decisions: object) -> Any:
        """Return the decision in an object whose keys are folders for the project: that of the nearest folder."""
        folder = os.path.realpath(self.site.project)
        while isinstance(decisions, dict):
            if folder in decisions:
                return decisions[folder]
            if folder == os.path.dirname(folder):
                break
            folder = os.path.dirname(folder)
        return None

    def digest(self, data: object) -> str:
        """Return the SHA-256 of JSON in its canonical form: sorted keys, and no white space."""
        return sha256(json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()).hexdigest()


def _parse(file: str) -> Any:
    try:
        text = (read(file) or "").removeprefix("\ufeff")
        if file.endswith(".toml"):
            return tomllib.loads(text)
        return jsonc.get(text, ()) if text.strip() else {}
    except (Refused, InvalidJson, tomllib.TOMLDecodeError):
        return {}
