"""In a real client at a terminal, a person is told once, in the client's own way, that a plan cannot be stored."""

import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.clients.breaking import full_disk
from tests.clients.driving import TERMINAL, ActingModel, MakeSandbox, install_in, needs_tmux
from tests.clients.inside import CLIENTS, TASK, InstalledClient
from tests.clients.situations import proves
from tests.clients.tui import Screen, at_terminal
from tests.host.models.model_server import Turn

pytestmark = [pytest.mark.slow, pytest.mark.long, needs_tmux]

PLAN: Turn = {"tool": "todo", "args": {"add": ["Write the parser", "Wire it up"]}}
STOP: Turn = {"text": "I stop here."}
LAST: Turn = {"text": "I stop again."}
NOT_WORKING = "tildone does not work, and the agent goes on without it"

in_every_client = pytest.mark.parametrize("name", CLIENTS)


@in_every_client
@pytest.mark.parametrize("script", [[LAST], [PLAN, LAST]], ids=["with a plan", "with a call"])
@proves("full disk", tui=True)
def test_a_person_is_told_once_of_a_full_disk(
    name: str, script: list[Turn], make_sandbox: MakeSandbox, tmp_path: Path
) -> None:
    """Whether there is a plan already, or the model calls the tool in vain. The agent goes on, and is not held."""
    with ActingModel(name, TERMINAL, *script) as model:
        client = install_in(TERMINAL, name, make_sandbox(model))
        if PLAN not in script:
            client.tildone("todo", "add", "Write the parser")
        with full_disk(client, tmp_path), at_terminal(client) as screen:
            screen.say(TASK)
            check_told_once(screen)

    assert len(model.requests) == len(script)


@in_every_client
@pytest.mark.parametrize("situation", ["deleted store", "locked store"])
@proves(tui=True)
def test_a_person_is_told_once_of_a_store_that_fails_during_the_work(
    name: str, situation: str, make_sandbox: MakeSandbox
) -> None:
    """At the stop at which the agent would have been continued."""
    client: InstalledClient
    with ExitStack() as breaks:

        def fail() -> None:
            if situation == "deleted store":
                client.data.rename(client.data.with_name("elsewhere"))
            else:
                breaks.enter_context(closing(locked(client)))

        with ActingModel(name, TERMINAL, PLAN, STOP, {**LAST, "do": fail}) as model:
            client = install_in(TERMINAL, name, make_sandbox(model))
            with at_terminal(client) as screen:
                screen.say(TASK)
                check_told_once(screen)

    assert len(model.requests) == 3


def check_told_once(screen: Screen) -> None:
    """Check that the person is told in one notice, and that the agent ends its turn."""
    screen.until(NOT_WORKING)
    screen.until(LAST["text"])
    screen.settle()
    # opencode shows a notice for a few seconds only.
    assert screen.plain.count("".join(NOT_WORKING.split())) <= 1


def locked(client: InstalledClient) -> sqlite3.Connection:
    """Lock the store for writing, from whichever thread."""
    connection = sqlite3.connect(client.data / "tildone.db", isolation_level=None, check_same_thread=False)
    connection.execute("BEGIN EXCLUSIVE")
    return connection
