"""An installation of tildone into a coding agent: where (`Site`), its edits of settings files, and what they change.

Integrations call `Installation` instead of importing the edits, because hooks import integrations and must start fast.

Each integration names the settings of its coding agent that keep it from running what is installed, such as that hooks
are disabled (`Integration.silencers`). `Inspection` reads them: a file that is missing or invalid has no settings.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import ndiff
from hashlib import sha256
from typing import Any

from tildone.agents.install import jsonc
from tildone.agents.install.files import ArrayItem, Edit, ObjectMember, SettingsChange, WholeFile, read
from tildone.agents.install.jsonc import InvalidJson
from tildone.base import Refused, value
from tildone.plan.text.styles import Role, Span

Line = tuple[Span, ...]


CONTEXT_LINES = 1
ROLES = {"+": Role.SUCCESS, "-": Role.ERROR}


def diff_lines(change: SettingsChange) -> Iterator[Line]:
    """Yield the name of the file, then the lines removed and added, with a line of context."""
    before, after = (change.before or "").splitlines(), (change.after or "").splitlines()
    state = "new" if change.before is None else "removed" if change.after is None else ""
    yield Span(change.file, bold=True), Span(f"  ({state})" if state else "", Role.MUTED)
    # ndiff is quadratic and settings files may be long, so it only gets the part that differs.
    head = _common_prefix(before, after)
    tail = _common_prefix(before[head:][::-1], after[head:][::-1])
    first = max(head - CONTEXT_LINES, 0)
    for line in before[first:head]:
        yield (Span(f"  {line}", Role.DIM),)
    for line in ndiff(before[head : len(before) - tail], after[head : len(after) - tail]):
        if not line.startswith("?"):
            yield (Span(line, ROLES.get(line[0], Role.DIM)),)
    for line in before[len(before) - tail :][:CONTEXT_LINES]:
        yield (Span(f"  {line}", Role.DIM),)


def _common_prefix(one: list[str], other: list[str]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


SHIMS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "integrations", "shims")


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
        self.edits.append(WholeFile(file, text))

    def write_json(self, file: str, data: object) -> None:
        self.write_file(file, json.dumps(data, indent=2) + "\n")

    def write_shim(self, file: str, shim: str, agent: str) -> None:
        """Write one of our shims for a coding agent, with its placeholders replaced."""
        with open(os.path.join(SHIMS, shim), encoding="utf-8") as opened:
            text = opened.read()
        parts = {"mcp": self.site.mcp, "hooks": self.site.hooks}
        filled: dict[str, Any] = {
            "PROGRAM": self.site.program,
            "ARGUMENTS": list(self.site.arguments),
            "PARTS": parts,
            "AGENT": agent,
        }
        for placeholder, setting in filled.items():
            text = text.replace(f'"%{placeholder}%"', json.dumps(setting))
        self.write_file(file, text)


def edits_for(configure: Callable[[Installation], None], site: Site) -> list[Edit]:
    installation = Installation(site)
    configure(installation)
    return installation.edits


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


@value
class Silencer:
    """What keeps the coding agent from running our tools or hooks, and what the person can do about it.

    What `is_kept` is a setting of the person's that an installation leaves alone, in place of ours.
    """

    what: str
    remedy: str
    is_kept: bool = False


class Inspection:
    """Reads the settings of a coding agent for one site, and collects what silences us, or stands in place of ours."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.found: list[Silencer] = []
        self._parsed: dict[str, Any] = {}

    def silenced(self, what: str, remedy: str) -> None:
        self.found.append(Silencer(what, remedy))

    def kept(self, what: str, remedy: str) -> None:
        self.found.append(Silencer(what, remedy, is_kept=True))

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
