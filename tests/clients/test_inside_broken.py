"""A broken tildone does not disturb the client it is installed in; a person is told once, in the way of the client."""

import contextlib
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.clients.driving import (
    HEADLESS,
    PLAN,
    STOP,
    TERMINAL,
    ActingModel,
    MakeSandbox,
    in_both_modes,
    in_every_client,
    install_in,
    needs_tmux,
    shell,
)
from tests.clients.inside import TASK, InstalledClient, install, program
from tests.clients.model import Model
from tests.clients.situations import proves
from tests.clients.tui import WAIT_SECONDS, Screen, at_terminal, install_for_terminal
from tests.host.models.model_server import Turn
from tests.suite.forking import PROGRAM

pytestmark = pytest.mark.slow

FULL_DISK = """\
mount -t tmpfs -o size=4m tmpfs /mnt || exit 0
cp -r {data}/. /mnt
mount --bind /mnt {data}
head -c 8000000 /dev/zero > {data}/filler 2> /dev/null
exec {program} "$@"
"""
"""A program whose data folder is on a full disk: a file system of its own, in a mount namespace of its own."""


@contextlib.contextmanager
def broken(way: str, client: InstalledClient, folder: Path) -> Iterator[None]:
    """Break tildone in a client in which it is installed."""
    if way in ("deleted store", "locked store"):
        client.tildone("todo", "add", "Old task")
        client.tildone("todo", "done", "1")
    with contextlib.ExitStack() as stack:
        match way:
            case "missing program":
                client.rewrite(str(PROGRAM), "/gone/bin/tildone")
            case "bad config":
                file = client.sandbox.home / ".config" / "tildone" / "config.toml"
                file.parent.mkdir(parents=True)
                file.write_text("dialect = [", encoding="utf-8")
            case "unusable store":
                (client.data / "tildone.db").mkdir(parents=True)
            case "deleted store":
                shutil.rmtree(client.data)
            case "locked store":
                stack.enter_context(contextlib.closing(locked(client)))
            case _:
                if not can_mount():
                    pytest.skip("this system does not let a user mount a file system")
                client.data.mkdir(parents=True, exist_ok=True)
                inner = program(folder / "inner", FULL_DISK.format(data=client.data, program=PROGRAM))
                client.rewrite(str(PROGRAM), str(program(folder / "bin", f'exec unshare -rm {inner} "$@"')))
        yield


def can_mount() -> bool:
    unshare = shutil.which("unshare")
    command = [str(unshare), "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return unshare is not None and subprocess.run(command, capture_output=True, check=False).returncode == 0


WAYS = ("missing program", "bad config", "full disk", "unusable store", "deleted store", "locked store")
"""The names of the situations."""

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
    "qwen": {'"timeout": 10000': '"timeout": 1000'},
    "copilot": {'"timeoutSec": 10': '"timeoutSec": 1'},
}
"""The timeouts that an installation sets, and shorter ones for the tests."""
TOLD = ("bad config", "full disk", "unusable store")
"""The situations of which a person is told when a conversation begins."""


@in_every_client
@pytest.mark.parametrize("wrong", WRONG)
@in_both_modes
@proves("broken program")
def test_a_client_works_with_a_tildone_that_is_something_else(
    name: str, wrong: str, mode: str, make_sandbox: MakeSandbox, tmp_path: Path
) -> None:
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
            # Copilot CLI waits a minute for a server that does not answer, and has no setting for that.
            screen.until("Hello from the script.", seconds=2 * WAIT_SECONDS)

    assert len(model.requests) == 1


@in_every_client
@pytest.mark.parametrize("situation", WAYS)
@proves()
def test_a_client_works_with_a_broken_tildone(
    name: str, situation: str, make_sandbox: MakeSandbox, tmp_path: Path
) -> None:
    with Model({"text": "Hello from the script."}) as model:
        client = install(name, make_sandbox(model))
        with broken(situation, client, tmp_path):
            check_unaffected(client, model)


