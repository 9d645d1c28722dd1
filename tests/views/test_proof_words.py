"""The state of a check in a few words."""

import pytest

from tildone.base import replace
from tildone.plan.model import Check, Proof, Result
from tildone.plan.text.proofs import program_words, proof_words

CHECK = Check(("make",))


def proof(result: Result, code: int | None = None, reason: str = "", command: tuple[str, ...] = ("make",)) -> Proof:
    return Proof(result, command, exit_code=code, reason=reason)


@pytest.mark.parametrize(
    ("found", "allowed", "words"),
    [
        (None, True, ""),
        (None, False, "proposed"),
        (proof(Result.PASSED, 0), True, "passed"),
        (replace(proof(Result.PASSED, 0), imported=True), True, "stale"),
        (proof(Result.PASSED, 0, command=("make", "other")), True, ""),
        (proof(Result.FAILED, 2, "`make` failed with exit code 2"), True, "failed (exit 2)"),
        (proof(Result.FAILED), True, "failed"),
        (proof(Result.INCONCLUSIVE, None, "`make` is inconclusive: it\x1b hung"), True, "inconclusive: it␛ hung"),
        (proof(Result.INCONCLUSIVE, None, "it hung"), True, "inconclusive: it hung"),
        (proof(Result.REFUSED), False, "proposed"),
        (proof(Result.REFUSED), True, ""),
    ],
)
def test_the_state_of_a_check(found: Proof | None, words: str, *, allowed: bool) -> None:
    assert proof_words(CHECK, found, allowed=allowed) == words


def test_a_stale_proof_is_stale_whatever_it_says() -> None:
    assert proof_words(CHECK, proof(Result.PASSED, 0), stale=True) == "stale"


def test_the_program_that_ran_is_named_by_path_and_digest() -> None:
    ran = replace(proof(Result.PASSED, 0), program="/bin/make")

    assert program_words(proof(Result.PASSED, 0)) == ""
    assert program_words(ran) == "/bin/make (sha256 not known)"
    assert program_words(replace(ran, program_sha256="5e")) == "/bin/make (sha256 5e)"
