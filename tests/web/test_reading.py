"""What the board shows: the list, one session, its past, exports and figures; and live updates over real sockets."""

import json
import signal
import socket
import sys
import time
from pathlib import Path

import pytest

from tests.fleet.test_agents import TRANSCRIPTS
from tests.stores.postgres import needs_server, running_server
from tests.telemetry.prometheus import Figures, parse
from tests.web.boards import TIMEOUT_SECONDS, Browser, Place, RunningBoard, board, until
from tildone.agents.integrations import all_integrations
from tildone.app.opening import run_leases
from tildone.base.ids import now
from tildone.log.needs import Need
from tildone.log.presence import Presence
from tildone.plan.events import Actor, AgentUsage, Author, Directive, Event, Nudged, PlanChanged
from tildone.plan.lists import WorkerInfo
from tildone.plan.model import Phase, Plan, Status, Task, numbered, with_status
from tildone.plan.ops import Append, At, Mark, Note, Numbered, Rename
from tildone.plan.runs import Asked, Claimer, NewRun, WorkOutcome
from tildone.plan.text.state import SessionWord
from tildone.screens.board.pages import page_words
from tildone.screens.board.reading import Figures as BoardFigures
from tildone.stores.agents import TRANSCRIPT_NOTE, AgentId, AgentRegistry

HOSTILE = "<script>alert(1)</script>\u202e\u200b\x1b[31m\x00\ud800</style>" + "x" * 2000


def planned(place: Place, name: str, *texts: str) -> str:
    place.session(name).change([Append(tuple(map(Task, texts)), "Build")])
    return name


def test_a_session_in_the_list(browser: Browser, shared_place: Place) -> None:
    session = shared_place.session("listed")
    session.change([Append((Task("Write the parser"), Task("Test it")), "Build")])
    session.change([Mark(At((0,)), Status.COMPLETED)])
    session.store.records.beat(Presence("claude:5f", "listed", "claude", "laptop", "m", "bash", 5, "", 10, 0.5, now()))
    # Who is at work is looked at every two seconds.
    row = until(lambda: next(row for row in browser.sessions() if row["name"] == "listed"), lambda row: row["agents"])

    assert row.pop("key").startswith("listed-")
    assert row.pop("head") == session.state.head
    assert row.pop("updated") >= row.pop("created")
    agent = row.pop("agents")[0]
    assert (agent["host"], agent["on"], agent["doing"], agent["since"]) == ("claude", "laptop", "bash", 5)
    words = {"name": "listed", "title": "listed", "where": "", "state": "working", "why": "Test it", "doing": "Test it"}
    counts = {"closed": 1, "total": 2, "events": 2, "needs": 0, "nudges": [0, 20], "tokens": 10, "cost": 0.5}
    assert row == {**words, **counts, "strip": "d."}


def test_lists_are_filtered_searched_sorted_and_paged(browser: Browser, shared_place: Place) -> None:
    for number in range(7):
        planned(shared_place, f"paged {number}", "zebra" if number % 2 else "horse")
    paused = browser.get("/api/sessions").json["counts"].get("paused", 0)
    shared_place.session("paged 3").set_directive(Directive.PAUSE)

    def names(query: str) -> list[str]:
        return [row["name"] for row in browser.get(f"/api/sessions?{query}").json["sessions"]]

    first = browser.get("/api/sessions?q=zebra+paged&limit=2&sort=name").json
    second = browser.get(f"/api/sessions?q=zebra+paged&limit=2&sort=name&after={first['after']}").json

    assert [row["name"] for row in first["sessions"]] == ["paged 1", "paged 3"]
    assert ([row["name"] for row in second["sessions"]], second["after"]) == (["paged 5"], None)
    assert names("q=zebra&state=paused") == ["paged 3"]
    assert names("q=paged&state=needs-you") == []
    assert names("q=zebra+paged&sort=created") == ["paged 5", "paged 3", "paged 1"]
    assert first["counts"]["paused"] == paused + 1
    for query in ("state=lost", "sort=size", "after=x", "limit=x"):
        answered = browser.get(f"/api/sessions?{query}")
        assert (answered.status, set(answered.json)) == (400, {"error", "hint"})


