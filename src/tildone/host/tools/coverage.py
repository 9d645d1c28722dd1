"""What a permission for a command covers beyond this one call: the pattern that the person is shown and grants.

A pattern is the program and `*`, as `--allow` takes it. Some programs are too powerful for that: they delete files, or
run any command that they are given. A line that uses one of them is covered only as it stands, because the same command
may do something else in another place of another line.
"""

from __future__ import annotations

import re

from tildone.core.plan import Plan
from tildone.core.query import open_tasks
from tildone.host.tools.shell_syntax import EVERYTHING, WINDOWS, simple_commands

THIS_COMMAND = "exactly this command"

_POWERFUL = frozenset(
    (
        *("rm", "rmdir", "unlink", "shred", "truncate", "dd", "mkfs", "find"),
        *("sudo", "doas", "su", "ssh", "env", "command", "exec", "eval", "xargs", "nohup", "timeout", "nice"),
        *("sh", "bash", "dash", "zsh", "ksh", "fish", "busybox", "source", ".", "trap", "parallel", "watch"),
    )
)
_GLOB = re.compile(r"[*?\[]")
_ASSIGNMENT = re.compile(r"\w+\+?=")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_NOTED = "$ "


def covering_patterns(line: str, missing: tuple[str, ...]) -> tuple[str, ...]:
    """Return a pattern for each part of the line that is not allowed yet; empty if only the whole line is covered."""
    if simple_commands(line, windows=WINDOWS) is None or any(map(_is_powerful, missing)):
        return ()
    return tuple(dict.fromkeys(pattern_for(part) for part in missing))


def pattern_for(part: str) -> str:
    """Return a pattern for commands like this one; a redirection matches only itself."""
    first, _, rest = part.partition(" ")
    return part if first in "<>" or not rest else f"{first} *"


def plan_commands(plan: Plan) -> tuple[str, ...]:
    """Return the commands of the open tasks: text in backticks, and lines of notes that begin with `$ `."""
    found: dict[str, None] = {}
    for _, task in open_tasks(plan):
        found |= {match[2].strip(): None for match in _CODE_SPAN.finditer(task.text)}
        lines = [line for note in task.notes for line in note.splitlines()]
        found |= {line.removeprefix(_NOTED).strip(): None for line in lines if line.startswith(_NOTED)}
    return tuple(command for command in found if command)


def _is_powerful(part: str) -> bool:
    first, _, rest = part.partition(" ")
    if first in "<>":
        return bool(_GLOB.search(rest))
    program = first.rpartition("/")[2]
    return program in _POWERFUL or first in EVERYTHING or bool(_GLOB.search(first) or _ASSIGNMENT.match(first))
