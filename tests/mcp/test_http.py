"""The HTTP server as a process: access, sessions, and how it ends."""

import asyncio
import os
import signal
import socket
import stat

import httpx2
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import ResourceTemplateReference

from tests.mcp.project import MODES, Inbox, Project, meta, read, subscribed, text_of
from tests.mcp.web import Served, serving
from tests.mcp.wire import INITIALIZED, MODERN, Record, initialize, request
from tildone.agents.mcp.http import run
from tildone.agents.mcp.json_rpc import MAX_MESSAGE_BYTES, MODERN_VERSIONS
from tildone.agents.mcp.resources import session_uri
from tildone.base.errors import UsageError
from tildone.base.serving import PortInUse
from tildone.stores.agents import AgentId

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a server and all it started can be ended for certain on Unix")
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
        own = await read(one, session_uri(mine))
        with pytest.raises(MCPError, match="Resource not found"):
            await read(one, session_uri(other))
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
    assert "2> Two" in third
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


@every_mode
async def test_a_change_is_reported(served: Served, place: Project, mode: str) -> None:
    inbox = Inbox()
    async with (
        served.client(mode, f"inbox {mode}", inbox) as client,
        subscribed(client, inbox, "plan://current") as next_change,
    ):
        await asyncio.to_thread(place.add, "By hand", session=f"inbox {mode}")
        await next_change()
        plan = await read(client)

    assert plan == "- [ ] By hand\n"


def test_a_request_without_the_token_is_refused(served: Served) -> None:
    headers = ["", served.token, f"Basic {served.token}", f"Bearer {served.token}x", f"Bearer {served.token[:-1]}"]

    answers = [served.post(initialize(), authorization=header) for header in headers]

    assert [answer.status_code for answer in answers] == [401] * 5
    assert answers[0].headers["www-authenticate"] == 'Bearer realm="tildone"'
    assert served.token not in "".join(answer.text for answer in answers)


def test_the_token_is_readable_by_its_owner_only_and_never_printed(served: Served) -> None:
    assert stat.S_IMODE(served.token_file.stat().st_mode) == 0o600
    assert served.token not in " ".join(served.notice)
    assert served.url.startswith("http://127.0.0.1:")


def test_a_request_from_this_machine_is_accepted(served: Served) -> None:
    port = served.url.rpartition(":")[2].removesuffix("/mcp")

    assert served.post(initialize(), origin=f"http://localhost:{port}", host="localhost:1").status_code == 200


def test_other_paths_are_not_found(served: Served) -> None:
    """Clients look there for an OAuth server; there is none."""
    elsewhere = served.url.replace("/mcp", "/.well-known/oauth-protected-resource")

    assert served.post(path=elsewhere, authorization="").status_code == 404


def test_a_body_that_is_too_large_is_refused(served: Served) -> None:
    assert served.post(request(1, "ping", text="x" * MAX_MESSAGE_BYTES)).status_code == 413


INVALID = [[], 7, "x", {"jsonrpc": "2.0"}]


def test_an_invalid_message_is_refused(served: Served) -> None:
    assert [served.post([body]).status_code for body in INVALID] == [400] * len(INVALID)


ACCEPT = "application/json, text/event-stream"


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("PUT", {}, 405),
        ("GET", {}, 400),
        ("DELETE", {}, 400),
        ("DELETE", {"mcp-session-id": "made-up"}, 404),
        ("POST", {"accept": "application/json"}, 406),
        ("POST", {"content-type": "text/plain"}, 415),
        ("POST", {"mcp-session-id": ""}, 404),
        ("GET", {"mcp-protocol-version": "2026-07-28"}, 405),
        ("POST", {"mcp-protocol-version": "2026-07-28", "accept": "application/json"}, 406),
        ("POST", {"mcp-protocol-version": "1999-01-01"}, 400),
    ],
)
def test_a_request_that_is_no_message_of_its_revision_is_refused(
    served: Served, method: str, headers: dict[str, str], status: int
) -> None:
    given = {"authorization": f"Bearer {served.token}", "accept": ACCEPT, "content-type": "application/json"} | headers

    assert httpx2.request(method, served.url, headers=given, content=b"{}").status_code == status


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


def test_an_unknown_mcp_session_id_is_not_found(served: Served) -> None:
    """A client cannot invent the id of a connection."""
    assert served.post(INITIALIZED, mcp_session_id="made-up").status_code == 404


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
    """Without output, with the exit code that a shell expects."""
    inbox = Inbox()
    with serving(project, TILDONE_TOKEN=TOKEN) as server:
        async with (
            server.client("legacy", "x", inbox) as client,
            subscribed(client, inbox, "plan://current"),
        ):
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


@pytest.mark.parametrize(
    ("host", "guarded", "complaint"),
    [
        (EVERYWHERE, False, f"--no-token is for loopback addresses only; other machines can reach --host {EVERYWHERE}"),
        (
            "example.com",
            False,
            "--no-token is for loopback addresses only; other machines can reach --host example.com",
        ),
        ("no.such.host.invalid", True, "--host no.such.host.invalid: "),
    ],
)
def test_an_unsafe_or_unknown_address_is_refused(project: Project, host: str, *, guarded: bool, complaint: str) -> None:
    with pytest.raises(UsageError) as refused:
        run(project.settings(), host, 0, token_file=None, guarded=guarded)

    assert str(refused.value).startswith(complaint)
