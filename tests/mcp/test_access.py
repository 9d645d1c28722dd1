"""Access control over HTTP and the token, rule by rule."""

import os
import socket
import stat
from pathlib import Path

import httpx2
import pytest
from starlette.responses import PlainTextResponse

from tests.mcp.project import Project
from tests.needs import need_address
from tildone.agents.mcp.http import AccessMiddleware, Token, find_token
from tildone.base import UsageError
from tildone.base.serving import bound_socket, is_loopback, server_names, url

SECRET = "0123456789abcdef"  # noqa: S105  of a test
EVERYWHERE = "0.0.0.0"  # noqa: S104  a name to be recognised
TOKEN = Token(SECRET, "here")
BAD_HOSTS = Path(__file__).with_name("bad_hosts.txt").read_text(encoding="utf-8").splitlines()
"""Headers that a careless parser reads as a name of this server."""

unix_only = pytest.mark.skipif(os.name == "nt", reason="Windows keeps others out by other means")


async def status(listens: str, token: Token | None = None, path: str = "/mcp", **headers: str) -> int:
    app = AccessMiddleware(PlainTextResponse("in"), listens, token)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://localhost") as client:
        return (await client.post(path, headers=headers)).status_code


NAMES = {
    "127.0.0.1": ("localhost:8633 LOCALHOST [::1]:8633", ["192.168.1.7", "", *BAD_HOSTS]),
    "localhost": ("127.0.0.1:1", []),
    "::1": ("[::1]", []),
    "192.168.1.7": ("192.168.1.7:8633", ["localhost:8633"]),
    "plans.lan": ("plans.lan", ["plans.lan.evil.example"]),
    EVERYWHERE: (f"192.168.1.7:8633 {socket.gethostname()}:8633 localhost", ["evil.example", *BAD_HOSTS]),
    "::": ("[fe80::1]:8633", []),
}
"""What a server may be called that listens at an address, and what not."""

HOSTS = [
    (listens, host, code)
    for listens, (names, others) in NAMES.items()
    for code, hosts in ((200, names.split(" ")), (421, others))
    for host in hosts
]


async def test_the_host_header_must_name_the_server() -> None:
    """On all interfaces any IP address will do: DNS rebinding needs a host name."""
    assert [(listens, host, await status(listens, host=host)) for listens, host, _ in HOSTS] == HOSTS


ORIGINS = [
    ("127.0.0.1", "localhost:8633", "http://localhost:8633", 200),
    ("127.0.0.1", "localhost:8633", "http://LOCALHOST:8633", 200),
    ("127.0.0.1", "localhost", "http://localhost", 200),
    ("plans.lan", "plans.lan", "https://plans.lan", 200),
    ("plans.lan", "plans.lan", "https://plans.lan:8443", 403),
    ("127.0.0.1", "localhost", "http://localhost:3000", 403),
    ("127.0.0.1", "localhost:8633", "http://localhost:3000", 403),
    ("127.0.0.1", "localhost:8633", "http://localhost", 403),
    ("127.0.0.1", "localhost:8633", "http://localhost:8633@evil.example", 403),
    ("127.0.0.1", "localhost:8633", "http://evil.example/localhost:8633", 403),
    ("127.0.0.1", "localhost:8633", "ftp://localhost:8633", 403),
    ("127.0.0.1", "localhost:8633", "http://localhost:8633/", 403),
    ("127.0.0.1", "localhost:8633", "", 403),
    ("127.0.0.1", "localhost", "https://evil.example", 403),
    ("127.0.0.1", "localhost", "null", 403),
    ("127.0.0.1", "localhost", "http://[", 403),
    (EVERYWHERE, "192.168.1.7:8633", "http://192.168.1.7:8633", 200),
    (EVERYWHERE, "192.168.1.7:8633", "http://203.0.113.5", 403),
]


async def test_the_origin_must_be_the_same_host() -> None:
    found = [
        (listens, host, origin, await status(listens, host=host, origin=origin)) for listens, host, origin, _ in ORIGINS
    ]

    assert found == ORIGINS


async def test_a_request_has_one_host_and_at_most_one_origin() -> None:
    """Two of them would be read differently by a proxy and by the server."""
    app = AccessMiddleware(PlainTextResponse("in"), "127.0.0.1", None)
    statuses = []
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://localhost") as client:
        for name, value in (("Host", "localhost"), ("Origin", "http://localhost")):
            headers = [("Host", "localhost"), (name, value)]
            statuses.append((await client.post("/mcp", headers=headers)).status_code)
            statuses.append((await client.post("/mcp", headers=[*headers, (name, value)])).status_code)

    assert statuses == [421, 421, 200, 403]


async def test_the_origin_may_be_any_name_of_the_server_at_the_port_that_it_serves() -> None:
    """A page under one name of the server, such as an inspector's, may use another."""
    app = AccessMiddleware(PlainTextResponse("in"), "127.0.0.1", None)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://localhost:8633") as client:
        answers = [
            (await client.post("/mcp", headers={"Origin": origin})).status_code
            for origin in ("http://127.0.0.1:8633", "http://[::1]:8633", "http://127.0.0.1:8634")
        ]

    assert answers == [200, 200, 403]


