"""The HTTP server: the same tools, resources and prompt as on stdio.

Its access, sessions, limits on clients, and its end.
"""

import asyncio
import json
import os
import re
import signal
import socket
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, ResourceTemplateReference

from tests.mcp.project import MODES, TIMEOUT_SECONDS, Inbox, Project, connected, meta, read, subscribed, text_of
from tests.mcp.web import Served, serving
from tests.mcp.wire import INITIALIZED, MODERN, Record, initialize, request
from tests.suite.waiting import until
from tests.views.test_limits import FORBIDDEN
from tildone.agents.mcp import server
from tildone.agents.mcp.http import run
from tildone.agents.mcp.json_rpc import MAX_MESSAGE_BYTES, MODERN_VERSIONS
from tildone.agents.mcp.protocol import CURRENT_JSON
from tildone.base import UsageError
from tildone.base.serving import MAX_WAITING, PortInUse
from tildone.stores.agents import AgentId

CURRENT = "plan://current"
every_mode = pytest.mark.parametrize("mode", MODES)
EVERYWHERE = "0.0.0.0"  # noqa: S104  to be refused
TOKEN = "a-token-that-is-long-enough"  # noqa: S105  of a server that is gone in a moment


@every_mode
async def test_a_client_sees_the_session_that_it_names_and_no_other(served: Served, place: Project, mode: str) -> None:
    mine, other = f"mine {mode}", f"other {mode}"
    async with served.client(mode, mine) as one, served.client(mode, other) as two:
        replies = [
            text_of(await client.call_tool("todo", {"add": [name]})) for client, name in ((one, "One"), (two, "Two"))
        ]
        plans = [await read(client) for client in (one, two)]
        own = await read(one, f"plan://mine%20{mode}")
        with pytest.raises(MCPError, match="Resource not found"):
            await read(one, f"plan://other%20{mode}")
        templates = (await one.list_resource_templates()).resource_templates
        names = await one.complete(ResourceTemplateReference(uri="plan://{session}"), {"name": "session", "value": ""})

    assert (replies, plans, own) == (["1", "1"], ["- [ ] One\n", "- [ ] Two\n"], "- [ ] One\n")
    assert (templates, names.completion.values) == ([], [])
    assert (place.texts(mine), place.texts(other)) == (["One"], ["Two"])


@every_mode
async def test_clients_that_name_the_same_session_are_told_of_each_others_changes(served: Served, mode: str) -> None:
    async with served.client(mode, f"ours {mode}") as one, served.client(mode, f"ours {mode}") as two:
        await one.call_tool("todo", {"add": ["One"]})
        second = text_of(await two.call_tool("todo", {"add": ["Two"]}))
        third = text_of(await one.call_tool("todo", {"done": 1}))
        fourth = text_of(await one.call_tool("todo", {"start": 2}))

    assert second == "2\nPlan:\n1 One\n2 Two"
    assert "started 2 Two" in third
    # In protocols with connections, the server remembers which head each has seen; otherwise it assumes nothing.
    assert (fourth == "ok") is (mode == "legacy")


@every_mode
async def test_a_session_may_be_named_in_the_url_and_in_any_script(served: Served, place: Project, mode: str) -> None:
    async with served.client(mode, query="?session=gr%C3%BCn") as client:
        await client.call_tool("todo", {"add": ["One"]})
    async with served.client(mode, "grün") as client:
        plan = await read(client)

    assert plan.splitlines()[0] == "- [ ] One"
    assert place.texts("grün")[0] == "One"


@every_mode
async def test_a_conversation_of_codex_is_identified_by_its_requests(served: Served, place: Project, mode: str) -> None:
    async with served.client(mode) as client:
        reply = text_of(await client.call_tool("todo", {"add": ["One"]}, meta=meta(sessionId=mode)))

    assert reply == "1"
    known = place.agents.get(AgentId.parse(f"codex:{mode}"))
    assert known is not None
    assert place.texts(known.session) == ["One"]


