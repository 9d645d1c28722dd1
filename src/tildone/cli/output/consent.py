"""Questions that only a person may answer: whether something may run, or apply, on their machine."""

from __future__ import annotations

import sys

from tildone.cli.output.prompts import confirm
from tildone.cli.output.screen import on_terminal
from tildone.errors import Refused, UsageError
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import printable
from tildone.wiring import agent_here

if TYPE_CHECKING:
    from tildone.cli.parsing.table import ParsedArgs
    from tildone.config import Settings


def check_person(settings: Settings, action: str) -> None:
    """Check that a person acts. `action` is what only a person can do, as in "trust a file".

    Raises:
        Refused: this is the shell of an agent.
    """
    agent = agent_here(settings)
    if agent:
        raise Refused(f"only a person can {action}: this is the shell of {printable(agent)}")


def person_agrees(args: ParsedArgs, settings: Settings, action: str, question: str) -> bool:
    """Return whether the person agrees: with `--yes`, or by their answer to the question.

    `action` is what only a person can do, as in "trust a file".

    Raises:
        Refused: this is the shell of an agent.
        UsageError: nobody can be asked.
    """
    check_person(settings, action)
    if args.has("yes"):
        return True
    if args.has("json") or not on_terminal() or not sys.stdin.isatty():
        raise UsageError("confirmation requires a terminal; use --yes to skip it")
    return confirm(question)
