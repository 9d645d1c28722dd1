"""The figures of the board: who may read them, and what they say."""

from tests.telemetry.prometheus import Figures, parse
from tests.web.boards import Browser, Place, RunningBoard, board
from tildone.app.opening import run_leases
from tildone.plan.lists import WorkerInfo
from tildone.plan.model import Status, Task
from tildone.plan.ops import Append, Mark, Numbered
from tildone.plan.runs import Claimer, NewRun, WorkOutcome


def token_for_metrics(place: Place, name: str = "prometheus") -> str:
    added = place.run("board", "token", "add", name, "--metrics")
    assert added.returncode == 0, added
    return added.stdout.splitlines()[-1]


def scraped(running: RunningBoard, token: str) -> dict[str, Figures]:
    answered = Browser(running.port).get("/metrics", Authorization=f"Bearer {token}")
    assert answered.status == 200, answered.body
    assert answered.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return parse(answered.body.decode())


def test_figures_need_a_token_of_their_own_or_a_login(served: RunningBoard, shared_place: Place) -> None:
    token = token_for_metrics(shared_place)
    person = shared_place.run("board", "token", "add", "Mara").stdout.splitlines()[-1]
    stranger = Browser(served.port)

    assert stranger.get("/metrics").status == 401
    assert stranger.get("/metrics", Authorization="Bearer wrong").status == 401
    # The token of a person signs them in; it is not sent with every request.
    assert stranger.get("/metrics", Authorization=f"Bearer {person}").status == 401
    assert stranger.get("/metrics", Authorization=f"Bearer {token}").status == 200
    assert stranger.get("/metrics", Authorization=f"bearer  {token}").status == 200
    assert served.browser(person).get("/metrics").status == 200
    assert stranger.get("/metrics", Authorization=f"Bearer {token}", Host="other.example").status == 421


def test_a_token_for_figures_opens_nothing_else(served: RunningBoard, shared_place: Place) -> None:
    token = token_for_metrics(shared_place, "another")
    stranger = Browser(served.port)

    assert stranger.post("/api/in", {"token": token}).status == 401
    assert stranger.get("/api/sessions", Authorization=f"Bearer {token}").status == 401
    listed = shared_place.run("board", "token", "--json", "--metrics").stdout
    assert "another" in listed
    assert "another" not in shared_place.run("board", "token").stdout
    removed = shared_place.run("board", "token", "remove", "another", "--metrics")
    assert removed.stdout == "Removed the token of another.\n"
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
        during = scraped(running, token)
        leases.close(lease.fence, WorkOutcome.DONE)
        after = scraped(running, token)

    def runs(found: dict[str, Figures], state: str) -> float:
        return found["tildone_runs"].samples[("state", state),]

    assert [(runs(found, "queued"), runs(found, "running")) for found in (before, during, after)] == [
        (1, 0),
        (0, 1),
        (0, 0),
    ]
    assert before["tildone_slots"].samples == {(): 4}
    assert [found["tildone_slots_used"].samples[()] for found in (before, during, after)] == [0, 1, 0]
    assert before["tildone_queue_oldest_seconds"].samples[()] >= 0
    assert before["tildone_workers"].samples[("state", "up"),] == 1
    assert before["tildone_store_bytes"].samples[()] > 1000
    assert before["tildone_tasks_closed_total"].samples == {}
    assert after["tildone_tasks_closed_total"].samples == {(("status", "completed"),): 1}
    assert after["tildone_runs_ended_total"].samples == {(("state", "done"),): 1}
    assert [found["tildone_runs_taken_total"].samples[()] for found in (before, after)] == [0, 1]
    assert "secret" not in str(after)


def test_a_store_without_a_fleet_has_figures_of_its_sessions(place: Place) -> None:
    environ = {"TILDONE_STORE": f"jsonl:{place.home / 'sessions'}"}
    token = token_for_metrics(place)
    with board(Place(place.folder, place.home, environ)) as running:
        found = scraped(running, token)

    assert "tildone_runs" not in found
    assert found["tildone_questions"].samples == {(): 0}
    assert sum(found["tildone_sessions"].samples.values()) == 0
