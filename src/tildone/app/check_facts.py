"""What is known of the checks of a plan beside the plan itself."""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, value
from tildone.plan.guard import PLAN
from tildone.plan.model import has_checks

if TYPE_CHECKING:
    from tildone.log.session import Session
    from tildone.plan.model import Check, Plan


@value
class CheckFacts:
    """What is known here beside the plan, by the numbers of tasks; PLAN stands for the plan itself.

    The files of `stale` proofs have changed since. Checks that are `proposed` wait for the approval of a person. Those
    in `checking` are being run. `is_here` means that the working tree is on this machine: without it, the other facts
    are not known.
    """

    stale: frozenset[int] = frozenset()
    proposed: frozenset[int] = frozenset()
    checking: frozenset[int] = frozenset()
    is_here: bool = False


NO_FACTS = CheckFacts()


def check_facts(session: Session, plan: Plan) -> CheckFacts:
    """Return what is known of the checks in a plan of the session, which belongs to the working tree here."""
    if not has_checks(plan) or session.parts.prover is None:
        return NO_FACTS
    # Late, because most plans have no checks.
    from tildone.plan.changing import stale_numbers

    prover = session.parts.prover()
    checks: dict[int, Check | None] = {task.number: task.check for task in plan.tasks} | {PLAN: plan.check}
    proposed = frozenset(number for number, check in checks.items() if check and not prover.is_allowed(check))
    return CheckFacts(stale_numbers(plan, lambda: prover), proposed, is_here=True)
