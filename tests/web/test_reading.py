"""What the board shows: the list, one session, its past, and exports."""

import json
from pathlib import Path

from tests.web.boards import Browser, Place, RunningBoard, until
from tildone.base.ids import now
from tildone.log.needs import Need
from tildone.log.presence import Presence
from tildone.plan.events import Actor, AgentUsage, Author, Directive, Event, PlanChanged
from tildone.plan.model import Status, Task, with_status
from tildone.plan.ops import Append, At, Mark, Note, Numbered, Rename

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
    assert row == {
        "name": "listed",
        "title": "listed",
        "where": "",
        "state": "working",
        "why": "Test it",
        "closed": 1,
        "total": 2,
        "strip": "d.",
        "doing": "Test it",
        "nudges": [0, 20],
        "tokens": 10,
        "cost": 0.5,
        "events": 2,
        "needs": 0,
    }


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
    assert [(task["number"], task["text"], task["status"], task["notes"]) for task in build["tasks"]] == [
        (1, "One", "completed", []),
        (2, "Two", "blocked", ["the key"]),
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


def test_a_task_has_what_it_took_if_that_is_known(browser: Browser, shared_place: Place) -> None:
    session = shared_place.session("metered", "Grace")
    session.change([Append((Task("One"), Task("Two")), "Build")])
    for at, (status, cost) in enumerate(((Status.IN_PROGRESS, 1.0), (Status.COMPLETED, 1.41))):
        plan = with_status(session.plan, frozenset({1}), status)
        usage = AgentUsage(int(cost * 200_000), cost=cost)
        author = Author("Grace", "claude:1")
        event = Event(f"used{at}", session.state.head, now(), Actor.AGENT, PlanChanged(plan), author, usage)
        session.store.append(session.name, event)

    shown = browser.get(f"/api/s/{browser.key('metered')}").json

    assert shown["used"] == {"1": "82k · $0.41"}


def test_a_task_has_how_often_its_agent_was_told_to_go_on(browser: Browser, shared_place: Place) -> None:
    session = shared_place.session(planned(shared_place, "told", "One", "Two"))
    session.change([Mark(Numbered((2,)), Status.IN_PROGRESS)])
    session.turn_ended()
    session.turn_ended()

    shown = browser.get(f"/api/s/{browser.key('told')}").json

    assert shown["told"] == {"2": 2}


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
    one = browser.get(f"/api/s/{browser.key('counted')}/stats").json
    overall = browser.get("/api/stats?days=3").json
    empty = shared_place.session("never planned")
    empty.set_directive(Directive.PAUSE)

    assert (one["closed"], one["total"], len(one["open"]), isinstance(one["from"], int)) == (1, 1, 2, True)
    assert len(overall["days"]) == 3
    assert overall["days"][-1]["done"] >= 1
    assert browser.get(f"/api/s/{browser.key('never planned')}/stats").json["total"] == 0


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
    store = shared_place.store()
    planned(shared_place, "asking", "One")
    planned(shared_place, "waiting", "One")
    shared_place.session("waiting").change([Mark(At((0,)), Status.BLOCKED), Note(At((0,)), "the signing key")])
    store.records.ask(Need("q1", "asking", "command", "rm -rf /", ("once", "no"), now(), "claude:5f", "in Build"))
    found = {need["name"]: need for need in browser.get("/api/needs").json["open"]}

    assert found["asking"]["id"] == "q1"
    assert (found["asking"]["text"], found["asking"]["options"]) == ("rm -rf /", ["once", "no"])
    assert found["asking"]["caution"] == "Careful: it deletes files."
    assert found["asking"]["agent"]["host"] == "claude"
    assert (found["waiting"]["id"], found["waiting"]["text"]) == (None, "waits: the signing key")
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
    answers = [
        browser.get(f"/api/s/{row['key']}{path}")
        for path in ("", "/history", "/stats", f"/at/{row['head']}", "/density")
    ]
    answers += [browser.get("/api/sessions"), browser.get("/api/needs"), browser.get("/api/stats")]

    assert all(answered.status == 200 and answered.body.isascii() for answered in answers)
    assert json.loads(answers[0].body)["plan"]["phases"][0]["tasks"][0]["text"] == HOSTILE
    assert set(row["key"]) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    for answered in answers:
        assert answered.headers["content-type"] == "application/json"
        assert not any(
            "script" in text and name != "content-security-policy" for name, text in answered.headers.items()
        )
    export = browser.get(f"/s/{row['key']}.md")
    assert export.status == 200


def test_a_deleted_session_is_gone(browser: Browser, shared_place: Place, served: RunningBoard) -> None:
    planned(shared_place, "deleted", "One")
    key = browser.key("deleted")
    store = shared_place.store()
    store.delete("deleted", expected=store.session_head("deleted").head)
    answered = browser.get(f"/api/s/{key}")

    assert (answered.status, answered.json["error"]) == (404, "That session is not in the store.")
    assert served.process.poll() is None