async def test_a_request_that_is_let_in_is_told_by_the_address_of_its_client() -> None:
    """And a refusal closes the connection, which nobody holds open then."""
    admitted: list[object] = []
    app = AccessMiddleware(PlainTextResponse("in"), "127.0.0.1", TOKEN, admitted.append)
    transport = httpx2.ASGITransport(app=app, client=("1.2.3.4", 5))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        refused = await client.post("/mcp")
        assert (refused.status_code, refused.headers["connection"], admitted) == (401, "close", [])
        await client.post("/mcp", headers={"Authorization": f"Bearer {SECRET}"})

    assert admitted == [("1.2.3.4", 5)]


TOKENS = {f"Bearer {SECRET}": 200, f"bearer {SECRET}": 200, f"Bearer  {SECRET} ": 200} | dict.fromkeys(
    (SECRET, f"Basic {SECRET}", f"Bearer {SECRET}0", "Bearer", "Bearer \u00fc"), 401
)


async def test_the_token_must_match_exactly() -> None:
    app = AccessMiddleware(PlainTextResponse("in"), "127.0.0.1", TOKEN)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://localhost") as client:
        answers = {
            header: (await client.post("/mcp", headers={b"Authorization": header.encode()})).status_code
            for header in TOKENS
        }

    assert answers == TOKENS


async def test_host_and_path_are_checked_before_the_token() -> None:
    assert await status("127.0.0.1", TOKEN, host="evil.example") == 421
    assert await status("127.0.0.1", TOKEN, "/elsewhere") == 404
    assert await status("127.0.0.1", TOKEN) == 401


async def test_an_internal_error_is_logged(capsys: pytest.CaptureFixture[str]) -> None:
    async def broken(*_: object) -> None:
        raise ZeroDivisionError

    app = AccessMiddleware(broken, "127.0.0.1", None)
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        answer = await client.post("/mcp")

    assert answer.status_code == 500
    assert capsys.readouterr().err == "tildone mcp: ZeroDivisionError()\n"


def test_loopback_hosts_are_recognised() -> None:
    assert [is_loopback(host) for host in ("localhost", "127.0.0.2", "::1", "LocalHost")] == [True] * 4
    assert [is_loopback(host) for host in (EVERYWHERE, "::", "", "example.com", "10.0.0.1")] == [False] * 5
    assert "127.0.0.2" in server_names("127.0.0.2")


def test_a_token_is_created_once_and_found_again(project: Project) -> None:
    first, second = (find_token(project.settings(), {}, None) for _ in range(2))

    assert first == second
    assert len(first.secret) > 40
    assert Path(first.source).parent == project.home / "tildone"
    assert [path.name for path in Path(first.source).parent.iterdir()] == ["mcp-token"]


@unix_only
def test_a_new_token_is_readable_by_its_owner_only(project: Project) -> None:
    made = Path(find_token(project.settings(), {}, str(project.home / "new" / "token")).source)

    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    assert stat.S_IMODE(made.parent.stat().st_mode) == 0o700


def test_a_token_created_meanwhile_by_another_process_is_used(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two servers that start at once use the same token."""
    file = project.home / "token"
    file.write_text(f"{SECRET}\n")
    monkeypatch.setattr(os.path, "exists", lambda path: path != str(file) and os.access(path, os.F_OK))

    token = find_token(project.settings(), {}, str(file))

    assert (token.secret, [path.name for path in project.home.iterdir()]) == (SECRET, ["token"])


def test_a_named_file_comes_before_the_environment(project: Project) -> None:
    environ = {"TILDONE_TOKEN": SECRET}
    named = project.home / "named"
    named.write_text(f"  {SECRET}-named\r\n")

    assert find_token(project.settings(), environ, None) == Token(SECRET, "$TILDONE_TOKEN")
    assert find_token(project.settings(), environ, str(named)) == Token(f"{SECRET}-named", str(named))


def test_an_invalid_token_is_refused_and_not_printed(project: Project) -> None:
    file = project.home / "token"
    for content in ("", "\n", "too short", "x" * 15, "with a space in the middle", "ü" * 20, "a\tb" * 9):
        file.write_text(content, encoding="utf-8")

        with pytest.raises(UsageError, match="holds no token") as refused:
            find_token(project.settings(), {}, str(file))

        if content.strip():
            assert content not in str(refused.value)
            with pytest.raises(UsageError, match="TILDONE_TOKEN holds no token"):
                find_token(project.settings(), {"TILDONE_TOKEN": content}, None)


def test_a_token_file_that_cannot_be_read_or_created_is_named(project: Project) -> None:
    file = project.home / "file"
    file.touch()
    for place in (project.home, file / "token"):
        with pytest.raises(UsageError, match=r"Is a directory|Not a directory|File exists|Permission denied"):
            find_token(project.settings(), {}, str(place))


@unix_only
def test_a_token_that_others_can_read_is_used_with_a_warning(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    file = project.home / "token"
    file.write_text(SECRET)
    file.chmod(0o644)

    assert find_token(project.settings(), {}, str(file)).secret == SECRET
    assert capsys.readouterr().err == (f"tildone mcp: other users have access to {file}; restrict it with chmod 600\n")


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_the_server_listens_on_ipv4_and_ipv6(host: str) -> None:
    need_address(host)
    with bound_socket(host, 0) as taken:
        assert url(host, taken.getsockname()[1]).startswith(f"http://{f'[{host}]' if ':' in host else host}:")
