"""In a real client: a task with a check is done when that passes, and not before; the gate knows the difference.

`opencode run` ends at the first stop whatever is left, so opencode is held in its server, as in its interfaces.
"""

from time import sleep

import pytest

from tests.clients.checked_plan import MADE, CheckedPlan, install_in_repository
from tests.clients.driving import (
    ALL,
    HEADLESS,
    SETTLING_SECONDS,
    STOP,
    TERMINAL,
    ActingModel,
    MakeSandbox,
    conversation,
    in_both_modes,
    in_every_client,
    needs_tmux,
    shell,
)
from tests.clients.inside import TASK, InstalledClient, last_message
from tests.clients.situations import CONTINUATIONS, proves
from tests.clients.tui import ESCAPE, at_terminal
from tests.host.models.model_server import Turn
from tests.suite.forking import PROGRAM
from tildone.plan.model import Check, Result

pytestmark = pytest.mark.slow

PARSER = "Write the parser"
DONE: Turn = {"tool": "todo", "args": {"done": 1}}
NO_PROGRAM = Check(("no-such-program",))
REMOVE = "rm -rf src"
PROPOSE: Turn = {"tool": "todo", "args": {"check": f"1 {REMOVE}"}}


@in_every_client
@in_both_modes
@proves("failed check")
def test_a_failed_check_holds_the_agent_until_it_passes(name: str, mode: str, make_sandbox: MakeSandbox) -> None:
    plan: CheckedPlan
    makes = {**DONE, "do": lambda: plan.write("made.py", "x = 1\n")}
    with ActingModel(name, mode, DONE, STOP, makes, ALL) as model:
        client = install_in_repository(mode, name, make_sandbox(model))
        plan = CheckedPlan(client, PARSER)
        plan.check(1, MADE)
        work(client, mode, ALL)

    told = [last_message(request) for request in model.requests]
    assert len(told) == 4
    assert "failed with exit code 1" in told[1]
    assert "no parser" in told[1]
    assert told[2].count("check failed `") == 1
    assert "failed" not in told[3]
    assert (client.tasks, plan.continuations) == ([(PARSER, "completed")], CONTINUATIONS["failed check"])


@in_every_client
@in_both_modes
@proves("stale check")
def test_a_stale_proof_holds_the_agent_until_the_check_passes_again(
    name: str, mode: str, make_sandbox: MakeSandbox
) -> None:
    plan: CheckedPlan
    edits = {**STOP, "do": lambda: plan.write("parser.py", "x = 2\n")}
    with ActingModel(name, mode, DONE, edits, DONE, ALL) as model:
        client = install_in_repository(mode, name, make_sandbox(model))
        plan = CheckedPlan(client, PARSER)
        plan.check(1, MADE)
        plan.write("made.py", "x = 1\n")
        work(client, mode, ALL)

    told = [last_message(request) for request in model.requests]
    assert len(told) == 4
    assert "mark it done again" in told[2]
    assert "all done" in told[3]
    assert (client.tasks, plan.continuations) == ([(PARSER, "completed")], CONTINUATIONS["stale check"])


@in_every_client
def test_a_check_that_the_person_sets_while_the_agent_works_is_run_when_it_is_done(
    name: str, make_sandbox: MakeSandbox
) -> None:
    """The agent has read the plan without it."""
    client: InstalledClient
    plan: CheckedPlan
    sets = {**DONE, "do": lambda: client.tildone("todo", "check", "1", "--", *MADE.command)}
    makes = {**DONE, "do": lambda: plan.write("made.py", "x = 1\n")}
    with ActingModel(name, HEADLESS, {"tool": "todo", "args": {"add": [PARSER]}}, sets, makes, ALL) as model:
        client = install_in_repository(HEADLESS, name, make_sandbox(model))
        plan = CheckedPlan(client)
        work(client, HEADLESS, ALL)

    told = [last_message(request) for request in model.requests]
    assert "no parser" in told[2]
    assert "not run" not in "".join(told)
    assert client.tasks == [(PARSER, "completed")]
    assert [proof.result for proof in plan.proofs if proof is not None] == [Result.PASSED]


