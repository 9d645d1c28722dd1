"""Edits from the board are applied as they were meant, or a clash shows both sides.

Tasks, order, files, claims and checks.
"""

import json
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.web.boards import Answered, Browser, Json, Place, RunningBoard, board, until
from tildone.app.opening import check_approvals
from tildone.base import replace
from tildone.log.session import Session
from tildone.plan.claims import Claimant
from tildone.plan.model import Check, Proof, Result, Status, Task
from tildone.plan.ops import Append, At, Mark, Move, Note, Numbered, Op, Order, Remove, Rename, SetCheck, Touch

LONG: tuple[list[Json], ...] = (
    [{"op": "reword", "at": 0, "text": "x" * 100_001}],
    [{"op": "append", "text": "x"}] * 101,
)
UNDOCUMENTED = (*map(json.loads, Path(__file__).with_name("undocumented_ops.txt").read_text().splitlines()), *LONG)


class Edited:
    """A session with three tasks, and a page that shows it."""

    def __init__(self, browser: Browser, place: Place, name: str, *texts: str) -> None:
        self.browser, self.name = browser, name
        self.theirs: Session = place.session(name)
        self.theirs.change([Append(tuple(map(Task, texts or ("One", "Two", "Three"))), "Build")])
        self.key = browser.key(name)
        self.seen: str = self.shown()["head"]

    def shown(self) -> Json:
        found: Json = self.browser.get(f"/api/s/{self.key}").json
        return found

    def ops(self, *ops: Json, **more: str) -> Answered:
        return self.browser.post(f"/api/s/{self.key}/ops", {"ops": ops}, self.seen, **more)

    def post(self, path: str, body: Json) -> Answered:
        return self.browser.post(f"/api/s/{self.key}/{path}", body, self.seen)

    def task(self, position: int = 0) -> Json:
        found: Json = self.shown()["plan"]["phases"][0]["tasks"][position]
        return found

    def numbered(self, number: int) -> Task:
        return next(task for task in self.theirs.plan.tasks if task.number == number)

    def tasks(self) -> list[str]:
        return [f"{task.text} {task.status.value}" for task in self.theirs.plan.tasks]

    def texts(self) -> list[str]:
        return [task.text for task in self.theirs.plan.tasks]


@pytest.fixture
def edited(browser: Browser, shared_place: Place, request: pytest.FixtureRequest) -> Edited:
    return Edited(browser, shared_place, request.node.name[:200])


def test_every_op(edited: Edited) -> None:
    """In the forms that are not tried on every surface; the answer has what differs from what the person saw."""
    edited.shown()
    ops: list[Json] = [
        {"op": "reword", "at": 0, "text": "Uno"},
        {"op": "append", "tasks": [{"text": "Four"}]},
        {"op": "append", "text": "Ship", "phase": "Release"},
        {"op": "insert", "at": 1, "text": "One and a half"},
        {"op": "insert", "at": 3, "tasks": [{"text": "Last"}]},
        {"op": "move", "at": [2], "before": 0},
        {"op": "move", "at": [1], "phase": "Release"},
        {"op": "remove", "at": [2]},
    ]

    answers = [edited.ops(op) for op in ops]

    assert [(each.status, each.json["rebased"]) for each in answers] == [(200, False), *[(200, True)] * 7]
    assert edited.texts() == ["Uno", "One and a half", "Four", "Ship", "Last", "Two"]
    head = next(edited.theirs.store.history(edited.name)).id
    assert answers[-1].json["event"] == answers[-1].json["head"] == head
    last = answers[-1].json
    assert (last["from"], last["tasks"][0]["text"]) == (edited.seen, "Uno")
    assert last["order"] == [["Build", "1,6,4"], ["Release", "5,7,2"]]


def test_positions_of_later_ops_are_those_that_the_person_saw(edited: Edited) -> None:
    """And a new task before the first one of a phase is in that phase."""
    edited.ops({"op": "remove", "at": [0]}, {"op": "insert", "at": 2, "text": "Between"}, {"op": "remove", "at": 1})
    assert edited.texts() == ["Between", "Three"]
    edited.theirs.change([Append((Task("One"),)), Append((Task("Ship"),), "Release")])
    edited.seen = edited.shown()["head"]
    edited.ops({"op": "insert", "at": 3, "text": "Pack"})

    assert [[task.text for task in phase.tasks] for phase in edited.theirs.plan.phases][1] == ["Pack", "Ship"]


