"""Writing: changes of plans, checks, answers, and what a person asks of the fleet, with what its page shows.

A request with an `Idempotency-Key` is carried out once: whoever repeats it gets the same answer.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping

from starlette.responses import Response

from tildone.app import answering, moves
from tildone.app.checks import changed_meanwhile, owner, typed_check
from tildone.app.glance import glance_data, task_glance
from tildone.app.opening import person_here
from tildone.app.rebase import edit_seen
from tildone.app.runs import RunRequest, pause_all, request_run, resume_all
from tildone.app.who import STEERED, steer_sessions
from tildone.base import NotFound, Refused, UsageError, replace
from tildone.base.ids import now
from tildone.log.needs import Need, NeedAnswered
from tildone.log.session import Session
from tildone.plan.events import Directive
from tildone.plan.lists import RunGroup
from tildone.plan.model import Proof, Result
from tildone.plan.text.proofs import check_text
from tildone.screens.board.data import Data, claims_data, facts_data, proof_data
from tildone.screens.board.http import ApiAnswer, Problem
from tildone.screens.board.reading import Visit
from tildone.stores.leasing import RunLeases


def ops(visit: Visit) -> ApiAnswer:
    session = session_of(visit)
    edited, rebased = edit_seen(session, visit.seen_head, visit.body.get("ops"), visit.board.checks)
    event = session.last_state.head if edited.outcome.changed else None
    return ApiAnswer(_changed(visit) | {"event": event, "rebased": rebased, "unproved": _unproved(edited.proofs)})


def undo(visit: Visit) -> ApiAnswer:
    """Take back a change: the one that is named, else the newest one that the person saw."""
    session = session_of(visit)
    event = visit.text("event", required=False)
    return ApiAnswer(_moved(visit, moves.take_back(session, event, "" if event else visit.seen_head)))


def redo(visit: Visit) -> ApiAnswer:
    session = session_of(visit)
    return ApiAnswer(_moved(visit, moves.redo(session, seen=visit.seen_head)))


def restore(visit: Visit) -> ApiAnswer:
    """Move to the plan of an event. `left` is the event to restore in order to return."""
    session, seen = session_of(visit), visit.seen_head
    moved = moves.restore(session, visit.text("event", required=False) or None, seen=seen)
    return ApiAnswer(_moved(visit, moved) | {"left": seen or None})


def steer(visit: Visit) -> ApiAnswer:
    known = {directive.value: directive for directive in Directive} | {"resume": Directive.GO}
    # Clients of older boards call it a course.
    directive = known.get(visit.text("directive", required=False) or visit.text("course", required=False))
    if directive is None:
        raise Problem(400, "directive has to be pause, stop or go.")
    session = session_of(visit)
    steer_sessions(visit.board.settings, [session], directive)
    return ApiAnswer(_changed(visit) | {"what": STEERED[directive]})


def answer(visit: Visit) -> ApiAnswer:
    """Answer a question of an agent. Of several answers, the first one wins."""
    board = visit.board
    try:
        found = answering.answer_need(board.settings, board.store, visit.item, visit.text("answer"), visit.visitor.name)
    except NeedAnswered as error:
        raise _answered(error.need) from error
    except NotFound as error:
        raise Problem(404, "That question is gone.", "The agent no longer waits for an answer.") from error
    except UsageError as error:
        need = board.store.records.need(visit.item)
        offered = ", ".join(need.options if need else ())
        raise Problem(422, f"The answers are: {offered}.", faults=["That is none of the answers."]) from error
    return ApiAnswer({"id": found.id, "answer": found.answer, "by": found.answered_by, "at": found.answered_at})


def checks(visit: Visit) -> ApiAnswer:
    """Return which proofs are stale, which checks wait for approval or are being run, and who works on which task."""
    board, name = visit.board, visit.board.row(visit.key).name
    state = board.views[name].state
    facts = board.checks.facts(name, state.plan)
    claims = claims_data(state.plan, board.store.records.claims(name))
    return ApiAnswer({"head": state.head, **facts_data(facts, may_approve=_may_approve(visit)), "claims": claims})


def task(visit: Visit) -> ApiAnswer:
    """Return a task at a glance; what its agent said last, only to the person who started the board, whose it is."""
    board, name = visit.board, visit.board.row(visit.key).name
    facts = board.checks.facts(name, board.views[name].state.plan)
    number = int(visit.item) if re.fullmatch("[1-9][0-9]{0,8}", visit.item) else 0
    found = task_glance(board.settings, board.store, name, number, now=now(), facts=facts)
    if found is None:
        raise Problem(404, "There is no such task in the plan.", "It was removed, or the link is not complete.")
    return ApiAnswer(glance_data(found if _may_approve(visit) else replace(found, last_lines=())))


def set_check(visit: Visit) -> ApiAnswer:
    """Set a check to a command line; an empty one removes it."""
    session, number = _session_and_number(visit)
    was = owner(session.plan, number).check
    if visit.text("base", required=False) != (check_text(was) if was else ""):
        raise changed_meanwhile(session, number, was)
    check = typed_check(visit.text("line"), was)
    found = visit.board.checks.set_check(session, number, check, was, approves=_may_approve(visit))
    event = session.last_state.head if found.edited.outcome.changed else None
    return ApiAnswer(_changed(visit) | {"event": event, "approved": found.approved, "warnings": list(found.warnings)})


def approve(visit: Visit) -> ApiAnswer:
    """Approve a check: exactly the command that the person saw."""
    if not _may_approve(visit):
        raise Problem(
            403,
            "Only the person who started the board can approve a command on this machine.",
            "On that machine: tildone approve",
        )
    session, number = _session_and_number(visit)
    check = owner(session.plan, number).check
    folder = visit.text("folder", required=False)
    if check is None or (list(check.command), check.folder) != (visit.body.get("command"), folder):
        raise changed_meanwhile(session, number, check)
    _, warnings = visit.board.checks.approve(session, [check])
    return ApiAnswer(_changed(visit) | {"warnings": warnings})


def verify(visit: Visit) -> ApiAnswer:
    """Run a check again. The answer comes when it has ended."""
    session, number = _session_and_number(visit)
    _, proofs = visit.board.checks.verify(session, [number])
    return ApiAnswer(_changed(visit) | {"unproved": _unproved(proofs)})


MAX_RUNS, DEFAULT_RUNS = 200, 60
REQUESTS = {request.value: request for request in RunRequest}


def fleet(visit: Visit) -> ApiAnswer:
    board = visit.board
    rows = board.run_rows()
    return ApiAnswer(board.fleet.snapshot(rows, board.fleet.waiting(rows)))


def runs(visit: Visit) -> ApiAnswer:
    known = {group.value: group for group in RunGroup}
    words = [word for word in visit.query.get("state", "").split(",") if word]
    if unknown := [word for word in words if word not in known]:
        raise Problem(400, f"There is no state {unknown[0][:40]!r}.", f"The states are: {', '.join(known)}.")
    groups = [known[word] for word in words] or list(RunGroup)
    limit = visit.number("limit", DEFAULT_RUNS, MAX_RUNS) or 1
    board, rows = visit.board, visit.board.run_rows()
    try:
        views, after = board.fleet.page(groups, visit.query.get("after", ""), limit, rows)
    except ValueError as error:
        raise Problem(400, "There is no such page.") from error
    return ApiAnswer({"runs": board.fleet.data(views, rows, now()), "after": after})


def answer_run(visit: Visit) -> ApiAnswer:
    """Answer a question in the log of a plan. `seen` is the text that the person saw; the first answer wins."""
    board, given = visit.board, visit.text("answer")
    run, name = visit.text("run"), visit.text("question")
    asked = board.fleet.asked(run, name)
    if asked is None:
        raise _gone(visit, run, name)
    failed = asked.question.kind == answering.FAILURE
    logged = () if failed else answering.logged_questions(board.store, asked.lease.session, run, [name])
    [question] = logged or [asked.question]
    if question.text != visit.text("seen"):
        raise Problem(409, "The question has changed meanwhile.", "Read it again.")
    who = _person(visit)
    if failed:
        return _answer_failure(visit, question, given)
    try:
        answering.answer_question(
            board.settings, board.store, _leases(visit), question, answering.RunAnswer(given, who)
        )
    except UsageError as error:
        offered = ", ".join(answering.offered_answers(question)) or "any text"
        raise Problem(422, f"The answers are: {offered}.", faults=["That is no answer."]) from error
    except Refused as error:
        board.refresh()
        raise _gone(visit, asked.lease.run, asked.question.id) from error
    return ApiAnswer({"run": run, "question": name, "answer": given, "by": who, "at": now()})


def _answer_failure(visit: Visit, question: answering.OpenQuestion, given: str) -> ApiAnswer:
    """Queue a run again that has failed, or give it up."""
    offered = answering.offered_answers(question)
    if given not in offered:
        raise Problem(422, f"The answers are: {', '.join(offered)}.", faults=["That is no answer."])
    request_run(_leases(visit), question.run, RunRequest(given))
    visit.board.refresh()
    return ApiAnswer({"run": question.run, "question": question.id, "answer": given, "by": _person(visit), "at": now()})


def ask_run(visit: Visit) -> ApiAnswer:
    run, wanted = visit.text("run"), REQUESTS.get(visit.text("ask"))
    if wanted is None:
        raise Problem(400, "ask has to be pause, resume, cancel or retry.")
    changed = request_run(_leases(visit), run, wanted)
    hands = [
        {
            "hand": lease.hand + 1,
            "state": lease.state.value,
            "held": lease.is_held,
            "asked": lease.request.value or None,
        }
        for lease in changed
    ]
    return ApiAnswer({"run": run, "hands": hands})


def ask_all_runs(visit: Visit) -> ApiAnswer:
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


REMEMBERED_SECONDS = 600.0
MAX_REMEMBERED = 2000
MAX_KEY_CHARS = 200

Remembered = tuple[float, bytes, "asyncio.Future[Response]"]


class Repeats:
    """The answers of the last ten minutes. `clock` returns seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._answers: dict[tuple[str, ...], Remembered] = {}

    async def once(self, key: tuple[str, ...], request: bytes, act: Callable[[], Awaitable[Response]]) -> Response:
        """Return the answer to a request, carried out only if no request with this key was.

        Raises Problem if the key belongs to another request.
        """
        self._forget_old()
        known = self._answers.get(key)
        if known is not None:
            if known[1] != request:
                raise Problem(422, "This Idempotency-Key was used for another request.", "Choose a new one.")
            return await asyncio.shield(known[2])
        future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._answers[key] = (self._clock(), request, future)
        try:
            response = await act()
            future.set_result(response)
            return response
        finally:
            if not future.done():
                # It was not carried out, or nobody knows: a repetition tries again.
                del self._answers[key]
                future.cancel()

    def _forget_old(self) -> None:
        oldest = self._clock() - REMEMBERED_SECONDS
        while self._answers:
            key = next(iter(self._answers))
            if self._answers[key][0] >= oldest and len(self._answers) <= MAX_REMEMBERED:
                return
            del self._answers[key]


