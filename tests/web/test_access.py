"""Who is let in, and what is refused: over real sockets, request by request."""

import socket
import stat

from tests.mcp.test_access import BAD_HOSTS
from tests.mcp.test_http_limits import AMBIGUOUS, answers_to_ambiguous_requests
from tests.web.boards import Answered, Browser, Place, board

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
PATHS = (
    "/api/sessions",
    "/api/needs",
    "/api/stats",
    "/api/live?topics=needs",
    "/api/s/x-0123456789",
    "/s/x-0123456789.md",
)
PAGES = ("/", "/api/sessions")
FROM_OTHER_SITES = (
    ({"Sec_Fetch_Site": "same-origin"}, 200),
    ({"Sec_Fetch_Site": "cross-site"}, 403),
    ({"Sec_Fetch_Site": "same-site"}, 403),
    ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors", "Sec_Fetch_Dest": "script"}, 403),
    ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"}, 403),
    ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}, 200),
)
OUTSIDE = (
    "../app.js",
    "..%2fapp.js",
    "%2e%2e/server.py",
    "/etc/passwd",
    "....//app.js",
    "app.js%00",
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
        for path in PATHS:
            refused(given.get(path), 401, path)
        for path in ("/api/s/x-0123456789/ops", "/api/s/x-0123456789/undo", "/api/needs/q1"):
            refused(given.post(path, {}), 401, path)


def test_a_cookie_that_was_changed_is_refused(browser: Browser) -> None:
    name, _, cookie = browser.headers["Cookie"].partition("=")
    kind, who, identity, expires, signature = cookie.split(".")
    for changed in (
        f"t.{who}.{identity}.{expires}.{signature}",
        f"{kind}.{who}.{identity}.{int(expires) + 1}.{signature}",
        f"{kind}.{who}.{identity}.{signature}",
        "",
        "....",
    ):
        refused(Browser(browser.port, "", {**browser.headers, "Cookie": f"{name}={changed}"}).get("/api/sessions"), 401)


def test_another_host_name_is_refused(browser: Browser) -> None:
    rows = [(host, path) for host in (*BAD_HOSTS, "evil.example", "127.0.0.1.evil.example") for path in PAGES]

    assert [row for row in rows if browser.get(row[1], Host=row[0]).status != 421] == []


def test_another_origin_is_refused(browser: Browser) -> None:
    """A page that another program serves on this machine has another port."""
    for origin in ("null", "https://evil.example", "http://127.0.0.1:1", "http://localhost", "file://"):
        refused(browser.get("/api/sessions", Origin=origin), 403, origin)
        refused(browser.post("/api/in", {"token": "x"}, Origin=origin), 403, origin)


def test_the_own_origin_is_accepted_under_each_name(browser: Browser) -> None:
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


def test_only_json_bodies_are_read(browser: Browser) -> None:
    rows = [
        (path, kind)
        for path in ("/api/s/x-0123456789/ops", "/api/in")
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "")
    ]

    assert [row for row in rows if browser.send("POST", row[0], b"{}", Content_Type=row[1]).status != 415] == []


def test_a_request_that_ends_at_two_places_has_one_answer_and_is_the_last(browser: Browser) -> None:
    answers = answers_to_ambiguous_requests(browser.port, b"GET /in HTTP/1.1\r\nHost: localhost\r\n")

    assert answers == [[b"HTTP/1.1 400 Bad Request"]] * len(AMBIGUOUS)


def test_no_preflight_is_answered(browser: Browser) -> None:
    answered = browser.send(
        "OPTIONS", "/api/sessions", None, Origin="http://127.0.0.1:1", Access_Control_Request_Headers="x-tildone-key"
    )

    refused(answered, 403)
    assert browser.send("OPTIONS", "/api/sessions", None).status == 405
    assert browser.send("PUT", "/api/sessions", b"").status == 405


def test_bodies_are_bounded_and_have_to_be_json_objects(browser: Browser) -> None:
    assert browser.send("POST", "/api/in", b" " * 1_000_001, Content_Type="application/json").status == 413
    for body in (b"", b"[]", b"{", b'"x"', b"[" * 100_000):
        assert browser.send("POST", "/api/in", body, Content_Type="application/json").status == 400


def test_every_answer_has_the_headers_that_protect_pages(browser: Browser) -> None:
    for answered in (browser.get("/"), browser.get("/in"), browser.get("/api/sessions"), browser.get("/nothing")):
        assert {name: answered.headers[name] for name in HEADERS} == HEADERS