def test_a_request_without_the_token_is_refused(served: Served) -> None:
    headers = ["", served.token, f"Basic {served.token}", f"Bearer {served.token}x", f"Bearer {served.token[:-1]}"]

    answers = [served.post(initialize(), authorization=header) for header in headers]

    assert [answer.status_code for answer in answers] == [401] * 5
    assert answers[0].headers["www-authenticate"] == 'Bearer realm="tildone"'
    assert served.token not in "".join(answer.text for answer in answers)


def test_a_request_from_this_machine_is_accepted_and_what_is_no_message_refused(served: Served) -> None:
    """Clients look for an OAuth server on another path; there is none."""
    port = served.url.rpartition(":")[2].removesuffix("/mcp")
    elsewhere = served.url.replace("/mcp", "/.well-known/oauth-protected-resource")
    invalid: tuple[object, ...] = ([], 7, "x", {"jsonrpc": "2.0"})

    assert served.post(initialize(), origin=f"http://localhost:{port}", host="localhost:1").status_code == 200
    assert served.post(path=elsewhere, authorization="").status_code == 404
    assert served.post(request(1, "ping", text="x" * MAX_MESSAGE_BYTES)).status_code == 413
    assert [served.post([body]).status_code for body in invalid] == [400] * 4
    assert stat.S_IMODE(served.token_file.stat().st_mode) == 0o600
    assert (served.token in " ".join(served.notice), served.url.startswith("http://127.0.0.1:")) == (False, True)


ACCEPT = "application/json, text/event-stream"


NEWEST = {"mcp-protocol-version": "2026-07-28"}
NO_MESSAGES: list[tuple[str, dict[str, str], int]] = [
    *(("PUT", {}, 405), ("GET", {}, 400), ("DELETE", {}, 400), ("DELETE", {"mcp-session-id": "made-up"}, 404)),
    *(("POST", {"accept": "application/json"}, 406), ("POST", {"content-type": "text/plain"}, 415)),
    *(("POST", {"mcp-session-id": ""}, 404), ("POST", {"mcp-protocol-version": "1999-01-01"}, 400)),
    *(("GET", NEWEST, 405), ("POST", NEWEST | {"accept": "application/json"}, 406)),
]


def test_a_request_that_is_no_message_of_its_revision_is_refused(served: Served) -> None:
    given = {"authorization": f"Bearer {served.token}", "accept": ACCEPT, "content-type": "application/json"}

    def status(method: str, headers: dict[str, str]) -> int:
        return httpx2.request(method, served.url, headers=given | headers, content=b"{}").status_code

    assert [(method, headers, status(method, headers)) for method, headers, _ in NO_MESSAGES] == NO_MESSAGES


def in_newest(served: Served, record: Record, **headers: str) -> httpx2.Response:
    """Send a request in the newest revision, in which headers repeat what it says."""
    own = {"mcp_protocol_version": MODERN_VERSIONS[0], "mcp_method": str(record["method"])} | headers
    return served.post(record, **{name: header for name, header in own.items() if header})


def test_in_the_newest_revision_headers_and_message_agree_and_the_status_tells_the_error(served: Served) -> None:
    listing = request(1, "tools/list", _meta=MODERN)
    answers = {
        200: [in_newest(served, listing)],
        202: [in_newest(served, {"jsonrpc": "2.0", "method": "notifications/cancelled"})],
        404: [in_newest(served, request(1, "resources/subscribe", _meta=MODERN))],
        400: [
            in_newest(served, listing, mcp_method="tools/call"),
            in_newest(served, listing, mcp_method=""),
            in_newest(served, request(1, "tools/list")),
            in_newest(served, request(1, "tools/call", name="todo", _meta=MODERN), mcp_name="rm"),
            in_newest(served, listing, mcp_protocol_version="2027-01-01"),
            in_newest(served, {"jsonrpc": "2.0", "method": "x"}, mcp_protocol_version="2027-01-01"),
            in_newest(served, {"jsonrpc": "2.0", "id": 1, "result": {}, "method": None}, mcp_method="x"),
        ],
    }

    for status, responses in answers.items():
        assert [response.status_code for response in responses] == [status] * len(responses)
    assert answers[200][0].headers["content-type"] == "application/json"
    assert answers[200][0].json()["result"]["resultType"] == "complete"


