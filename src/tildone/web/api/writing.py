"""Changing: edits of a plan, undo and redo, restoring an earlier plan, steering an agent, answering a question."""

from __future__ import annotations

from itertools import islice

from tildone.app.answering import answer_need
from tildone.app.steering import STEERED, steer_sessions
from tildone.core.ops import Write
from tildone.core.plan import Plan
from tildone.core.reduce import Outcome, Step, reduce
from tildone.errors import NotFound, Refused, UnknownEvent, UsageError
from tildone.history.changes import changes
from tildone.history.sentences import change_sentences
from tildone.ids import now
from tildone.log.events import Directive, Event, PlanChanged
from tildone.log.needs import Need, NeedAnswered
from tildone.log.state import latest_state
from tildone.log.tree import SessionHead
from tildone.session import Session
from tildone.value import replace
from tildone.web.api.visit import Visit
from tildone.web.data import Data, plan_data
from tildone.web.editing.applying import Applied, CheckRunning, Clashed, Faulty, apply_ops
from tildone.web.editing.ops import BadOps
from tildone.web.editing.reverting import attributes_before, plan_without
from tildone.web.http.answers import ApiAnswer, Problem

MAX_EVENTS_BACK = 2000
"""How many events back a change can be taken back."""


class HeadDiffers(Exception):
    """The head is not the one that the person saw."""


def ops(visit: Visit) -> ApiAnswer:
    """Apply ops to a plan."""
    session = session_of(visit)
    try:
        result = apply_ops(session, visit.seen_head, visit.body.get("ops"), visit.board.checks)
    except BadOps as error:
        raise Problem(400, str(error)) from error
    except UnknownEvent as error:
        raise Problem(409, "The plan that you saw is gone.", "Load the page again.") from error
    except CheckRunning as error:
        raise Problem(409, "Its check is running already.", "Wait for its result.") from error
    match result:
        case Applied(head, plan, event, rebased, unproved):
            done = {"head": head, "plan": plan_data(plan), "event": event, "rebased": rebased}
            return ApiAnswer(done | {"unproved": list(unproved)})
        case Clashed(head, plan, clashes):
            words = "Somebody else changed the same task."
            raise Problem(409, words, head=head, plan=plan_data(plan), clash=list(clashes))
        case Faulty(faults):
            raise Problem(422, "; ".join(faults), faults=list(faults))


def undo(visit: Visit) -> ApiAnswer:
    """Take back a change: the one that is named, else the newest one that the person saw."""
    session = session_of(visit)
    wanted = visit.text("event", required=False) or _newest_change(session, visit.seen_head).id
    recent = list(islice(session.store.history(session.name), MAX_EVENTS_BACK))
    found = next((event for event in recent if event.id == wanted), None)
    if found is None or not isinstance(found.fact, PlanChanged):
        raise Problem(422, "That is no change of this plan.", faults=["That is no change of this plan."])
    newest = next(event for event in recent if isinstance(event.fact, PlanChanged))
    before = latest_state(session.store.history(session.name, found.parent)).plan if found.parent else Plan()
    what = "; ".join(change_sentences(changes(before, found.fact.plan), numbers=False))
    if found is newest and _moved_back(session, found):
        return _moved_answer(session, what)
    _take_back(session, before, found)
    return _moved_answer(session, what)


def redo(visit: Visit) -> ApiAnswer:
    """Redo the change that was undone last."""
    session = session_of(visit)
    _check_head(session, visit.seen_head)
    return _moved_answer(session, _difference(session.redo()))


def restore(visit: Visit) -> ApiAnswer:
    """Move to the plan of an event. `left` is the event to restore in order to return."""
    session, seen = session_of(visit), visit.seen_head
    target = visit.text("event", required=False) or None

    def choose(current: SessionHead) -> SessionHead:
        if (current.head or "") != seen:
            raise HeadDiffers
        return SessionHead(target)

    try:
        outcome = session.move(choose)
    except HeadDiffers as error:
        raise _differs(session) from error
    return ApiAnswer({**_moved_data(session, _difference(outcome)), "left": seen or None})