def test_an_edit_that_still_fits_is_rebased(edited: Edited) -> None:
    edited.theirs.change([Move(At((2,)), At((0,))), Append((Task("Zero"),), "Build")])
    answered = edited.ops({"op": "mark", "at": [1], "status": "completed"}, {"op": "reword", "at": 2, "text": "Drei"})

    assert (answered.status, answered.json["rebased"]) == (200, True)
    assert edited.tasks() == ["Drei pending", "One pending", "Two completed", "Zero pending"]


DONE, REMOVED = Mark(At((1,)), Status.COMPLETED), Remove(At((1,)))
REWORD: Json = {"op": "reword", "at": 1, "text": "Deux"}
RENAMED: list[Op] = [Rename(At((1,)), "Zwei"), Move(At((1,)), At((0,)))]
NOTED: list[Op] = [Note(At((1,)), "do not remove")]
MARK: Json = {"op": "mark", "at": [1], "status": "abandoned"}
TAKE: Json = {"op": "remove", "at": [1]}
GONE = {"base": "Two", "theirs": "removed", "yours": "Deux", "now": None, "gone": True}
CLASHES: dict[str, tuple[list[Op], Json, Json]] = {
    "status": ([DONE], MARK, {"base": "pending", "theirs": "completed", "yours": "abandoned", "now": 1}),
    "text": (RENAMED, REWORD, {"base": "Two", "theirs": "Zwei", "yours": "Deux", "now": 0}),
    "text of a removed task": ([REMOVED], REWORD, {"field": "text", **GONE}),
    "remove a done task": (
        [DONE],
        TAKE,
        {"field": "status", "base": "pending", "theirs": "completed", "yours": "removed", "now": 1},
    ),
    "remove with a note": (NOTED, TAKE, {"field": "task", "yours": "removed", "now": 1}),
    "note": ([REMOVED], {"op": "note", "at": 1, "text": "x"}, {"field": "task", "theirs": "removed", "now": None}),
    "move": ([REMOVED], {"op": "move", "at": [1], "before": 0}, {"field": "task", "theirs": "removed"}),
    "mark": ([REMOVED], MARK | {"status": "completed"}, {"field": "status", "theirs": "removed"}),
}
"""What both sides did, and the clash; its field is that of its name if none is given."""


@pytest.mark.parametrize("case", CLASHES)
def test_both_changed_the_same(edited: Edited, case: str) -> None:
    theirs, yours, clash = CLASHES[case]
    clash = {"field": case, **clash}
    edited.theirs.change(theirs)
    before = edited.tasks()
    answered = edited.ops(yours)
    found = answered.json["clash"][0]

    assert (answered.status, answered.json["head"]) == (409, edited.theirs.state.head)
    assert {name: found[name] for name in clash} == clash
    assert (found["at"], found["number"], found["who"], found["by"]) == (1, 2, "user", "Grace")
    assert found["when"] == next(edited.theirs.store.history(edited.name)).at
    assert edited.tasks() == before


def test_one_clash_of_several_ops_leaves_everything_as_it_is(edited: Edited) -> None:
    edited.theirs.change([Mark(At((1,)), Status.COMPLETED)])
    answered = edited.ops({"op": "append", "text": "New"}, {"op": "mark", "at": [1, 2], "status": "abandoned"})

    assert (answered.status, len(answered.json["clash"])) == (409, 1)
    # The page kept what was typed over a text that has changed since, and names that text.
    answered = edited.ops({"op": "reword", "at": 0, "text": "Mine", "base": "What I saw"})
    assert (answered.status, answered.json["clash"][0]["base"]) == (409, "What I saw")
    assert edited.tasks() == ["One pending", "Two completed", "Three pending"]


