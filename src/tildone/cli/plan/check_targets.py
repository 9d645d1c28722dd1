"""The checks that a command line names, and their states in words: for `todo check`, `verify` and `approve`."""

from __future__ import annotations

from tildone.app.check_states import owner_name
from tildone.app.edits import error_of
from tildone.cli.opening import shows_positions
from tildone.cli.plan.applying import words
from tildone.commands.answer import Answer
from tildone.commands.targets import find_tasks, label
from tildone.core.guard import PLAN
from tildone.errors import Refused
from tildone.log.check_codec import check_to_json, proof_to_json
from tildone.typing import TYPE_CHECKING
from tildone.value import value
from tildone.views.plan_lines import STALE
from tildone.views.proofs import proof_words

if TYPE_CHECKING:
    from collections.abc import Container

    from tildone.app.check_facts import CheckFacts
    from tildone.cli.parsing.table import ParsedArgs
    from tildone.core.check import Check, Proof
    from tildone.core.plan import Plan
    from tildone.session import Session


@value
class NamedCheck:
    """A check, its last proof, and whose it is; `number` is PLAN for that of the plan."""

    number: int
    name: str
    check: Check
    proof: Proof | None


def checks_of(plan: Plan, numbers: Container[int] | None = None) -> list[NamedCheck]:
    """Return the checks in a plan, that of the plan itself last; with `numbers`, only those of these tasks."""
    checks = [NamedCheck(task.number, label(task), task.check, task.proof) for task in plan.tasks if task.check]
    if plan.check is not None:
        checks.append(NamedCheck(PLAN, "the plan", plan.check, plan.proof))
    return [each for each in checks if numbers is None or each.number in numbers]


def targets_of(args: ParsedArgs, session: Session) -> frozenset[int]:
    """Return the numbers of the tasks that the arguments name, and PLAN with `--plan`; empty if they name none.

    Raises:
        TildoneError: there is no such task, or it has no check.
    """
    plan = session.plan
    numbers = [PLAN] if args.has("plan") else []
    if args.positional:
        found = find_tasks(plan, words(args), positions=shows_positions(args, session))
        if isinstance(found, Answer):
            raise error_of(found)
        numbers += found.numbers
    known = {each.number for each in checks_of(plan)}
    without = [number for number in numbers if number not in known]
    if without:
        raise Refused(f"{owner_name(without[0])} has no check; to set one: tildone todo check TASK -- COMMAND")
    return frozenset(numbers)


def state_words(each: NamedCheck, states: CheckFacts) -> str:
    """Return the state of a check in a few words."""
    is_stale = each.number in states.stale
    if is_stale and each.number != PLAN:
        return STALE
    allowed = each.number not in states.proposed
    return proof_words(each.check, each.proof, stale=is_stale, allowed=allowed) or "not run yet"


def check_data(each: NamedCheck, states: CheckFacts) -> dict[str, object]:
    """Return a check with its proof and its state; `number` is None for that of the plan."""
    stale = {"stale": True} if each.number in states.stale else {}
    proof = {} if each.proof is None else {"proof": proof_to_json(each.proof)}
    approved = each.number not in states.proposed
    return {"number": each.number or None, "check": check_to_json(each.check), **proof, "approved": approved, **stale}
