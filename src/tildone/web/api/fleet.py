"""The fleet: its workers and runs, answers to what runs wait for, and what a person asks of runs and workers."""

from __future__ import annotations

from tildone.app.answering import (
    RunAnswer,
    answer_question,
    logged_answer,
    logged_questions,
    offered_answers,
)
from tildone.app.opening import person_here
from tildone.app.run_requests import RunRequest, pause_all, request_run, resume_all
from tildone.errors import Refused, UsageError
from tildone.ids import now
from tildone.log.fleet.lease import Lease
from tildone.log.fleet.port import RunLeases
from tildone.log.fleet.workers import RunGroup
from tildone.overview.fleet_index import RunAsked
from tildone.web.api.visit import Visit
from tildone.web.http.answers import ApiAnswer, Problem

MAX_RUNS, DEFAULT_RUNS = 200, 60
REQUESTS = {request.value: request for request in RunRequest}


def fleet(visit: Visit) -> ApiAnswer:
    """Return the workers of the fleet, and its numbers."""
    board = visit.board
    rows = board.run_rows()
    return ApiAnswer(board.fleet.snapshot(rows, board.fleet.waiting(rows)))


def runs(visit: Visit) -> ApiAnswer:
    """Return a page of runs."""
    known = {group.value: group for group in RunGroup}
    words = [word for word in visit.query.get("state", "").split(",") if word]
    if unknown := [word for word in words if word not in known]:
        raise Problem(400, f"There is no state {unknown[0][:40]!r}.", f"The states are: {', '.join(known)}.")
    groups = [known[word] for word in words] or list(RunGroup)
    limit = visit.number("limit", DEFAULT_RUNS, MAX_RUNS) or 1
    try:
        page = visit.board.fleet.page(groups, visit.query.get("after", ""), limit)
    except ValueError as error:
        raise Problem(400, "There is no such page.") from error
    rows, at = visit.board.run_rows(), now()
    return ApiAnswer({"runs": [rows.data(view, at) for view in page.views], "after": page.after})


def answer(visit: Visit) -> ApiAnswer:
    """Answer a question in the log of a plan. `seen` is the text that the person saw; the first answer wins."""
    board, given = visit.board, visit.text("answer")
    run, name = visit.text("run"), visit.text("question")
    asked = board.fleet.asked(run, name)
    if asked is None:
        raise _gone(visit, run, name)
    [question] = logged_questions(board.store, asked.lease.session, run, [name])
    if question.text != visit.text("seen"):
        raise Problem(409, "The question has changed meanwhile.", "Read it again.")
    who = _person(visit)
    try:
        answer_question(board.settings, board.store, _leases(visit), question, RunAnswer(given, who))
    except UsageError as error:
        offered = ", ".join(offered_answers(question)) or "any text"
        raise Problem(422, f"The answers are: {offered}.", faults=["That is no answer."]) from error
    except Refused as error:
        raise _taken(visit, asked) from error
    return ApiAnswer({"run": run, "question": name, "answer": given, "by": who, "at": now()})


def ask(visit: Visit) -> ApiAnswer:
    """Pause, resume, cancel or retry a run."""
    run, wanted = visit.text("run"), REQUESTS.get(visit.text("ask"))
    if wanted is None:
        raise Problem(400, "ask has to be pause, resume, cancel or retry.")
    changed = request_run(_leases(visit), run, wanted)
    return ApiAnswer({"run": run, "hands": [_changed(lease) for lease in changed]})


def ask_all(visit: Visit) -> ApiAnswer:
    """Pause or resume all runs."""
    match visit.text("ask"):
        case "pause":
            changed = pause_all(_leases(visit))
        case "resume":
            changed = resume_all(_leases(visit))
        case _:
            raise Problem(400, "ask has to be pause or resume.")
    return ApiAnswer({"runs": changed})


def drain(visit: Visit) -> ApiAnswer:
    """Let a worker finish what it has, and end."""
    worker = visit.text("worker")
    if not _leases(visit).drain(worker):
        raise Problem(404, "There is no such worker.", "It has ended.")
    return ApiAnswer({"worker": worker})


def _changed(lease: Lease) -> dict[str, object]:
    return {"hand": lease.hand, "state": lease.state.value, "held": lease.is_held, "asked": lease.ask.value or None}


def _leases(visit: Visit) -> RunLeases:
    return visit.board.fleet.leases(_person(visit))


def _person(visit: Visit) -> str:
    return visit.visitor.name or person_here(visit.board.settings, visit.board.store)


def _gone(visit: Visit, run: str, question: str) -> Problem:
    """Return why a question is not open: somebody has answered it, or there is none."""
    views = visit.board.fleet.leases("").look(run) if visit.board.fleet.exists else []
    if not views:
        return Problem(404, "That question is gone.", "The run no longer waits for an answer.")
    found = logged_answer(visit.board.store, views[0].lease.session, run, question)
    if found is None:
        return Problem(404, "That question is gone.", "The run no longer waits for an answer.")
    fact, at = found
    return Problem(409, f"{fact.who or 'Somebody'} answered it: {fact.text}", answer=fact.text, by=fact.who, at=at)


def _taken(visit: Visit, asked: RunAsked) -> Problem:
    visit.board.refresh()
    return _gone(visit, asked.lease.run, asked.question.id)