def session_of(visit: Visit) -> Session:
    return visit.board.session(visit.board.row(visit.key).name, visit.visitor.name)


def _moved(visit: Visit, moved: moves.Moved) -> Data:
    return _changed(visit) | {"what": "; ".join(moved.sentences(numbers=False))}


def _unproved(proofs: Mapping[int, Proof]) -> list[Data]:
    return [proof_data(*each) for each in proofs.items() if each[1].result is not Result.PASSED]


def _answered(need: Need) -> Problem:
    by = need.answered_by or "Somebody"
    seconds = max(0, now() - need.answered_at) // 1000
    error = f"{by} answered it {seconds} s ago: {need.answer}"
    return Problem(409, error, answer=need.answer, by=need.answered_by, at=need.answered_at)


def _may_approve(visit: Visit) -> bool:
    return not visit.visitor.name


def _session_and_number(visit: Visit) -> tuple[Session, int]:
    """Return the session, and the number of one of its tasks; PLAN stands for the plan itself."""
    number = visit.body.get("number")
    session = session_of(visit)
    if not isinstance(number, int) or isinstance(number, bool):
        raise NotFound("there is no such task")
    owner(session.plan, number)
    return session, number


def _changed(visit: Visit) -> Data:
    """Return what differs since the head that the person saw; if that is not known, the session as a whole."""
    board = visit.board
    board.refresh()
    row = board.row(visit.key)
    head = visit.head or None
    return board.shown_since(row, head) or board.shown(row)


def _leases(visit: Visit) -> RunLeases:
    return visit.board.fleet.leases(_person(visit))


def _person(visit: Visit) -> str:
    return visit.visitor.name or person_here(visit.board.settings, visit.board.store)


def _gone(visit: Visit, run: str, question: str) -> Problem:
    """Return why a question is not open: somebody has answered it, or there is none."""
    views = visit.board.fleet.leases("").look(run) if visit.board.fleet.exists else []
    found = answering.logged_answer(visit.board.store, views[0].lease.session, run, question) if views else None
    if found is None:
        return Problem(404, "That question is gone.", "The run no longer waits for an answer.")
    fact, at = found
    return Problem(409, f"{fact.who or 'Somebody'} answered it: {fact.text}", answer=fact.text, by=fact.who, at=at)