def test_a_link_works_once_and_says_so_when_it_is_used_again(place: Place) -> None:
    with board(place) as running:
        browser = running.browser()
        again = Browser(running.port).post("/api/in", {"token": running.token})
        unknown = Browser(running.port).post("/api/in", {"token": "A" * 22})
        inside = browser.get("/api/sessions").status

    assert (again.status, again.json["error"]) == (401, "This link was used.")
    assert again.json["hint"] == "If that was not you: tildone board --new-key"
    assert (unknown.status, unknown.json["error"]) == (401, "This link or token is not known here.")
    assert inside == 200
    assert len(running.token) == 22


def test_the_cookie_is_for_this_board_alone_and_no_script_reads_it(place: Place) -> None:
    with board(place, "--base-path", "/plans") as running:
        answered = Browser(running.port, "/plans").post("/api/in", {"token": running.token})

    name, *attributes = answered.headers["set-cookie"].split("; ")
    assert name.startswith(f"tildone-{running.port}=")
    assert sorted(attributes) == ["HttpOnly", "Max-Age=2592000", "Path=/plans/", "SameSite=strict"]
    assert answered.headers["set-cookie"].count(answered.json["key"]) == 0


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


def test_a_second_board_of_a_store_says_where_the_first_one_runs(place: Place) -> None:
    with board(place) as running:
        second = place.run("board", "--no-open")
        running.end()
    ended = place.private_folder.joinpath("running.json").read_text()

    assert (second.returncode, second.stderr) == (0, "")
    assert f"runs already, with its own options, at {running.url}\n" in second.stdout
    assert f"{running.url}/in#t=" in second.stdout
    assert ended == "{}"


def test_a_board_that_was_killed_does_not_keep_the_next_one_from_starting(place: Place) -> None:
    with board(place) as running:
        running.end(9)
    with board(place) as second:
        assert second.notice[0].startswith("the board is at ")


def test_without_a_port_the_first_free_one_is_taken(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused_port = place.run("board", "--no-open", "--port", str(port))

    assert refused_port.returncode == 1
    assert "choose another --port" in refused_port.stderr
    assert "Traceback" not in refused_port.stderr


def test_secrets_are_in_files_that_only_their_owner_reads(place: Place) -> None:
    with board(place) as running:
        running.browser()
        place.run("board", "token", "add", "Mara")
        modes = {
            path.name: stat.S_IMODE(path.stat().st_mode)
            for path in place.private_folder.iterdir()
            if path.suffix == ".json"
        }
        texts = "".join(path.read_text() for path in place.private_folder.glob("*.json"))

    assert modes == dict.fromkeys(("keys.json", "links.json", "people.json", "running.json"), 0o600)
    assert running.token not in texts


def test_no_path_leads_out_of_the_files_of_the_pages(browser: Browser) -> None:
    start = browser.get("/").body.decode().partition('src="')[2].partition("app.js")[0]
    paths = [f"{folder}{name}" for folder in (start, "/a/", f"{start}../../") for name in OUTSIDE]

    assert [path for path in paths if browser.get(path).status != 404] == []


def test_nothing_is_served_outside_of_the_base_path(place: Place) -> None:
    with board(place, "--base-path", "/plans/") as running:
        inside = running.browser(base="/plans")
        statuses = [
            inside.get(path).status
            for path in ("/", "/in", "/stats", "/s/x-0123456789", "/api/sessions", "/s/x-0123456789/log")
        ]
        outside = Browser(running.port, "", inside.headers)
        others = [
            outside.get(path).status for path in ("/", "/in", "/api/sessions", "/plansx/", "/plans/../api/sessions")
        ]
        page = inside.get("/").body.decode()

    assert running.url.endswith("/plans")
    assert statuses == [200] * 6
    assert others == [404] * 5
    assert 'data-base="/plans"' in page
    assert 'src="/plans/a/' in page


def test_a_page_holds_no_data_and_no_name(browser: Browser, shared_place: Place) -> None:
    """A browser sends the cookie to every port of this machine: what needs only the cookie is not safe."""
    shared_place.session("secret plan").change([])
    pages = [browser.get(path).body for path in ("/", "/s/x-0123456789", "/out")]

    assert all(b"secret" not in page and b"Ada" not in page for page in pages)
