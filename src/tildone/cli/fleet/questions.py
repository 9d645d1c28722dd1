"""`tildone fleet answer` and `approve`: list what runs ask persons, and answer it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tildone.app.answering import NO, YES, OpenQuestion, RunAnswer, answer_question, open_questions
from tildone.app.who import PersonAct, check_person
from tildone.base import NotFound, Refused, UsageError
from tildone.cli.fleet.opening import Fleet, fleet_if_any, open_existing_fleet
from tildone.cli.output import put, put_caution, put_raw
from tildone.cli.output.prompts import put_data
from tildone.cli.table import ParsedArgs
from tildone.plan.lists import RunView
from tildone.plan.text.safe import printable


def questions_of(fleet: Fleet, views: Iterable[RunView]) -> list[OpenQuestion]:
    return open_questions(fleet.store, (view.lease for view in views))


def chosen(found: Sequence[OpenQuestion], wanted: str | None, run: str) -> OpenQuestion:
    """Return the question that is meant: the one whose id begins with `wanted`, else the only one."""
    matching = [question for question in found if question.id.startswith(wanted or "")]
    matching = [question for question in matching if question.id == wanted] or matching
    if not matching:
        which = f" {printable(wanted)!r}" if wanted else ""
        raise NotFound(f"run {run} has no open question{which}; to list them: tildone fleet answer")
    if len(matching) > 1:
        ids = ", ".join(printable(question.id) for question in matching)
        raise UsageError(f"run {run} has {len(matching)} open questions; choose one with --question: {ids}")
    return matching[0]


def put_questions(found: Sequence[OpenQuestion], nothing: str) -> None:
    if not found:
        put(nothing)
    for question in found:
        put(f"{question.run}  {printable(question.kind)}  {printable(question.id)}")
        put_raw("\n".join(f"  {line}" for line in question.text.splitlines()))
        put_caution(question.caution)
        verb = "approve" if question.is_permission else "answer"
        text = "" if question.is_permission else " TEXT"
        put(f"  To answer: tildone fleet {verb} {question.run} --question {printable(question.id)}{text}")


def question_data(question: OpenQuestion) -> dict[str, object]:
    return {"run": question.run, "id": question.id, "kind": question.kind, "text": question.text}


def answer(args: ParsedArgs) -> int:
    """List the open questions, or answer one."""
    name, *words = args.positional or ("",)
    if not name:
        return _put_open(args, _all_questions(args), "No run waits for an answer.")
    fleet = open_existing_fleet(args)
    if words:
        # An agent is refused before it learns what there is to answer.
        check_person(fleet.settings, PersonAct.ANSWER)
    views = fleet.run_named(name)
    found = questions_of(fleet, views)
    if not words:
        return _put_open(args, found, "No run waits for an answer.")
    question = chosen(found, args.options.get("question"), views[0].lease.run)
    text = " ".join(words)
    answer_question(fleet.settings, fleet.store, fleet.leases, question, RunAnswer(text, fleet.person))
    if args.has("json"):
        put_data(answered=[{**question_data(question), "answer": text}])
    else:
        put(f"Answered {question.run}: {printable(text)}")
    return 0


def _all_questions(args: ParsedArgs) -> list[OpenQuestion]:
    fleet = fleet_if_any(args)
    return questions_of(fleet, fleet.leases.look()) if fleet else []


def _put_open(args: ParsedArgs, found: Sequence[OpenQuestion], nothing: str) -> int:
    if args.has("json"):
        put_data(questions=[question_data(question) for question in found])
    else:
        put_questions(found, nothing)
    return 0


def approve(args: ParsedArgs) -> int:
    """List what waits for approval, or approve it."""
    if args.has("reason") and not args.has("deny"):
        raise UsageError("--reason goes with --deny")
    if not args.positional:
        waiting = [question for question in _all_questions(args) if question.is_permission]
        return _put_open(args, waiting, "No run waits for approval.")
    fleet = open_existing_fleet(args)
    check_person(fleet.settings, PersonAct.APPROVE_RUN)
    selected = [
        question for word in args.positional for question in _selected(fleet, word, args.options.get("question"))
    ]
    reason = args.options.get("reason", "")
    text = YES if not args.has("deny") else f"{NO}: {reason}" if reason else NO
    given = RunAnswer(text, fleet.person, PersonAct.APPROVE_RUN)
    for question in selected:
        answer_question(fleet.settings, fleet.store, fleet.leases, question, given)
        if not args.has("json"):
            put(f"{'Denied' if args.has('deny') else 'Approved'} for {question.run}: {printable(question.text)}")
    if args.has("json"):
        put_data(answered=[{**question_data(question), "answer": text} for question in selected])
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
