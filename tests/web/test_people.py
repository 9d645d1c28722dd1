"""People with names: tokens, and a proxy that signs them in. The history says who changed what."""

import http.client
import os

from tests.web.boards import Browser, Place, board, until
from tildone.plan.model import Task
from tildone.plan.ops import Append

PROXY = (
    "--user-header",
    "X-Forwarded-User",
    "--trusted-proxy",
    "127.0.0.1",
    "--public-url",
    "https://plans.example.org",
)
INVALID = (
    ("--port", "x"),
    ("--port", "70000"),
    ("--base-path", "plans"),
    ("--base-path", "/a/../b"),
    ("--public-url", "plans.example.org"),
    ("--public-url", "https://plans.example.org/x"),
    ("--trusted-proxy", "proxy"),
    ("--user-header", "X User", "--trusted-proxy", "127.0.0.1"),
    ("--user-header", "X-User"),
    ("--json",),
    ("--host", "no.such.host.invalid"),
)


def one_task(place: Place) -> None:
    place.session().change([Append((Task("Write the parser"),), "")])


def complete_first(browser: Browser) -> int:
    key = browser.key()
    head = browser.get(f"/api/s/{key}").json["head"]
    return browser.post(f"/api/s/{key}/ops", {"ops": [{"op": "mark", "at": [0], "status": "completed"}]}, head).status


def authors(place: Place) -> list[str]:
    return [event.author.name for event in place.store().events(place.settings().session)]


def test_the_history_names_the_person_with_a_token(place: Place) -> None:
    one_task(place)
    token = place.run("board", "token", "add", "Mara  Keller").stdout.splitlines()[-1]
    with board(place) as running:
        mara = running.browser(token)
        user = mara.get("/api/sessions").json["user"]
        assert complete_first(mara) == 200

    assert user == "Mara Keller"
    assert authors(place) == ["Grace", "Mara Keller"]


def test_a_removed_token_signs_its_person_out(place: Place) -> None:
    token = place.run("board", "token", "add", "Mara").stdout.splitlines()[-1]
    with board(place) as running:
        mara, owner = running.browser(token), running.browser()
        before = mara.get("/api/sessions").status
        removed = place.run("board", "token", "remove", "Mara")
        after, others = mara.get("/api/sessions").status, owner.get("/api/sessions").status
        again = Browser(running.port).post("/api/in", {"token": token})

    assert (before, after, others, again.status) == (200, 401, 200, 401)
    assert removed.stdout == "Removed the token of Mara. They are signed out.\n"


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


def test_invalid_words_about_tokens_are_usage_errors(place: Place) -> None:
    rows = (("token", "add"), ("tokens",), ("token", "add", " "), ("token", "rename", "Mara"))

    assert [words for words in rows if place.run("board", *words).returncode != 2] == []


def test_invalid_options_are_usage_errors(place: Place) -> None:
    ended = {words: place.run("board", "--no-open", *words) for words in INVALID}

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


def test_a_proxy_names_the_person(place: Place) -> None:
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

    assert running.notice[0].startswith("the board is at https://plans.example.org, for the proxy at http://127.0.0.1:")
    assert running.notice[1] == "people sign in at the proxy in front of it"
    assert "Secure" in signed_in.headers["set-cookie"].split("; ")
    assert "Gr" not in signed_in.headers["set-cookie"]
    assert user == "Grëtä"
    assert (other, nobody, unnamed) == (401, 401, 401)
    assert authors(place) == ["Grace", "Grëtä"]
    assert 'data-signin="proxy"' in page


def test_nobody_but_the_proxy_names_people(place: Place) -> None:
    words = ("--user-header", "X-Forwarded-User", "--trusted-proxy", "10.0.0.0/8")
    with board(place, *words) as running:
        mallory = Browser(running.port, "", {"X-Forwarded-User": "Mallory", "X-Forwarded-For": "10.0.0.1"})
        answered = mallory.post("/api/in", {})
        direct = mallory.post("/api/in", {"token": "x" * 22})

    assert (answered.status, direct.status) == (401, 401)


def test_two_names_in_the_header_are_no_name(place: Place) -> None:
    with board(place, *PROXY) as running:
        connection = http.client.HTTPConnection("127.0.0.1", running.port)
        connection.putrequest("POST", "/api/in", skip_host=True)
        for name, text in (
            ("Host", "plans.example.org"),
            ("X-Forwarded-User", "Grace"),
            ("X-Forwarded-User", "Mallory"),
            ("Content-Type", "application/json"),
            ("Content-Length", "2"),
        ):
            connection.putheader(name, text)
        connection.endheaders(b"{}")
        status = connection.getresponse().status
        connection.close()

    assert status == 401


def test_a_read_only_board_refuses_changes(place: Place) -> None:
    one_task(place)
    with board(place, "--read-only") as running:
        browser = running.browser()
        status = complete_first(browser)
        key = browser.key()
        verbs = ("undo", "redo", "restore", "course", "check", "approve", "verify")
        others = [browser.post(f"/api/s/{key}/{verb}", {"number": 1}, "x").status for verb in verbs]
        others.append(browser.post("/api/needs/q1", {}, "x").status)
        page = browser.get("/").body.decode()

    assert [status, *others] == [403] * 9
    assert 'data-readonly="true"' in page
    assert authors(place) == ["Grace"]


def test_the_browser_is_opened_by_a_private_file_without_the_link_on_a_command_line(place: Place) -> None:
    opened = place.home / "opened"
    opener = place.home / "xdg-open"
    opener.write_text(f'#!/bin/sh\ncp -p "$1" {opened}.html\necho "$@" > {opened}.part\nmv {opened}.part {opened}\n')
    opener.chmod(0o755)
    environ = {"DISPLAY": ":0", "PATH": f"{place.home}:{os.environ['PATH']}"}
    with_screen = Place(place.folder, place.home, environ)
    with board(place) as running:
        second = with_screen.run("board")
        until(opened.exists, bool)
        words, page = opened.read_text(), opened.with_suffix(".html")

    assert running.url in second.stdout
    assert "#t=" not in words
    link = second.stdout.split()[-1]
    assert f"url={link}" in page.read_text()
    assert page.stat().st_mode & 0o77 == 0


def test_over_ssh_no_browser_is_opened(place: Place) -> None:
    opener = place.home / "xdg-open"
    opener.write_text(f"#!/bin/sh\ntouch {place.home}/opened\n")
    opener.chmod(0o755)
    environ = {"DISPLAY": ":0", "SSH_CONNECTION": "1 2 3 4", "PATH": f"{place.home}:{os.environ['PATH']}"}
    with board(place):
        Place(place.folder, place.home, environ).run("board")

    assert not (place.home / "opened").exists()