@pytest.mark.parametrize(
    ("gone", "expected"),
    [
        ([Remove(At((2,)))], "One Two New"),  # behind the one above
        ([Remove(At((2, 1)))], "One New"),  # behind the one above that
        ([Remove(Numbered((1, 2, 3))), Append((Task("Other"),), "Build")], "Other New"),  # the end of the phase
        ([Remove(At((2,))), Append((Task("After"),), "Build")], "One Two New After"),  # before what follows
    ],
    ids=["behind", "far behind", "end", "before"],
)
def test_a_place_never_clashes(edited: Edited, gone: list[Op], expected: str) -> None:
    edited.theirs.change(gone)

    assert edited.ops({"op": "insert", "at": 2, "text": "New"}).status == 200
    assert edited.texts() == expected.split()


def test_ops_that_are_not_as_documented_change_nothing(edited: Edited) -> None:
    answers = [edited.browser.post(f"/api/s/{edited.key}/ops", {"ops": ops}, edited.seen) for ops in UNDOCUMENTED]
    told = [(each.status, set(each.json)) for each in answers]

    wrong = zip(UNDOCUMENTED, told, strict=True)
    assert [(str(ops)[:90], each) for ops, each in wrong if each != (400, {"error", "hint"})] == []
    # The head that the person saw is required, too.
    missing = edited.browser.post(f"/api/s/{edited.key}/ops", {"ops": [{"op": "append", "text": "x"}]})
    unknown = edited.browser.post(f"/api/s/{edited.key}/ops", {"ops": [{"op": "append", "text": "x"}]}, "nothing")
    assert (missing.status, unknown.status) == (428, 409)
    assert edited.shown()["head"] == edited.seen


def test_what_the_rules_do_not_allow_is_said_in_words(browser: Browser, shared_place: Place) -> None:
    """The plan of an agent whose tools do not allow two tasks with one text."""
    shared_place.run(
        "call", "todo_write", '{"ops": [{"op": "append", "phase": "A", "items": ["One"]}]}', "--session", "ruled"
    )
    key = browser.key("ruled")
    head = browser.get(f"/api/s/{key}").json["head"]
    answered = browser.post(f"/api/s/{key}/ops", {"ops": [{"op": "append", "text": "One"}]}, head)

    assert answered.status == 422
    assert answered.json["faults"]
    assert "One" in answered.json["faults"][0]


def test_a_repeated_request_is_carried_out_once(edited: Edited) -> None:
    answers = [edited.ops({"op": "append", "text": "Once"}, Idempotency_Key="k1") for _ in range(2)]
    other = edited.ops({"op": "append", "text": "Other"}, Idempotency_Key="k1")
    with ThreadPoolExecutor(4) as pool:
        at_once = list(pool.map(lambda _: edited.ops({"op": "append", "text": "Two"}, Idempotency_Key="k2"), range(4)))

    assert answers[0].body == answers[1].body
    assert other.status == 422
    assert {answered.body for answered in at_once} == {at_once[0].body}
    assert edited.texts() == ["One", "Two", "Three", "Once", "Two"]


def test_an_older_change_is_taken_back_while_later_ones_stay(edited: Edited) -> None:
    event = edited.ops(
        {"op": "mark", "at": [0], "status": "completed"}, {"op": "remove", "at": 1}, {"op": "append", "text": "Four"}
    ).json["event"]
    edited.theirs.change([Rename(Numbered((3,)), "Drei")])
    answered = edited.post("undo", {"event": event})

    assert answered.status == 200
    assert edited.tasks() == ["One pending", "Two pending", "Drei pending"]
    assert [task.number for task in edited.theirs.plan.tasks] == [1, 2, 3]


TOUCHED = [
    ({"op": "mark", "at": [2], "status": "completed"}, Rename(Numbered((3,)), "Drei"), "Drei", ("completed", ())),
    ({"op": "order", "at": 2, "after": [2]}, Order(Numbered((3,)), (1,)), "Three", ("pending", (1,))),
]


