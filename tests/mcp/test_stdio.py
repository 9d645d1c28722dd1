"""The stdio server as a process, as agents start it.

With the official client, the protocol authors' programs, and every store.
"""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import AsyncExitStack, ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import INTERNAL_ERROR, TextContent

from tests.cli.person import CTRL_C, Person
from tests.clients.agents import Sandbox, environment
from tests.clients.supervisor import supervised
from tests.mcp.project import CLAUDE, MODES, TIMEOUT_SECONDS, Inbox, Project, client_info, read, subscribed, text_of
from tests.mcp.web import serving
from tests.mcp.wire import INITIALIZED, call, initialize, line, process, request
from tests.stores.postgres import needs_server, running_server
from tests.suite.forking import PROGRAM
from tests.trusted import write_trusted
from tildone.app.opening import session_in, store_at
from tildone.base.distribution import install_extra
from tildone.plan.dialects import dialect_named

unix_only = pytest.mark.skipif(os.name == "nt", reason="Windows has other signals")

CODING_AGENT = """
import subprocess, sys, threading
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def copy(source, target):
    for line in source:
        target.write(line)
        target.flush()
    target.close()
answers = threading.Thread(target=copy, args=(server.stdout, sys.stdout.buffer))
answers.start()
copy(sys.stdin.buffer, server.stdin)
answers.join()
"""
"""A program that starts a server with pipes of its own, as coding agents do, and passes messages on."""


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
    assert (replies, plan) == (["1-2", "ok"], "- [x] One\n- [/] Two\n")
    assert isinstance(message.content, TextContent)
    assert message.content.text.endswith("Task: Fly")


async def test_a_plan_outlives_its_server_and_others_change_it(project: Project) -> None:
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

    assert reply == "ok\nChanged by others meanwhile; now:\nstarted 2 By hand\ndone 1"
    assert plan == "- [x] One\n- [/] By hand\n- [ ] And again\n"


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
    async with AsyncExitStack() as stack:
        own = [project.started("--session", "ours", **{CLAUDE: name}) for name in ("1", "2")]
        clients = [await stack.enter_async_context(each) for each in own]
        texts = [f"{number} of {index}" for number in range(20) for index in range(2)]
        calls = [clients[int(text[-1])].call_tool("todo", {"add": [text]}) for text in texts]
        results = await asyncio.gather(*calls)

    assert not any(result.is_error for result in results)
    assert sorted(project.texts("ours")) == sorted(texts)


def test_only_responses_are_printed_and_end_of_file_ends_it(project: Project) -> None:
    """Requests before it are answered: a script may send all of them and close the pipe."""
    asked = [initialize(), INITIALIZED, call(1, "todo", {"add": ["One"]}), call(2, "todo", {"done": 1})]

    with process(project) as server:
        given = b"".join(map(line, (*asked, request(3, "resources/list")))).replace(b"\n", b"\r\n")
        out, err = server.communicate(given, TIMEOUT_SECONDS)

    assert (server.returncode, err) == (0, b"")
    assert all(answer.startswith(b'{"jsonrpc":"2.0","id":') for answer in out.splitlines())
    answers = {answer["id"]: answer["result"] for answer in map(json.loads, out.splitlines())}
    assert sorted(answers, key=str) == [1, 2, 3, "hello"]
    assert [answers[number]["content"][0]["text"] for number in (1, 2)] == ["1", "ok, all done"]


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
@pytest.mark.parametrize(
    "last",
    [line(request(1, "ping")), b"no message at all\n", line(call(1, "todo", {"add": ["One"]}))],
    ids=["request", "invalid", "answered by another thread"],
)
def test_a_closed_output_pipe_ends_it_although_its_input_stays_open(project: Project, last: bytes) -> None:
    with process(project) as server:
        stdin, stdout = initialized(server)
        stdout.close()
        stdin.write(last)
        stdin.flush()

        assert (server.wait(TIMEOUT_SECONDS), stderr_of(server)) == (0, b"")


