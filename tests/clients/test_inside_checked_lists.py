"""In a real client, a task of the client's own todo list that has a check is done when its check passes."""

import sys

import pytest

from tests.clients.checked_plan import MADE, CheckedPlan, install_in_repository
from tests.clients.driving import HEADLESS, ActingModel, MakeSandbox, conversation, in_both_modes
from tests.clients.inside import GO_ON, TASK, last_message, without_tools
from tests.clients.situations import CONTINUATIONS, proves
from tests.clients.test_inside_lists import LISTS, PARSER, WIRE, with_its_list
from tests.host.models.model_server import Turn
from tildone.plan.model import Check

pytestmark = pytest.mark.slow

STOP: Turn = {"text": "I stop here."}
ALL: Turn = {"text": "All of it is done."}
ASK: Turn = {"text": "Shall I go on?"}
SLOW = Check((sys.executable, "-c", "import time; time.sleep(100)"))


@pytest.mark.parametrize("case", LISTS)
@in_both_modes
@proves("checked native list")
def test_a_task_of_the_clients_own_list_is_done_when_its_check_passes(
    case: str, mode: str, make_sandbox: MakeSandbox
) -> None:
    """The model ticks both tasks off, hears that one of them is not done, and is held to that one."""
    name = case.partition("-")[0]
    plan: CheckedPlan
    write, tick = LISTS[case]
    early = {**tick, "do": lambda: plan.check(1, MADE)}
    again = {**tick, "do": lambda: plan.write("made.py", "x = 1\n")}
    with ActingModel(name, mode, write, early, STOP, again, ALL) as model:
        client = with_its_list(install_in_repository(mode, name, make_sandbox(model)), case)
        plan = CheckedPlan(client)
        with conversation(client, mode) as say:
            say(TASK, ALL["text"])

    # Codex adds what a hook says apart from the result of the tool.
    told = without_tools(model.requests[2])
    assert f"“{PARSER}” is not done: " in told
    assert "failed with exit code 1" in told
    assert "no parser" in told
    nudge = last_message(model.requests[3])
    assert (GO_ON in nudge, PARSER in nudge, WIRE in nudge) == (True, True, False)
    assert len(model.requests) == 5
    assert client.tasks == [(PARSER, "completed"), (WIRE, "completed")]
    assert plan.continuations == CONTINUATIONS["checked native list"]


@pytest.mark.parametrize("case", LISTS)
def test_a_check_that_takes_longer_than_a_hook_may_leaves_the_task_unproved(
    case: str, make_sandbox: MakeSandbox
) -> None:
    """The model is told which command runs it, and the client does not wait for it."""
    name = case.partition("-")[0]
    plan: CheckedPlan
    write, tick = LISTS[case]
    early = {**tick, "do": lambda: plan.check(1, SLOW)}
    with ActingModel(name, HEADLESS, write, early, ASK) as model:
        client = with_its_list(install_in_repository(HEADLESS, name, make_sandbox(model)), case)
        plan = CheckedPlan(client)
        with conversation(client, HEADLESS) as say:
            say(TASK, ASK["text"])

    assert "Run: tildone verify 1" in without_tools(model.requests[2])
    assert client.tasks == [(PARSER, "in_progress"), (WIRE, "completed")]
    assert plan.proofs[0] is None