@pytest.mark.parametrize(("yours", "theirs", "touched", "left"), TOUCHED, ids=["text", "order"])
def test_a_change_is_not_taken_back_if_its_tasks_were_touched_since(
    edited: Edited, yours: Json, theirs: Op, touched: str, left: tuple[str, tuple[int, ...]]
) -> None:
    event = edited.ops(yours).json["event"]
    edited.theirs.change([theirs])
    answered = edited.post("undo", {"event": event})

    assert (answered.status, answered.json["touched"]) == (409, [touched])
    task = edited.numbered(3)
    assert (task.text, (task.status.value, task.after)) == (touched, left)


def test_undo_without_an_event_takes_back_the_newest_change_that_the_person_saw(edited: Edited) -> None:
    edited.ops({"op": "mark", "at": [0], "status": "completed"})
    for way, can_redo in (("undo", True), ("redo", False)):
        edited.seen = edited.shown()["head"]
        edited.post(way, {})
        assert edited.shown()["can_redo"] is can_redo
    edited.seen = edited.shown()["head"]
    edited.theirs.change([Append((Task("Theirs"),))])
    undone = edited.post("undo", {})

    assert (undone.status, undone.json["what"], edited.shown()["can_redo"]) == (200, "completed “One”", False)
    assert edited.tasks() == ["One pending", "Two pending", "Three pending", "Theirs pending"]
    assert edited.post("redo", {}).status == 409


def test_an_earlier_plan_is_restored_and_the_way_back_is_told(edited: Edited) -> None:
    first = edited.seen
    edited.ops({"op": "remove", "at": [0, 1]})
    stale = edited.post("restore", {"event": first})
    edited.seen = left = edited.shown()["head"]
    restored = edited.post("restore", {"event": first})
    edited.seen = restored.json["head"]
    texts = edited.texts()
    back = edited.post("restore", {"event": restored.json["left"]})

    assert stale.status == 409
    assert (restored.status, texts, restored.json["left"]) == (200, ["One", "Two", "Three"], left)
    assert (back.status, edited.texts()) == (200, ["Three"])
    assert edited.post("restore", {"event": "nothing"}).status == 409
    edited.seen = back.json["head"]
    assert edited.post("restore", {"event": "nothing"}).status == 404


def test_a_person_and_another_process_edit_at_once_and_nothing_is_lost(
    browser: Browser, shared_place: Place, served: RunningBoard
) -> None:
    edited = Edited(browser, shared_place, "busy")

    def by_command(number: int) -> int:
        return shared_place.run("todo", "add", f"command {number}", "--session", "busy").returncode

    with ThreadPoolExecutor(2) as pool:
        commands = pool.map(by_command, range(6))
        statuses = [edited.ops({"op": "append", "text": f"board {number}"}).status for number in range(30)]
        codes = list(commands)

    assert (set(statuses), set(codes)) == ({200}, {0})
    assert sorted(edited.texts()[3:]) == sorted(
        [f"command {number}" for number in range(6)] + [f"board {number}" for number in range(30)]
    )
    assert served.process.poll() is None


class Checked(Edited):
    """A session with two tasks, of which the first may get a check, and a page that shows it."""

    def __init__(self, browser: Browser, place: Place, name: str) -> None:
        super().__init__(browser, place, name, "One", "Two")
        self.place = place
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

    def facts(self) -> Json:
        found: Json = self.browser.get(f"/api/s/{self.key}/checks").json
        return found

    def about(self, path: str, **body: object) -> Answered:
        return self.browser.post(f"/api/s/{self.key}/{path}", {"number": 1, **body})

    def now(self, *ops: Json) -> Answered:
        self.seen = self.shown()["head"]
        return self.ops(*ops)

    def done(self) -> Answered:
        return self.now({"op": "mark", "at": [0], "status": "completed"})

    @property
    def status(self) -> str:
        return str(self.theirs.plan.tasks[0].status.value)


@pytest.fixture
def checked(browser: Browser, shared_place: Place, request: pytest.FixtureRequest) -> Checked:
    return Checked(browser, shared_place, request.node.name[:200])


