"""Checks from the board: set, approved and run on its machine, by those who may."""

import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.web.boards import Answered, Browser, Json, Place, board, until
from tildone.app.opening import check_approvals
from tildone.base import replace
from tildone.log.session import Session
from tildone.plan.model import Check, Proof, Result, Status, Task
from tildone.plan.ops import Append, Numbered, Order, SetCheck
from tildone.plan.text.proofs import check_text


class Checked:
    """A session with two tasks, of which the first may get a check, and a page that shows it."""

    def __init__(self, browser: Browser, place: Place, name: str) -> None:
        self.browser, self.place, self.name = browser, place, name
        self.theirs: Session = place.session(name)
        self.theirs.change([Append((Task("One"), Task("Two")), "Build")])
        self.key = browser.key(name)
        self.runs = place.folder / f"{name[-40:]}.runs"

    @property
    def ready(self) -> Path:
        return self.runs.with_suffix(".ready")

    @property
    def command(self) -> tuple[str, ...]:
        """Counts its runs, and passes if a file is there."""
        script = f"open({str(self.runs)!r}, 'a').write('x'); open({str(self.ready)!r})"
        return (sys.executable, "-c", script)

    @property
    def slow_command(self) -> tuple[str, ...]:
        """Counts its runs, and passes once a file is there."""
        waits = f"[time.sleep(0.02) for _ in iter(lambda: os.path.exists({str(self.ready)!r}), True)]"
        return (sys.executable, "-c", f"import os, time; open({str(self.runs)!r}, 'a').write('x'); {waits}")

    @property
    def count(self) -> int:
        return len(self.runs.read_text()) if self.runs.exists() else 0

    def given(self, command: tuple[str, ...], *, approved: bool, watches: tuple[str, ...] = ("none",)) -> Check:
        """Give the first task a check, as an agent would."""
        check = Check(command, watches=watches)
        self.theirs.change([SetCheck(Numbered((1,)), check)])
        if approved:
            check_approvals(self.place.settings()).approve(check)
        return check

    def shown(self) -> Json:
        found: Json = self.browser.get(f"/api/s/{self.key}").json
        return found

    def facts(self) -> Json:
        found: Json = self.browser.get(f"/api/s/{self.key}/checks").json
        return found

    def task(self, position: int = 0) -> Json:
        found: Json = self.shown()["plan"]["phases"][0]["tasks"][position]
        return found

    def post(self, path: str, **body: object) -> Answered:
        return self.browser.post(f"/api/s/{self.key}/{path}", {"number": 1, **body})

    def done(self) -> Answered:
        ops = [{"op": "mark", "at": [0], "status": "completed"}]
        return self.browser.post(f"/api/s/{self.key}/ops", {"ops": ops}, self.shown()["head"])

    @property
    def status(self) -> str:
        return str(self.theirs.plan.tasks[0].status.value)


@pytest.fixture
def checked(browser: Browser, shared_place: Place, request: pytest.FixtureRequest) -> Checked:
    return Checked(browser, shared_place, request.node.name[:200])


def test_a_check_is_set_approved_in_the_same_step_changed_and_removed(checked: Checked) -> None:
    first = checked.post("check", line="pytest -q 'tests/a b'")
    check = checked.theirs.plan.tasks[0].check

    assert (first.status, first.json["approved"]) == (200, True)
    assert check == Check(("pytest", "-q", "tests/a b"))
    assert checked.task()["check"] == {
        "line": "pytest -q 'tests/a b'",
        "command": ["pytest", "-q", "tests/a b"],
        "folder": "",
        "caution": "",
        "state": "",
        "words": "",
        "program": "",
    }
    assert checked.facts() | {"head": ""} == {
        "head": "",
        "here": True,
        "may_approve": True,
        "stale": [],
        "proposed": [],
        "checking": [],
        "claims": {},
    }
    assert checked.post("check", line="", base="pytest -q 'tests/a b'").status == 200
    assert checked.theirs.plan.tasks[0].check is None


