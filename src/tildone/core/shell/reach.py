"""What a pattern for commands allows beyond what it looks like, in the words that a person is told when they give it.

It is about patterns that are compared as text: those of checks, of workers, and of the agents that workers start. There
a wildcard covers every argument, unlike in `tildone run`.
"""

from __future__ import annotations

import shlex

from tildone.core.shell.programs import POWERFUL, RULES, RUNS_PROJECT_CODE, is_assignment, program_name
from tildone.core.shell.syntax import split_line
from tildone.core.shell.words import Command, WordKind

EVERYTHING = "*"


def told(source: str, pattern: str) -> str:
    """Return what to tell a person about a pattern, which `source` has given; empty if it is what it looks like."""
    more = reach(pattern)
    return f"{source} {shlex.quote(pattern)} allows more than it looks like: {more}" if more else ""


def reach(pattern: str) -> str:
    """Return what a pattern allows beyond what it looks like; empty if nothing is known."""
    if pattern.strip() == EVERYTHING:
        return "it allows every command"
    parts = split_line(pattern)
    if parts is None or len(parts) != 1 or not isinstance(parts[0], Command):
        return ""
    words = [word for word in parts[0].words if not is_assignment(word.text)]
    if not any(word.kind is WordKind.GLOB for word in words):
        return ""
    program, *arguments = words
    if program.kind is not WordKind.LITERAL:
        return "it allows every program whose name fits"
    name = program_name(program.value)
    operand = next((word.value for word in arguments if word.kind is WordKind.LITERAL and word.value[:1] != "-"), "")
    return _power(name, operand)


def _power(name: str, operand: str) -> str:
    if name in POWERFUL:
        return f"{name} {POWERFUL[name]}"
    if name in RUNS_PROJECT_CODE:
        return f"{name} runs code of the project"
    rule = RULES.get(name)
    if rule is None:
        return ""
    if rule.subcommands and operand:
        name = f"{name} {operand}"
        if name not in RULES:
            return "" if operand in rule.subcommands else f"{name} may run other programs"
        rule = RULES[name]
    if rule.script is not None:
        return f"{name} runs any code that it is given"
    if rule.runs:
        return f"{name} runs other programs with {rule.runs[0]}"
    if rule.subcommands:
        return f"{name} may run other programs"
    return f"{name} writes other files{f' with {rule.writes[0]}' if rule.writes else ''}"
