"""A broken tildone does not disturb the client it is installed in."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.clients.agents import Sandbox
from tests.clients.breaking import WAYS
from tests.clients.driving import HEADLESS, in_both_modes, install_in, needs_tmux
from tests.clients.inside import CLIENTS, TASK, InstalledClient, install, program
from tests.clients.model import Model
from tests.clients.situations import proves
from tests.clients.tui import at_terminal, install_for_terminal
from tests.suite.forking import PROGRAM

pytestmark = pytest.mark.slow
MakeSandbox = Callable[[Model], Sandbox]

WRONG = {
    "fails": "exit 1",
    "babbles": 'echo \'{"decision": 7, "prompt": [], "tools": {"a": 1}\'; echo \'not JSON: }{\' >&2; exit 0',
    "hangs": "exec sleep 600",
}
TIMEOUTS = {
    "claude": {'"timeout": 10': '"timeout": 1'},
    "codex": {"timeout = 10": "timeout = 1"},
    "gemini": {'"timeout": 10000': '"timeout": 1000'},
    "opencode": {"const TIMEOUT_SECONDS = 10": "const TIMEOUT_SECONDS = 1", '"timeout": 10000': '"timeout": 1000'},
    "pi": {"const TIMEOUT_SECONDS = 10": "const TIMEOUT_SECONDS = 1"},
}
"""The timeouts that an installation sets, and shorter ones for the tests."""

TOLD = ("bad config", "full disk", "unusable store")
"""The situations of which a person is told when a conversation begins."""

in_every_client = pytest.mark.parametrize("name", CLIENTS)


@in_every_client
@pytest.mark.parametrize("wrong", WRONG)
@in_both_modes
@proves("broken program")
def test_a_client_works_with_a_tildone_that_is_something_else(
    name: str, wrong: str, mode: str, make_sandbox: MakeSandbox, tmp_path: Path
) -> None:
    """A command that fails, prints garbage, or never ends."""
    with Model({"text": "Hello from the script."}) as model:
        client = install_in(mode, name, make_sandbox(model))
        client.rewrite(str(PROGRAM), str(program(tmp_path / "bin", WRONG[wrong])))
        if wrong == "hangs":
            client = with_short_timeouts(client)
        if mode == HEADLESS:
            check_unaffected(client, model)
            return
        with at_terminal(client, works=False) as screen:
            screen.say(TASK)
            screen.until("Hello from the script.")

    assert len(model.requests) == 1


@in_every_client
@pytest.mark.parametrize("situation", WAYS)
@proves()
def test_a_client_works_with_a_broken_tildone(
    name: str, situation: str, make_sandbox: MakeSandbox, tmp_path: Path
) -> None:
    """It prints the answer of the model, which is asked once."""
    with Model({"text": "Hello from the script."}) as model:
        client = install(name, make_sandbox(model))
        with WAYS[situation](client, tmp_path):
            check_unaffected(client, model)


@in_every_client
@pytest.mark.parametrize("situation", WAYS)
@pytest.mark.long
@needs_tmux
@proves(tui=True)
def test_a_person_at_a_terminal_is_told_of_a_broken_tildone(
    name: str, situation: str, make_sandbox: MakeSandbox, tmp_path: Path
) -> None:
    """By the client, which goes on; without a program there is nobody to tell it, and a new store is not a loss."""
    with Model({"text": "Hello from the script."}) as model:
        client = install_for_terminal(name, make_sandbox(model))
        with WAYS[situation](client, tmp_path), at_terminal(client, works=False) as screen:
            screen.say(TASK)
            if situation in TOLD:
                screen.until("tildone does not work")
            screen.until("Hello from the script.")

    assert len(model.requests) == 1


def with_short_timeouts(client: InstalledClient) -> InstalledClient:
    """Shorten the timeouts of the client, and return it."""
    for installed, short in TIMEOUTS[client.name].items():
        client.rewrite(installed, short)
    # The tests make Claude Code wait for its MCP servers, which it does not do by default.
    environ = client.start.environ | {"MCP_TIMEOUT": "1000"}
    return replace(client, start=replace(client.start, environ=environ))


def check_unaffected(client: InstalledClient, model: Model) -> None:
    """Check that the client works as it does without tildone."""
    result = client.run()

    assert result.code == 0, result
    assert result.out.strip() == "Hello from the script.", result
    assert len(model.requests) == 1
