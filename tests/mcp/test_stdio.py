"""The stdio server as a process, as agents start it: the official client, several agents, and how it ends."""

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import IO

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

from tests.cli.person import CTRL_C, Person
from tests.mcp.project import (
    CLAUDE,
    MODES,
    PROGRAM,
    TIMEOUT_SECONDS,
    Inbox,
    Project,
    client_info,
    read,
    subscribed,
    text_of,
)
from tests.mcp.wire import INITIALIZED, call, initialize, line, process, request
from tildone.distribution import install_extra

unix_only = pytest.mark.skipif(os.name == "nt", reason="Windows has other signals")

CODING_AGENT = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"
"""A program that starts a server and does nothing else."""


@pytest.mark.parametrize("mode", MODES)
async def test_the_official_client_can_use_everything(project: Project, mode: str) -> None:
    async with project.started(mode=mode) as client:
        [tool] = (await client.list_tools()).tools
        replies = [text_of(await client.call_tool("todo", given)) for given in ({"add": ["One", "Two"]}, {"done": 1})]
        plan = await read(client)
        [prompt] = (await client.list_prompts()).prompts
        [message] = (await client.get_prompt("plan", {"task": "Fly"})).messages
        about = client.server_info

    assert about is not None
    assert (about.name, tool.name, prompt.name) == ("tildone", "todo", "plan")
    assert (replies, plan) == (["1-2", "ok"], "- [x] One\n- [ ] Two\n")
    assert isinstance(message.content, TextContent)
    assert message.content.text.endswith("Task: Fly")


async def test_a_plan_outlives_its_server_and_others_change_it(project: Project) -> None:
    """The model is told what others changed, and a subscriber is notified."""
    agent = replace(project, environ={CLAUDE: "1"})
    async with agent.started() as client:
        await client.call_tool("todo", {"add": ["One"]})
    project.add("By hand")
    inbox = Inbox()

    async with agent.started() as client, subscribed(client, inbox, "plan://current") as next_change:
        reply = text_of(await client.call_tool("todo", {"done": 1}))
        await next_change()
        project.add("And again")
        await next_change()
        plan = await read(client)

    assert reply == "ok\nChanged by others meanwhile; now:\n2 By hand\ndone 1"
    assert plan == "- [x] One\n- [ ] By hand\n- [ ] And again\n"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the parent of a process")
async def test_two_coding_agents_in_one_folder_have_a_session_each(project: Project) -> None:
    """They send no conversation id; the server distinguishes them by process."""
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(hosted(project)) for _ in range(2)]
        for client, text in zip(clients, ("One", "Two"), strict=True):
            await client.call_tool("todo", {"add": [text]})
        plans = [await read(client) for client in clients]

    assert plans == ["- [ ] One\n", "- [ ] Two\n"]
    assert project.texts() == ["One"]


async def test_agents_that_share_a_session_lose_no_change(project: Project) -> None:
    """Two processes write at once, and every task of both is stored."""
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(project.started("--session", "ours", **{CLAUDE: name}))
            for name in ("1", "2")
        ]
        calls = [
            client.call_tool("todo", {"add": [f"{number} of {index}"]})
            for number in range(20)
            for index, client in enumerate(clients)
        ]
        results = await asyncio.gather(*calls)

    assert not any(result.is_error for result in results)
    assert sorted(project.texts("ours")) == sorted(f"{number} of {index}" for number in range(20) for index in range(2))


def test_only_responses_are_printed_and_end_of_file_ends_it(project: Project) -> None:
    asked = [initialize(), INITIALIZED, call(1, "todo", {"add": ["One"]}), request(2, "resources/list")]

    with process(project) as server:
        out, err = server.communicate(b"".join(map(line, asked)), TIMEOUT_SECONDS)

    assert (server.returncode, err) == (0, b"")
    assert len(out.splitlines()) == 3
    assert all(answer.startswith(b'{"jsonrpc":"2.0","id":') for answer in out.splitlines())


@unix_only
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_ends_it_without_output(project: Project, name: str) -> None:
    """Although its standard input stays open."""
    number = getattr(signal, name)
    with process(project) as server:
        initialized(server)
        server.send_signal(number)

        assert (server.wait(TIMEOUT_SECONDS), stderr_of(server)) == (128 + number, b"")


@unix_only
@pytest.mark.parametrize("last", [line(request(1, "ping")), b"no message at all\n"], ids=["request", "invalid"])
def test_a_closed_output_pipe_ends_it(project: Project, last: bytes) -> None:
    with process(project) as server:
        stdin, stdout = initialized(server)
        stdout.close()
        stdin.write(last)
        stdin.flush()

        assert (server.wait(TIMEOUT_SECONDS), stderr_of(server)) == (0, b"")


def test_without_the_extra_the_error_says_what_to_install(project: Project) -> None:
    """It names the missing package and the command that installs it."""
    program = "import sys; sys.modules['mcp'] = None; from tildone.cli import main; sys.exit(main(['mcp']))"

    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=project.folder,
        env=project.environment(),
        capture_output=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == f"tildone: the package mcp is not installed: {install_extra('mcp')}\n"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--host", "::1"], "--host requires --http"),
        (["--no-token"], "--no-token requires --http"),
        (["--http", "--port", "70000"], "--port requires a number from 0 to 65535, not '70000'"),
        (["--http", "--port", "-1"], "--port requires a number from 0 to 65535, not '-1'"),
        (["--http", "--no-token", "--token-file", "x"], "--token-file and --no-token exclude each other"),
        (["--dialect", "klingon"], "there is no dialect 'klingon'; known are indexed, phased, declared, brief"),
    ],
    ids=" ".join,
)
def test_invalid_options_are_refused_before_anything_is_loaded(
    project: Project, words: list[str], complaint: str
) -> None:
    done = subprocess.run(
        [PROGRAM, "mcp", *words], cwd=project.folder, env=project.environment(), capture_output=True, check=False
    )

    assert (done.returncode, done.stderr.decode()) == (2, f"tildone: {complaint}\n")


def test_a_store_that_cannot_be_opened_is_reported(project: Project) -> None:
    project.add("One")
    store = project.ruin_store()

    with process(project) as server:
        out, err = server.communicate(b"", TIMEOUT_SECONDS)

    assert (server.returncode, out, err.decode()) == (5, b"", f"tildone: {store} is not a tildone store\n")


def initialized(server: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes]]:
    """Initialize the connection; the pipes."""
    assert server.stdin
    assert server.stdout
    server.stdin.write(line(initialize()))
    server.stdin.flush()
    assert server.stdout.readline()
    return server.stdin, server.stdout


def stderr_of(server: "subprocess.Popen[bytes]") -> bytes:
    assert server.stderr
    return server.stderr.read()


def hosted(project: Project) -> Client:
    """A client of a server that another process has started, as a coding agent would."""
    program = StdioServerParameters(
        command=sys.executable, args=["-c", CODING_AGENT, PROGRAM, "mcp"], env=project.environment(), cwd=project.folder
    )
    return Client(program, client_info=client_info("test"))


@unix_only
def test_on_a_terminal_it_says_what_it_waits_for(project: Project) -> None:
    """And Ctrl-C ends it."""
    terminal = Person(project.folder, project.home, project.environment()).at_terminal("mcp")
    terminal.until("waiting for MCP messages on standard input, as an agent sends them; Ctrl-C ends it")
    terminal.type(CTRL_C)

    assert terminal.end().code == 130