WITHOUT_THE_EXTRA = """
import sys
sys.modules |= dict.fromkeys(["mcp", "mcp_types", "pydantic", "pydantic_core", "anyio", "uvicorn"])
from tildone.cli import main
code = main(sys.argv[1:])
print(*(name for name in ("asyncio", "dataclasses", "inspect", "logging") if name in sys.modules))
sys.exit(code)
"""
"""The program in a process where the packages of the extra cannot be imported. It prints which slow modules it used."""


def ran(
    project: Project, program: str, *words: str, asked: Iterable[object] = ()
) -> "subprocess.CompletedProcess[bytes]":
    """Run a Python program in a project, with these messages on standard input."""
    command, given = [sys.executable, "-c", program, *words], b"".join(map(line, asked))
    return subprocess.run(
        command, cwd=project.folder, env=project.environment(), input=given, capture_output=True, check=False
    )


def test_without_the_extra_everything_on_stdio_works(project: Project) -> None:
    """The base package is all that an agent needs, and it imports nothing slow."""
    read_plan = request(2, "resources/read", uri="plan://current")
    asked = [initialize(), INITIALIZED, call(1, "todo", {"add": ["One"]}), read_plan, request(3, "tools/list")]

    done = ran(project, WITHOUT_THE_EXTRA, "mcp", asked=asked)

    answers = {answer["id"]: answer["result"] for answer in map(json.loads, done.stdout.splitlines())}
    assert (done.returncode, done.stderr) == (0, b"\n")
    assert answers[1]["content"][0]["text"] == "1"
    assert answers[2]["contents"][0]["text"] == "- [ ] One\n"
    assert [tool["name"] for tool in answers[3]["tools"]] == ["todo"]


def test_without_the_extra_http_says_what_to_install(project: Project) -> None:
    done = ran(project, WITHOUT_THE_EXTRA, "mcp", "--http", "--no-token")

    assert done.returncode == 2
    assert done.stderr.decode() == f"tildone: --http needs the package mcp: {install_extra('mcp')}\n"


INVALID_OPTIONS = [
    (["--host", "::1"], "--host requires --http"),
    (["--no-token"], "--no-token requires --http"),
    (["--http", "--port", "70000"], "--port requires a number from 0 to 65535, not '70000'"),
    (["--http", "--port", "-1"], "--port requires a number from 0 to 65535, not '-1'"),
    (["--http", "--no-token", "--token-file", "x"], "--token-file and --no-token exclude each other"),
    (["--dialect", "klingon"], "there is no dialect 'klingon'; known are indexed, phased, declared, brief"),
]


def test_invalid_options_are_refused_before_anything_is_loaded(project: Project) -> None:
    answers = []
    for words, _ in INVALID_OPTIONS:
        done = subprocess.run(
            [PROGRAM, "mcp", *words], cwd=project.folder, env=project.environment(), capture_output=True, check=False
        )
        answers.append((words, done.returncode, done.stderr.decode()))

    assert answers == [(words, 2, f"tildone: {complaint}\n") for words, complaint in INVALID_OPTIONS]


def test_a_store_that_cannot_be_opened_is_reported_by_the_call(project: Project) -> None:
    """The server starts all the same: an agent does not tell anybody that a server has ended."""
    project.add("One")
    store = project.ruin_store()
    asked = [initialize(), INITIALIZED, call(1, "todo", {}), request(2, "resources/read", uri="plan://current")]

    with process(project) as server:
        out, err = server.communicate(b"".join(map(line, asked)), TIMEOUT_SECONDS)

    _, called, read_plan = map(json.loads, out.splitlines())
    assert called["result"]["isError"]
    assert called["result"]["content"][0]["text"] == f"{store} is not a tildone store"
    assert read_plan["error"]["message"] == f"{store} is not a tildone store"
    assert (server.returncode, err.decode()) == (0, f"tildone mcp: {store} is not a tildone store\n" * 2)