def steer(visit: Visit) -> ApiAnswer:
    """Pause, stop or resume the agent."""
    known = {directive.value: directive for directive in Directive} | {"resume": Directive.GO}
    directive = known.get(visit.text("course"))
    if directive is None:
        raise Problem(400, "course has to be pause, stop or go.")
    session = session_of(visit)
    steer_sessions(visit.board.settings, [session], directive)
    return _moved_answer(session, STEERED[directive])


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
        need = board.store.need(visit.item)
        offered = ", ".join(need.options if need else ())
        raise Problem(422, f"The answers are: {offered}.", faults=["That is none of the answers."]) from error
    return ApiAnswer({"id": found.id, "answer": found.answer, "by": found.answered_by, "at": found.answered_at})


def session_of(visit: Visit) -> Session:
    """Return the session of a request, whose changes are by the person who sent it."""
    return visit.board.session(visit.board.row(visit.key).name, visit.visitor.name)


def _newest_change(session: Session, head: str) -> Event:
    events = islice(session.store.history(session.name, head), MAX_EVENTS_BACK) if head else ()
    found = next((event for event in events if isinstance(event.fact, PlanChanged)), None)
    if found is None:
        raise Refused("there is nothing to undo")
    return found


def _moved_back(session: Session, newest: Event) -> bool:
    """Undo the newest change by moving the head. Return False if it is no longer the newest one."""

    def choose(current: SessionHead) -> SessionHead:
        found = next((each for each in session.store.history(session.name) if isinstance(each.fact, PlanChanged)), None)
        if found is None or found.id != newest.id:
            raise HeadDiffers
        return SessionHead(newest.parent, (current.head or newest.id, *current.redo))

    try:
        session.move(choose)
    except HeadDiffers:
        return False
    return True


def _take_back(session: Session, before: Plan, event: Event) -> None:
    """Record a change that takes back an earlier one."""
    touched: list[str] = []
    after = event.fact.plan if isinstance(event.fact, PlanChanged) else before

    def steps(plan: Plan) -> list[Step]:
        nonlocal touched
        attributes, touched = attributes_before((before, after), plan)
        # A task is completed again only after its check is as it was.
        found = plan_without((before, after), reduce(plan, attributes, session.dialect.rules).after)
        touched = [*touched, *(found if isinstance(found, list) else [])]
        return [] if touched or isinstance(found, list) else [*attributes, Write(found.phases)]

    outcome = session.change(steps, rules=replace(session.dialect.rules, atomic=True))
    if touched:
        error = "Later changes touched the same tasks."
        raise Problem(409, error, "Undo those first, or restore an earlier plan.", touched=touched)
    if outcome.faults:
        raise Problem(422, "The plan does not allow it.", faults=["The plan does not allow it."])


def _check_head(session: Session, seen: str) -> None:
    if (session.store.session_head(session.name).head or "") != seen:
        raise _differs(session)


def _differs(session: Session) -> Problem:
    state = session.state
    return Problem(409, "The plan has changed meanwhile.", head=state.head, plan=plan_data(state.plan))


def _difference(outcome: Outcome) -> str:
    return "; ".join(change_sentences(changes(outcome.before, outcome.after), numbers=False))


def _moved_data(session: Session, what: str) -> Data:
    state = session.state
    return {"head": state.head, "plan": plan_data(state.plan), "what": what}


def _moved_answer(session: Session, what: str) -> ApiAnswer:
    return ApiAnswer(_moved_data(session, what))


def _answered(need: Need) -> Problem:
    by = need.answered_by or "Somebody"
    seconds = max(0, now() - need.answered_at) // 1000
    error = f"{by} answered it {seconds} s ago: {need.answer}"
    return Problem(409, error, answer=need.answer, by=need.answered_by, at=need.answered_at)