def test_one_session_with_its_plan_history_lanes_and_bounds(browser: Browser, shared_place: Place) -> None:
    session = shared_place.session("whole", "Grace")
    session.change([Append((Task("One"), Task("Two")), "Build")])
    session.change([Mark(At((0,)), Status.IN_PROGRESS)])
    session.change([Mark(At((0,)), Status.COMPLETED), Mark(At((1,)), Status.BLOCKED), Note(Numbered((2,)), "the key")])
    answered = browser.get(f"/api/s/{browser.key('whole')}")
    shown = answered.json
    build = shown["plan"]["phases"][0]

    assert (shown["state"], shown["why"], shown["directive"]) == ("needs you", "waits: the key", "go")
    assert [{**task, "worked": "worked" in task} for task in build["tasks"]] == [
        {"number": 1, "text": "One", "status": "completed", "from_user": True, "worked": True},
        {"number": 2, "text": "Two", "status": "blocked", "from_user": True, "notes": ["the key"], "worked": False},
    ]
    assert [row["what"] for row in shown["history"]["rows"]] == [
        ["added phase “Build”", "added #1 “One”", "added #2 “Two”"],
        ["started #1 “One”"],
        ["completed #1 “One”", "blocked #2 “Two”", "noted on #2 “Two”: the key"],
    ]
    assert {row["by"] for row in shown["history"]["rows"]} == {"Grace"}
    times = [row["at"] for row in shown["history"]["rows"]]
    assert shown["lanes"] == {"1": [[times[1], times[2], "worked"]], "2": [[times[2], None, "blocked"]]}
    assert [count for _, count in shown["open"]] == [2, 1]
    assert shown["bounds"][0] == {"name": "Nudges left", "used": 0, "limit": 20, "text": "20 of 20", "main": True}
    assert (shown["undo"], shown["can_redo"]) == (shown["head"], False)
    assert answered.headers["x-tildone-seq"].count(".") == 1


def test_a_task_has_what_it_took_if_that_is_known_and_how_often_its_agent_was_told_to_go_on(
    browser: Browser, shared_place: Place
) -> None:
    session = shared_place.session("metered", "Grace")
    session.change([Append((Task("One"), Task("Two")), "Build")])
    for at, (status, cost) in enumerate(((Status.IN_PROGRESS, 1.0), (Status.COMPLETED, 1.41))):
        plan = with_status(session.plan, frozenset({1}), status)
        usage = AgentUsage(int(cost * 200_000), cost=cost)
        author = Author("Grace", "claude:1")
        event = Event(f"used{at}", session.state.head, now(), Actor.AGENT, PlanChanged(plan), author, usage)
        session.store.append(session.name, event)

    session.change([Mark(Numbered((2,)), Status.IN_PROGRESS)])
    session.turn_ended()
    session.turn_ended()
    shown = browser.get(f"/api/s/{browser.key('metered')}").json

    assert (shown["used"], shown["told"]) == ({"1": "82k · $0.41"}, {"2": 2})


def test_an_unchanged_session_is_not_sent_again(browser: Browser, shared_place: Place) -> None:
    planned(shared_place, "tagged", "One")
    path = f"/api/s/{browser.key('tagged')}"
    tag = browser.get(path).headers["etag"]
    same = browser.get(path, If_None_Match=tag)
    shared_place.session("tagged").change([Append((Task("Two"),))])
    changed = browser.get(path, If_None_Match=tag)

    assert (same.status, same.body) == (304, b"")
    assert (changed.status, changed.json["total"]) == (200, 2)


def test_any_moment_of_the_past_and_what_changed_since(browser: Browser, shared_place: Place) -> None:
    session = shared_place.session("past")
    session.change([Append((Task("One"), Task("Two")), "")])
    first = session.state.head
    session.change([Mark(At((0,)), Status.COMPLETED)])
    second = session.state.head
    session.change([Rename(At((1,)), "Three")])
    key = browser.key("past")
    then = browser.get(f"/api/s/{key}/at/{first}").json
    compared = browser.get(f"/api/s/{key}?at={first}&vs={second}").json

    assert [task["text"] for task in then["plan"]["phases"][0]["tasks"]] == ["One", "Two"]
    assert then["since"] == ["renamed “Two” to “Three”", "completed “One”"]
    assert then["back"] == ["renamed “Three” to “Two”", "reopened “One”"]
    assert (compared["since"], compared["vs"]["phases"][0]["tasks"][0]["status"]) == (["completed “One”"], "completed")
    assert browser.get(f"/api/s/{key}/at/nothing").status == 404


