"""Who gets in, and the secret they show: every rule by itself."""

import os
import socket
import stat
from pathlib import Path

import httpx2
import pytest
from starlette.responses import PlainTextResponse

from tests.mcp.room import Room
from tildone.errors import UsageError
from tildone.mcp.access import AccessMiddleware, is_loopback, server_names
from tildone.mcp.http_server import bound_socket, url
from tildone.mcp.token import Token, find_token

SECRET = "0123456789abcdef"  # noqa: S105  of a test
EVERYWHERE = "0.0.0.0"  # noqa: S104  a name to be recognised
TOKEN = Token(SECRET, "here")
unix_only = pytest.mark.skipif(os.name == "nt", reason="Windows keeps others out by other means")


async def status(listens: str, token: Token | None = None, path: str = "/mcp", **headers: str) -> int:
    """How a server that listens there answers a request."""
    guard = AccessMiddleware(PlainTextResponse("in"), listens, token)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=guard), base_url="http://localhost") as client:
        return (await client.post(path, headers=headers)).status_code


@pytest.mark.parametrize(
    ("listens", "host", "expected"),
    [
        ("127.0.0.1", "localhost:8633", 200),
        ("127.0.0.1", "LOCALHOST", 200),
        ("127.0.0.1", "[::1]:8633", 200),
        ("127.0.0.1", "192.168.1.7", 421),
        ("localhost", "127.0.0.1:1", 200),
        ("::1", "[::1]", 200),
        ("192.168.1.7", "192.168.1.7:8633", 200),
        ("192.168.1.7", "localhost:8633", 421),
        ("plans.lan", "plans.lan", 200),
        ("plans.lan", "plans.lan.evil.example", 421),
        (EVERYWHERE, "192.168.1.7:8633", 200),
        (EVERYWHERE, f"{socket.gethostname()}:8633", 200),
        (EVERYWHERE, "localhost", 200),
        (EVERYWHERE, "evil.example", 421),
        ("::", "[fe80::1]:8633", 200),
        ("127.0.0.1", "", 421),
    ],
)
async def test_a_server_goes_by_the_names_it_has(listens: str, host: str, expected: int) -> None:
    """Where it listens to the whole network any address will do: a page that was led here by its name says a name."""
    assert await status(listens, host=host) == expected


@pytest.mark.parametrize(
    ("listens", "host", "origin", "expected"),
    [
        ("127.0.0.1", "localhost", "http://localhost:3000", 200),
        ("127.0.0.1", "localhost", "http://127.0.0.1", 200),
        ("127.0.0.1", "localhost", "https://evil.example", 403),
        ("127.0.0.1", "localhost", "null", 403),
        ("127.0.0.1", "localhost", "http://[", 403),
        (EVERYWHERE, "192.168.1.7:8633", "http://192.168.1.7:8633", 200),
        (EVERYWHERE, "192.168.1.7:8633", "http://203.0.113.5", 403),
    ],
)
async def test_a_page_gets_in_only_from_the_same_host(listens: str, host: str, origin: str, expected: int) -> None:
    assert await status(listens, host=host, origin=origin) == expected


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (f"Bearer {SECRET}", 200),
        (f"bearer {SECRET}", 200),
        (f"Bearer  {SECRET} ", 200),
        (SECRET, 401),
        (f"Basic {SECRET}", 401),
        (f"Bearer {SECRET}0", 401),
        ("Bearer", 401),
        ("Bearer \u00fc", 401),
    ],
)
async def test_the_token_is_shown_whole_or_not_at_all(shown: str, expected: int) -> None:
    guard = AccessMiddleware(PlainTextResponse("in"), "127.0.0.1", TOKEN)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=guard), base_url="http://localhost") as client:
        answer = await client.post("/mcp", headers={b"Authorization": shown.encode()})

    assert answer.status_code == expected


async def test_names_come_before_the_token_and_the_token_before_all_else() -> None:
    assert await status("127.0.0.1", TOKEN, host="evil.example") == 421
    assert await status("127.0.0.1", TOKEN, "/elsewhere") == 404
    assert await status("127.0.0.1", TOKEN) == 401


