"""Live updates over real sockets: what is told, to whom, after a gap, after a restart, and if nobody reads."""

import os
import signal
import socket
import sys
import time

import pytest

from tests.stores.postgres import needs_server, running_server
from tests.web.boards import TIMEOUT_SECONDS, Browser, Place, RunningBoard, board, until
from tildone.base.ids import now
from tildone.log.needs import Need
from tildone.log.presence import Presence
from tildone.plan.model import Status, Task
from tildone.plan.ops import Append, At, Mark

IMPATIENT = (
    "import sys, tildone.screens.board.live as stream, tildone.cli as cli\n"
    "stream.UNREAD_SECONDS = 1.0; stream.HEARTBEAT_SECONDS = 0.3\n"
    "sys.exit(cli.main(sys.argv[1:]))"
)
FORGETFUL = (
    "import sys, tildone.screens.board.live as hub, tildone.cli as cli\n"
    "hub.MAX_REMEMBERED = 8\n"
    "sys.exit(cli.main(sys.argv[1:]))"
)


def add(place: Place, name: str, text: str) -> None:
    place.session(name).change([Append((Task(text),), "")])


def test_a_change_of_another_process_is_told(browser: Browser, shared_place: Place) -> None:
    add(shared_place, "told", "One")
    key = browser.key("told")
    with browser.live(f"needs,sessions,session:{key}") as live:
        shared_place.run("todo", "add", "Two", "--session", "told")
        card = live.until("session")
        plan = live.until("plan")
        counts = live.until("counts")
        needs = live.until("needs")

    assert (card["key"], card["total"], card["strip"]) == (key, 2, "..")
    assert (plan["key"], plan["head"]) == (key, card["head"])
    assert [task["text"] for task in plan["plan"]["phases"][0]["tasks"]] == ["One", "Two"]
    assert [row["what"] for row in plan["rows"]][-1] == ["added #2 “Two”"]
    assert counts["all"] == sum(count for word, count in counts.items() if word != "all")
    assert needs["count"] == len(needs["open"])


def test_an_undo_in_another_process_is_told(browser: Browser, shared_place: Place) -> None:
    session = shared_place.session("taken back")
    session.change([Append((Task("One"),), "")])
    first = session.state.head
    session.change([Append((Task("Two"),))])
    key = browser.key("taken back")
    with browser.live(f"session:{key}") as live:
        session.undo()
        plan = live.until("plan")

    assert plan["head"] == first


def test_a_stream_is_told_only_about_its_topics(browser: Browser, shared_place: Place) -> None:
    for name in ("shown", "hidden"):
        add(shared_place, name, "One")
    key = browser.key("shown")
    with browser.live(f"sessions:{key};nothing-0000000000") as live:
        add(shared_place, "hidden", "Two")
        first = live.next()
        add(shared_place, "shown", "Two")
        later = live.until("session")

    assert first[0] == "counts"
    assert later["title"] == "shown"


def test_a_page_that_shows_one_session_is_told_who_is_at_work_and_what_is_asked(
    browser: Browser, shared_place: Place
) -> None:
    add(shared_place, "present", "One")
    key = browser.key("present")
    store = shared_place.store()

    def beat(doing: str) -> None:
        store.records.beat(Presence("claude:77", "present", "claude", "laptop", "m", doing, 5, "", 10, 0.5, now()))

    beat("thinking")
    until(lambda: browser.get(f"/api/s/{key}").json, lambda shown: shown["agents"])
    with browser.live(f"session:{key},needs") as live:
        beat("bash: make")
        presence = live.until("presence")
        store.records.ask(Need("live-1", "present", "command", "make", ("once", "no"), 5))
        needs = live.until("needs")
        while not needs["open"]:
            needs = live.until("needs")
        state = browser.get(f"/api/s/{key}").json["state"]

    assert presence["agents"][0]["doing"] == "bash: make"
    assert "live-1" in [need["id"] for need in needs["open"]]
    assert state == "needs you"


def test_a_long_plan_is_not_sent_in_a_frame(browser: Browser, shared_place: Place) -> None:
    add(shared_place, "huge", "One")
    key = browser.key("huge")
    with browser.live(f"session:{key}") as live:
        add(shared_place, "huge", "x" * 70_000)
        plan = live.until("plan")

    assert set(plan) == {"key", "head"}


def test_a_deleted_session_is_told(browser: Browser, shared_place: Place) -> None:
    add(shared_place, "vanishing", "One")
    key = browser.key("vanishing")
    store = shared_place.store()
    with browser.live(f"sessions,session:{key}") as live:
        store.delete("vanishing", expected=store.session_head("vanishing").head)
        gone = live.until("gone")

    assert gone == {"key": key}


def test_a_client_that_comes_back_gets_what_it_missed_and_no_more(browser: Browser, shared_place: Place) -> None:
    add(shared_place, "missed", "One")
    key = browser.key("missed")
    with browser.live(f"session:{key}") as live:
        add(shared_place, "missed", "Two")
        live.until("plan")
        last = live.last
    add(shared_place, "missed", "Three")
    add(shared_place, "missed", "Four")
    with browser.live(f"session:{key}", last) as live:
        plan = live.until("plan")
        add(shared_place, "missed", "Five")
        after = live.next()
    snapshot = browser.get(f"/api/s/{key}")

    assert plan["head"] != after[1]["head"] == snapshot.json["head"]
    assert snapshot.headers["x-tildone-seq"].partition(".")[0] == last.partition(".")[0]