@in_every_client
@pytest.mark.parametrize("script", ["exit 1", "exit 127"])
@proves("broken program")
def test_a_tool_of_a_client_works_although_the_hooks_around_it_fail(
    name: str, script: str, make_sandbox: MakeSandbox, tmp_path: Path
) -> None:
    with Model(shell(name, "touch worked"), {"text": "Hello from the script."}) as model:
        client = install(name, make_sandbox(model))
        client.rewrite(str(PROGRAM), str(program(tmp_path / "bin", script)))
        result = client.run()

    assert result.code == 0, result
    assert (client.sandbox.work / "worked").exists()


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
        with broken(situation, client, tmp_path), at_terminal(client, works=False) as screen:
            screen.say(TASK)
            if situation in TOLD:
                screen.until("tildone does not work")
            screen.until("Hello from the script.")

    assert len(model.requests) == 1


def with_short_timeouts(client: InstalledClient) -> InstalledClient:
    for installed, short in TIMEOUTS[client.name].items():
        client.rewrite(installed, short)
    # The tests make Claude Code wait for its MCP servers, which it does not do by default.
    environ = client.start.environ | {"MCP_TIMEOUT": "1000"}
    return replace(client, start=replace(client.start, environ=environ))


def check_unaffected(client: InstalledClient, model: Model) -> None:
    result = client.run()

    assert result.code == 0, result
    assert result.out.strip() == "Hello from the script.", result
    assert len(model.requests) == 1


LAST: Turn = {"text": "I stop again."}
NOT_WORKING = "tildone does not work, and the agent goes on without it"
LOST = "backup:"
"""A word of the notice that a plan is lost, which brings back a backup: no line end of a narrow toast is in it."""
SHOWN = {("gemini", LOST): 2}
"""How often a notice is on the screen, if not once: Gemini CLI also says with it why the agent goes on."""


@in_every_client
@pytest.mark.long
@needs_tmux
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
        with broken("full disk", client, tmp_path), at_terminal(client) as screen:
            screen.say(TASK)
            check_told_once(screen)

    assert len(model.requests) == len(script)


@in_every_client
@pytest.mark.long
@needs_tmux
@pytest.mark.parametrize(("situation", "words"), [("deleted store", LOST), ("locked store", NOT_WORKING)])
@proves(tui=True)
def test_a_person_is_told_once_of_a_store_that_fails_during_the_work(
    name: str, situation: str, words: str, make_sandbox: MakeSandbox
) -> None:
    """At the stop at which the agent would have been continued. That the plan is lost, the model is told, too."""
    client: InstalledClient
    told: list[Turn] = [{"text": "I have read it."}] if words == LOST else []
    with ExitStack() as breaks:

        def fail() -> None:
            if situation == "deleted store":
                client.data.rename(client.data.with_name("elsewhere"))
            else:
                breaks.enter_context(closing(locked(client)))

        with ActingModel(name, TERMINAL, PLAN, STOP, {**LAST, "do": fail}, *told) as model:
            client = install_in(TERMINAL, name, make_sandbox(model))
            with at_terminal(client) as screen:
                screen.say(TASK)
                last = told[-1]["text"] if told else LAST["text"]
                check_told_once(screen, words, last, SHOWN.get((name, words), 1))

    assert len(model.requests) == 3 + len(told)


def check_told_once(screen: Screen, words: str = NOT_WORKING, last: str = LAST["text"], most: int = 1) -> None:
    """Check that the person is told in one notice, and that the agent ends its turn."""
    screen.until(words)
    screen.until(last)
    screen.settle()
    # opencode shows a notice for a few seconds only.
    assert screen.plain.count("".join(words.split())) <= most


def locked(client: InstalledClient) -> sqlite3.Connection:
    connection = sqlite3.connect(client.data / "tildone.db", isolation_level=None, check_same_thread=False)
    connection.execute("BEGIN EXCLUSIVE")
    return connection