async def test_a_fault_of_ours_is_told_to_a_person(capsys: pytest.CaptureFixture[str]) -> None:
    async def broken(*_: object) -> None:
        raise ZeroDivisionError

    guard = AccessMiddleware(broken, "127.0.0.1", None)
    transport = httpx2.ASGITransport(app=guard, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        answer = await client.post("/mcp")

    assert answer.status_code == 500
    assert capsys.readouterr().err == "tildone mcp: ZeroDivisionError()\n"


def test_loopback_is_recognised_by_any_of_its_names() -> None:
    assert [is_loopback(host) for host in ("localhost", "127.0.0.2", "::1", "LocalHost")] == [True] * 4
    assert [is_loopback(host) for host in (EVERYWHERE, "::", "", "example.com", "10.0.0.1")] == [False] * 5
    assert "127.0.0.2" in server_names("127.0.0.2")


def test_a_token_is_made_once_and_found_again(room: Room) -> None:
    first, second = (find_token(room.settings(), {}, None) for _ in range(2))

    assert first == second
    assert len(first.secret) > 40
    assert Path(first.source).parent == room.home / "tildone"
    assert [path.name for path in Path(first.source).parent.iterdir()] == ["mcp-token"]


@unix_only
def test_a_token_that_is_made_is_for_this_persons_eyes_only(room: Room) -> None:
    made = Path(find_token(room.settings(), {}, str(room.home / "new" / "token")).source)

    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    assert stat.S_IMODE(made.parent.stat().st_mode) == 0o700


def test_where_another_has_made_one_meanwhile_that_counts(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both started at once: neither serves with a token that nobody finds."""
    file = room.home / "token"
    file.write_text(f"{SECRET}\n")
    monkeypatch.setattr(os.path, "exists", lambda path: path != str(file) and os.access(path, os.F_OK))

    found = find_token(room.settings(), {}, str(file))

    assert (found.secret, [path.name for path in room.home.iterdir()]) == (SECRET, ["token"])


def test_what_is_said_nearest_counts(room: Room) -> None:
    environ = {"TILDONE_TOKEN": SECRET}
    named = room.home / "named"
    named.write_text(f"  {SECRET}-named\r\n")

    assert find_token(room.settings(), environ, None) == Token(SECRET, "$TILDONE_TOKEN")
    assert find_token(room.settings(), environ, str(named)) == Token(f"{SECRET}-named", str(named))


@pytest.mark.parametrize("held", ["", "\n", "too short", "x" * 15, "with a space in the middle", "ü" * 20, "a\tb" * 9])
def test_what_is_no_token_is_refused_and_not_repeated(room: Room, held: str) -> None:
    file = room.home / "token"
    file.write_text(held, encoding="utf-8")

    with pytest.raises(UsageError, match="holds no token") as refused:
        find_token(room.settings(), {}, str(file))

    assert not held.strip() or held not in str(refused.value)
    if held.strip():
        with pytest.raises(UsageError, match="TILDONE_TOKEN holds no token"):
            find_token(room.settings(), {"TILDONE_TOKEN": held}, None)


def test_a_token_that_cannot_be_read_or_made_is_told_with_its_file(room: Room) -> None:
    file = room.home / "file"
    file.touch()
    for place in (room.home, file / "token"):
        with pytest.raises(UsageError, match=r"Is a directory|Not a directory|File exists|Permission denied"):
            find_token(room.settings(), {}, str(place))


@unix_only
def test_a_token_that_others_can_read_is_used_and_complained_of(room: Room, capsys: pytest.CaptureFixture[str]) -> None:
    file = room.home / "token"
    file.write_text(SECRET)
    file.chmod(0o644)

    assert find_token(room.settings(), {}, str(file)).secret == SECRET
    assert capsys.readouterr().err == (f"tildone mcp: other users have access to {file}; restrict it with chmod 600\n")


def test_an_address_can_be_of_either_family() -> None:
    for host in ("127.0.0.1", "::1"):
        try:
            taken = bound_socket(host, 0)
        except UsageError:
            pytest.skip(f"this machine has no {host}")
        with taken:
            assert url(host, taken.getsockname()[1]).startswith(f"http://{f'[{host}]' if ':' in host else host}:")