def test_a_check_is_set_approved_in_the_same_step_changed_and_removed(checked: Checked) -> None:
    first = checked.about("check", line="pytest -q 'tests/a b'")
    check = checked.theirs.plan.tasks[0].check

    assert (first.status, first.json["approved"]) == (200, True)
    assert check == Check(("pytest", "-q", "tests/a b"))
    shown = {"line": "pytest -q 'tests/a b'", "command": ["pytest", "-q", "tests/a b"], "folder": "", "caution": ""}
    assert checked.task()["check"] == shown | dict.fromkeys(("state", "words", "program"), "")
    nothing: Json = {"stale": [], "proposed": [], "checking": [], "claims": {}}
    assert checked.facts() | {"head": ""} == {"head": "", "here": True, "may_approve": True} | nothing
    assert checked.about("check", line="", base="pytest -q 'tests/a b'").status == 200
    assert checked.theirs.plan.tasks[0].check is None
    assert checked.about("check", number=0, line="make", base="something else").status == 409
    assert checked.about("verify", number=0).status == 422


def test_other_changes_run_no_check(checked: Checked) -> None:
    checked.given(checked.command, approved=True)
    checked.theirs.change([SetCheck(None, Check(checked.command))])

    answered = checked.now({"op": "note", "at": [0], "text": "n"}, {"op": "mark", "at": [0, 1], "status": "abandoned"})

    assert (answered.status, checked.count) == (200, 0)
    assert checked.shown()["plan"]["check"]["command"] == list(checked.command)


def test_a_proposed_check_waits_for_a_person_who_approves_exactly_that_command(checked: Checked) -> None:
    check = checked.given(checked.command, approved=False)
    refused = Proof(Result.REFUSED, check.command, reason="a person has to approve its check first")
    checked.theirs = checked.theirs.using(parts=replace(checked.theirs.parts, prover=None))
    checked.theirs.change(lambda _: [SetCheck(Numbered((2,)), check)])
    # An agent has marked it as done where nobody had approved the check.
    checked.theirs.record_proofs({1: refused})
    checked.now({"op": "mark", "at": [0], "status": "blocked"})

    assert checked.facts()["proposed"] == [1, 2]
    assert checked.done().status == 422
    assert checked.about("verify").status == 422
    assert checked.about("approve", command=["rm", "-rf", "/"]).status == 409
    assert checked.about("approve", command=list(check.command), folder="sub").status == 409
    assert checked.about("approve", command=" ".join(check.command)).status == 409
    assert not check_approvals(checked.place.settings()).is_allowed(check)
    assert checked.about("approve", command=list(check.command)).status == 200
    assert check_approvals(checked.place.settings()).is_allowed(check)
    # Once, in an empty folder.
    assert (checked.status, checked.facts()["proposed"], checked.count) == ("pending", [], 1)


def test_a_plan_says_which_tasks_wait_for_others_and_whose_files_a_started_one_changes(checked: Checked) -> None:
    checked.theirs.change(
        [Order(Numbered((2,)), (1,)), Touch(Numbered((1, 2)), ("src/**",)), Mark(Numbered((1,)), Status.IN_PROGRESS)]
    )

    first = checked.shown()
    started, waiting = first["plan"]["phases"][0]["tasks"][:2]
    assert (waiting["after"], waiting["waits"], waiting["meets"]) == ([1], [1], [1])
    assert "meets" not in started
    checked.done()

    # What is told of a task changes with those that it waits for.
    later = checked.browser.get(f"/api/s/{checked.key}?since={first['head']}").json
    assert [task["number"] for task in later["tasks"]] == [1, 2]
    assert later["tasks"][1]["after"] == [1]
    assert not {"waits", "meets"} & later["tasks"][1].keys()
    assert checked.task(1) == later["tasks"][1]


