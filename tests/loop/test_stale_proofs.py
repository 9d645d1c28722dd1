"""Which proofs count as stale."""

from collections.abc import Mapping

from tests.plans import COMPLETED
from tildone.base import replace
from tildone.plan.changing import stale_numbers
from tildone.plan.model import Check, Plan, Proof, Result, Task, flat

CHECK = Check(("make",))
PASSED = Proof(Result.PASSED, ("make",), exit_code=0)


class EverythingChanged:
    """A prover for whom the files of every proof have changed."""

    def prove(self, checks: Mapping[int, Check]) -> Mapping[int, Proof]:
        return dict.fromkeys(checks, PASSED)

    def stale(self, proofs: Mapping[int, tuple[Check, Proof]]) -> frozenset[int]:
        return frozenset(proofs)

    def is_allowed(self, check: Check) -> bool:
        return check == CHECK


def test_open_tasks_count_only_if_they_are_asked_for() -> None:
    """A list shows done tasks as stale; a change that completes an open task does not trust its earlier proof."""
    plan = flat(
        Task("a", COMPLETED, number=1, check=CHECK, proof=PASSED),
        Task("b", number=2, check=CHECK, proof=PASSED),
        Task("c", number=3, check=CHECK),
    )

    assert stale_numbers(plan, EverythingChanged) == {1}
    assert stale_numbers(plan, EverythingChanged, also_open=True) == {1, 2}
    assert stale_numbers(plan, None) == stale_numbers(Plan(), EverythingChanged) == frozenset()


def test_an_imported_proof_is_stale_whatever_the_files_are() -> None:
    check = Check(("make",))
    proof = Proof(Result.PASSED, check.command, imported=True)
    plan = flat(Task("a", COMPLETED, number=1, check=check, proof=proof))

    assert stale_numbers(plan, None) == {1}
    assert stale_numbers(replace(plan, check=check, proof=proof), None) == {0, 1}
