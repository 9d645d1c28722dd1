"""What a permission for a command covers beyond this one call: the pattern that the person is shown and grants.

A pattern is the program and `*`, as `--allow` takes it; for a program with subcommands, it names the subcommand. Some
programs are too powerful for that: they delete files, or run any command that they are given. A line that uses one of
them is covered only as it stands, because the same command may do something else in another place of another line.
"""

from __future__ import annotations

import re
import shlex

from tildone.core.plan import Plan
from tildone.core.query import open_tasks
from tildone.core.shell.programs import POWERFUL, RULES, program_name
from tildone.core.shell.words import Part, Redirection, WordKind
from tildone.host.tools.command_patterns import EVERYTHING, covers, is_pattern, parse_pattern

THIS_COMMAND = "exactly this command"

_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_NOTED = "$ "


def covering_patterns(missing: tuple[Part, ...] | None) -> tuple[str, ...]:
    """Return a pattern for each part of a line that is not allowed yet; empty if only the whole line is covered."""
    found = [pattern_for(part) for part in missing or ()]
    return () if None in found else tuple(dict.fromkeys(pattern for pattern in found if pattern is not None))


def pattern_for(part: Part) -> str | None:
    """Return a pattern for commands like this one; a redirection matches only itself. None if there is none."""
    if isinstance(part, Redirection):
        return part.text if part.target.kind is WordKind.LITERAL else None
    program = part.words[0].value
    name = program_name(program)
    if name in POWERFUL:
        return None
    subcommands = RULES[name].subcommands if name in RULES else frozenset()
    words = [program, *(word.value for word in part.words[1:2] if word.value in subcommands)]
    more = [] if len(part.words) == 1 else [EVERYTHING]
    return _if_covering(" ".join([*map(shlex.quote, words), *more]), part)


def exact_pattern(part: Part) -> str | None:
    """Return a pattern for exactly this part; None if no pattern covers it."""
    return _if_covering(part.text, part)


def plan_commands(plan: Plan) -> tuple[str, ...]:
    """Return the commands of the open tasks: text in backticks, and lines of notes that begin with `$ `."""
    found: dict[str, None] = {}
    for _, task in open_tasks(plan):
        found |= {match[2].strip(): None for match in _CODE_SPAN.finditer(task.text)}
        lines = [line for note in task.notes for line in note.splitlines()]
        found |= {line.removeprefix(_NOTED).strip(): None for line in lines if line.startswith(_NOTED)}
    return tuple(command for command in found if command)


def _if_covering(pattern: str, part: Part) -> str | None:
    fits = pattern != EVERYTHING and is_pattern(pattern) and covers(parse_pattern(pattern), part)
    return pattern if fits else None
