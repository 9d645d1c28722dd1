"""`tildone fleet answer`: list the questions of runs, and answer one of them."""

from __future__ import annotations

from tildone.cli.fleet.opening import open_existing_fleet
from tildone.cli.fleet.questions import as_data, chosen, give_answer, open_questions, put_questions
from tildone.cli.output.consent import check_person
from tildone.cli.output.data import put_data
from tildone.cli.output.screen import put
from tildone.cli.parsing.table import ParsedArgs
from tildone.views.sanitize import printable


def run(args: ParsedArgs) -> int:
    """List the open questions, or answer one.

    Raises:
        NotFound: there is no such run or question.
        Refused: it is answered already, or this is the shell of an agent.
    """
    name, *words = args.positional or ("",)
    fleet = open_existing_fleet(args)
    views = fleet.run_named(name) if name else fleet.leases.look()
    found = open_questions(fleet, views)
    if not words:
        if args.has("json"):
            put_data(questions=[as_data(question) for question in found])
        else:
            put_questions(found, "No run waits for an answer.")
        return 0
    check_person(fleet.settings, "answer an agent")
    question = chosen(found, args.options.get("question"), views[0].lease.run)
    text = " ".join(words)
    give_answer(fleet, question, text)
    if args.has("json"):
        put_data(answered=[{**as_data(question), "answer": text}])
    else:
        put(f"Answered {question.run}: {printable(text)}")
    return 0
