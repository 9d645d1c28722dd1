"""The program on pipes, as agents start it: the official client, hosts of all kinds, and the ways it ends."""

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
from tests.mcp.room import CLAUDE, MODES, PATIENCE, PROGRAM, Heard, Room, called, listening, read, said
from tests.mcp.wire import INITIALIZED, call, initialize, line, process, request

unix_only = pytest.mark.skipif(os.name == "nt", reason="Windows has other signals")

HOST = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"
"""A host that starts a server and does nothing else."""


@pytest.mark.parametrize("mode", MODES)
async def test_the_official_client_gets_all_there_is(room: Room, mode: str) -> None:
    async with room.started(mode=mode) as client:
        [tool] = (await client.list_tools()).tools
        told = [said(await client.call_tool("todo", given)) for given in ({"add": ["One", "Two"]}, {"done": 1})]
        plan = await read(client)
        [prompt] = (await client.list_prompts()).prompts
        [message] = (await client.get_prompt("plan", {"task": "Fly"})).messages
        about = client.server_info

    assert about is not None
    assert (about.name, tool.name, prompt.name) == ("tildone", "todo", "plan")
    assert (told, plan) == (["1-2", "ok"], "- [x] One\n- [ ] Two\n")
    assert isinstance(message.content, TextContent)
    assert message.content.text.endswith("Task: Fly")


async def test_a_plan_outlives_its_server_and_changes_come_from_anywhere(room: Room) -> None:
    """The model is told what it can't know, and hears of it if it listens."""
    agent = replace(room, environ={CLAUDE: "1"})
    async with agent.started() as client:
        await client.call_tool("todo", {"add": ["One"]})
    room.add("By hand")
    heard = Heard()

    async with agent.started() as client, listening(client, heard, "plan://current") as change:
        told = said(await client.call_tool("todo", {"done": 1}))
        await change()
        room.add("And again")
        await change()
        plan = await read(client)

    assert told == "ok\nChanged by others meanwhile; now:\n2 By hand\ndone 1"
    assert plan == "- [x] One\n- [ ] By hand\n- [ ] And again\n"


@pytest.mark.skipif(sys.platform != "linux", reason="what a process was started from is told on Linux only")
async def test_two_hosts_in_one_folder_have_a_plan_each(room: Room) -> None:
    """They tell nothing of themselves but that they are two processes."""
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(hosted(room)) for _ in range(2)]
        for client, text in zip(clients, ("One", "Two"), strict=True):
            await client.call_tool("todo", {"add": [text]})
        plans = [await read(client) for client in clients]

    assert plans == ["- [ ] One\n", "- [ ] Two\n"]
    assert room.texts() == ["One"]


async def test_agents_that_share_a_plan_lose_nothing(room: Room) -> None:
    """Two processes write at once, and every task of both is there in the end."""
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(room.started("--session", "ours", **{CLAUDE: name})) for name in ("1", "2")
        ]
        calls = [
            client.call_tool("todo", {"add": [f"{number} of {index}"]})
            for number in range(20)
            for index, client in enumerate(clients)
        ]
        results = await asyncio.gather(*calls)

    assert not any(result.is_error for result in results)
    assert sorted(room.texts("ours")) == sorted(f"{number} of {index}" for number in range(20) for index in range(2))


def test_nothing_but_answers_is_said_and_the_end_of_input_is_the_end(room: Room) -> None:
    asked = [initialize(), INITIALIZED, call(1, "todo", {"add": ["One"]}), request(2, "resources/list")]

    with process(room) as server:
        out, err = server.communicate(b"".join(map(line, asked)), PATIENCE)

    assert (server.returncode, err) == (0, b"")
    assert len(out.splitlines()) == 3
    assert all(answer.startswith(b'{"jsonrpc":"2.0","id":') for answer in out.splitlines())


@unix_only
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_ends_it_at_once_and_quietly(room: Room, name: str) -> None:
    """Although nothing has been said on its input, and that stays open."""
    number = getattr(signal, name)
    with process(room) as server:
        greet(server)
        server.send_signal(number)

        assert (server.wait(PATIENCE), complaints(server)) == (128 + number, b"")


@unix_only
@pytest.mark.parametrize("last", [line(request(1, "ping")), b"no message at all\n"], ids=["asked", "said"])
def test_a_client_that_reads_no_more_is_gone(room: Room, last: bytes) -> None:
    with process(room) as server:
        stdin, stdout = greet(server)
        stdout.close()
        stdin.write(last)
        stdin.flush()

        assert (server.wait(PATIENCE), complaints(server)) == (0, b"")


def test_without_the_extra_it_is_said_what_to_install(room: Room) -> None:
    """The package that is missing is named, and how it is got."""
    program = "import sys; sys.modules['mcp'] = None; from tildone.cli import main; sys.exit(main(['mcp']))"

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=room.project, env=room.environment(), capture_output=True, check=False
    )

    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == "tildone: this needs the package mcp: pip install 'tildone[mcp]'\n"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--host", "::1"], "--host is for --http: on pipes there is nobody but who started it"),
        (["--no-token"], "--no-token is for --http: on pipes there is nobody but who started it"),
        (["--http", "--port", "70000"], "--port takes a number from 0 to 65535, not '70000'"),
        (["--http", "--port", "-1"], "--port takes a number from 0 to 65535, not '-1'"),
        (["--http", "--no-token", "--token-file", "x"], "--token-file and --no-token exclude each other"),
        (["--dialect", "klingon"], "there is no dialect 'klingon'; known are indexed, phased, declared, brief"),
    ],
    ids=" ".join,
)
def test_words_that_make_no_sense_are_refused_before_anything_is_loaded(
    room: Room, words: list[str], complaint: str
) -> None:
    done = subprocess.run(
        [PROGRAM, "mcp", *words], cwd=room.project, env=room.environment(), capture_output=True, check=False
    )

    assert (done.returncode, done.stderr.decode()) == (2, f"tildone: {complaint}\n")


def test_a_store_that_cannot_be_opened_ends_it_with_a_reason(room: Room) -> None:
    room.add("One")
    store = room.ruin_store()

    with process(room) as server:
        out, err = server.communicate(b"", PATIENCE)

    assert (server.returncode, out, err.decode()) == (5, b"", f"tildone: {store} is not a tildone store\n")


def greet(server: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes]]:
    """Say hello and hear it said; the pipes."""
    assert server.stdin
    assert server.stdout
    server.stdin.write(line(initialize()))
    server.stdin.flush()
    assert server.stdout.readline()
    return server.stdin, server.stdout


def complaints(server: "subprocess.Popen[bytes]") -> bytes:
    assert server.stderr
    return server.stderr.read()


def hosted(room: Room) -> Client:
    """A client of a server that another process has started, as a host of its own."""
    program = StdioServerParameters(
        command=sys.executable, args=["-c", HOST, PROGRAM, "mcp"], env=room.environment(), cwd=room.project
    )
    return Client(program, client_info=called("test"))


@unix_only
def test_a_person_who_starts_it_by_hand_is_told_what_it_waits_for(room: Room) -> None:
    """And gets away by Ctrl-C."""
    terminal = Person(room.project, room.home, room.environment()).at_terminal("mcp")
    terminal.until("waiting for MCP messages on standard input, as an agent sends them; Ctrl-C ends it")
    terminal.type(CTRL_C)

    assert terminal.end().code == 130
