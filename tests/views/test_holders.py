"""Who works on a task, as a person is told."""

from tildone.plan.claims import Claim, Claimant
from tildone.plan.text.claims import holder_text

MINUTE = 60_000
HELD = Claim(1, 2, 10 * MINUTE, Claimant("claude:1"))


def test_a_claim_says_for_how_long_others_leave_the_task_alone() -> None:
    assert holder_text(HELD, 6 * MINUTE) == "held by claude:1 for 4 min"
    assert holder_text(HELD, 10 * MINUTE - 1) == "held by claude:1 for 1 min"


def test_a_claim_that_has_lapsed_says_that_others_can_take_the_task_over() -> None:
    assert holder_text(HELD, 10 * MINUTE) == "left by claude:1: others can take it over"


def test_a_claim_says_from_whom_the_task_was_taken_over() -> None:
    taken = Claim(1, 3, 10 * MINUTE, Claimant("claude:1"), Claimant("codex:2"))

    assert holder_text(taken, 0) == "held by claude:1 for 10 min, taken over from codex:2"


def test_the_name_of_an_agent_is_short_and_cannot_act_on_the_terminal() -> None:
    text = holder_text(Claim(1, 1, MINUTE, Claimant("\x1b[2J" + "x" * 60)), 0)

    assert text == "held by ␛[2Jxxxxxxxxxxx… for 1 min"