def test_older_events_come_page_by_page(browser: Browser, shared_place: Place) -> None:
    session = shared_place.session("long")
    for number in range(250):
        session.change([Append((Task(str(number)),), "")])
    key = browser.key("long")
    snapshot = browser.get(f"/api/s/{key}").json["history"]
    page = browser.get(f"/api/s/{key}/history?limit=100").json
    older = browser.get(f"/api/s/{key}/history?limit=100&before={page['before']}").json
    oldest = browser.get(f"/api/s/{key}/history?limit=100&before={older['before']}").json
    rows = [*page["rows"], *older["rows"], *oldest["rows"]]

    assert (len(snapshot["rows"]), snapshot["rows"][-1]["what"]) == (200, ["added #250 “249”"])
    assert [row["what"][0].split()[1] for row in rows] == [f"#{number}" for number in range(250, 0, -1)]
    assert (oldest["before"], page["total"]) == (None, 250)
    buckets = browser.get(f"/api/s/{key}/density?n=7").json["counts"]
    assert (len(buckets), sum(buckets)) == (7, 250)
    assert browser.get(f"/api/s/{key}/density?from=5&to=5").status == 400


def test_statistics_of_one_session_and_of_all(browser: Browser, shared_place: Place) -> None:
    session = shared_place.session("counted")
    session.change([Append((Task("One"),), "")])
    session.change([Mark(At((0,)), Status.COMPLETED)])
    one, overall = (browser.get(f"/api{path}/stats").json for path in (f"/s/{browser.key('counted')}", ""))
    shared_place.session("never planned").set_directive(Directive.PAUSE)

    assert (one["closed"], one["total"], len(one["open"]), isinstance(one["from"], int)) == (1, 1, 2, True)
    assert (overall["days"][-1]["done"], overall["period"]["done"]) >= (1, 1)
    assert len(browser.get("/api/stats?days=3").json["days"]) == 3
    assert browser.get(f"/api/s/{browser.key('never planned')}/stats").json["total"] == 0


def test_figures_by_day_agent_and_model(place: Place) -> None:
    day, at = 86_400_000, now()
    one, two = Task("One", number=1), Task("Two", number=2)
    half = with_status(Plan((Phase("", (one, two)),)), {1}, Status.COMPLETED)
    done = with_status(half, {2}, Status.COMPLETED)
    claude = Author("Mara", "claude:1", "opus")
    events = [
        Event(
            "e1",
            None,
            at - 20 * day,
            Actor.AGENT,
            PlanChanged(Plan((Phase("", (one, two)),))),
            claude,
            usage=used(100, 1),
        ),
        Event("e2", "e1", at - 2 * day, Actor.TIMER, Nudged(1, 1), claude),
        Event("e3", "e2", at - 2 * day, Actor.AGENT, PlanChanged(half), claude, usage=used(160, 1.5)),
        Event("e4", "e3", at, Actor.USER, PlanChanged(done), Author("Mara")),
    ]
    for event in events:
        place.store().append("counted", event)
    with board(place) as running:
        found = running.browser().get("/api/stats").json

    by_agent = {"done": 1, "nudges": 1, "let_goes": 0, "tokens": 60, "cost": 0.5}
    by_person = {"done": 1, "nudges": 0, "let_goes": 0, "tokens": 0, "cost": 0}
    assert found["agents"] == [{"agent": "claude"} | by_agent, {"agent": ""} | by_person]
    assert found["models"] == [{"model": "opus"} | by_agent]
    assert found["period"] == {name: by_agent[name] + by_person[name] for name in by_agent}
    days = [{name: each[name] for name in by_agent} for each in found["days"]]
    assert (days[-3], days[-1], sum(each["done"] for each in days)) == (by_agent, by_person, 2)
    assert found["partial"] is False


def test_figures_say_that_something_was_left_out() -> None:
    plans = [PlanChanged(Plan((Phase("", (Task("One"), Task("Two"))),)))] * 3
    newest_first = [Event(f"e{n}", None, now(), Actor.AGENT, fact, Author()) for n, fact in enumerate(plans)]
    nudges = [Event(f"n{n}", None, now(), Actor.TIMER, Nudged(1, 1), Author()) for n in range(600)]

    assert BoardFigures(3).count([newest_first, newest_first]) is False
    assert BoardFigures(3, most_tasks=5).count([newest_first]) is True
    assert BoardFigures(3, most_tasks=5).count([newest_first, newest_first]) is True
    many = BoardFigures(3)
    assert many.count([nudges]) is True
    assert many.period["nudges"] == 500
    # The first day is not a whole one: it is left out.
    early = BoardFigures(3)
    assert early.count([[Event("e", None, early.begin + 1, Actor.TIMER, Nudged(1, 1), Author())]]) is False
    assert early.period["nudges"] == 0