def test_a_client_of_another_server_is_told_to_read_everything_again(browser: Browser) -> None:
    for last in ("00000000.5", "x", "..", "9" * 5000):
        with browser.live("needs", last) as live:
            assert (last, live.next()) == (last, ("reset", {"why": "too far behind"}))


def test_a_client_that_is_too_far_behind_is_told_to_read_everything_again(place: Place) -> None:
    with board(place, program=(sys.executable, "-c", FORGETFUL)) as running:
        browser = running.browser()
        with browser.live("sessions") as live:
            add(place, "first", "One")
            live.until("counts")
            last = live.last
            for number in range(10):
                add(place, f"session {number}", "One")
                live.until("counts")
        with browser.live("sessions", last) as live:
            event, _ = live.next()

    assert event == "reset"


def test_unknown_topics_are_refused(browser: Browser) -> None:
    rows = ["plans", "session", "session:a;b", "needs:x", ",".join(f"session:{n}" for n in range(501))]

    assert [topics for topics in rows if browser.get(f"/api/live?topics={topics}").status != 400] == []


def test_a_burst_about_one_session_becomes_few_frames_and_the_last_one_is_the_newest(
    browser: Browser, shared_place: Place
) -> None:
    session = shared_place.session("burst")
    session.change([Append(tuple(Task(str(number)) for number in range(60)), "")])
    key = browser.key("burst")
    with browser.live(f"sessions:{key}") as live:
        began = time.monotonic()
        for number in range(60):
            session.change([Mark(At((number,)), Status.COMPLETED)])
        frames = 1
        while live.until("session")["closed"] < 60:
            frames += 1
        took = time.monotonic() - began

    assert frames <= took / 0.1 + 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_server_ends_at_once_with_open_streams_and_says_goodbye(place: Place, number: int) -> None:
    with board(place) as running:
        browser = running.browser()
        with browser.live("needs") as one, browser.live("sessions") as two:
            code, rest = running.end(number)
            farewells = [one.until("bye"), two.until("bye")]
        assert running.process.stderr
        complaints = running.process.stderr.read()

    assert farewells == [{"in": 500}] * 2
    assert (code, rest, complaints) == (128 + number, "", b"")


def test_a_client_that_reads_nothing_is_disconnected_and_a_silent_one_gets_comments(place: Place) -> None:
    with board(place, program=(sys.executable, "-c", IMPATIENT)) as running:
        browser = running.browser()
        with socket.create_connection(("127.0.0.1", running.port), TIMEOUT_SECONDS) as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            headers = "".join(f"{name}: {text}\r\n" for name, text in browser.headers.items())
            deaf.sendall(f"GET /api/live?topics=sessions HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n".encode())
            with browser.live("needs") as live:
                comment = live.response.readline()
            for number in range(120):
                place.session(f"loud {number} {'x' * 40_000}").change([Append((Task("x" * 200),), "")])
            # The streams of others go on, and this one ends.
            until(lambda: disconnected(running), bool)

    assert comment == b":\n"


def disconnected(running: RunningBoard) -> bool:
    """Whether the server has no connection to a client any more."""
    with open(f"/proc/{running.process.pid}/net/tcp", encoding="ascii") as file:
        lines = [line.split() for line in file][1:]
    mine = f"{running.port:04X}"
    return not [line for line in lines if line[1].endswith(f":{mine}") and line[3] == "01"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts how often threads wake up as Linux does")
def test_nothing_polls_when_nobody_looks(place: Place) -> None:
    add(place, "quiet", "One")
    with board(place) as running:
        browser = running.browser()
        with browser.live("sessions") as live:
            add(place, "quiet", "Two")
            live.until("session")
            watched = wakeups(running.process.pid)
        # The event loop wakes up ten times a second, and looks at no file.
        until(lambda: wakeups(running.process.pid), lambda count: count < 15)

    assert watched > 15


def wakeups(pid: int) -> int:
    """How often the threads of a process wake up in a second."""
    before = switches(pid)
    time.sleep(1)
    return switches(pid) - before


def switches(pid: int) -> int:
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="ascii") as file:
            total += sum(int(line.split()[1]) for line in file if line.startswith("voluntary_ctxt"))
    return total


@needs_server
@pytest.mark.slow
def test_two_boards_on_one_postgresql_store_tell_each_other(place: Place) -> None:
    with running_server() as server, server.database() as url:
        first = Place(place.folder, place.home, {"TILDONE_STORE": url})
        (place.home / "second").mkdir()
        second = Place(place.folder, place.home / "second", {"TILDONE_STORE": url, "TILDONE_USER": "Bo"})
        first.run("todo", "add", "One", "--session", "team")
        with board(first) as one, board(second) as two:
            ada, bo = one.browser(), two.browser()
            key = bo.key("team")
            head = bo.get(f"/api/s/{key}").json["head"]
            with ada.live("sessions") as live:
                edit = {"ops": [{"op": "mark", "at": [0], "status": "completed"}]}
                assert bo.post(f"/api/s/{key}/ops", edit, head).status == 200
                card = live.until("session")
            rows = ada.get(f"/api/s/{ada.key('team')}").json["history"]["rows"]

    assert (card["title"], card["state"]) == ("team", "done")
    assert rows[-1]["by"] == "Bo"
    assert ada.port != bo.port
