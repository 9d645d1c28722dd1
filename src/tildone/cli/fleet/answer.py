"""`tildone fleet answer`: list the questions of runs, and answer one of them."""

from __future__ import annotations

from tildone.app.who import PersonAct, check_person
from tildone.cli.fleet.opening import fleet_if_any, open_existing_fleet
from tildone.cli.fleet.questions import answer_here, as_data, chosen, put_questions, questions_of
from tildone.cli.output.data import put_data
from tildone.cli.output.screen import put
from tildone.cli.parsing.table import ParsedArgs
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.overview.run_questions import OpenQuestion


def run(args: ParsedArgs) -> int:
    """List the open questions, or answer one.

    Raises:
        NotFound: there is no such run or question.
        Refused: it is answered already, or this is the shell of an agent.
    """
    name, *words = args.positional or ("",)
    if not name:
        known = fleet_if_any(args)
        return _list(args, questions_of(known, known.leases.look()) if known else [])
    fleet = open_existing_fleet(args)
    views = fleet.run_named(name)
    found = questions_of(fleet, views)
    if not words:
        return _list(args, found)
    check_person(fleet.settings, PersonAct.ANSWER)
    question = chosen(found, args.options.get("question"), views[0].lease.run)
    text = " ".join(words)
    answer_here(fleet, question, text)
    if args.has("json"):
        put_data(answered=[{**as_data(question), "answer": text}])
    else:
        put(f"Answered {question.run}: {printable(text)}")
    return 0


def _list(args: ParsedArgs, found: Sequence[OpenQuestion]) -> int:
    if args.has("json"):
        put_data(questions=[as_data(question) for question in found])
    else:
        put_questions(found, "No run waits for an answer.")
    return 0
