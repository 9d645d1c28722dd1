"""Who is let in and what is refused, over real sockets.

Links, logins, tokens, people whom a proxy names, and that proxy.
"""

import http.client
import os
import re
import shlex
import socket
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.mcp.test_access import BAD_HOSTS
from tests.mcp.test_http import AMBIGUOUS, answers_to_ambiguous_requests
from tests.project.source import ROOT
from tests.web.boards import Answered, Browser, Place, RunningBoard, board, until
from tildone.base import TildoneError
from tildone.plan.model import Task
from tildone.plan.ops import Append
from tildone.screens.board.access import (
    LIFETIME_SECONDS,
    OWNER,
    VALID_MS,
    BoardSecrets,
    Logins,
    OneTimeLinks,
    People,
    PrivateJson,
    Redeemed,
)
from tildone.screens.board.app import EXPORTERS, READERS, WRITERS

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}
READ, WRITTEN = (
    [path.format(key="x-0123456789", item="q1") for path in paths]
    for paths in ((*READERS, *EXPORTERS, "/api/live?topics=needs"), WRITERS)
)
PAGES = ("/", "/api/sessions")
SITE, CROSS = "Sec_Fetch_Site", {"Sec_Fetch_Site": "cross-site"}
FROM_OTHER_SITES = (
    *(({SITE: "same-origin"}, 200), (CROSS, 403), ({SITE: "same-site"}, 403)),
    (CROSS | {"Sec_Fetch_Mode": "no-cors", "Sec_Fetch_Dest": "script"}, 403),
    (CROSS | {"Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"}, 403),
    (CROSS | {"Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}, 200),
)
OUTSIDE = (
    *("../app.js", "..%2fapp.js", "%2e%2e/server.py", "/etc/passwd", "....//app.js", "app.js%00"),
    "x/../../../server.py",
)


def without(browser: Browser, *names: str) -> Browser:
    kept = {name: text for name, text in browser.headers.items() if name not in names}
    return Browser(browser.port, browser.base, kept)


def refused(answered: Answered, status: int, row: str = "") -> None:
    assert (answered.status, row) == (status, row)
    assert (set(answered.json), row) == ({"error", "hint"}, row)
    assert not any(name.startswith("access-control") for name in answered.headers), row
    assert ({name: answered.headers[name] for name in HEADERS}, row) == (HEADERS, row)


def test_cookie_and_key_are_needed_together(browser: Browser) -> None:
    wrong = Browser(browser.port, "", {**browser.headers, "X-Tildone-Key": "0" * 64})
    for given in (without(browser, "Cookie"), without(browser, "X-Tildone-Key"), Browser(browser.port), wrong):
        for path in READ:
            refused(given.get(path), 401, path)
        for path in WRITTEN:
            refused(given.post(path, {}), 401, path)
    name, _, cookie = browser.headers["Cookie"].partition("=")
    kind, who, identity, expires, signature = cookie.split(".")
    later = f"{kind}.{who}.{identity}.{int(expires) + 1}.{signature}"
    of_token, short = f"t.{who}.{identity}.{expires}.{signature}", f"{kind}.{who}.{identity}.{signature}"
    for changed in (of_token, later, short, "", "...."):
        refused(Browser(browser.port, "", {**browser.headers, "Cookie": f"{name}={changed}"}).get("/api/sessions"), 401)


def test_another_host_name_or_origin_is_refused_and_the_own_one_accepted_under_each_name(browser: Browser) -> None:
    """A page that another program serves on this machine has another port."""
    rows = [(host, path) for host in (*BAD_HOSTS, "evil.example", "127.0.0.1.evil.example") for path in PAGES]

    assert [row for row in rows if browser.get(row[1], Host=row[0]).status != 421] == []
    for origin in ("null", "https://evil.example", "http://127.0.0.1:1", "http://localhost", "file://"):
        refused(browser.get("/api/sessions", Origin=origin), 403, origin)
        for path in ("/api/in", *WRITTEN):
            refused(browser.post(path, {"token": "x"}, Origin=origin), 403, origin)
    for name in ("127.0.0.1", "localhost", "[::1]"):
        host = f"{name}:{browser.port}"
        assert browser.get("/api/sessions", Host=host, Origin=f"http://{host}").status == 200


def test_requests_of_other_sites_are_refused_unless_a_person_follows_a_link(browser: Browser) -> None:
    """What a link leads to is the frame of the pages, which holds no data."""
    pages = [browser.get("/", **headers) for headers, _ in FROM_OTHER_SITES]

    assert [(headers, page.status) for (headers, _), page in zip(FROM_OTHER_SITES, pages, strict=True)] == [
        *FROM_OTHER_SITES
    ]
    assert {page.headers["content-security-policy"] for page in pages} == {POLICY}
    assert {browser.post(path, {}, Sec_Fetch_Site="cross-site").status for path in WRITTEN} == {403}
    preflight = {"Origin": "http://127.0.0.1:1", "Access_Control_Request_Headers": "x-tildone-key"}
    refused(browser.send("OPTIONS", "/api/sessions", None, **preflight), 403)
    assert browser.send("OPTIONS", "/api/sessions", None).status == 405
    assert browser.send("PUT", "/api/sessions", b"").status == 405


def test_only_bounded_json_objects_are_read(browser: Browser) -> None:
    kinds = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "")
    rows = [(path, kind) for path in ("/api/in", *WRITTEN) for kind in kinds]

    assert [row for row in rows if browser.send("POST", row[0], b"{}", Content_Type=row[1]).status != 415] == []
    assert browser.send("POST", "/api/in", b" " * 1_000_001, Content_Type="application/json").status == 413
    for body in (b"", b"[]", b"{", b'"x"', b"[" * 100_000):
        assert browser.send("POST", "/api/in", body, Content_Type="application/json").status == 400


def test_a_request_that_ends_at_two_places_has_one_answer_and_is_the_last(browser: Browser) -> None:
    answers = answers_to_ambiguous_requests(browser.port, b"GET /in HTTP/1.1\r\nHost: localhost\r\n")

    assert answers == [[b"HTTP/1.1 400 Bad Request"]] * len(AMBIGUOUS)


def test_every_answer_has_the_headers_that_protect_pages_and_a_page_holds_no_data_and_no_name(
    browser: Browser, shared_place: Place
) -> None:
    """A browser sends the cookie to every port of this machine: what needs only the cookie is not safe."""
    for answered in (browser.get("/"), browser.get("/in"), browser.get("/api/sessions"), browser.get("/nothing")):
        assert {name: answered.headers[name] for name in HEADERS} == HEADERS
    shared_place.session("secret plan").change([])
    pages = [browser.get(path).body for path in ("/", "/s/x-0123456789", "/out")]
    assert all(b"secret" not in page and b"Ada" not in page for page in pages)


def test_a_link_works_once_and_secrets_are_in_files_that_only_their_owner_reads(place: Place) -> None:
    with board(place) as running:
        browser = running.browser()
        again = Browser(running.port).post("/api/in", {"token": running.token})
        unknown = Browser(running.port).post("/api/in", {"token": "A" * 22})
        inside = browser.get("/api/sessions").status
        place.run("board", "token", "add", "Mara")
        files = list(place.private_folder.glob("*.json"))
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in files}
        texts = "".join(path.read_text() for path in files)

    assert modes == dict.fromkeys(("keys.json", "links.json", "people.json", "running.json"), 0o600)
    assert running.token not in texts
    assert (again.status, again.json["error"]) == (401, "This link was used.")
    assert again.json["hint"] == "If that was not you: tildone board --new-key"
    assert (unknown.status, unknown.json["error"]) == (401, "This link or token is not known here.")
    assert inside == 200
    assert len(running.token) == 22