def test_invalid_settings_are_reported_by_the_call(project: Project) -> None:
    settings = project.folder / "tildone.toml"
    write_trusted(settings, "dialect = 7\n", project.environment())
    with process(project) as server:
        stdin, stdout = initialized(server)
        stdin.write(line(call(1, "todo", {"add": ["One"]})) + line(request(2, "resources/read", uri="plan://current")))
        stdin.flush()
        called, read_plan = (json.loads(stdout.readline()) for _ in range(2))
        settings.write_text("")
        stdin.write(line(call(3, "todo", {"add": ["One"]})))
        stdin.flush()
        corrected = json.loads(stdout.readline())

    complaint = called["result"]["content"][0]["text"]
    assert called["result"]["isError"]
    assert str(settings) in complaint
    assert read_plan["error"] == {"code": INTERNAL_ERROR, "message": complaint}
    assert corrected["result"]["content"][0]["text"] == "1"


def test_ten_servers_started_at_once_all_answer(project: Project) -> None:
    asked = b"".join(map(line, [initialize(), INITIALIZED, request(1, "tools/list")]))
    with ExitStack() as stack:
        servers = [stack.enter_context(process(project)) for _ in range(10)]
        outputs = [server.communicate(asked, TIMEOUT_SECONDS) for server in servers]

    assert [json.loads(out.splitlines()[-1])["result"]["tools"][0]["name"] for out, _ in outputs] == ["todo"] * 10
    assert [err for _, err in outputs] == [b""] * 10


def test_a_stray_print_does_not_reach_the_client(project: Project) -> None:
    program = (
        "import sys; from tildone.log.session import Session; from tildone.cli import main\n"
        "Session.call = (lambda call: lambda *given: print('stray') or call(*given))(Session.call)\n"
        "sys.exit(main(['mcp']))"
    )
    asked = [initialize(), INITIALIZED, call(1, "todo", {"add": ["One"]})]

    done = ran(project, program, asked=asked)

    assert [json.loads(answer)["id"] for answer in done.stdout.splitlines()] == ["hello", 1]
    assert done.stderr == b"stray\n"


def initialized(server: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes]]:
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
    args = ["-c", CODING_AGENT, str(PROGRAM), "mcp"]
    program = StdioServerParameters(command=sys.executable, args=args, env=project.environment(), cwd=project.folder)
    return Client(program, client_info=client_info("test"))


@unix_only
def test_on_a_terminal_it_says_what_it_waits_for(project: Project) -> None:
    terminal = Person(project.folder, project.home, project.environment()).at_terminal("mcp")
    terminal.until("waiting for MCP messages on standard input, as an agent sends them; Ctrl-C ends it")
    terminal.type(CTRL_C)

    assert terminal.end().code == 130


SLOW = ("asyncio", "typing", "dataclasses", "inspect", "logging", "pydantic", "mcp", "anyio", "socket", "subprocess")
NEVER = (
    *("tildone.agents.integrations.claude", "tildone.cli.fleet", "tildone.cli.plan"),
    *("tildone.plan.formats", "tildone.plan.history"),
)
FOR_CALLS = ("apsw", "tildone.agents.mcp.resources", "tildone.stores.sqlite.store", "urllib.parse")
"""Modules that only requests need that work on the store."""

IMPORTS_OF_START = """
import json, sys
from tildone.cli import main
code = main(["mcp", "--session", "s"])
json.dump([name for name in sys.argv[1:] if name in sys.modules], sys.stderr)
"""


def imported(project: Project, *asked: object) -> set[str]:
    """Those of the modules above that a server has imported after these requests."""
    done = ran(project, IMPORTS_OF_START, *SLOW, *NEVER, *FOR_CALLS, asked=asked)
    assert len(done.stdout.splitlines()) == sum("id" in json.loads(line(record)) for record in asked)
    return set(json.loads(done.stderr))


