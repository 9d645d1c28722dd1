"""The state of a check in a few words, from its proof and from what is known on this machine."""

from __future__ import annotations

from enum import Enum

from tildone.app.check_facts import CheckFacts
from tildone.base import value
from tildone.plan.guard import PLAN
from tildone.plan.model import Check, Proof, Result
from tildone.plan.text.safe import printable, single_line

_INCONCLUSIVE = " is inconclusive: "
"""What separates the command from the problem in the reason of a proof."""


def owner_name(number: int) -> str:
    """Return whose check it is: that of a task, or of the plan."""
    return "the plan" if number == PLAN else f"#{number}"


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


def check_state(number: int, check: Check, proof: Proof | None, facts: CheckFacts) -> CheckState:
    """Return the state of the check of a task; 0 stands for the plan itself."""
    if number in facts.checking:
        return CheckState(CheckWord.CHECKING, "checking…")
    if number in facts.stale:
        return CheckState(CheckWord.STALE, "stale")
    if number in facts.proposed:
        return CheckState(CheckWord.PROPOSED, "proposed")
    if proof is None or proof.command != check.command:
        return CheckState(CheckWord.NONE)
    return _recorded(proof, facts)


def _recorded(proof: Proof, facts: CheckFacts) -> CheckState:
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