def test_a_login_outlives_a_restart_and_ends_with_a_new_key(place: Place) -> None:
    with board(place) as running:
        browser = running.browser()
        port = str(running.port)
        running.end()
    with board(place, "--port", port) as running:
        restarted = browser.get("/api/sessions").status
        second = place.run("board", "--no-open", "--new-key")
        after = browser.get("/api/sessions").status
        old_link = Browser(running.port).post("/api/in", {"token": running.token})
        link = second.stdout.rpartition("#t=")[2].strip()
        fresh = running.browser(link).get("/api/sessions").status

    assert (restarted, after, fresh) == (200, 401, 200)
    assert old_link.json["error"] == "This link or token is not known here."
    assert second.stdout.startswith("Everybody has to sign in again.\n")


def test_a_second_board_of_a_store_says_where_the_first_one_runs_unless_that_was_killed(place: Place) -> None:
    with board(place) as running:
        running.end(9)
    with board(place) as running:
        assert running.notice[0].startswith("the board is at ")
        second = place.run("board", "--no-open")
        running.end()
    ended = place.private_folder.joinpath("running.json").read_text()

    assert (second.returncode, second.stderr) == (0, "")
    assert f"runs already, with its own options, at {running.url}\n" in second.stdout
    assert f"{running.url}/in#t=" in second.stdout
    assert ended == "{}"