def test_a_check_that_somebody_changed_meanwhile_is_not_overwritten(checked: Checked) -> None:
    checked.given(("make", "test"), approved=False)

    answered = checked.post("check", line="pytest", base="")

    assert (answered.status, answered.json["line"]) == (409, "make test")
    assert checked.theirs.plan.tasks[0].check == Check(("make", "test"), watches=("none",))


def test_done_runs_the_check_and_only_a_pass_completes_the_task(checked: Checked) -> None:
    checked.given(checked.command, approved=True)

    failed = checked.done()

    assert failed.status == 200
    assert failed.json["unproved"][0]["result"] == "failed"
    assert "FileNotFoundError" in failed.json["unproved"][0]["output"]
    assert (checked.status, checked.task()["check"]["words"]) == ("in_progress", "failed (exit 1)")
    again = checked.done()
    assert "FileNotFoundError" in again.json["unproved"][0]["output"]
    checked.ready.touch()
    passed = checked.done()
    assert (passed.json["unproved"], checked.status, checked.count) == ([], "completed", 3)
    assert checked.task()["check"]["words"] == "passed"
    assert " (sha256 " in checked.task()["check"]["program"]
    proof = checked.theirs.plan.tasks[0].proof
    assert proof is not None
    assert proof.by == "Ada"


def test_other_changes_run_no_check(checked: Checked) -> None:
    checked.given(checked.command, approved=True)
    checked.theirs.change([SetCheck(None, Check(checked.command))])

    ops = [{"op": "note", "at": [0], "text": "n"}, {"op": "mark", "at": [0, 1], "status": "abandoned"}]
    answered = checked.browser.post(f"/api/s/{checked.key}/ops", {"ops": ops}, checked.shown()["head"])

    assert (answered.status, checked.count) == (200, 0)
    assert checked.shown()["plan"]["check"]["command"] == list(checked.command)


def test_a_proposed_check_waits_for_a_person_who_approves_exactly_that_command(checked: Checked) -> None:
    check = checked.given(checked.command, approved=False)
    refused = Proof(Result.REFUSED, check.command, reason="a person has to approve its check first")
    checked.theirs = checked.theirs.using(parts=replace(checked.theirs.parts, prover=None))
    checked.theirs.change(lambda _: [SetCheck(Numbered((2,)), check)])
    # An agent has marked it as done where nobody had approved the check.
    checked.theirs.record_proofs({1: refused})
    checked.browser.post(
        f"/api/s/{checked.key}/ops",
        {"ops": [{"op": "mark", "at": [0], "status": "blocked"}]},
        checked.shown()["head"],
    )

    assert checked.facts()["proposed"] == [1, 2]
    assert checked.done().status == 422
    assert checked.post("verify").status == 422
    assert checked.post("approve", command=["rm", "-rf", "/"]).status == 409
    assert checked.post("approve", command=list(check.command), folder="sub").status == 409
    assert checked.post("approve", command=" ".join(check.command)).status == 409
    assert not check_approvals(checked.place.settings()).is_allowed(check)
    assert checked.post("approve", command=list(check.command)).status == 200
    assert check_approvals(checked.place.settings()).is_allowed(check)
    # Once, in an empty folder.
    assert (checked.status, checked.facts()["proposed"], checked.count) == ("pending", [], 1)


def test_a_done_task_becomes_stale_and_is_verified_again(checked: Checked) -> None:
    subprocess.run(["git", "init", "--quiet", str(checked.place.folder)], check=True)
    source = checked.place.folder / f"{checked.name}.py"
    source.write_text("1")
    subprocess.run(["git", "add", source.name], cwd=checked.place.folder, check=True)
    checked.ready.touch()
    checked.given(checked.command, approved=True, watches=(source.name,))
    assert checked.done().json["unproved"] == []
    assert checked.facts()["stale"] == []

    source.write_text("2")

    until(checked.facts, lambda found: found["stale"] == [1])
    assert checked.status == "completed"
    assert checked.post("verify").json["unproved"] == []
    assert checked.facts()["stale"] == []
    checked.ready.unlink()
    assert checked.post("verify").json["unproved"][0]["result"] == "failed"
    assert checked.status == "in_progress"