def test_a_session_that_its_client_deletes_is_gone(served: Served) -> None:
    session = served.post(initialize()).headers["mcp-session-id"]
    headers = {"authorization": f"Bearer {served.token}", "mcp-session-id": session}

    assert httpx2.delete(served.url, headers=headers).status_code == 200
    assert served.post(INITIALIZED, mcp_session_id=session).status_code == 404


async def test_clients_that_name_no_session_share_the_default_one(served: Served, place: Project) -> None:
    """It is the project's, also after a restart."""
    async with served.client("legacy") as client:
        await client.call_tool("todo", {"add": ["One"]})
    async with served.client("auto") as client:
        plan = await read(client)

    known = place.agents.get(AgentId.parse("http"))
    assert known is not None
    assert plan == "- [ ] One\n"
    assert place.texts(known.session) == ["One"]


async def test_a_signal_ends_it_although_a_client_is_subscribed(project: Project) -> None:
    inbox = Inbox()
    with serving(project, TILDONE_TOKEN=TOKEN) as server:
        async with server.client("legacy", "x", inbox) as client, subscribed(client, inbox, "plan://current"):
            code, more = await asyncio.to_thread(server.end, signal.SIGTERM)

    assert (code, more) == (128 + signal.SIGTERM, "")
    assert server.notice[1] == "clients need the token in $TILDONE_TOKEN"


def test_without_a_token_requests_from_this_machine_are_accepted(project: Project) -> None:
    with serving(project, "--no-token") as server:
        answer = server.post(initialize(), authorization="")
        other_origin = server.post(initialize(), authorization="", origin="https://evil.example")
        ended = server.end(signal.SIGINT)

    assert ended == (128 + signal.SIGINT, "")
    assert (answer.status_code, other_origin.status_code) == (200, 403)
    assert server.notice[1] == "every user of this machine has access"


def test_a_port_in_use_is_reported(project: Project) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PortInUse) as refused:
            run(project.settings(), "127.0.0.1", port, token_file=None, guarded=False)

    assert str(refused.value) == (
        f"cannot listen on http://127.0.0.1:{port}: Address already in use; choose another --port"
    )


UNSAFE = "--no-token is for loopback addresses only; other machines can reach --host "


@pytest.mark.parametrize(
    ("host", "guarded", "complaint"),
    [
        (EVERYWHERE, False, f"{UNSAFE}{EVERYWHERE}"),
        ("example.com", False, f"{UNSAFE}example.com"),
        ("no.such.host.invalid", True, "--host no.such.host.invalid: "),
    ],
)
def test_an_unsafe_or_unknown_address_is_refused(project: Project, host: str, *, guarded: bool, complaint: str) -> None:
    with pytest.raises(UsageError) as refused:
        run(project.settings(), host, 0, token_file=None, guarded=guarded)

    assert str(refused.value).startswith(complaint)


HALF_OPEN = 300
SHORT_LIMITS = (
    "import sys, tildone.base.serving as connections, tildone.agents.mcp.http as server, tildone.cli as cli\n"
    "connections.HEADER_SECONDS = connections.BODY_SECONDS = 1\n"
    # Long enough for the three requests of a client on a busy machine.
    "server.SESSION_IDLE_SECONDS = 5\n"
    "sys.exit(cli.main(sys.argv[1:]))"
)
HEAD = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def impatient(place: Project) -> Iterator[Served]:
    """A server whose time limits are one second, and five for a session that is idle."""
    with serving(place, program=(sys.executable, "-c", SHORT_LIMITS)) as server:
        yield server


def connect(served: Served) -> socket.socket:
    address = urlsplit(served.url)
    return socket.create_connection((address.hostname, address.port), TIMEOUT_SECONDS)


def received(connection: socket.socket) -> bytes:
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def cannot_send(connection: socket.socket, more: bytes) -> bool:
    try:
        connection.sendall(more)
    except (BrokenPipeError, ConnectionResetError):
        return True
    return False


def is_closed(connection: socket.socket) -> bool:
    connection.setblocking(False)  # noqa: FBT003  positional in the standard library
    try:
        while connection.recv(65536):
            pass
    except BlockingIOError:
        return False
    except ConnectionResetError:
        pass
    return True