def test_a_port_that_is_in_use_is_said(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused_port = place.run("board", "--no-open", "--port", str(port))

    assert refused_port.returncode == 1
    assert "choose another --port" in refused_port.stderr
    assert "Traceback" not in refused_port.stderr


def test_no_path_leads_out_of_the_files_of_the_pages(browser: Browser) -> None:
    start = browser.get("/").body.decode().partition('src="')[2].partition("app.js")[0]
    paths = [f"{folder}{name}" for folder in (start, "/a/", f"{start}../../") for name in OUTSIDE]

    assert [path for path in paths if browser.get(path).status != 404] == []


def test_who_looks_in_a_browser_reads_a_page_about_what_is_missing_and_programs_read_json(browser: Browser) -> None:
    page = browser.get("/nothing/here", Accept="text/html,*/*")
    elsewhere = browser.get("/", Accept="text/html", Host="board.example.org")
    export = browser.get("/s/x-0123456789.md", Accept="text/html")

    assert (page.status, elsewhere.status, export.status) == (404, 421, 404)
    assert all(each.headers["content-type"].startswith("text/html") for each in (page, elsewhere, export))
    assert b"<h1>There is nothing at this address.</h1>" in page.body
    assert b'href="/">All sessions</a>' in page.body
    assert b"--public-url URL</p>" in elsewhere.body
    assert b"All sessions" not in elsewhere.body
    assert b"not in the store" in export.body
    assert browser.get("/nothing/here", Accept="*/*").json["error"] == "There is nothing at this address."
    assert browser.get("/api/nothing", Accept="text/html").json["error"] == "There is nothing at this address."


def test_nothing_is_served_outside_of_the_base_path_and_the_cookie_is_for_this_board_alone(place: Place) -> None:
    """No script reads it."""
    with board(place, "--base-path", "/plans/") as running:
        entered = Browser(running.port, "/plans").post("/api/in", {"token": running.token})
        cookie, *attributes = entered.headers["set-cookie"].split("; ")
        inside = Browser(running.port, "/plans", {"Cookie": cookie, "X-Tildone-Key": entered.json["key"]})
        paths = ("/", "/in", "/stats", "/s/x-0123456789", "/api/sessions", "/s/x-0123456789/log")
        statuses = [inside.get(path).status for path in paths]
        outside = Browser(running.port, "", inside.headers)
        paths = ("/", "/in", "/api/sessions", "/plansx/", "/plans/../api/sessions", "/stats")
        others = [outside.get(path).status for path in paths]
        page = inside.get("/").body.decode()

    assert cookie.startswith(f"tildone-{running.port}=")
    assert sorted(attributes) == ["HttpOnly", "Max-Age=2592000", "Path=/plans/", "SameSite=strict"]
    assert entered.headers["set-cookie"].count(entered.json["key"]) == 0
    assert running.url.endswith("/plans")
    assert statuses == [200] * 6
    assert others == [404] * 6
    assert 'data-base="/plans"' in page
    assert 'src="/plans/a/' in page


PROXY = shlex.split("--user-header X-Forwarded-User --trusted-proxy 127.0.0.1 --public-url https://plans.example.org")
INVALID = (
    *("--port x", "--port 70000", "--base-path plans", "--base-path /a/../b", "--json", "--host no.such.host.invalid"),
    *("--public-url plans.example.org", "--public-url https://plans.example.org/x", "--trusted-proxy proxy"),
    *("--user-header 'X User' --trusted-proxy 127.0.0.1", "--user-header X-User"),
)


def one_task(place: Place) -> None:
    place.session().change([Append((Task("Write the parser"),), "")])


def complete_first(browser: Browser) -> int:
    key = browser.key()
    head = browser.get(f"/api/s/{key}").json["head"]
    return browser.post(f"/api/s/{key}/ops", {"ops": [{"op": "mark", "at": [0], "status": "completed"}]}, head).status


def authors(place: Place) -> list[str]:
    return [event.author.name for event in place.store().events(place.settings().session)]


def test_the_history_names_the_person_with_a_token_who_is_signed_out_when_it_is_removed(place: Place) -> None:
    one_task(place)
    token = place.run("board", "token", "add", "Mara  Keller").stdout.splitlines()[-1]
    with board(place) as running:
        mara, owner = running.browser(token), running.browser()
        user = mara.get("/api/sessions").json["user"]
        assert complete_first(mara) == 200
        removed = place.run("board", "token", "remove", "Mara Keller")
        after, others = mara.get("/api/sessions").status, owner.get("/api/sessions").status
        again = Browser(running.port).post("/api/in", {"token": token})

    assert user == "Mara Keller"
    assert authors(place) == ["Grace", "Mara Keller"]
    assert (after, others, again.status) == (401, 200, 401)
    assert removed.stdout == "Removed the token of Mara Keller. They are signed out.\n"


def test_tokens_are_listed_without_their_secrets(place: Place) -> None:
    none = place.run("board", "token").stdout
    token = place.run("board", "token", "add", "Mara").stdout.splitlines()[-1]
    listed, as_json = place.run("board", "token").stdout, place.run("board", "token", "--json").stdout
    twice, missing = place.run("board", "token", "add", "Mara"), place.run("board", "token", "remove", "Bo")
    stored = place.private_folder.joinpath("people.json").read_text()

    assert none == "There are no tokens. To make one: tildone board token add NAME\n"
    assert listed.startswith("Mara  since ")
    assert '"name":"Mara"' in as_json
    assert token not in listed + as_json + stored
    assert (twice.returncode, missing.returncode) == (3, 4)


def test_invalid_options_and_words_about_tokens_are_usage_errors(place: Place) -> None:
    rows = (("token", "add"), ("tokens",), ("token", "add", " "), ("token", "rename", "Mara"))
    ended = {words: place.run("board", "--no-open", *shlex.split(words)) for words in INVALID}

    assert [words for words in rows if place.run("board", *words).returncode != 2] == []
    assert {words: (done.returncode, done.stdout) for words, done in ended.items()} == dict.fromkeys(INVALID, (2, ""))


def test_other_machines_are_served_only_if_people_have_names(place: Place) -> None:
    refused = place.run("board", "--no-open", "--host", "0.0.0.0")  # noqa: S104  to be refused
    token = place.run("board", "token", "add", "Mara").stdout.splitlines()[-1]
    with board(place, "--host", "0.0.0.0") as running:  # noqa: S104  with tokens
        mara = running.browser(token).get("/api/sessions").status

    assert refused.returncode == 2
    assert "so people need names: make a token for each with tildone board token add NAME" in refused.stderr
    assert running.notice[1].startswith("people sign in with their tokens at ")
    assert mara == 200


def test_a_proxy_names_the_person_once(place: Place) -> None:
    one_task(place)
    with board(place, *PROXY) as running:
        grace = {"X-Forwarded-User": "Grëtä".encode().decode("latin-1"), "Host": "plans.example.org"}
        signed_in = Browser(running.port, "", grace | {"X-Forwarded-Proto": "https"}).post("/api/in", {})
        browser = running.browser(None, "", **grace)
        user = browser.get("/api/sessions").json["user"]
        complete_first(browser)
        other = Browser(running.port, "", browser.headers | {"X-Forwarded-User": "Mallory"}).get("/api/sessions").status
        nobody = Browser(running.port, "", browser.headers | {"X-Forwarded-User": ""}).get("/api/sessions").status
        unnamed = Browser(running.port).post("/api/in", {}).status
        page = Browser(running.port).get("/").body.decode()
        connection = http.client.HTTPConnection("127.0.0.1", running.port)
        connection.putrequest("POST", "/api/in", skip_host=True)
        names = [("Host", "plans.example.org"), *(("X-Forwarded-User", name) for name in ("Grace", "Mallory"))]
        for name, text in (*names, ("Content-Type", "application/json"), ("Content-Length", "2")):
            connection.putheader(name, text)
        connection.endheaders(b"{}")
        assert connection.getresponse().status == 401
        connection.close()

    assert running.notice[0].startswith("the board is at https://plans.example.org, for the proxy at http://127.0.0.1:")
    assert running.notice[1] == "people sign in at the proxy in front of it"
    assert "Secure" in signed_in.headers["set-cookie"].split("; ")
    assert "Gr" not in signed_in.headers["set-cookie"]
    assert user == "Grëtä"
    assert (other, nobody, unnamed) == (401, 401, 401)
    assert authors(place) == ["Grace", "Grëtä"]
    assert 'data-signin="proxy"' in page


def test_nobody_but_the_proxy_names_people(place: Place) -> None:
    with board(place, "--user-header", "X-Forwarded-User", "--trusted-proxy", "10.0.0.0/8") as running:
        mallory = Browser(running.port, "", {"X-Forwarded-User": "Mallory", "X-Forwarded-For": "10.0.0.1"})

        assert [mallory.post("/api/in", body).status for body in ({}, {"token": "x" * 22})] == [401, 401]


def test_a_read_only_board_refuses_changes(place: Place) -> None:
    one_task(place)
    with board(place, "--read-only") as running:
        browser = running.browser()
        status = complete_first(browser)
        key = browser.key()
        others = [browser.post(path.format(key=key, item="q1"), {"number": 1}, "x").status for path in WRITERS]
        page = browser.get("/").body.decode()

    assert {status, *others} == {403}
    assert 'data-readonly="true"' in page
    assert authors(place) == ["Grace"]


def test_the_browser_is_opened_by_a_private_file_without_the_link_on_a_command_line(place: Place) -> None:
    """And over SSH, none is opened."""
    opened = place.home / "opened"
    opener = place.home / "xdg-open"
    opener.write_text(f'#!/bin/sh\ncp -p "$1" {opened}.html\necho "$@" > {opened}.part\nmv {opened}.part {opened}\n')
    opener.chmod(0o755)
    environ = {"DISPLAY": ":0", "PATH": f"{place.home}:{os.environ['PATH']}"}
    with board(place) as running:
        Place(place.folder, place.home, environ | {"SSH_CONNECTION": "1 2 3 4"}).run("board")
        assert not opened.exists()
        second = Place(place.folder, place.home, environ).run("board")
        until(opened.exists, bool)
        words, page = opened.read_text(), opened.with_suffix(".html")

    assert running.url in second.stdout
    assert "#t=" not in words
    assert f"url={second.stdout.split()[-1]}" in page.read_text()
    assert page.stat().st_mode & 0o77 == 0


NOW = 1_794_735_819_441


def test_a_link_is_valid_for_five_minutes_and_is_then_forgotten(tmp_path: Path) -> None:
    links = OneTimeLinks(str(tmp_path))
    early, late = links.create(NOW), links.create(NOW)

    assert links.redeem(early, NOW + VALID_MS - 1) is Redeemed.VALID
    assert OneTimeLinks(str(tmp_path)).redeem(early, NOW + VALID_MS) is Redeemed.USED
    assert links.redeem(late, NOW + VALID_MS) is Redeemed.EXPIRED
    assert VALID_MS == 5 * 60 * 1000
    links.create(NOW + 25 * 3_600_000)
    assert links.redeem(late, NOW) is Redeemed.UNKNOWN


def test_of_browsers_that_present_a_link_at_once_one_is_let_in(tmp_path: Path) -> None:
    token = OneTimeLinks(str(tmp_path)).create(NOW)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: OneTimeLinks(str(tmp_path)).redeem(token, NOW), range(8)))

    assert sorted(result.value for result in results) == ["used"] * 7 + ["valid"]


