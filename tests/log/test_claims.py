"""Claims as records: which one counts, and what is left of those that are given back."""

from tildone.plan.claims import RELEASED, Claim, Claimant, newest, released

FIRST = Claim(1, 1, 9, Claimant("ada"))
SUCCESSOR = Claim(1, 2, 12, Claimant("bob"), Claimant("ada"))
OTHER = Claim(2, 1, 9, Claimant("ada"))


def test_the_claim_with_the_highest_epoch_counts_in_any_order() -> None:
    assert newest([SUCCESSOR, FIRST, OTHER]) == newest([OTHER, FIRST, SUCCESSOR]) == {1: SUCCESSOR, 2: OTHER}


def test_an_agent_that_gives_all_back_keeps_no_claim_that_it_has_lost() -> None:
    """The claim of its successor stays as it is."""
    after = released([FIRST, SUCCESSOR, OTHER], "ada", None)

    assert [(claim.task, claim.agent, claim.until) for claim in after] == [(1, "bob", 12), (2, "ada", RELEASED)]


def test_only_the_claims_of_some_tasks_are_given_back() -> None:
    after = released([FIRST, SUCCESSOR, OTHER], "ada", frozenset({1}))

    assert after == [SUCCESSOR, OTHER]