def used(tokens: int, cost: float) -> AgentUsage:
    return AgentUsage(tokens, None, cost)


def test_a_task_at_a_glance_and_its_agents_lines_for_the_person_who_started_the_board(place: Place) -> None:
    held = Task("One", Status.IN_PROGRESS, ("half",), 1, owner="claude:1")
    plan = numbered(Plan((Phase("Build", (held, Task("Two", number=2))),)))
    agent = Author("Ada", "claude:1")
    place.store().append("seen", Event("e1", None, now(), Actor.AGENT, PlanChanged(plan), agent))
    settings = place.settings()
    registry = AgentRegistry(settings.agents_dir, settings.project)
    registry.set_note(AgentId("claude", "1"), TRANSCRIPT_NOTE, str(TRANSCRIPTS / "claude.jsonl"))
    place.session("seen").change([Note(At((0,)), "more")])
    token = place.run("board", "token", "add", "Mara").stdout.split()[-1]
    with board(place) as running:
        own, other = running.browser(), running.browser(token)
        path = f"/api/s/{own.key('seen')}/task"
        mine, theirs = own.get(f"{path}/1").json, other.get(f"{path}/1").json
        missing = [own.get(f"{path}/{item}").status for item in ("3", "0", "x", "1x", "9" * 20)]

    assert (mine["text"], mine["word"], mine["phase"], mine["notes"]) == (
        "One",
        "in progress",
        "Build",
        ["half", "more"],
    )
    assert [line["what"] for line in mine["history"]][-1] == "noted: more"
    assert (mine["agent"], mine["last_lines"] != []) == ("claude:1", True)
    assert theirs | {name: mine[name] for name in ("last_lines", "cost")} == mine
    assert theirs["last_lines"] == []
    assert missing == [404] * 5


def test_exports(browser: Browser, shared_place: Place, tmp_path: Path) -> None:
    planned(shared_place, "exported", "One", "Two")
    key = browser.key("exported")
    text, archive = browser.get(f"/s/{key}.md"), browser.get(f"/s/{key}.json")
    (tmp_path / "archive.json").write_bytes(archive.body)
    imported = shared_place.run("import", str(tmp_path / "archive.json"), "--session", "imported")

    assert text.body.decode() == "# Build\n- [ ] One\n- [ ] Two\n"
    assert text.headers["content-disposition"] == "attachment"
    assert archive.json["format"] == "tildone session"
    assert imported.returncode == 0, imported.stderr


def test_what_waits_for_a_person(browser: Browser, shared_place: Place) -> None:
    planned(shared_place, "asking", "One")
    planned(shared_place, "waiting", "One")
    shared_place.session("waiting").change([Mark(At((0,)), Status.BLOCKED), Note(At((0,)), "the signing key")])
    need = Need("q1", "asking", "command", "rm -rf /", ("once", "no"), now(), "claude:5f", "in Build")
    shared_place.store().records.ask(need)
    found = {need["name"]: need for need in browser.get("/api/needs").json["open"]}
    asking, waiting = found["asking"], found["waiting"]

    assert (asking["id"], asking["text"], asking["options"]) == ("q1", "rm -rf /", ["once", "no"])
    assert (asking["caution"], asking["agent"]["host"]) == ("Careful: it deletes files.", "claude")
    assert (waiting["id"], waiting["text"]) == (None, "waits: the signing key")
    assert next(row["state"] for row in browser.sessions() if row["name"] == "asking") == "needs you"


def test_the_slug_of_an_address_does_not_matter(browser: Browser, shared_place: Place) -> None:
    planned(shared_place, "/home/mara/src/Grammar Parser", "One")
    key = browser.key("Grammar Parser")
    slug, _, digest = key.rpartition("-")

    assert slug == "grammar-parser"
    assert len(digest) == 10
    for other in (digest, f"old-name-{digest}"):
        assert browser.get(f"/api/s/{other}").json["key"] == key
    for other in ("grammar-parser", f"{slug}-0000000000", f"{key}x", f"..-{digest}"):
        assert browser.get(f"/api/s/{other}").status == 404


