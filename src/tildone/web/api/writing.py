"""Changing: edits of a plan, undo and redo, restoring an earlier plan, steering an agent, answering a question."""

from __future__ import annotations

from tildone.app import moves
from tildone.app.answering import answer_need
from tildone.app.rebase import edit_seen
from tildone.app.steering import STEERED, steer_sessions
from tildone.core.check import Result
from tildone.errors import NotFound, UsageError
from tildone.ids import now
from tildone.log.events import Directive
from tildone.log.needs import Need, NeedAnswered
from tildone.session import Session
from tildone.web.api.visit import Visit
from tildone.web.data import Data, plan_data, proof_data
from tildone.web.http.answers import ApiAnswer, Problem


def ops(visit: Visit) -> ApiAnswer:
    """Apply ops to a plan."""
    session = session_of(visit)
    edited, rebased = edit_seen(session, visit.seen_head, visit.body.get("ops"), visit.board.checks)
    head, outcome = session.last_state.head, edited.outcome
    unproved = [proof_data(*each) for each in edited.proofs.items() if each[1].result is not Result.PASSED]
    done = {"head": head, "plan": plan_data(outcome.after), "event": head if outcome.changed else None}
    return ApiAnswer(done | {"rebased": rebased, "unproved": unproved})


def undo(visit: Visit) -> ApiAnswer:
    """Take back a change: the one that is named, else the newest one that the person saw."""
    session = session_of(visit)
    event = visit.text("event", required=False)
    return _moved_answer(session, moves.take_back(session, event, "" if event else visit.seen_head))


def redo(visit: Visit) -> ApiAnswer:
    """Redo the change that was undone last."""
    session = session_of(visit)
    return _moved_answer(session, moves.redo(session, seen=visit.seen_head))


def restore(visit: Visit) -> ApiAnswer:
    """Move to the plan of an event. `left` is the event to restore in order to return."""
    session, seen = session_of(visit), visit.seen_head
    moved = moves.restore(session, visit.text("event", required=False) or None, seen=seen)
    return ApiAnswer({**_moved_data(session, _what(moved)), "left": seen or None})


def steer(visit: Visit) -> ApiAnswer:
    """Pause, stop or resume the agent."""
    known = {directive.value: directive for directive in Directive} | {"resume": Directive.GO}
    directive = known.get(visit.text("course"))
    if directive is None:
        raise Problem(400, "course has to be pause, stop or go.")
    session = session_of(visit)
    steer_sessions(visit.board.settings, [session], directive)
    return ApiAnswer(_moved_data(session, STEERED[directive]))


def answer(visit: Visit) -> ApiAnswer:
    """Answer a question of an agent. Of several answers, the first one wins."""
    board = visit.board
    try:
        found = answer_need(board.settings, board.store, visit.item, visit.text("answer"), visit.visitor.name)
    except NeedAnswered as error:
        raise _answered(error.need) from error
    except NotFound as error:
        raise Problem(404, "That question is gone.", "The agent no longer waits for an answer.") from error
    except UsageError as error:
        need = board.store.records.need(visit.item)
        offered = ", ".join(need.options if need else ())
        raise Problem(422, f"The answers are: {offered}.", faults=["That is none of the answers."]) from error
    return ApiAnswer({"id": found.id, "answer": found.answer, "by": found.answered_by, "at": found.answered_at})


def session_of(visit: Visit) -> Session:
    """Return the session of a request, whose changes are by the person who sent it."""
    return visit.board.session(visit.board.row(visit.key).name, visit.visitor.name)


def _what(moved: moves.Moved) -> str:
    return "; ".join(moved.sentences(numbers=False))


def _moved_data(session: Session, what: str) -> Data:
    state = session.state
    return {"head": state.head, "plan": plan_data(state.plan), "what": what}


def _moved_answer(session: Session, moved: moves.Moved) -> ApiAnswer:
    return ApiAnswer(_moved_data(session, _what(moved)))


def _answered(need: Need) -> Problem:
    by = need.answered_by or "Somebody"
    seconds = max(0, now() - need.answered_at) // 1000
    error = f"{by} answered it {seconds} s ago: {need.answer}"
    return Problem(409, error, answer=need.answer, by=need.answered_by, at=need.answered_at)