def test_a_login_ends_after_thirty_days_and_its_key_does_not_fit_another(tmp_path: Path) -> None:
    logins = Logins(BoardSecrets(str(tmp_path)), People(str(tmp_path)))
    login, other = logins.create(OWNER, "", NOW), logins.create(OWNER, "", NOW)
    last = NOW // 1000 * 1000 + LIFETIME_SECONDS * 1000

    assert logins.visitor(login.cookie, login.key, "", last) is not None
    assert logins.visitor(login.cookie, login.key, "", last + 1000) is None
    assert LIFETIME_SECONDS == 30 * 24 * 3600
    assert logins.visitor(login.cookie, other.key, "", NOW) is None
    assert logins.visitor(login.cookie, login.cookie.rpartition(".")[2], "", NOW) is None


def test_processes_that_start_at_once_agree_on_secrets_and_digests_of_names_survive_a_new_key(tmp_path: Path) -> None:
    """Addresses of sessions stay when everybody has to sign in again."""
    with ThreadPoolExecutor(8) as pool:
        digests = set(pool.map(lambda _: BoardSecrets(str(tmp_path)).digest("x"), range(8)))
    assert len(digests) == 1
    secrets = BoardSecrets(str(tmp_path))
    digest, signature = secrets.digest("x"), secrets.sign("x")
    BoardSecrets(str(tmp_path)).renew()

    assert secrets.digest("x") == digest
    assert secrets.sign("x") != signature


