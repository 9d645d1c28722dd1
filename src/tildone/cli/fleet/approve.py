"""`tildone fleet approve`: permit what runs wait for, or refuse it."""

from __future__ import annotations

from tildone.app.who import PersonAct, check_person
from tildone.cli.fleet.opening import Fleet, fleet_if_any, open_existing_fleet
from tildone.cli.fleet.questions import answer_here, as_data, chosen, put_questions, questions_of
from tildone.cli.output.data import put_data
from tildone.cli.output.screen import put
from tildone.cli.parsing.table import ParsedArgs
from tildone.errors import NotFound, Refused, UsageError
from tildone.overview.run_questions import NO, YES, OpenQuestion
from tildone.views.sanitize import printable


def run(args: ParsedArgs) -> int:
    """List what waits for approval, or approve it.

    Raises:
        NotFound: there is no such run, or it waits for nothing.
        Refused: it is answered already, or this is the shell of an agent.
    """
    if args.has("reason") and not args.has("deny"):
        raise UsageError("--reason goes with --deny")
    if not args.positional:
        known = fleet_if_any(args)
        found = questions_of(known, known.leases.look()) if known else []
        waiting = [each for each in found if each.is_permission]
        if args.has("json"):
            put_data(questions=[as_data(question) for question in waiting])
        else:
            put_questions(waiting, "No run waits for approval.")
        return 0
    fleet = open_existing_fleet(args)
    check_person(fleet.settings, PersonAct.APPROVE_RUN)
    selected = [
        question for word in args.positional for question in _selected(fleet, word, args.options.get("question"))
    ]
    reason = args.options.get("reason", "")
    text = YES if not args.has("deny") else f"{NO}: {reason}" if reason else NO
    for question in selected:
        answer_here(fleet, question, text)
        if not args.has("json"):
            put(f"{'Denied' if args.has('deny') else 'Approved'} for {question.run}: {printable(question.text)}")
    if args.has("json"):
        put_data(answered=[{**as_data(question), "answer": text} for question in selected])
    return 0


def _selected(fleet: Fleet, word: str, wanted: str | None) -> list[OpenQuestion]:
    """Return what a run waits for approval of: all of it, or the one question that is named."""
    views = fleet.run_named(word)
    run, found = views[0].lease.run, questions_of(fleet, views)
    if wanted:
        question = chosen(found, wanted, run)
        if not question.is_permission:
            raise Refused(f"{question.id} is a question; to answer it: tildone fleet answer {run} TEXT")
        return [question]
    waiting = [question for question in found if question.is_permission]
    if not waiting:
        hint = f"; to answer its question: tildone fleet answer {run} TEXT" if found else ""
        raise NotFound(f"run {run} waits for no approval{hint}")
    return waiting