def test_the_check_of_the_plan_is_set_approved_run_and_removed(checked: Checked) -> None:
    def post(path: str, **body: object) -> Answered:
        return checked.post(path, number=0, **body)

    def check_now() -> Check | None:
        return checked.theirs.plan.check

    line = check_text(Check(checked.command))
    assert post("check", line=line).json["approved"] is True
    assert check_now() == Check(checked.command)
    failed = post("verify").json["unproved"]
    assert [(each["number"], each["result"]) for each in failed] == [(0, "failed")]
    assert checked.shown()["plan"]["check"]["words"] == "failed (exit 1)"
    checked.ready.touch()
    assert post("verify").json["unproved"] == []
    assert checked.shown()["plan"]["check"]["state"] == "passed"
    assert post("check", line="", base="something else").status == 409
    assert post("check", line="", base=line).status == 200
    assert check_now() is None
    assert post("verify").status == 422
    assert "the plan has no check" in post("verify").json["error"].lower()


def test_a_plan_says_which_tasks_wait_for_others(checked: Checked) -> None:
    checked.theirs.change([Order(Numbered((2,)), (1,))])

    assert (checked.task(1)["after"], checked.task(1)["waits"]) == ([1], [1])
    checked.done()
    assert (checked.task(1)["after"], checked.task(1)["waits"]) == ([1], [])


@pytest.mark.parametrize("path", ["check", "approve", "verify"])
def test_changing_requests_need_the_cookie_the_key_and_the_own_origin(checked: Checked, path: str) -> None:
    check = checked.given(checked.command, approved=False)
    address, body = f"/api/s/{checked.key}/{path}", {"number": 1, "line": "pytest", "command": list(check.command)}
    browser = checked.browser

    assert browser.post(address, body, Cookie="").status == 401
    assert browser.post(address, body, X_Tildone_Key="").status == 401
    assert browser.post(address, body, Origin="http://evil.example").status == 403
    assert browser.post(address, body, Sec_Fetch_Site="cross-site").status == 403
    assert browser.send("POST", address, b"number=1", Content_Type="text/plain").status == 415
    assert browser.get(address).status == 404
    assert browser.get(f"/api/s/{checked.key}/checks", Cookie="").status == 401
    assert checked.theirs.plan.tasks[0].check == check
    assert not check_approvals(checked.place.settings()).is_allowed(check)
    assert checked.count == 0


def test_other_people_propose_checks_but_do_not_approve_them(place: Place) -> None:
    """Whoever approves a command lets it be run on the machine of the board."""
    token = place.run("board", "token", "add", "Mara").stdout.split()[-1]
    with board(place) as running:
        checked = Checked(running.browser(token), place, "p")

        answered = checked.post("check", line="pytest -q")

        assert (answered.status, answered.json["approved"]) == (200, False)
        assert checked.facts()["may_approve"] is False
        assert checked.facts()["proposed"] == [1]
        assert checked.post("approve", command=["pytest", "-q"]).status == 403
        assert checked.done().status == 422
        owner = Checked(running.browser(), place, "q")
        owner.given(owner.command, approved=True)
        owner.ready.touch()
        # What the owner has approved, others may have run.
        theirs = Checked.__new__(Checked)
        theirs.__dict__.update(owner.__dict__, browser=checked.browser)
        assert theirs.done().json["unproved"] == []


def test_a_board_that_ends_ends_the_check_and_records_nothing(place: Place) -> None:
    with board(place) as running:
        checked = Checked(running.browser(), place, "p")
        checked.given(checked.slow_command, approved=True)
        with ThreadPoolExecutor(1) as threads:
            asked = threads.submit(checked.done)
            until(lambda: checked.count, lambda count: count == 1)
            began = time.monotonic()
            code, _ = running.end()
            took = time.monotonic() - began
            asked.exception(30)

    assert code == 128 + signal.SIGTERM
    assert took < 20
    assert checked.theirs.plan.tasks[0].status is Status.PENDING
    assert checked.theirs.plan.tasks[0].proof is None
