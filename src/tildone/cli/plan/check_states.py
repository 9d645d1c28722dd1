"""What is known of the checks of a plan besides their proofs: which are stale, and which nobody has approved."""

from __future__ import annotations

from tildone.core.guard import PLAN
from tildone.core.query import has_checks
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from tildone.core.check import Check
    from tildone.core.plan import Plan
    from tildone.session import Session


@value
class CheckStates:
    """The numbers of the tasks whose proofs are stale, and of those whose checks are proposed; PLAN is the plan."""

    stale: frozenset[int] = frozenset()
    proposed: frozenset[int] = frozenset()


NO_CHECKS = CheckStates()


def check_states(session: Session, plan: Plan) -> CheckStates:
    """Return the states of the checks in a plan of the session."""
    if not has_checks(plan) or session.prover is None:
        return NO_CHECKS
    # Late, because most plans have no checks.
    from tildone.loop.proving import stale_numbers  # noqa: PLC0415  see above

    prover = session.prover()
    checks: dict[int, Check | None] = {task.number: task.check for task in plan.tasks} | {PLAN: plan.check}
    proposed = frozenset(number for number, check in checks.items() if check and not prover.is_allowed(check))
    return CheckStates(stale_numbers(plan, lambda: prover), proposed)
