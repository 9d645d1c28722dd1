"""Suggestions for a verb that does not exist: corrected typing errors, and the words that other programs use."""

from __future__ import annotations

from tildone.base import MAX_SUGGESTIONS, TYPE_CHECKING, closest, did_you_mean
from tildone.cli.table import command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.cli.table import Verb

WORDS = {
    "--version": "version",
    "approve": "accept",
    "approve, trust": "allow",
    "backup, export": "save",
    "checkout": "switch",
    "doctor": "config fix health",
    "doctor, restore": "repair",
    "export, backup": "dump",
    "extensions": "plugins",
    "help": "man usage",
    "import, restore": "load",
    "import, todo": "read",
    "install": "configure connect join setup",
    "install, run": "login",
    "label": "tag",
    "log": "activity hist history",
    "mcp": "daemon serve server",
    "pause": "wait",
    "prune": "gc",
    "resume": "unpause",
    "resume, run": "continue",
    "run": "exec work",
    "run, resume": "go",
    "sessions": "plans projects session",
    "status": "info ps state",
    "status, install": "agents",
    "stop": "kill quit",
    "todo": "item items open plan print search task tasks todos view",
    "todo add": "create new",
    "todo add, install": "init",
    "todo after": "depends",
    "todo done": "close complete finish tick",
    "todo done, label": "commit",
    "todo drop": "skip",
    "todo drop, stop": "cancel",
    "todo move": "mv",
    "todo rename, install": "update",
    "todo rm": "clear del",
    "todo rm, prune": "delete",
    "todo rm, uninstall": "remove",
    "todo start, run": "begin",
    "undo": "revert",
    "undo, checkout": "reset rollback",
    "verify, doctor": "check test",
    "verify, todo check": "prove",
}
"""Verbs, separated by commas, and the words that people type for them."""

SYNONYMS = {word: verbs for verbs, words in WORDS.items() for word in words.split()}


def verb_hint(path: Sequence[Verb], word: str) -> str:
    """Return the likeliest commands for an unknown verb; if there is none, how to list the verbs.

    A typing error is one in a verb of the group that was named; without a group, in any verb.
    """
    typed = word.lower()
    synonyms = [f"{path[0].name} {words}" for words in SYNONYMS.get(typed, "").split(", ") if words]
    found = (
        [*_same_word(path, typed), *synonyms]
        or _corrected(path[-1:], path, typed)
        or (_corrected(path[0].verbs, path, typed) if len(path) == 1 else [])
    )
    suggestions = list(dict.fromkeys(found))[:MAX_SUGGESTIONS]
    return did_you_mean(suggestions) if suggestions else f"to list the verbs: {command(path)} --help"


def _same_word(path: Sequence[Verb], typed: str) -> list[str]:
    """The verbs of that name elsewhere: below a verb of the program, or of the program itself."""
    root = path[0]
    paths = [(root,), *((root, each) for each in root.verbs if each.groups)]
    found = [(*above, verb) for above in paths if (verb := above[-1].verb(typed)) and not verb.hidden]
    return [command(each) for each in found]


def _corrected(parents: Sequence[Verb], path: Sequence[Verb], typed: str) -> list[str]:
    """The commands whose last word differs from what was typed by a typing error."""
    found = []
    for parent in parents:
        above = command(path) if parent is path[-1] else f"{command(path)} {parent.name}"
        found += [f"{above} {name}" for name in closest(typed, parent.words)]
    return found
