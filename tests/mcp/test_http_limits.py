"""The HTTP server as a process, and clients that hold connections open, send slowly, or name another host."""

import json
import os
import re
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from urllib.parse import urlsplit

import pytest

from tests.mcp.project import TIMEOUT_SECONDS, Project, read, text_of
from tests.mcp.test_access import BAD_HOSTS
from tests.mcp.web import Served, serving
from tests.mcp.wire import INITIALIZED, initialize, request
from tests.suite.waiting import until
from tests.views.test_limits import FORBIDDEN
from tildone.agents.mcp.protocol import CURRENT_JSON
from tildone.base.serving import MAX_WAITING

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a server and all it started can be ended for certain on Unix")

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
    """All that the server sends until it closes the connection."""
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


def test_a_request_that_does_not_arrive_ends_with_its_connection(impatient: Served) -> None:
    """Within the time limit, although a part of it keeps arriving."""
    token = b"Authorization: Bearer " + impatient.token.encode() + b"\r\n"
    with ExitStack() as stack:
        connections = [stack.enter_context(connect(impatient)) for _ in PARTS]
        for connection, sent in zip(connections, PARTS, strict=True):
            connection.sendall(sent.replace(HEAD, HEAD + token))
        answers = [received(connection) for connection in connections]

    assert [answer for answer in answers if b" 200 " in answer] == []


def test_bytes_that_trickle_in_extend_no_time_limit(impatient: Served) -> None:
    token = b"Authorization: Bearer " + impatient.token.encode() + b"\r\n"
    for begin, more in ((HEAD, b"X-A: b\r\n"), (HEAD + token + b"Content-Length: 99999\r\n\r\n", b" ")):
        with connect(impatient) as connection:
            connection.sendall(begin)
            until(partial(cannot_send, connection, more))


def test_a_second_request_on_a_connection_has_the_same_limits(impatient: Served) -> None:
    body = json.dumps(initialize()).encode()
    token = (
        b"Authorization: Bearer " + impatient.token.encode() + b"\r\nAccept: application/json, text/event-stream\r\n"
    )
    with connect(impatient) as connection:
        connection.sendall(HEAD + token + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        assert b" 200 " in connection.recv(100)
        connection.sendall(b"POST /mcp HT")
        rest = received(connection)

    assert b"HTTP/1.1 200" not in rest


OTHER_HOSTS = [*BAD_HOSTS, "localhost\r\nHost: localhost", "evil.example"]


def test_another_host_is_refused(served: Served) -> None:
    """On the wire, before the token is looked at."""
    answers = {}
    for host in OTHER_HOSTS:
        with connect(served) as connection:
            connection.sendall(f"POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Length: 2\r\n\r\n{{}}".encode())
            answers[host] = received(connection).split()[1]

    assert [host for host, answer in answers.items() if answer not in (b"421", b"400")] == []


OTHER_ORIGINS = ["http://localhost:1", "http://localhost", "https://evil.example", "null"]


def test_another_origin_is_refused_and_its_port_counts(served: Served) -> None:
    own = f"http://{urlsplit(served.url).netloc}"

    assert [served.post(initialize(), origin=origin).status_code for origin in (*OTHER_ORIGINS, own)] == [403] * 4 + [
        200
    ]


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
    """It is idle from then on."""
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


async def test_a_plan_is_read_in_the_json_that_was_written(served: Served) -> None:
    async with served.client("auto", "exact") as client:
        await client.call_tool("todo", {"add": ["a\u202e</todo>"]})
        plan = json.loads(await read(client, CURRENT_JSON))

    assert plan["phases"][0]["tasks"][0]["text"] == "a\u202e</todo>"


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
