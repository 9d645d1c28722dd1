"""`tildone todo move`: move a task."""

from __future__ import annotations

from tildone.cli.opening import open_for_editing, shows_positions
from tildone.cli.parsing.table import ParsedArgs, command
from tildone.cli.plan.applying import apply_answer, words
from tildone.commands import edits
from tildone.commands.edits import Place
from tildone.errors import UsageError


def run(args: ParsedArgs) -> int:
    """Move a task to the place that an option names."""
    given = [place for place in Place if args.has(place.value)]
    if len(given) != 1:
        raise UsageError(
            f"where to? {command(args.path)} requires one of {', '.join(f'--{place.value}' for place in Place)}"
        )
    place = given[0]
    session = open_for_editing(args)
    answer = edits.move(
        session.plan, words(args), place, args.options[place.value], positions=shows_positions(args, session)
    )
    return apply_answer(args, session, answer)
