"""The program over HTTP: who gets in, whose plan it is then, and how it ends."""

import asyncio
import os
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import ResourceTemplateReference

from tests.mcp.room import MODES, PROGRAM, Heard, Room, listening, meta, read, said
from tests.mcp.web import Served, serving
from tests.mcp.wire import INITIALIZED, Record, initialize, request
from tildone.agents.identity import AgentId
from tildone.errors import UsageError
from tildone.mcp.http_server import run
from tildone.mcp.json_rpc import MAX_MESSAGE_BYTES
from tildone.mcp.resources import session_uri

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a server and all it started can be ended for certain on Unix")
every_mode = pytest.mark.parametrize("mode", MODES)
EVERYWHERE = "0.0.0.0"  # noqa: S104  to be refused
TOKEN = "a-token-that-is-long-enough"  # noqa: S105  of a server that is gone in a moment


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Room:
    folder = tmp_path_factory.mktemp("http").resolve()
    for name in ("project/.git", "home"):
        (folder / name).mkdir(parents=True)
    return Room(folder / "project", folder / "home")


@pytest.fixture(scope="module")
def served(place: Room) -> Iterator[Served]:
    """One server for all; every test comes with a plan of its own."""
    with serving(place) as server:
        yield server


@every_mode
async def test_each_handle_has_its_own_plan_and_no_other_is_seen(served: Served, place: Room, mode: str) -> None:
    mine, other = f"mine {mode}", f"other {mode}"
    async with served.client(mode, mine) as one, served.client(mode, other) as two:
        told = [said(await client.call_tool("todo", {"add": [name]})) for client, name in ((one, "One"), (two, "Two"))]
        plans = [await read(client) for client in (one, two)]
        own = await read(one, session_uri(mine))
        with pytest.raises(MCPError, match="Resource not found"):
            await read(one, session_uri(other))
        templates = (await one.list_resource_templates()).resource_templates
        names = await one.complete(ResourceTemplateReference(uri="plan://{session}"), {"name": "session", "value": ""})

    assert (told, plans, own) == (["1", "1"], ["- [ ] One\n", "- [ ] Two\n"], "- [ ] One\n")
    assert (templates, names.completion.values) == ([], [])
    assert (place.texts(mine), place.texts(other)) == (["One"], ["Two"])


@every_mode
async def test_clients_with_the_same_handle_share_a_plan_and_are_told_what_they_cannot_know(
    served: Served, mode: str
) -> None:
    async with served.client(mode, f"ours {mode}") as one, served.client(mode, f"ours {mode}") as two:
        await one.call_tool("todo", {"add": ["One"]})
        second = said(await two.call_tool("todo", {"add": ["Two"]}))
        third = said(await one.call_tool("todo", {"done": 1}))
        fourth = said(await one.call_tool("todo", {"start": 2}))

    assert second == "2\nPlan:\n1 One\n2 Two"
    assert "2 Two" in third
    # A connection is remembered where the protocol has such; where it has none, nothing is taken for known.
    assert (fourth == "ok") is (mode == "legacy")


@every_mode
async def test_a_handle_may_stand_in_the_address_and_in_any_script(served: Served, place: Room, mode: str) -> None:
    async with served.client(mode, query="?session=gr%C3%BCn") as client:
        await client.call_tool("todo", {"add": ["One"]})
    async with served.client(mode, "grün") as client:
        plan = await read(client)

    assert plan.splitlines()[0] == "- [ ] One"
    assert place.texts("grün")[0] == "One"


@every_mode
async def test_a_session_of_codex_is_known_by_what_it_says_itself(served: Served, place: Room, mode: str) -> None:
    async with served.client(mode) as client:
        told = said(await client.call_tool("todo", {"add": ["One"]}, meta=meta(sessionId=mode)))

    assert told == "1"
    known = place.agents.get(AgentId.parse(f"codex:{mode}"))
    assert known is not None
    assert place.texts(known.session) == ["One"]


@every_mode
async def test_a_change_is_heard_of(served: Served, place: Room, mode: str) -> None:
    heard = Heard()
    async with (
        served.client(mode, f"heard {mode}", heard) as client,
        listening(client, heard, "plan://current") as change,
    ):
        await asyncio.to_thread(place.add, "By hand", session=f"heard {mode}")
        await change()
        plan = await read(client)

    assert plan == "- [ ] By hand\n"