@pytest.mark.parametrize("sent", [b"", HEAD, HEAD + b"Content-Length: 100\r\n\r\n{"], ids=["nothing", "head", "body"])
async def test_connections_that_are_held_open_keep_no_client_out(served: Served, sent: bytes) -> None:
    """However far their requests got: without the token, none is let in."""
    with ExitStack() as stack:
        held = []
        for _ in range(HALF_OPEN):
            held.append(stack.enter_context(connect(served)))
            held[-1].sendall(sent)
        async with served.client("legacy", f"through {len(sent)}") as client:
            told = text_of(await client.call_tool("todo", {"add": ["One"]}))
        still_open = [connection for connection in held if not is_closed(connection)]

        assert told == "1"
        assert len(still_open) <= MAX_WAITING
        # The oldest were closed first.
        assert still_open == held[HALF_OPEN - len(still_open) :]


PARTS = [b"", b"POST /mcp HT", HEAD, HEAD + b"Content-Length: 9\r\n\r\n{}"]


def with_token(served: Served) -> bytes:
    """The head of a request that is let in."""
    return HEAD + b"Authorization: Bearer " + served.token.encode() + b"\r\n"


def test_a_request_that_does_not_arrive_ends_with_its_connection(impatient: Served) -> None:
    """Within the time limit, although a part of it keeps arriving."""
    with ExitStack() as stack:
        connections = [stack.enter_context(connect(impatient)) for _ in PARTS]
        for connection, sent in zip(connections, PARTS, strict=True):
            connection.sendall(sent.replace(HEAD, with_token(impatient)))
        answers = [received(connection) for connection in connections]

    assert [answer for answer in answers if b" 200 " in answer] == []


def test_bytes_that_trickle_in_extend_no_time_limit(impatient: Served) -> None:
    for begin, more in ((HEAD, b"X-A: b\r\n"), (with_token(impatient) + b"Content-Length: 99999\r\n\r\n", b" ")):
        with connect(impatient) as connection:
            connection.sendall(begin)
            until(partial(cannot_send, connection, more))


def test_a_second_request_on_a_connection_has_the_same_limits(impatient: Served) -> None:
    body = json.dumps(initialize()).encode()
    rest = f"Accept: {ACCEPT}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    with connect(impatient) as connection:
        connection.sendall(with_token(impatient) + rest)
        assert b" 200 " in connection.recv(100)
        connection.sendall(b"POST /mcp HT")
        assert b"HTTP/1.1 200" not in received(connection)


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="the threads of a process are listed on Linux")
async def test_what_a_session_held_is_released_when_its_client_disconnects(served: Served) -> None:
    """Each session has a thread of its own while it lasts."""
    async with served.client("legacy", "first") as client:
        await client.call_tool("todo", {})
        before = threads(served)
        for number in range(5):
            async with served.client("legacy", f"more {number}") as other:
                await other.call_tool("todo", {"add": ["x"]})
                assert threads(served) > before
        until(lambda: threads(served) <= before)


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="the threads of a process are listed on Linux")
def test_a_session_whose_client_is_gone_without_a_word_is_released(impatient: Served) -> None:
    before, session = threads(impatient), ""
    asked = request(1, "tools/call", name="todo", arguments={})
    for _ in range(2):
        opened = impatient.post(initialize(), tildone_session="gone")
        session = opened.headers["mcp-session-id"]
        impatient.post(INITIALIZED, mcp_session_id=session)
        assert impatient.post(asked, mcp_session_id=session, tildone_session="gone").status_code == 200
    until(lambda: threads(impatient) <= before)

    assert impatient.post(asked, mcp_session_id=session).status_code == 404


def threads(served: Served) -> int:
    return len(os.listdir(f"/proc/{served.pid}/task"))


def test_no_byte_of_a_response_hides_anything(served: Served) -> None:
    """Structured content keeps its value; a character that hides is escaped in it."""
    hidden = "a\u202e\u200b\x9b\U000e0041</system-reminder>"
    opened = served.post(initialize(), tildone_session="hidden")
    session = opened.headers["mcp-session-id"]
    served.post(INITIALIZED, mcp_session_id=session)
    call = request(1, "tools/call", name="todo", arguments={"add": [hidden], "done": hidden})
    read_ = request(2, "resources/read", uri=CURRENT_JSON)
    missing = request(3, "resources/read", uri=f"plan://{hidden}")
    bodies = [
        served.post(record, mcp_session_id=session, tildone_session="hidden").content.decode()
        for record in (call, read_, missing)
    ]

    assert not any(map(FORBIDDEN.search, bodies))
    assert "\\\\u202e" in bodies[1]


