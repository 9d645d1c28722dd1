"""What can be completed in the editor: commands, their arguments, and files. Everything here runs in a thread."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterable, Sequence
from time import monotonic

from tildone.core.plan import Plan
from tildone.value import replace, value

MAX_CANDIDATES = 8
MAX_FILES = 50_000
FILES_FRESH_SECONDS = 10.0
LIST_SECONDS = 5.0
_FILE_WORD = re.compile(r"(?:^|\s)(@(\S*))$")
_TASK_VERBS = ("block", "done", "drop", "move", "note", "rename", "reopen", "rm", "start", "unblock")
_OTHER_VERBS = ("add", "append", "copy", "edit", "export", "import", "list", "next", "undo")


@value
class EditorCandidate:
    """A completion: the text that replaces the word, and what it is."""

    text: str
    about: str = ""


@value
class EditorCompletions:
    """The completions of the word that begins at `start`. `dismissed` is the text for which the list was closed."""

    start: int = 0
    candidates: tuple[EditorCandidate, ...] = ()
    at: int = 0
    was_moved: bool = False
    dismissed: str = ""

    @property
    def candidate(self) -> EditorCandidate:
        return self.candidates[self.at]

    def moved(self, rows: int) -> EditorCompletions:
        return replace(self, at=(self.at + rows) % len(self.candidates), was_moved=True)


class EditorCompleter:
    """Completes for one run. `commands` returns the names of commands and what they do."""

    def __init__(
        self,
        folder: str,
        commands: Callable[[], Sequence[tuple[str, str]]],
        plan: Callable[[], Plan],
        arguments: Callable[[str], Sequence[str]],
    ) -> None:
        self._folder, self._commands, self._plan, self._arguments = folder, commands, plan, arguments
        self._files: tuple[float, list[str]] = (-FILES_FRESH_SECONDS, [])

    def complete(self, before: str) -> EditorCompletions:
        """Return the completions of the last word of the text before the cursor."""
        if before.startswith("/") and "\n" not in before:
            return self._command(before)
        named = _FILE_WORD.search(before)
        if named is None:
            return EditorCompletions()
        found = ranked(named[2], self._listed_files())
        return EditorCompletions(named.start(1), tuple(EditorCandidate(f"@{path} ") for path in found))

    def _command(self, before: str) -> EditorCompletions:
        name, space, rest = before[1:].partition(" ")
        if not space:
            about = dict(self._commands())
            return EditorCompletions(
                0, tuple(EditorCandidate(f"/{found} ", about[found]) for found in ranked(name, about))
            )
        start = len(before) - len(rest)
        if name == "todo":
            return self._todo(rest, start)
        options = self._arguments(name)
        return EditorCompletions(start, tuple(EditorCandidate(found) for found in ranked(rest, options)))

    def _todo(self, rest: str, start: int) -> EditorCompletions:
        verb, space, typed = rest.partition(" ")
        if not space:
            found = ranked(verb, sorted((*_TASK_VERBS, *_OTHER_VERBS)))
            return EditorCompletions(start, tuple(EditorCandidate(f"{name} ") for name in found))
        if verb not in _TASK_VERBS:
            return EditorCompletions()
        tasks = {f"{task.number}": task.text for task in self._plan().tasks if task.status.is_open or verb == "reopen"}
        by_text = {f"{number} {text}": number for number, text in tasks.items()}
        numbers = [by_text[label] for label in ranked(typed.strip(), by_text)]
        return EditorCompletions(
            start + len(verb) + 1, tuple(EditorCandidate(number, tasks[number]) for number in numbers)
        )

    def _listed_files(self) -> list[str]:
        read_at, files = self._files
        if monotonic() - read_at >= FILES_FRESH_SECONDS:
            files = list_files(self._folder)
            self._files = monotonic(), files
        return files


def list_files(folder: str) -> list[str]:
    """Return the files below a folder that git does not ignore; without git, all but hidden ones."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=LIST_SECONDS, check=True)  # noqa: S603  a fixed command
    except (OSError, subprocess.SubprocessError):
        return _walked(folder)
    names = done.stdout.decode("utf-8", "replace").split("\0")
    return [name for name in names if name and name.isprintable()][:MAX_FILES]


def ranked(typed: str, names: Iterable[str]) -> list[str]:
    """Return the names that match what was typed, the best first: by prefix, by a part, then by letters in order."""
    wanted = typed.casefold()
    found = []
    for place, name in enumerate(names):
        rank = _rank(wanted, name.casefold())
        if rank is not None:
            found.append((*rank, place, name))
    return [name for *_, name in sorted(found)[:MAX_CANDIDATES]]


def _rank(wanted: str, name: str) -> tuple[int, int] | None:
    base = name.rpartition("/")[2]
    if name.startswith(wanted):
        return 0, len(name) if wanted else 0
    if base.startswith(wanted):
        return 1, len(name)
    if wanted in name:
        return 2, len(name)
    letters = iter(name)
    return (3, len(name)) if all(char in letters for char in wanted) else None


def _walked(folder: str) -> list[str]:
    found: list[str] = []
    until = monotonic() + LIST_SECONDS
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        below = os.path.relpath(path, folder)
        names = (os.path.normpath(os.path.join(below, name)) for name in sorted(files) if not name.startswith("."))
        found += [name for name in names if name.isprintable()]
        if len(found) >= MAX_FILES or monotonic() > until:
            break
    return found[:MAX_FILES]