def test_the_first_answers_import_nothing_that_they_do_not_need_and_write_nothing(project: Project) -> None:
    """Not even a store: an agent may have the server and never use it."""
    assert imported(project, initialize(), INITIALIZED, request(1, "tools/list"), request(2, "prompts/list")) == set()
    assert [path for path in project.home.rglob("*") if path.is_file()] == []


def test_a_call_imports_the_store_and_nothing_slow(project: Project) -> None:
    used = imported(project, initialize(), INITIALIZED, call(1, "todo", {"add": ["One"]}))

    assert "apsw" in used
    assert used.isdisjoint((*SLOW, *NEVER))


GENERAL_SCENARIOS = {
    *("server-initialize", "ping", "completion-complete", "tools-list", "resources-list", "prompts-list"),
    *("server-sse-multiple-streams", "dns-rebinding-protection"),
}
"""Scenarios that need only the protocol; all others use tools and resources of a server made for these tests."""


@pytest.fixture
def sandbox(project: Project) -> Sandbox:
    return Sandbox(project.home, project.folder, "")


@pytest.mark.slow
def test_the_inspector_lists_and_calls_the_tool(project: Project, sandbox: Sandbox) -> None:
    """It is an independent implementation, and checks results against the listed schema."""
    [tool] = dialect_named("brief").tools

    [listed] = inspected(sandbox, "tools/list")["tools"]
    called = inspected(sandbox, "tools/call", "--tool-name", "todo", "--tool-arg", 'add=["One","Two"]')

    assert (listed["name"], listed["inputSchema"]) == (tool.name, tool.parameters)
    assert called["structuredContent"] == {"say": "1-2"}
    assert project.texts() == ["One", "Two"]


@pytest.mark.slow
def test_the_general_conformance_scenarios_pass(project: Project, sandbox: Sandbox) -> None:
    with serving(project, "--no-token") as server:
        output = run(sandbox, "conformance", "conformance", "server", "--url", server.url)

    assert GENERAL_SCENARIOS - set(re.findall(r"✓ ([\w-]+): [1-9]\d* passed, 0 failed", output)) == set()


def inspected(sandbox: Sandbox, method: str, *words: str) -> dict[str, Any]:
    """The inspector's output for a server that it has started."""
    output: dict[str, Any] = json.loads(
        run(sandbox, "inspector", "mcp-inspector", "--cli", str(PROGRAM), "mcp", "--method", method, *words)
    )
    return output


def run(sandbox: Sandbox, package: str, *command: str) -> str:
    """The output of a program; skips the test if it is not installed."""
    env = environment(package, sandbox) | {"XDG_DATA_HOME": str(sandbox.home), "XDG_CONFIG_HOME": str(sandbox.home)}
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    with supervised(
        command, seconds=TIMEOUT_SECONDS, cwd=Path(sandbox.work), env=env, stdin=null, stdout=pipe
    ) as process:
        out, _ = process.communicate(timeout=TIMEOUT_SECONDS)
    return out.decode()


@needs_server
@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
async def test_agents_share_a_session_in_postgresql_and_are_notified_of_changes(project: Project, mode: str) -> None:
    inbox = Inbox()
    with running_server() as server, server.database() as url, closing(store_at(url)) as store:
        project = replace(project, environ={"TILDONE_STORE": url})
        async with project.client(mode, inbox=inbox, session=mode) as client:
            async with subscribed(client, inbox, "plan://current") as next_change:
                assert text_of(await client.call_tool("todo", {"add": ["One"]})) == "1"
                assert await next_change() == "plan://current"
                session_in(store, mode, dialect_named("brief")).call("todo", {"add": ["Two"]})
                assert await next_change() == "plan://current"
            done = text_of(await client.call_tool("todo", {"done": 1}))
            assert done == "ok\nChanged by others meanwhile; now:\nstarted 2 Two\ndone 1"
            assert await read(client) == "- [x] One\n- [/] Two\n"
