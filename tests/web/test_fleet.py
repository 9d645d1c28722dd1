"""The fleet over the API of a real board, on a store of each kind that has runs.

What is read does not grow with the past.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from tests.fleet.repositories import git, project
from tests.overview.stores import CountingStore
from tests.stores.conftest import server
from tests.stores.postgres import TEMPLATE, Server, needs_server
from tests.web.boards import Browser, Place, RunningBoard, board, place_in, until
from tests.web.fleets import DONE, FleetStore
from tildone.app.index import SessionIndex
from tildone.app.opening import store_at
from tildone.base.ids import now
from tildone.log.store import Store
from tildone.plan.lists import RunGroup
from tildone.plan.model import Status
from tildone.plan.runs import LeaseRequest, LeaseState, NewRun, Published, Work, WorkOutcome
from tildone.screens.board.board import BoardFleet, RunRows

__all__ = ["server"]


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=needs_server)])
def fleet(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FleetStore]:
    """A store for all tests of a kind; each has runs and workers of its own."""
    if request.param == "sqlite":
        yield FleetStore(str(tmp_path_factory.mktemp("store") / "plans.db"))
        return
    running: Server = request.getfixturevalue("server")
    with running.database(TEMPLATE) as url:
        yield FleetStore(url)


@pytest.fixture(scope="module")
def place_of_board(fleet: FleetStore, tmp_path_factory: pytest.TempPathFactory) -> Place:
    return place_in(tmp_path_factory.mktemp("board"), TILDONE_STORE=fleet.address)


@pytest.fixture(scope="module")
def served(place_of_board: Place) -> Iterator[RunningBoard]:
    with board(place_of_board) as running:
        yield running


@pytest.fixture(scope="module")
def browser(served: RunningBoard) -> Browser:
    return served.browser()


def run_of(browser: Browser, run: str) -> dict[str, object]:
    rows = browser.get("/api/fleet/runs?limit=200").json["runs"]
    return next(row for row in rows if row["run"] == run)


def need_of(browser: Browser, run: str) -> dict[str, object]:
    return next(need for need in browser.get("/api/needs").json["open"] if need.get("run") == run)


def test_a_store_without_runs_and_workers_has_no_fleet_until_it_gets_one(place: Place) -> None:
    """Nor has one that cannot have runs."""
    for address in (f"jsonl:{place.home / 'sessions'}", str(place.home / "plans.db")):
        with board(Place(place.folder, place.home, {"TILDONE_STORE": address})) as running:
            browser = running.browser()
            assert browser.get("/api/fleet").json["exists"] is False
            assert browser.get("/api/fleet/runs").json == {"runs": [], "after": None}
            assert browser.get("/api/needs").json["fleet"] is False
            if address.startswith("jsonl:"):
                assert browser.post("/api/fleet/ask", {"run": "r", "ask": "pause"}).status == 400
                answer = {"run": "r", "question": "q", "seen": "", "answer": "yes"}
                assert browser.post("/api/fleet/answer", answer).status == 404
                continue
            with browser.live("needs") as live:
                FleetStore(address).beat("build-00")
                assert live.until("needs")["fleet"] is True


def test_workers_are_listed_with_what_they_hold(fleet: FleetStore, browser: Browser) -> None:
    worker = fleet.beat("build-77", "linux", "gpu", slots=2)
    fleet.add("held", "da.", "Write the parser", cost=1.5)
    lease = fleet.take("held", "build-77")

    # Who is at work, and at which cost, is looked at every two seconds.
    answer = until(lambda: browser.get("/api/fleet").json, lambda found: found["numbers"]["cost"] >= 1.5)

    [row] = [each for each in answer["workers"] if each["id"] == worker]
    assert (row["host"], row["labels"], row["held"], row["slots"]) == ("build-77", ["linux", "gpu"], 1, 2)
    assert (row["state"], row["draining"], row["version"]) == ("live", False, "0.5.0")
    assert answer["numbers"]["running"] >= 1
    shown = run_of(browser, "held")
    assert (shown["state"], shown["host"], shown["doing"]) == ("running", "build-77", "Write the parser")
    assert (shown["strip"], shown["epoch"], shown["attempt"], shown["cost"]) == ("da.", lease.epoch, 1, 1.5)
    assert browser.get(f"/api/s/{shown['key']}").json["title"] == "held"


def test_runs_come_in_pages_by_state(fleet: FleetStore, browser: Browser) -> None:
    for number in range(5):
        fleet.add(f"page-{number}")
        fleet.request(f"page-{number}", LeaseRequest.CANCEL)
    fleet.add("page-other")
    found, after = list[str](), ""

    while True:
        answer = browser.get(f"/api/fleet/runs?state=cancelled&limit=2&after={after}").json
        assert {row["group"] for row in answer["runs"]} <= {"cancelled"}
        found += [row["run"] for row in answer["runs"] if row["run"].startswith("page-")]
        if answer["after"] is None:
            break
        after = answer["after"]

    assert found == [f"page-{number}" for number in (4, 3, 2, 1, 0)]
    everything = browser.get("/api/fleet/runs?limit=200").json["runs"]
    assert len({(row["run"], row["hand"]) for row in everything}) == len(everything)
    assert {*found, "page-other"} <= {row["run"] for row in everything}
    assert browser.get("/api/fleet/runs?state=lost").status == 400
    for wrong in ("x", "cancelled:1:0:a b", "cancelled:99999999999999999999:0:a", "done:1:0:a"):
        assert browser.get(f"/api/fleet/runs?state=cancelled&after={wrong.replace(' ', '%20')}").status == 400


def test_the_question_of_a_run_is_answered_once(fleet: FleetStore, browser: Browser) -> None:
    session = fleet.add("asking")
    fleet.ask(fleet.take("asking"), "question", "Merge them,\nor keep both?")

    need = need_of(browser, "asking")
    assert (need["kind"], need["text"], need["options"]) == ("question", "Merge them,\nor keep both?", [])
    assert run_of(browser, "asking")["state"] == "needs you"
    assert next(row for row in browser.sessions() if row["name"] == session)["state"] == "needs you"
    body = {"run": "asking", "question": need["question"], "seen": need["text"], "answer": "Keep both"}
    assert browser.post("/api/fleet/answer", body | {"answer": " "}).status == 422
    assert browser.post("/api/fleet/answer", body | {"seen": "Merge them"}).status == 409
    assert browser.post("/api/fleet/answer", body).json["by"] == "Ada"

    assert fleet.answers("asking") == [("q1", "Keep both", "Ada")]
    assert fleet.lease("asking").is_queued
    again = browser.post("/api/fleet/answer", body)
    assert (again.status, again.json["answer"], again.json["by"]) == (409, "Keep both", "Ada")
    assert browser.post("/api/fleet/answer", body | {"question": "none"}).status == 404
    assert browser.post("/api/fleet/answer", body | {"run": "none"}).status == 404


def test_what_needs_a_person_is_one_group_whether_or_not_a_worker_holds_it(fleet: FleetStore, browser: Browser) -> None:
    before = browser.get("/api/fleet").json
    for run, waits in (("asks-nobody", True), ("asks-held", False)):
        fleet.add(run)
        fleet.ask(fleet.take(run), "question", "Which?", waits=waits)

    assert {run_of(browser, "asks-nobody")["group"], run_of(browser, "asks-held")["group"]} == {"waiting"}
    for group, is_there in (("waiting", True), ("running", False)):
        rows = browser.get(f"/api/fleet/runs?state={group}&limit=200").json["runs"]
        assert {row["run"] for row in rows} & {"asks-nobody", "asks-held"} == (
            {"asks-nobody", "asks-held"} if is_there else set()
        )
    after = browser.get("/api/fleet").json
    assert after["counts"]["waiting"] == before["counts"]["waiting"] + 2
    assert after["numbers"]["running"] == before["numbers"]["running"]
    [first] = browser.get("/api/fleet/runs?state=waiting&limit=1").json["runs"][:1]
    assert first["run"] == "asks-held"


def test_a_command_is_allowed_or_denied(fleet: FleetStore, browser: Browser) -> None:
    for answer in ("yes", "no", "no: use the test database"):
        run = f"deploying-{len(answer)}"
        fleet.add(run)
        fleet.ask(fleet.take(run), "command", "make deploy", waits=False)

        assert need_of(browser, run)["options"] == ["yes", "no"]
        body = {"run": run, "question": "q1", "seen": "make deploy"}
        assert browser.post("/api/fleet/answer", body | {"answer": "maybe"}).status == 422
        assert browser.post("/api/fleet/answer", body | {"answer": answer}).status == 200
        assert fleet.answers(run) == [("q1", answer, "Ada")]


def test_a_run_is_paused_resumed_cancelled_and_retried(fleet: FleetStore, browser: Browser) -> None:
    fleet.add("wished")

    def ask(what: str) -> int:
        return browser.post("/api/fleet/ask", {"run": "wished", "ask": what}).status

    assert run_of(browser, "wished")["can"] == ["pause", "cancel"]
    assert (ask("pause"), fleet.lease("wished").state) == (200, LeaseState.PAUSED)
    assert run_of(browser, "wished")["can"] == ["resume", "cancel"]
    assert (ask("retry"), ask("resume"), fleet.lease("wished").is_queued) == (422, 200, True)
    assert (ask("cancel"), fleet.lease("wished").state) == (200, LeaseState.CANCELLED)
    assert run_of(browser, "wished")["can"] == ["retry"]
    assert (ask("cancel"), ask("retry"), fleet.lease("wished").is_queued) == (422, 200, True)
    fleet.take("wished")
    assert (ask("pause"), run_of(browser, "wished")["state"]) == (200, "pausing")
    assert (ask("resume"), run_of(browser, "wished")["state"]) == (200, "running")
    assert ask("explode") == 400
    assert browser.post("/api/fleet/ask", {"run": "none", "ask": "pause"}).status == 404


def test_all_runs_are_paused_and_resumed(place: Place) -> None:
    fleet = FleetStore(str(place.home / "plans.db"))
    for run in ("queued", "held", "asking", "ended"):
        fleet.add(run)
    fleet.take("held")
    fleet.ask(fleet.take("asking"), "question", "Which?")
    fleet.request("ended", LeaseRequest.CANCEL)
    with board(Place(place.folder, place.home, {"TILDONE_STORE": fleet.address})) as running:
        browser = running.browser()

        def ask_all(what: str) -> list[str]:
            return sorted(browser.post("/api/fleet/ask-all", {"ask": what}).json["runs"])

        def states() -> list[tuple[LeaseState, LeaseRequest]]:
            leases = [fleet.lease(run) for run in ("queued", "held", "asking", "ended")]
            return [(lease.state, lease.request) for lease in leases]

        before = states()
        assert ask_all("pause") == ["asking", "held", "queued"]
        paused = (LeaseState.PAUSED, LeaseRequest.NOTHING)
        assert states() == [paused, (LeaseState.OPEN, LeaseRequest.PAUSE), paused, before[3]]
        assert ask_all("pause") == []
        assert ask_all("resume") == ["asking", "held", "queued"]
        assert states() == before
        assert browser.post("/api/fleet/ask-all", {"ask": "cancel"}).status == 400


def test_a_worker_is_drained(fleet: FleetStore, browser: Browser) -> None:
    worker = fleet.beat("draining")

    assert browser.post("/api/fleet/drain", {"worker": worker}).status == 200
    assert browser.post("/api/fleet/drain", {"worker": "none"}).status == 404

    [row] = [each for each in browser.get("/api/fleet").json["workers"] if each["id"] == worker]
    assert row["draining"] is True


def test_changes_are_told_live_without_a_request(fleet: FleetStore, browser: Browser) -> None:
    session = fleet.add("live", "da.", "Task")
    with browser.live("fleet") as live:

        def told(**wanted: object) -> None:
            until(lambda: live.until("run"), lambda row: wanted.items() <= row.items())

        lease = fleet.take("live", "build-09")
        told(run="live", state="running", host="build-09")
        fleet.marked(session, "Task", DONE)
        told(run="live", strip="dd.")
        # A request is no event of the plan.
        fleet.request("live", LeaseRequest.PAUSE)
        told(run="live", state="pausing")
        fleet.close(lease, WorkOutcome.DONE)
        told(run="live", state="done")
        worker = fleet.beat("build-10")
        until(lambda: live.until("worker"), lambda row: row["id"] == worker)
        fleet.use(lambda _, leases: leases.leave(worker))
        until(lambda: live.until("worker"), lambda row: row == {"id": worker, "gone": True})


def test_pages_and_numbers_read_no_plans_however_many_runs_have_ended(tmp_path: Path) -> None:
    ended = FleetStore(str(tmp_path / "plans.db"))
    for number in range(30):
        ended.add(f"r{number}")
        ended.close(ended.take(f"r{number}"), WorkOutcome.DONE)
    opened = store_at(ended.address)
    counting = CountingStore(opened)
    store = cast("Store", counting)
    board, sessions = BoardFleet.of(store), SessionIndex(store, str(tmp_path), now=now, nudge_limit=20)
    sessions.refresh()
    rows = RunRows(sessions.row, str)
    counting.calls.clear()

    board.news(["/home/mk/src/r3"], rows, detailed=True)
    data = board.snapshot(rows, board.waiting(rows))
    found, after = list[str](), ""
    while True:
        views, last = board.page([*RunGroup], after, 7, rows)
        found += [str(row["title"]) for row in board.data(views, rows, now())]
        if last is None:
            break
        after = last
    opened.close()

    assert sorted(found) == sorted(f"r{number}" for number in range(30))
    assert data["counts"] == {group.value: 30 if group.value == "done" else 0 for group in RunGroup}
    reading = {"history", "events", "sessions", "session_info", "session_head", "changed"}
    assert not reading & counting.calls.keys()


def groups(browser: Browser) -> dict[str, str]:
    """The group of each run in the results."""
    found = browser.get("/api/fleet/results").json
    return {row["run"]: name for name, rows in found.items() if isinstance(rows, list) for row in rows}


def test_a_run_that_has_failed_needs_a_person_until_it_is_retried_or_given_up(
    fleet: FleetStore, browser: Browser
) -> None:
    for run, answer, state in (("broken-1", "retry", LeaseState.OPEN), ("broken-2", "cancel", LeaseState.CANCELLED)):
        session = fleet.add(run)
        fleet.close(fleet.take(run), WorkOutcome.FAILED, "the check of the plan has not passed\nlast line")
        need = need_of(browser, run)
        assert (need["kind"], need["text"]) == ("failure", "the check of the plan has not passed: last line")
        assert need["options"] == ["retry", "cancel"]
        rows = browser.get("/api/sessions?limit=200").json["sessions"]
        assert [row["state"] for row in rows if row["name"] == session] == ["needs you"]
        assert groups(browser)[run] == "needs"

        given = {"run": run, "question": need["question"], "seen": need["text"], "answer": answer}
        assert browser.post("/api/fleet/answer", given | {"answer": "yes"}).status == 422
        assert browser.post("/api/fleet/answer", given).status == 200

        assert fleet.lease(run).state is state
        assert all(each.get("run") != run for each in browser.get("/api/needs").json["open"])
        assert browser.post("/api/fleet/answer", given).status == 404
    assert (groups(browser)["broken-1"], groups(browser)["broken-2"]) == ("queued", "over")


def test_a_conflict_is_answered_by_what_it_offers(fleet: FleetStore, browser: Browser) -> None:
    fleet.add("both")
    fleet.ask(fleet.take("both"), "conflict", "in parser.py\nTo merge it: git merge x")
    need = need_of(browser, "both")
    given = {"run": "both", "question": need["question"], "seen": need["text"]}

    assert (need["options"], groups(browser)["both"]) == (["merged", "discard"], "needs")
    assert browser.post("/api/fleet/answer", given | {"answer": "perhaps"}).status == 422
    assert browser.post("/api/fleet/answer", given | {"answer": "discard"}).status == 200
    assert [answer for _, answer, _ in fleet.answers("both")] == ["discard"]


def test_the_results_have_the_difference_and_the_transcript_if_they_are_here(
    fleet: FleetStore, browser: Browser, place_of_board: Place, tmp_path: Path
) -> None:
    repo = project(tmp_path)
    base = git(repo, "rev-parse", "HEAD")
    (repo / "parser.py").write_text("<b>two</b>\n", encoding="utf-8")
    git(repo, "commit", "-qam", "Second")
    fleet.add("changed", repo=str(repo))
    lease, made = fleet.take("changed"), Published(git(repo, "rev-parse", "HEAD"), base, 1, 1, 1)
    fleet.close(lease, WorkOutcome.DONE, made=made)
    home = place_of_board.home / "tildone" / "fleet" / "runs"
    home.mkdir(parents=True, exist_ok=True)
    (home / f"changed.{lease.epoch}.output").write_text("I have done it.\n", encoding="utf-8")
    fleet.add("elsewhere", repo="https://example.org/app.git")
    fleet.close(fleet.take("elsewhere"), WorkOutcome.DONE, made=made)

    [row] = [row for row in browser.get("/api/fleet/results?hours=1").json["done"] if row["run"] == "changed"]
    assert (row["files"], row["facts"].split(" · ")[:2]) == (1, ["1/3", "1 file +1 −1"])
    assert browser.get(f"/api/s/{row['key']}").status == 200
    assert "+<b>two</b>" in browser.get("/api/fleet/diff?run=changed").json["text"]
    assert browser.get("/api/fleet/transcript?run=changed").json["text"] == "I have done it."
    for what in ("diff", "transcript"):
        assert browser.get(f"/api/fleet/{what}?run=elsewhere").status == 404
        assert browser.get(f"/api/fleet/{what}?run=..%2Fx").status == 404
        assert browser.get(f"/api/fleet/{what}").status == 404


def test_hands_are_counted_from_one(fleet: FleetStore, browser: Browser) -> None:
    fleet.add("counted")

    assert run_of(browser, "counted")["hand"] == 1
    [hand] = browser.post("/api/fleet/ask", {"run": "counted", "ask": "cancel"}).json["hands"]
    assert hand["hand"] == 1


def test_what_a_run_was_stays_when_its_plan_is_run_again(fleet: FleetStore, browser: Browser) -> None:
    session = fleet.add("first", "ddd", "")
    fleet.close(fleet.take("first"), WorkOutcome.DONE)
    fleet.use(lambda _, leases: leases.add(NewRun("second", session, Work(agent="claude"))))
    fleet.marked(session, "Part 1", Status.PENDING)

    rows = [[run_of(browser, run)[name] for name in ("closed", "total", "strip")] for run in ("first", "second")]

    assert rows == [[3, 3, "ddd"], [2, 3, ".dd"]]