def test_hostile_text_is_plain_data_in_every_answer(browser: Browser, shared_place: Place) -> None:
    name = planned(shared_place, f"hostile {HOSTILE}", HOSTILE)
    shared_place.session(name).change([Note(At((0,)), HOSTILE)])
    shared_place.store().records.ask(Need("q2", name, "input", HOSTILE, (), 5, HOSTILE, HOSTILE))
    row = next(row for row in browser.sessions() if row["name"] == name)
    own = [f"s/{row['key']}{path}" for path in ("", "/history", "/stats", f"/at/{row['head']}", "/density")]
    answers = [browser.get(f"/api/{path}") for path in (*own, "sessions", "needs", "stats")]

    assert json.loads(answers[0].body)["plan"]["phases"][0]["tasks"][0]["text"] == HOSTILE
    assert set(row["key"]) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    for answered in answers:
        assert (answered.status, answered.body.isascii()) == (200, True)
        assert answered.headers.pop("content-type") == "application/json"
        assert "script" not in str({**answered.headers, "content-security-policy": ""})
    assert browser.get(f"/s/{row['key']}.md").status == 200


def board_with(limits: str) -> tuple[str, ...]:
    """A program whose boards have other limits of streams."""
    script = f"import sys, tildone.screens.board.live as live, tildone.cli as cli; {limits}"
    return sys.executable, "-c", f"{script}; sys.exit(cli.main(sys.argv[1:]))"


def add(place: Place, name: str, text: str) -> None:
    place.session(name).change([Append((Task(text),), "")])


def test_a_change_of_another_process_and_its_undo_are_told(browser: Browser, shared_place: Place) -> None:
    add(shared_place, "changed elsewhere", "One")
    key, session = browser.key("changed elsewhere"), shared_place.session("changed elsewhere")
    first = browser.get(f"/api/s/{key}").json["head"]
    with browser.live(f"needs,sessions,session:{key}") as live:
        shared_place.run("todo", "add", "Two", "--session", "changed elsewhere")
        card = live.until("session")
        plan = live.until("plan")
        counts = live.until("counts")
        needs = live.until("needs")
        session.undo()
        undone = live.until("plan")

    assert (card["key"], card["total"], card["strip"]) == (key, 2, "..")
    assert (plan["key"], plan["head"]) == (key, card["head"])
    assert (plan["from"], [task["text"] for task in plan["tasks"]]) == (first, ["Two"])
    assert plan["order"] == [["", "1-2"]]
    assert [row["what"] for row in plan["rows"]] == [["added #2 “Two”"]]
    assert (undone["from"], undone["head"], undone["order"], undone["tasks"]) == (plan["head"], first, [["", "1"]], [])
    assert counts["all"] == sum(count for word, count in counts.items() if word != "all")
    assert needs["count"] == len(needs["open"])


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


def test_a_long_plan_is_not_sent_in_a_frame(browser: Browser, shared_place: Place) -> None:
    add(shared_place, "huge", "One")
    key = browser.key("huge")
    with browser.live(f"session:{key}") as live:
        add(shared_place, "huge", "x" * 70_000)
        plan = live.until("plan")

    assert set(plan) == {"key", "head"}


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
    with board(place, program=board_with("live.MAX_REMEMBERED = 8")) as running:
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
    with board(place, program=board_with("live.UNREAD_SECONDS = 1.0; live.HEARTBEAT_SECONDS = 0.3")) as running:
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

    def switches() -> int:
        texts = [path.read_text(encoding="ascii") for path in Path(f"/proc/{pid}/task").glob("*/status")]
        lines = [line for text in texts for line in text.splitlines()]
        return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt"))

    before = switches()
    time.sleep(1)
    return switches() - before


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


def token_for_metrics(place: Place) -> str:
    added = place.run("board", "token", "add", "prometheus", "--metrics")
    assert added.returncode == 0, added
    return added.stdout.splitlines()[-1]


def scraped(running: RunningBoard, token: str) -> dict[str, Figures]:
    answered = Browser(running.port).get("/metrics", Authorization=f"Bearer {token}")
    assert answered.status == 200, answered.body
    assert answered.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return parse(answered.body.decode())