def test_a_request_without_the_token_is_turned_away(served: Served) -> None:
    shown = ["", served.token, f"Basic {served.token}", f"Bearer {served.token}x", f"Bearer {served.token[:-1]}"]

    answers = [served.post(initialize(), authorization=each) for each in shown]

    assert [answer.status_code for answer in answers] == [401] * 5
    assert answers[0].headers["www-authenticate"] == 'Bearer realm="tildone"'
    assert served.token not in "".join(answer.text for answer in answers)


def test_the_token_is_for_this_persons_eyes_and_said_nowhere(served: Served) -> None:
    assert stat.S_IMODE(served.token_file.stat().st_mode) == 0o600
    assert served.token not in " ".join(served.told)
    assert served.url.startswith("http://127.0.0.1:")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "10.0.0.1"])
def test_a_request_for_another_host_is_turned_away(served: Served, host: str) -> None:
    """A page whose name was made to lead here says the name it has."""
    assert served.post(initialize(), host=host).status_code == 421


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil.example", "http://[::1"])
def test_a_request_from_another_site_is_turned_away(served: Served, origin: str) -> None:
    assert served.post(initialize(), origin=origin).status_code == 403


def test_a_request_from_this_machine_gets_in(served: Served) -> None:
    assert served.post(initialize(), origin="http://localhost:6274", host="localhost:1").status_code == 200


def test_nothing_is_found_elsewhere(served: Served) -> None:
    """Clients look there for somebody who gives out tokens; there is nobody."""
    elsewhere = served.url.replace("/mcp", "/.well-known/oauth-protected-resource")

    assert served.post(path=elsewhere, authorization="").status_code == 404


def test_a_body_beyond_measure_is_turned_away(served: Served) -> None:
    assert served.post(request(1, "ping", text="x" * MAX_MESSAGE_BYTES)).status_code == 413


@pytest.mark.parametrize("body", [[], 7, "x", {"jsonrpc": "2.0"}], ids=str)
def test_what_is_no_message_is_answered(served: Served, body: Record) -> None:
    assert served.post([body]).status_code == 400


def test_the_server_keeps_to_itself_what_other_connections_are_called(served: Served) -> None:
    """A connection's id that is made up leads nowhere."""
    assert served.post(INITIALIZED, mcp_session_id="made-up").status_code == 404


async def test_whoever_names_no_plan_gets_the_projects(served: Served, place: Room) -> None:
    """One for all of them, and the same after a restart."""
    async with served.client("legacy") as client:
        await client.call_tool("todo", {"add": ["One"]})
    async with served.client("auto") as client:
        plan = await read(client)

    known = place.agents.get(AgentId.parse("http"))
    assert known is not None
    assert plan == "- [ ] One\n"
    assert place.texts(known.session) == ["One"]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
async def test_a_signal_ends_it_although_somebody_listens(room: Room, name: str) -> None:
    """Quietly, with the exit code that a shell expects; its token is kept for the next start."""
    number = getattr(signal, name)
    heard = Heard()
    with serving(room, TILDONE_TOKEN=TOKEN) as server:
        async with server.client("legacy", "x", heard) as client, listening(client, heard, "plan://current"):
            code, more = await asyncio.to_thread(server.end, number)

    assert (code, more) == (128 + number, "")
    assert server.told[1] == "clients need the token in $TILDONE_TOKEN"


def test_without_a_token_whoever_is_on_this_machine_gets_in(room: Room) -> None:
    with serving(room, "--no-token") as server:
        answer = server.post(initialize(), authorization="")
        other_site = server.post(initialize(), authorization="", origin="https://evil.example")

    assert (answer.status_code, other_site.status_code) == (200, 403)
    assert server.told[1] == "every user of this machine has access"


def test_a_port_that_is_taken_is_told(room: Room) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = tildone(room, "--port", str(port), "--no-token")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"tildone: cannot listen on http://127.0.0.1:{port}/mcp: Address already in use; choose another --port\n"
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
def test_an_address_that_is_unsafe_or_makes_no_sense_is_refused(
    room: Room, host: str, *, guarded: bool, complaint: str
) -> None:
    with pytest.raises(UsageError) as refused:
        run(room.settings(), host, 0, token_file=None, guarded=guarded)

    assert str(refused.value).startswith(complaint)


def tildone(room: Room, *words: str) -> "subprocess.CompletedProcess[str]":
    """A server that does not come to serve."""
    return subprocess.run(
        [PROGRAM, "mcp", "--http", *words],
        cwd=room.project,
        env=room.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
