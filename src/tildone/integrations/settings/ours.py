"""Which entries of settings files are ours: those that run tildone, whoever wrote them and in whatever form.

A coding agent may write its settings anew, reorder them, and add members to our entries. So nothing marks an entry as
ours but the command in it.
"""

from __future__ import annotations

import os
import re

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from tildone.integrations.settings.toml_scanner import Path

NAME = "tildone"
_HOOK_LINE = re.compile(rf"(?<![\w.-]){NAME}(?:\.exe|\.cmd)?[\"']?\s+hook\s+[\w-]")
_PROGRAM = re.compile(rf"{NAME}(?:\[[^\]]*\])?(?:\.exe|\.cmd)?(?:[@=<>~!].*)?")
_PROGRAM_OF_HOOK = re.compile(
    rf"""(?:'([^']*{NAME}(?:\.exe)?)'|"([^"]*{NAME}(?:\.exe)?)"|(\S*{NAME}(?:\.exe)?))\s+hook\s"""
)
_COMMANDS = ("command", "bash", "powershell")


def is_our_hook(hook: object) -> bool:
    """Return whether a hook, or a status line, runs tildone."""
    return isinstance(hook, dict) and any(_is_hook_line(hook.get(name)) for name in _COMMANDS)


def is_our_server(entry: object) -> bool:
    """Return whether an entry starts our MCP server."""
    if not isinstance(entry, dict):
        return False
    command, arguments = entry.get("command"), entry.get("args")
    words = command if isinstance(command, list) else [command, *(arguments if isinstance(arguments, list) else [])]
    names = [re.split(r"[/\\]", word)[-1] for word in words if isinstance(word, str)]
    return "mcp" in names and any(_PROGRAM.fullmatch(name) for name in names)


def is_ours(entry: object) -> bool:
    """Return whether an entry runs tildone, as a server, a hook or a group of hooks."""
    if not isinstance(entry, dict):
        return False
    return is_our_hook(entry) or is_our_server(entry) or any(map(is_our_hook, hooks_of(entry)))


def hooks_of(group: object) -> list[Any]:
    """Return the hooks in a group; none if it is no group."""
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return hooks if isinstance(hooks, list) else []


def places(items: object, entry: object) -> Iterator[Path]:
    """Yield the paths, below an array of hooks or permissions, of the hooks and permissions that are ours.

    A permission is ours if it is the one that an installation adds (`entry`): people grant others that name tildone.
    """
    for index, item in enumerate(items if isinstance(items, list) else []):
        if not isinstance(entry, dict):
            if item == entry:
                yield (index,)
        elif is_our_hook(item):
            yield (index,)
        else:
            for number, hook in enumerate(hooks_of(item)):
                if is_our_hook(hook):
                    yield (index, "hooks", number)


def program_in(entry: object) -> str:
    """Return the path of the tildone that a command line or an argument vector names; empty if there is none."""
    if isinstance(entry, str):
        found = _PROGRAM_OF_HOOK.search(entry)
        return next(filter(None, found.groups()), "") if found else ""
    words = [word for word in entry if isinstance(word, str)] if isinstance(entry, list | tuple) else []
    return next((word for word in words if _PROGRAM.fullmatch(os.path.basename(word.replace("\\", "/")))), "")


def _is_hook_line(line: object) -> bool:
    return isinstance(line, str) and _HOOK_LINE.search(line) is not None
