"""Suggestions for a verb that does not exist: corrected typing errors, and the words that other programs use."""

from __future__ import annotations

from tildone.base import TYPE_CHECKING
from tildone.base.errors import MAX_SUGGESTIONS, closest, did_you_mean
from tildone.cli.table import command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.cli.table import Verb

SYNONYMS = {
    "accept": "approve",
    "activity": "log",
    "agents": "status, install",
    "allow": "approve, trust",
    "begin": "todo start, run",
    "cancel": "todo drop, stop",
    "check": "verify, doctor",
    "clear": "todo rm",
    "close": "todo done",
    "commit": "todo done, label",
    "complete": "todo done",
    "config": "doctor",
    "configure": "install",
    "connect": "install",
    "continue": "resume, run",
    "create": "todo add",
    "daemon": "mcp",
    "depends": "todo after",
    "del": "todo rm",
    "delete": "todo rm, prune",
    "dump": "export, backup",
    "exec": "run",
    "finish": "todo done",
    "fix": "doctor",
    "gc": "prune",
    "go": "run, resume",
    "health": "doctor",
    "hist": "log",
    "history": "log",
    "info": "status",
    "init": "todo add, install",
    "item": "todo",
    "items": "todo",
    "join": "install",
    "kill": "stop",
    "load": "import, restore",
    "login": "install, run",
    "man": "help",
    "mv": "todo move",
    "new": "todo add",
    "open": "todo",
    "plan": "todo",
    "plans": "sessions",
    "print": "todo",
    "prove": "verify, todo check",
    "plugins": "extensions",
    "projects": "sessions",
    "ps": "status",
    "quit": "stop",
    "read": "import, todo",
    "remove": "todo rm, uninstall",
    "repair": "doctor, restore",
    "reset": "undo, checkout",
    "revert": "undo",
    "rollback": "undo, checkout",
    "save": "backup, export",
    "search": "todo",
    "serve": "mcp",
    "server": "mcp",
    "session": "sessions",
    "setup": "install",
    "skip": "todo drop",
    "state": "status",
    "switch": "checkout",
    "tag": "label",
    "task": "todo",
    "tasks": "todo",
    "test": "verify, doctor",
    "tick": "todo done",
    "todos": "todo",
    "unpause": "resume",
    "update": "todo rename, install",
    "usage": "help",
    "version": "--version",
    "view": "todo",
    "wait": "pause",
    "work": "run",
}
"""Words that people type for a verb, and the verbs that do it, separated by commas."""


def verb_hint(path: Sequence[Verb], word: str) -> str:
    """Return the likeliest commands for an unknown verb; if there is none, how to list the verbs."""
    typed = word.lower()
    found = (
        [*_same_word(path, typed), *_synonyms(path, typed)]
        or _corrected(path[-1:], path, typed)
        or _corrected(path[0].verbs, path[:1], typed)
    )
    suggestions = list(dict.fromkeys(found))[:MAX_SUGGESTIONS]
    return did_you_mean(suggestions) if suggestions else f"to list the verbs: {command(path)} --help"


def _same_word(path: Sequence[Verb], typed: str) -> list[str]:
    """The verbs of that name elsewhere: below a verb of the program, or of the program itself."""
    root = path[0]
    paths = [(root,), *((root, each) for each in root.verbs if each.groups)]
    found = [(*above, verb) for above in paths if (verb := above[-1].verb(typed)) and not verb.hidden]
    return [command(each) for each in found]


def _synonyms(path: Sequence[Verb], typed: str) -> list[str]:
    return [f"{path[0].name} {words}" for words in SYNONYMS.get(typed, "").split(", ") if words]


def _corrected(parents: Sequence[Verb], path: Sequence[Verb], typed: str) -> list[str]:
    """The commands whose last word differs from what was typed by a typing error."""
    found = []
    for parent in parents:
        above = command(path) if parent is path[-1] else f"{command(path)} {parent.name}"
        found += [f"{above} {name}" for name in closest(typed, parent.words)]
    return found
