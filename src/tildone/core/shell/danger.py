"""Which commands are dangerous, and why, in the words that a person sees on every surface.

A line is split as for permissions, and programs that run others (`sudo`, `xargs`, `sh -c`, `find -exec`) are looked
through. A line that cannot be split is cut roughly instead, so that nothing in it is missed: it may then be called
dangerous for a text that is only quoted. That a line is not called dangerous proves nothing.
"""

from __future__ import annotations

import re
from itertools import islice

from tildone.core.shell.programs import RULES, Rule, is_assignment, is_refused, program_name
from tildone.core.shell.syntax import split_line
from tildone.core.shell.words import Command, Redirection
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DELETES = "deletes files"
UNTRACKED = "deletes files that git does not track"
HISTORY = "rewrites the history of a repository"
UNCOMMITTED = "discards changes that are not committed"
FORCES = "overrides a protection"
DEVICE = "writes to a device"
OVERWRITES = "overwrites a file or a device"
ERASES = "erases a file or a disk"
OTHER_USER = "runs as another user"
DATABASE = "deletes data of a database"

_MAX_DEPTH, _MAX_INNER = 4, 3
"""How deep, and at how many places, a command is looked for in the arguments of another."""

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"})
_AS_OTHERS = frozenset({"sudo", "doas"})
_SEARCH = frozenset({"find", "fd"})
_EACH = _SEARCH | {"xargs", "parallel"}
"""Programs that run a command for many files."""

_TAKE_LINES = frozenset({"eval", "trap", "watch", "ssh", "su", "runuser", "script", "flock", "parallel"})
"""Programs that have a whole line as an argument interpreted by a shell."""

_WRAPPERS = frozenset(
    (
        *("env", "nice", "nohup", "timeout", "time", "stdbuf", "setsid", "ionice", "command", "builtin", "exec"),
        *("strace", "busybox", "chroot", "systemd-run", "npx", "docker", "podman", "kubectl"),
        *(*_AS_OTHERS, *_EACH, *_TAKE_LINES),
    )
)
"""Programs that run a command which they are given among their arguments."""

_ERASERS = frozenset({"wipefs", "shred", "blkdiscard"})
_ONLY_SHOWS = frozenset({"echo", "printf", "grep", "egrep", "fgrep", "rg", "ag", "git", "cat", "man", "which"})
"""Programs for which a statement of SQL is only a text."""

_PRINTS = frozenset({"echo", "printf"})
_FORCED_BELOW = _ONLY_SHOWS | (_WRAPPERS - {"docker", "podman", "kubectl"}) | {"rm"}
"""Programs whose `--force` is a text, belongs to a command that they run, or has a reason of its own."""

_COMMAND_OPTION = re.compile("-[a-z]*c")
_SQL = re.compile(r"\b(?:DROP|TRUNCATE)\s+(?:TABLE|DATABASE|SCHEMA)\b", re.IGNORECASE)
_DEVICE = re.compile(r"/dev/(?!null\Z|stdout\Z|stderr\Z|tty\Z|fd/)")
_CUTS = re.compile(r"[;&|\n(){}`]|\$\(|<<\S*|\b(?:do|then|else|if|elif|while|until|in)\s|!\s")
_REDIRECTED = re.compile(r">>?\|?\s*(\S+)")
_QUOTES = str.maketrans("", "", "'\"\\")


def danger(line: str) -> str:
    """Return why a command is dangerous, as "deletes files"; empty if no reason is known."""
    return ", ".join(dict.fromkeys(_reasons(line, 0)))


def caution(line: str) -> str:
    """Return what a person is told before they permit a command; empty if it is not dangerous."""
    reason = danger(line)
    return f"Careful: it {reason}." if reason else ""