@pytest.mark.parametrize("text", ["", "[]", "{", "\xff"])
def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_bytes(text.encode("latin-1"))

    with pytest.raises(TildoneError, match=r"x\.json is damaged; remove it"):
        PrivateJson(str(tmp_path), "x.json").read()


PAGE = (ROOT / "docs" / "how-to" / "use-the-board.md").read_text(encoding="utf-8")
PROXY_HEADERS = dict(re.findall(r"proxy_set_header (\S+) (\S+);", PAGE))
PASSED_ON = ("cookie", "x-tildone-key", "content-type", "if-match", "last-event-id", "origin", "sec-fetch-site")


def documented_options() -> list[str]:
    command = next(block for block in re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL) if "--trusted-proxy" in block)
    words = shlex.split(command)[2:]
    at = words.index("--port")
    return words[:at] + words[at + 2 :]


@contextmanager
def proxy(port: int, user: str) -> Iterator[int]:
    """What nginx does with those settings, for a person who has signed in."""
    values = {"$host": "work.example.org", "$scheme": "https", "$remote_user": user}

    class Handler(BaseHTTPRequestHandler):
        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name: self.headers[name] for name in PASSED_ON if name in self.headers}
            headers |= {name: values[variable] for name, variable in PROXY_HEADERS.items()}
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request(self.command, self.path, body or None, headers)
            response = connection.getresponse()
            self.send_response_only(response.status)
            for name, text in response.getheaders():
                if name.lower() not in ("transfer-encoding", "connection"):
                    self.send_header(name, text)
            self.end_headers()
            with suppress(http.client.IncompleteRead):  # the board ends before its clients do
                while part := response.read1():
                    self.wfile.write(part)
            connection.close()

        do_GET = do_POST = forward  # noqa: N815  names of the standard library

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the standard library's name
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_behind_a_proxy_for_a_team(place: Place) -> None:
    place.session("team plan").change([Append((Task("One"),), "")])
    with board(place, *documented_options()) as running, proxy(running.port, "Grace") as port:
        browser = signed_in(port)
        key = browser.key("team plan")
        head = browser.get(f"/api/s/{key}").json["head"]
        with browser.live("sessions") as live:
            edit = {"ops": [{"op": "mark", "at": [0], "status": "completed"}]}
            status = browser.post(f"/api/s/{key}/ops", edit, head, Origin="https://work.example.org").status
            card = live.until("session")
        forged = browser.get("/api/sessions", Origin="https://evil.example").status
        direct = direct_host(running)

    assert (status, card["state"], forged, direct) == (200, "done", 403, 421)
    assert [event.author.name for event in place.store().events("team plan")] == ["Grace", "Grace"]


def signed_in(port: int) -> Browser:
    answered = Browser(port, "/plans").post("/api/in", {}, Origin="https://work.example.org")
    assert answered.status == 200
    cookie = answered.headers["set-cookie"]
    assert "; Secure" in cookie
    assert "Path=/plans/" in cookie
    return Browser(port, "/plans", {"Cookie": cookie.partition(";")[0], "X-Tildone-Key": answered.json["key"]})


def direct_host(running: RunningBoard) -> int:
    """A request past the proxy, for a name that is not the board's."""
    with socket.create_connection(("127.0.0.1", running.port), 60) as connection:
        connection.sendall(b"GET /plans/ HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
        return int(connection.makefile("rb").readline().split()[1])
