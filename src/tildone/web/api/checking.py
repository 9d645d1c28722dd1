"""Checks of tasks and of the plan: what is known about them here, setting and approving them, running them again.

Approving a command means that it is run on the machine of the board. Only the person who started the board may do so:
what others set is proposed.
"""

from __future__ import annotations

from tildone.app.checks import changed_meanwhile, owner, typed_check
from tildone.core.check import Result
from tildone.errors import NotFound
from tildone.session import Session
from tildone.views.proofs import check_text
from tildone.web.api.visit import Visit
from tildone.web.api.writing import session_of
from tildone.web.data import Data, claims_data, facts_data, plan_data, proof_data
from tildone.web.http.answers import ApiAnswer, Problem


def checks(visit: Visit) -> ApiAnswer:
    """Return which proofs are stale, which checks wait for approval or are being run, and who works on which task."""
    board, name = visit.board, visit.board.row(visit.key).name
    state = board.state(name)
    facts = board.checks.facts(name, state.plan)
    claims = claims_data(state.plan, board.store.records.claims(name))
    return ApiAnswer({"head": state.head, **facts_data(facts, may_approve=_may_approve(visit)), "claims": claims})


def set_check(visit: Visit) -> ApiAnswer:
    """Set a check to a command line; an empty one removes it."""
    session, number = _session_and_number(visit)
    was = owner(session.plan, number).check
    if visit.text("base", required=False) != (check_text(was) if was else ""):
        raise changed_meanwhile(session, number, was)
    check = typed_check(visit.text("line"), was)
    found = visit.board.checks.set_check(session, number, check, was, approves=_may_approve(visit))
    event = session.last_state.head if found.edited.outcome.changed else None
    return ApiAnswer(_plan(session) | {"event": event, "approved": found.approved, "warnings": list(found.warnings)})


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
    return ApiAnswer(_plan(session) | {"warnings": warnings})


def verify(visit: Visit) -> ApiAnswer:
    """Run a check again. The answer comes when it has ended."""
    session, number = _session_and_number(visit)
    _, proofs = visit.board.checks.verify(session, [number])
    unproved = [proof_data(*each) for each in proofs.items() if each[1].result is not Result.PASSED]
    return ApiAnswer(_plan(session) | {"unproved": unproved})


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


def _plan(session: Session) -> Data:
    state = session.state
    return {"head": state.head, "plan": plan_data(state.plan)}