def test_figures_need_a_token_of_their_own_or_a_login_and_such_a_token_opens_nothing_else(
    served: RunningBoard, shared_place: Place
) -> None:
    token = token_for_metrics(shared_place)
    person = shared_place.run("board", "token", "add", "Mara").stdout.splitlines()[-1]
    stranger = Browser(served.port)
    # The token of a person signs them in; it is not sent with every request.
    given = {"": 401, "Bearer wrong": 401, f"Bearer {person}": 401, f"Bearer {token}": 200, f"bearer  {token}": 200}

    assert {header: stranger.get("/metrics", Authorization=header).status for header in given} == given
    assert served.browser(person).get("/metrics").status == 200
    assert stranger.get("/metrics", Authorization=f"Bearer {token}", Host="other.example").status == 421
    # It opens nothing else.
    assert stranger.post("/api/in", {"token": token}).status == 401
    assert stranger.get("/api/sessions", Authorization=f"Bearer {token}").status == 401
    assert "prometheus" in shared_place.run("board", "token", "--json", "--metrics").stdout
    assert "prometheus" not in shared_place.run("board", "token").stdout
    removed = shared_place.run("board", "token", "remove", "prometheus", "--metrics")
    assert removed.stdout == "Removed the token of prometheus.\n"
    assert stranger.get("/metrics", Authorization=f"Bearer {token}").status == 401


def test_a_token_for_figures_does_not_let_a_board_serve_other_machines(place: Place) -> None:
    token_for_metrics(place)

    refused = place.run("board", "--host", "0.0.0.0", "--no-open")  # noqa: S104  refused
    assert refused.returncode == 2
    assert "people need names" in refused.stderr
    assert "--metrics is for tildone board token" in place.run("board", "--metrics").stderr


def test_the_figures_say_what_runs_and_count_what_happens(place: Place) -> None:
    token = token_for_metrics(place)
    session = place.session("plan")
    session.change([Append((Task("a secret text"), Task("two")))])
    leases = run_leases(place.store())
    leases.beat(WorkerInfo("host/1/a", "host", 1, "1.0", slots=4))
    leases.add(NewRun("secret-run", "plan"))
    with board(place) as running:
        before = scraped(running, token)
        [lease] = leases.claim(Claimer("host/1/a"), ["host/1/a/1"])
        session.change([Mark(Numbered((1,)), Status.COMPLETED)])
        leases.append(lease.fence, Asked("secret-run", 0, "q1", "command", "make it"), "asked")
        during = scraped(running, token)
        leases.close(lease.fence, WorkOutcome.DONE)
        after = scraped(running, token)

    def figures(name: str, *label: tuple[str, str]) -> list[float]:
        return [found[name].samples[label] for found in (before, during, after)]

    assert figures("tildone_runs", ("state", "queued")) == [1, 0, 0]
    assert figures("tildone_runs", ("state", "running")) == [0, 1, 0]
    assert figures("tildone_slots_used") == [0, 1, 0]
    assert figures("tildone_questions") == [0, 1, 0]
    assert figures("tildone_runs_taken_total")[::2] == [0, 1]
    assert before["tildone_slots"].samples == {(): 4}
    assert before["tildone_queue_oldest_seconds"].samples[()] >= 0
    assert before["tildone_workers"].samples[("state", "up"),] == 1
    assert before["tildone_store_bytes"].samples[()] > 1000
    assert before["tildone_tasks_closed_total"].samples == {}
    assert after["tildone_tasks_closed_total"].samples == {(("status", "completed"),): 1}
    assert after["tildone_runs_ended_total"].samples == {(("state", "done"),): 1}
    assert "secret" not in str(after)


def test_a_store_without_a_fleet_has_figures_of_its_sessions(place: Place) -> None:
    environ = {"TILDONE_STORE": f"jsonl:{place.home / 'sessions'}"}
    token = token_for_metrics(place)
    with board(Place(place.folder, place.home, environ)) as running:
        found = scraped(running, token)

    assert "tildone_runs" not in found
    assert found["tildone_questions"].samples == {(): 0}
    assert sum(found["tildone_sessions"].samples.values()) == 0


def test_the_page_has_the_words_that_all_surfaces_use() -> None:
    """A coding agent is named as in its integration, whichever it is."""
    words = page_words()

    assert words["agents"] == {each.name: each.title for each in all_integrations()} | {"run": "tildone run"}
    assert words["sessions"] == [word.value for word in SessionWord]