INSIDE = b"GET /in HTTP/1.1\r\nHost: localhost\r\n\r\n"
"""A request that is the body of another one, or the next one, depending on where the first one ends."""

AMBIGUOUS = (
    b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" % (len(INSIDE) + 5) + INSIDE,
    b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + INSIDE,
    b"Content-Length: 0\r\nContent-Length: %d\r\n\r\n" % len(INSIDE) + INSIDE,
    b"Content-Length: 0, %d\r\n\r\n" % len(INSIDE) + INSIDE,
)


def answers_to_ambiguous_requests(port: int, head: bytes) -> list[list[bytes]]:
    """Send requests that end at two places, and return the status lines that come until the connection is closed."""
    found = []
    for rest in AMBIGUOUS:
        with socket.create_connection(("127.0.0.1", port), TIMEOUT_SECONDS) as connection:
            connection.sendall(head + rest)
            # A status line follows the body of the answer before, which has no line end.
            found.append(re.findall(rb"HTTP/1\.1 [0-9]{3} [A-Za-z ]+", received(connection)))
    return found


def test_a_request_that_ends_at_two_places_has_one_answer_and_is_the_last(served: Served) -> None:
    port = urlsplit(served.url).port or 0

    assert answers_to_ambiguous_requests(port, HEAD) == [[b"HTTP/1.1 400 Bad Request"]] * len(AMBIGUOUS)


@every_mode
async def test_both_servers_answer_alike(project: Project, mode: str) -> None:
    seen: list[list[object]] = []
    for connect in (project.client, project.http_client):
        async with connect(mode) as client:
            called = await client.call_tool("todo", {"add": ["One"]})
            listed = [await client.list_tools(), await client.list_resources(), await client.list_prompts()]
            seen.append([*listed, await client.get_prompt("plan", {"task": "Fly"}), client.instructions])
            seen[-1] += [text_of(called).split()[0] in {"1", "2"}, called.is_error, await read(client) != ""]

    assert seen[0] == seen[1]


@every_mode
async def test_a_refusal_of_indexed_is_a_normal_result_on_both_servers(project: Project, mode: str) -> None:
    """As in a library and in a host: `details.error` says what was refused. Invalid arguments are an error."""
    invalid = {"action": "start", "indices": "0"}
    for connect in (project.client, project.http_client):
        async with connect(mode, dialect="indexed") as client:
            refused = await client.call_tool("edit_todos", {"action": "start", "indices": [7]})
            wrong = await client.call_tool("edit_todos", invalid)

        assert (text_of(refused), refused.is_error) == ("Error: no todos exist", False)
        assert refused.structured_content == {"action": "edit", "todos": [], "error": "no todos exist"}
        assert wrong.is_error


@every_mode
async def test_a_change_is_reported_until_the_client_disconnects(project: Project, mode: str) -> None:
    inbox = Inbox()
    async with project.http_server() as server:
        async with (
            connected(server, mode, message_handler=inbox) as client,
            subscribed(client, inbox, CURRENT) as next_change,
        ):
            await asyncio.to_thread(project.add, "By hand")
            changed = await next_change()
            watched = watching()
        for thread in watched:
            await asyncio.to_thread(thread.join, TIMEOUT_SECONDS)

        assert (changed, len(watched), watching()) == (CURRENT, 1, [])


@every_mode
async def test_the_number_of_subscriptions_is_limited(
    project: Project, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MAX_SUBSCRIPTIONS", 1)
    inbox = Inbox()
    async with project.http_client(mode, message_handler=inbox) as client, subscribed(client, inbox, CURRENT):
        with pytest.raises(MCPError, match="1 subscriptions are open") as refused:
            async with subscribed(client, inbox, f"{CURRENT}.json"):
                pass

    assert refused.value.code == INTERNAL_ERROR


def watching() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "mcp watch" and thread.is_alive()]
