"""The state of each check in a few words: from its proof, and from what is known on this machine beside the plan."""

from __future__ import annotations

from enum import Enum

from tildone.base import TYPE_CHECKING, value
from tildone.plan.guard import PLAN
from tildone.plan.model import Check, Proof, Result, has_checks
from tildone.plan.text.safe import printable, single_line

if TYPE_CHECKING:
    from tildone.log.session import Session
    from tildone.plan.model import Plan

_INCONCLUSIVE = " is inconclusive: "
"""What separates the command from the problem in the reason of a proof."""


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


class CheckWord(Enum):
    """The state of a check. `NONE` means that it was not run yet, and may be."""

    NONE = ""
    CHECKING = "checking"
    STALE = "stale"
    PROPOSED = "proposed"
    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"


@value
class CheckState:
    """The state of a check, and what to say about it: `failed (exit 1)`. The text is printable."""

    word: CheckWord
    text: str = ""


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


def check_state(number: int, check: Check, proof: Proof | None, facts: CheckFacts) -> CheckState:
    if number in facts.checking:
        return CheckState(CheckWord.CHECKING, "checking…")
    if number in facts.stale:
        return CheckState(CheckWord.STALE, "stale")
    if number in facts.proposed:
        return CheckState(CheckWord.PROPOSED, "proposed")
    if proof is None or proof.command != check.command:
        return CheckState(CheckWord.NONE)
    match proof.result:
        case Result.PASSED:
            return CheckState(CheckWord.STALE, "stale") if proof.imported else CheckState(CheckWord.PASSED, "passed")
        case Result.FAILED:
            return CheckState(CheckWord.FAILED, f"failed (exit {proof.exit_code})")
        case Result.INCONCLUSIVE:
            problem = proof.reason.rpartition(_INCONCLUSIVE)[2]
            return CheckState(CheckWord.INCONCLUSIVE, f"inconclusive: {printable(single_line(problem))}")
        case Result.REFUSED:  # exhaustive
            # It was refused where it was run; on this machine, it is allowed by now.
            return CheckState(CheckWord.NONE) if facts.is_here else CheckState(CheckWord.PROPOSED, "proposed")


def owner_name(number: int) -> str:
    return "the plan" if number == PLAN else f"#{number}"