def _reasons(line: str, depth: int) -> Iterator[str]:
    parts = split_line(line)
    if parts is None:
        cuts = [[word.translate(_QUOTES) for word in cut.split()] for cut in _CUTS.split(line)]
        targets = [target.translate(_QUOTES) for target in _REDIRECTED.findall(line)]
    else:
        cuts = [[word.value for word in part.words] for part in parts if isinstance(part, Command)]
        targets = [part.target.value for part in parts if isinstance(part, Redirection) and part.sign == ">"]
    commands = [words for words in map(_without_assignments, cuts) if words]
    if any(map(_DEVICE.match, targets)):
        yield DEVICE
    is_piped = any(map(_reads_commands, commands))
    for words in commands:
        yield from _of_command(words, depth)
        if is_piped and program_name(words[0]) in _PRINTS:
            for text in words[1:]:
                yield from _reasons(text, depth + 1) if depth < _MAX_DEPTH else ()
    if _SQL.search(line) and any(program_name(words[0]) not in _ONLY_SHOWS for words in commands):
        yield DATABASE


def _without_assignments(words: list[str]) -> list[str]:
    start = next((at for at, word in enumerate(words) if not is_assignment(word)), len(words))
    return words[start:]


def _reads_commands(words: Sequence[str]) -> bool:
    """Return whether a shell reads its commands from its input, which another command of the line may write."""
    return program_name(words[0]) in _SHELLS and all(word.startswith(("-", "+")) for word in words[1:])


def _of_command(words: Sequence[str], depth: int, *, many: bool = False) -> Iterator[str]:
    """The dangers of a simple command. `many` means that it is run for many files, or given their names."""
    name, arguments = program_name(words[0]), words[1:]
    yield from _own(name, arguments, many=many)
    if depth == _MAX_DEPTH:
        return
    if name in _SHELLS and any(_COMMAND_OPTION.fullmatch(word) for word in arguments):
        for script in islice((word for word in arguments if not word.startswith("-")), 1):
            yield from _reasons(script, depth + 1)
    elif name in _WRAPPERS:
        yield from _inner(name, arguments, depth + 1)


def _inner(name: str, arguments: Sequence[str], depth: int) -> Iterator[str]:
    """The dangers of the command among the arguments of a program: wherever a program that is known begins one."""
    if name in _SEARCH:
        starts = (at for at, word in enumerate(arguments) if is_refused(word, Rule(RULES[name].runs)))
        arguments = arguments[next(starts, len(arguments)) :]
    if name in _TAKE_LINES:
        for line in islice((word for word in arguments if " " in word), _MAX_INNER):
            yield from _reasons(line, depth)
    known = (at for at, word in enumerate(arguments) if _is_known(program_name(word)))
    for at in islice(known, _MAX_INNER):
        yield from _of_command(arguments[at:], depth, many=name in _EACH)


def _is_known(name: str) -> bool:
    return name in _KNOWN or name.startswith("mkfs")


def _own(name: str, arguments: Sequence[str], *, many: bool) -> Iterator[str]:
    """The dangers of a program by itself."""
    if name in _AS_OTHERS:
        yield OTHER_USER
    if name == "rm" and (many or _has(arguments, "rRf", "--recursive", "--force")):
        yield DELETES
    if name == "find" and "-delete" in arguments:
        yield DELETES
    if name == "dd" and any(word.startswith("of=") and word != "of=/dev/null" for word in arguments):
        yield OVERWRITES
    if name in _ERASERS or name.startswith("mkfs"):
        yield ERASES
    if name == "git":
        yield from _of_git(arguments)
    elif "--force" in arguments and name not in _FORCED_BELOW:
        yield FORCES


def _of_git(arguments: Sequence[str]) -> Iterator[str]:
    if "push" in arguments and (
        _has(arguments, "f", "--force", "--force-with-lease", "--mirror")
        or any(word.startswith("+") for word in arguments)
    ):
        yield HISTORY
    elif "reset" in arguments and "--hard" in arguments:
        yield UNCOMMITTED
    elif "clean" in arguments and _has(arguments, "fxdX", "--force"):
        yield UNTRACKED
    elif "--force" in arguments:
        yield FORCES


def _has(arguments: Sequence[str], letters: str, *options: str) -> bool:
    """Return whether one of these letters is in a group of short options, or one of these options is given."""
    short = (word for word in arguments if word.startswith("-") and not word.startswith("--"))
    named = {word.partition("=")[0] for word in arguments}
    return any(set(letters) & set(word) for word in short) or not named.isdisjoint(options)


_KNOWN = frozenset({"rm", "git", "dd", *_SHELLS, *_WRAPPERS, *_ERASERS})