@in_every_client
@in_both_modes
@proves("inconclusive check")
def test_an_inconclusive_check_lets_the_agent_go(name: str, mode: str, make_sandbox: MakeSandbox) -> None:
    with ActingModel(name, mode, DONE, STOP) as model:
        client = install_in_repository(mode, name, make_sandbox(model))
        plan = CheckedPlan(client, PARSER)
        plan.check(1, NO_PROGRAM)
        work(client, mode, STOP)

    told = [last_message(request) for request in model.requests]
    assert len(told) == 2
    assert "is inconclusive: it could not be started" in told[1]
    assert (client.tasks, plan.continuations) == ([(PARSER, "blocked")], CONTINUATIONS["inconclusive check"])


@in_every_client
@proves("unapproved check")
def test_a_check_that_the_model_wrote_is_not_run(name: str, make_sandbox: MakeSandbox) -> None:
    """Neither one of its tool nor one of its shell, in which it can approve nothing."""
    typed = f"{PROGRAM} todo check 2 -- {REMOVE}; {PROGRAM} approve 1 2 --yes; {PROGRAM} todo done 2"
    with ActingModel(name, HEADLESS, PROPOSE, shell(name, typed), DONE, STOP) as model:
        client = install_in_repository(HEADLESS, name, make_sandbox(model))
        plan = CheckedPlan(client, PARSER, "Clean up")
        work(client, HEADLESS, STOP)

    told = [last_message(request) for request in model.requests]
    assert len(told) == 4
    assert "1 waits for a person to approve its check" in told[3]
    assert (plan.work / "src" / "parser.py").exists()
    assert client.tasks == [(PARSER, "blocked"), ("Clean up", "blocked")]
    assert plan.continuations == CONTINUATIONS["unapproved check"]


@pytest.mark.long
@needs_tmux
@proves("unapproved check", tui=True, client="claude")
def test_claude_code_asks_the_person_whether_a_check_may_be_run(make_sandbox: MakeSandbox) -> None:
    with ActingModel("claude", TERMINAL, PROPOSE, DONE, STOP) as model:
        client = install_in_repository(TERMINAL, "claude", make_sandbox(model))
        plan = CheckedPlan(client, PARSER)
        with at_terminal(client) as screen:
            screen.say(TASK)
            screen.until('May this command be run? ["rm", "-rf", "src"]')
            screen.send(ESCAPE)
            screen.until(STOP["text"])
            sleep(SETTLING_SECONDS)

    assert "1 waits for a person to approve its check" in last_message(model.requests[2])
    assert (plan.work / "src" / "parser.py").exists()
    assert (client.tasks, plan.continuations) == ([(PARSER, "blocked")], CONTINUATIONS["unapproved check"])


def test_opencode_run_ends_at_its_first_stop_with_a_failed_check(make_sandbox: MakeSandbox) -> None:
    """The task stays in progress, so that the next agent, or the same one in an interface, is held to it."""
    with ActingModel("opencode", HEADLESS, DONE, STOP) as model:
        client = install_in_repository(HEADLESS, "opencode", make_sandbox(model))
        plan = CheckedPlan(client, PARSER)
        plan.check(1, MADE)
        result = client.run()

    assert result.code == 0, result
    assert len(model.requests) == 2
    assert (client.tasks, plan.continuations) == ([(PARSER, "in_progress")], 0)


def work(client: InstalledClient, mode: str, last: Turn) -> None:
    """Let the client work until the model has said the last words, and it may stop."""
    with conversation(client, mode) as say:
        say(TASK, last["text"])
        if mode != HEADLESS or client.name == "opencode":
            # That the agent may stop leaves no trace to wait for.
            sleep(SETTLING_SECONDS)
