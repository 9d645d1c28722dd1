"""Questions that only a person may answer: whether something may run, or apply, on their machine."""

from __future__ import annotations

import sys

from tildone.app.who import PersonAct, check_person
from tildone.base import TYPE_CHECKING
from tildone.base.errors import UsageError
from tildone.cli.output import on_terminal
from tildone.cli.output.prompts import confirm

if TYPE_CHECKING:
    from tildone.app.settings import Settings
    from tildone.cli.table import ParsedArgs


def person_agrees(args: ParsedArgs, settings: Settings, act: PersonAct, question: str) -> bool:
    """Return whether the person agrees: with `--yes`, or by their answer to the question.

    Raises:
        NotThePerson: this is the shell of an agent.
        UsageError: nobody can be asked.
    """
    check_person(settings, act)
    if args.has("yes"):
        return True
    if args.has("json") or not on_terminal() or not sys.stdin.isatty():
        raise UsageError("confirmation requires a terminal; use --yes to skip it")
    return confirm(question)
