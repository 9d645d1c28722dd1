"""The state of a check in words: the first of these that holds."""

import pytest

from tildone.app.check_states import CheckFacts, CheckWord, check_state
from tildone.plan.model import Check, Proof, Result

CHECK = Check(("pytest", "-q"))
ALL = frozenset({1})


def proof(result: Result, command: tuple[str, ...] = CHECK.command, **more: str | int) -> Proof:
    return Proof(result, command, **more)  # type: ignore[arg-type]  # fields by name


@pytest.mark.parametrize(
    ("known", "facts", "word", "text"),
    [
        (None, CheckFacts(), CheckWord.NONE, ""),
        (proof(Result.PASSED), CheckFacts(), CheckWord.PASSED, "passed"),
        (proof(Result.PASSED, imported=True), CheckFacts(is_here=True), CheckWord.STALE, "stale"),
        (proof(Result.PASSED, ("make",)), CheckFacts(), CheckWord.NONE, ""),
        (proof(Result.PASSED), CheckFacts(stale=ALL), CheckWord.STALE, "stale"),
        (proof(Result.PASSED), CheckFacts(stale=ALL, checking=ALL), CheckWord.CHECKING, "checking…"),
        (proof(Result.FAILED, exit_code=2), CheckFacts(), CheckWord.FAILED, "failed (exit 2)"),
        (proof(Result.FAILED, exit_code=2), CheckFacts(proposed=ALL), CheckWord.PROPOSED, "proposed"),
        (proof(Result.REFUSED), CheckFacts(), CheckWord.PROPOSED, "proposed"),
        (proof(Result.REFUSED), CheckFacts(is_here=True), CheckWord.NONE, ""),
        (
            proof(Result.INCONCLUSIVE, reason="`pytest -q` is inconclusive: it took\x1b longer than 2 s"),
            CheckFacts(),
            CheckWord.INCONCLUSIVE,
            "inconclusive: it took␛ longer than 2 s",
        ),
    ],
)
def test_the_state_of_a_check(known: Proof | None, facts: CheckFacts, word: CheckWord, text: str) -> None:
    state = check_state(1, CHECK, known, facts)

    assert (state.word, state.text) == (word, text)
    assert check_state(2, CHECK, None, facts).word is CheckWord.NONE