def test_other_people_propose_checks_but_do_not_approve_them(place: Place) -> None:
    """Whoever approves a command lets it be run on the machine of the board."""
    token = place.run("board", "token", "add", "Mara").stdout.split()[-1]
    with board(place) as running:
        checked = Checked(running.browser(token), place, "p")

        answered = checked.about("check", line="pytest -q")

        assert (answered.status, answered.json["approved"]) == (200, False)
        assert checked.facts()["may_approve"] is False
        assert checked.facts()["proposed"] == [1]
        assert checked.about("approve", command=["pytest", "-q"]).status == 403
        assert checked.done().status == 422
        owner = Checked(running.browser(), place, "q")
        owner.given(owner.command, approved=True)
        owner.ready.touch()
        # What the owner has approved, others may have run.
        theirs = Checked.__new__(Checked)
        theirs.__dict__.update(owner.__dict__, browser=checked.browser)
        assert theirs.done().json["unproved"] == []
        assert " (sha256 " in theirs.task()["check"]["program"]


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


def test_the_order_and_the_files_of_a_task_are_set_and_shown(edited: Edited) -> None:
    answered = edited.ops(
        {"op": "order", "at": 2, "after": [1, 2, 1]}, {"op": "touch", "at": 2, "globs": ["src/**", "a b"]}
    )

    assert answered.status == 200
    assert (edited.numbered(3).after, edited.numbered(3).touches) == ((1, 2), ("src/**", "a b"))
    assert edited.task(2)["waits"] == [1, 2]
    assert edited.task(2)["touches"] == ["src/**", "a b"]
    edited.seen = answered.json["head"]
    assert edited.ops({"op": "order", "at": 2, "after": []}, {"op": "touch", "at": 2, "globs": []}).status == 200
    assert (edited.numbered(3).after, edited.numbered(3).touches) == ((), ())


def test_what_somebody_else_has_set_meanwhile_is_not_overwritten(edited: Edited) -> None:
    edited.theirs.change([Order(Numbered((3,)), (1,)), Touch(Numbered((3,)), ("docs/**",))])

    order = edited.ops({"op": "order", "at": 2, "after": [2]}).json["clash"][0]
    files = edited.ops({"op": "touch", "at": 2, "globs": ["src/**"]}).json["clash"][0]

    assert (order["field"], order["base"], order["theirs"], order["yours"]) == ("order", "", "#1", "#2")
    assert (files["field"], files["base"], files["theirs"], files["yours"]) == ("files", "", "docs/**", "src/**")
    assert order["when"]
    assert (edited.numbered(3).after, edited.numbered(3).touches) == ((1,), ("docs/**",))


def test_claims_say_who_works_on_a_task_and_from_whom_it_was_taken_over(edited: Edited) -> None:
    store = edited.theirs.store
    edited.theirs.change([Mark(Numbered((1,)), Status.IN_PROGRESS)])
    store.records.claim(edited.name, 1, Claimant("claude:1"), 1)
    store.records.lapse(edited.name, "claude:1")
    store.records.claim(edited.name, 1, Claimant("codex:2"), 600_000)
    store.records.claim(edited.name, 2, Claimant("codex:2"), 600_000)

    shown = edited.shown()["claims"]
    facts = edited.browser.get(f"/api/s/{edited.key}/checks").json

    assert list(shown) == ["1"]
    assert (shown["1"]["agent"], shown["1"]["before"]) == ("codex:2", "claude:1")
    assert shown["1"]["until"] > 0
    assert facts["claims"] == shown


def test_an_older_change_of_order_files_and_checks_is_taken_back_while_later_ones_stay(edited: Edited) -> None:
    edited.theirs.change([Mark(Numbered((1,)), Status.COMPLETED)])
    check = Check(("pytest",))
    steps: list[Op] = [Order(Numbered((3,)), (2,)), Touch(Numbered((3,)), ("a",)), SetCheck(None, check)]
    edited.theirs.change([SetCheck(Numbered((1,)), check), *steps])
    event = edited.shown()["head"]
    assert edited.numbered(1).status is Status.PENDING
    edited.theirs.change([Mark(Numbered((2,)), Status.IN_PROGRESS)])
    edited.seen = edited.shown()["head"]

    assert edited.post("undo", {"event": event}).status == 200

    first, second, third = (edited.numbered(number) for number in (1, 2, 3))
    assert (first.check, first.status, second.status) == (None, Status.COMPLETED, Status.IN_PROGRESS)
    assert (third.after, third.touches, edited.theirs.plan.check) == ((), (), None)
