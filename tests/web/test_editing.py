"""Edits from the board: applied as they were meant, or a clash that shows both sides; undo, restore, steering."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.web.boards import Answered, Browser, Json, Place, RunningBoard
from tildone.log.needs import Need
from tildone.log.session import Session
from tildone.plan.model import Status, Task
from tildone.plan.ops import Append, At, Mark, Move, Note, Numbered, Remove, Rename

UNDOCUMENTED: tuple[object, ...] = (
    None,
    [],
    {},
    [1],
    [{"op": "write"}],
    [{"op": 5}],
    [{"op": "mark", "at": [9], "status": "completed"}],
    [{"op": "mark", "at": [-1], "status": "completed"}],
    [{"op": "mark", "at": [True], "status": "completed"}],
    [{"op": "mark", "at": [], "status": "completed"}],
    [{"op": "mark", "at": [0], "status": "finished"}],
    [{"op": "reword", "at": 0}],
    [{"op": "reword", "at": 0, "text": " "}],
    [{"op": "reword", "at": 0, "text": "x" * 100_001}],
    [{"op": "reword", "at": 0, "text": "x", "base": 1}],
    [{"op": "append", "tasks": []}],
    [{"op": "append", "tasks": ["x"]}],
    [{"op": "append", "text": "x", "phase": 1}],
    [{"op": "insert", "at": 4, "text": "x"}],
    [{"op": "move", "at": [0], "before": 3}],
    [{"op": "append", "text": "x"}] * 101,
    [{"op": "order", "at": 0}],
    [{"op": "order", "at": 0, "after": ["1"]}],
    [{"op": "order", "at": 0, "after": [True]}],
    [{"op": "order", "at": 9, "after": [1]}],
    [{"op": "touch", "at": 0, "globs": "src"}],
    [{"op": "touch", "at": 0, "globs": [1]}],
    [{"op": "touch", "at": 0, "globs": [" "]}],
)


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

    def tasks(self) -> list[str]:
        return [f"{task.text} {task.status.value}" for task in self.theirs.plan.tasks]

    def texts(self) -> list[str]:
        return [task.text for task in self.theirs.plan.tasks]


@pytest.fixture
def edited(browser: Browser, shared_place: Place, request: pytest.FixtureRequest) -> Edited:
    return Edited(browser, shared_place, request.node.name[:200])


def test_an_edit_is_applied_and_attributed(edited: Edited) -> None:
    answered = edited.ops({"op": "mark", "at": [1], "status": "completed"}, {"op": "note", "at": 1, "text": "easy"})
    event = next(edited.theirs.store.history(edited.name))

    assert answered.status == 200
    assert answered.json["rebased"] is False
    assert answered.json["event"] == answered.json["head"] == event.id
    assert answered.json["plan"]["phases"][0]["tasks"][1]["notes"] == ["easy"]
    assert (event.actor.value, event.author.name) == ("user", "Ada")
    assert edited.tasks() == ["One pending", "Two completed", "Three pending"]


def test_every_op(edited: Edited) -> None:
    statuses = [
        edited.ops({"op": "reword", "at": 0, "text": "Uno"}).status,
        edited.ops({"op": "append", "tasks": [{"text": "Four"}]}).status,
        edited.ops({"op": "append", "text": "Ship", "phase": "Release"}).status,
        edited.ops({"op": "insert", "at": 1, "text": "One and a half"}).status,
        edited.ops({"op": "insert", "at": 3, "tasks": [{"text": "Last"}]}).status,
        edited.ops({"op": "move", "at": [2], "before": 0}).status,
        edited.ops({"op": "move", "at": [1], "phase": "Release"}).status,
        edited.ops({"op": "remove", "at": [2]}).status,
    ]

    assert statuses == [200] * 8
    assert edited.texts() == ["Uno", "One and a half", "Four", "Ship", "Last", "Two"]


def test_positions_of_later_ops_are_those_that_the_person_saw(edited: Edited) -> None:
    edited.ops({"op": "remove", "at": [0]}, {"op": "insert", "at": 2, "text": "Between"}, {"op": "remove", "at": 1})

    assert edited.texts() == ["Between", "Three"]


def test_a_new_task_before_the_first_of_a_phase_is_in_that_phase(edited: Edited) -> None:
    edited.theirs.change([Append((Task("Ship"),), "Release")])
    edited.seen = edited.shown()["head"]
    edited.ops({"op": "insert", "at": 3, "text": "Pack"})

    assert [[task.text for task in phase.tasks] for phase in edited.theirs.plan.phases][1] == ["Pack", "Ship"]


def test_an_edit_that_still_fits_is_rebased(edited: Edited) -> None:
    edited.theirs.change([Move(At((2,)), At((0,))), Append((Task("Zero"),), "Build")])
    answered = edited.ops({"op": "mark", "at": [1], "status": "completed"}, {"op": "reword", "at": 2, "text": "Drei"})

    assert (answered.status, answered.json["rebased"]) == (200, True)
    assert edited.tasks() == ["Drei pending", "One pending", "Two completed", "Zero pending"]


@pytest.mark.parametrize(
    ("theirs", "yours", "clash"),
    [
        (
            [Mark(At((1,)), Status.COMPLETED)],
            {"op": "mark", "at": [1], "status": "abandoned"},
            {"field": "status", "base": "pending", "theirs": "completed", "yours": "abandoned", "now": 1},
        ),
        (
            [Rename(At((1,)), "Zwei"), Move(At((1,)), At((0,)))],
            {"op": "reword", "at": 1, "text": "Deux"},
            {"field": "text", "base": "Two", "theirs": "Zwei", "yours": "Deux", "now": 0},
        ),
        (
            [Remove(At((1,)))],
            {"op": "reword", "at": 1, "text": "Deux"},
            {"field": "text", "base": "Two", "theirs": "removed", "yours": "Deux", "now": None, "gone": True},
        ),
        (
            [Mark(At((1,)), Status.COMPLETED)],
            {"op": "remove", "at": [1]},
            {"field": "status", "base": "pending", "theirs": "completed", "yours": "removed", "now": 1},
        ),
        (
            [Note(At((1,)), "do not remove")],
            {"op": "remove", "at": [1]},
            {"field": "task", "yours": "removed", "now": 1},
        ),
        ([Remove(At((1,)))], {"op": "note", "at": 1, "text": "x"}, {"field": "task", "theirs": "removed", "now": None}),
        ([Remove(At((1,)))], {"op": "move", "at": [1], "before": 0}, {"field": "task", "theirs": "removed"}),
        (
            [Remove(At((1,)))],
            {"op": "mark", "at": [1], "status": "completed"},
            {"field": "status", "theirs": "removed"},
        ),
    ],
    ids=[
        "status",
        "text",
        "text of a removed task",
        "remove a done task",
        "remove with a note",
        "note",
        "move",
        "mark",
    ],
)
def test_both_changed_the_same(edited: Edited, theirs: list[Mark], yours: Json, clash: Json) -> None:
    edited.theirs.change(theirs)
    before = edited.tasks()
    answered = edited.ops(yours)
    found = answered.json["clash"][0]

    assert answered.status == 409
    assert {name: found[name] for name in clash} == clash
    assert (found["at"], found["number"], found["who"], found["by"]) == (1, 2, "user", "Grace")
    assert found["when"] == next(edited.theirs.store.history(edited.name)).at
    assert answered.json["head"] == edited.theirs.state.head
    assert edited.tasks() == before


def test_one_clash_of_several_ops_leaves_everything_as_it_is(edited: Edited) -> None:
    edited.theirs.change([Mark(At((1,)), Status.COMPLETED)])
    answered = edited.ops({"op": "append", "text": "New"}, {"op": "mark", "at": [1, 2], "status": "abandoned"})

    assert (answered.status, len(answered.json["clash"])) == (409, 1)
    assert edited.tasks() == ["One pending", "Two completed", "Three pending"]


def test_a_draft_that_is_older_than_the_plan_clashes(edited: Edited) -> None:
    """The page kept what was typed over a text that has changed since, and names that text."""
    answered = edited.ops({"op": "reword", "at": 0, "text": "Mine", "base": "What I saw"})

    assert (answered.status, answered.json["clash"][0]["base"]) == (409, "What I saw")


@pytest.mark.parametrize(
    ("gone", "expected"),
    [
        ([Remove(At((2,)))], ["One", "Two", "New"]),
        ([Remove(At((2, 1)))], ["One", "New"]),
        ([Remove(Numbered((1, 2, 3))), Append((Task("Other"),), "Build")], ["Other", "New"]),
        ([Remove(At((2,))), Append((Task("After"),), "Build")], ["One", "Two", "New", "After"]),
    ],
    ids=["behind the one above", "behind the one above that", "end of the phase", "before what follows"],
)
def test_a_place_never_clashes(edited: Edited, gone: list[Remove], expected: list[str]) -> None:
    edited.theirs.change(gone)

    assert edited.ops({"op": "insert", "at": 2, "text": "New"}).status == 200
    assert edited.texts() == expected


def test_ops_that_are_not_as_documented_change_nothing(edited: Edited) -> None:
    wrong = []
    for ops in UNDOCUMENTED:
        answered = edited.browser.post(f"/api/s/{edited.key}/ops", {"ops": ops}, edited.seen)
        if (answered.status, set(answered.json)) != (400, {"error", "hint"}):
            wrong.append(f"{str(ops)[:90]}: {answered.status} {answered.json}")

    assert wrong == []
    assert edited.shown()["head"] == edited.seen


def test_the_head_that_the_person_saw_is_required(edited: Edited) -> None:
    missing = edited.browser.post(f"/api/s/{edited.key}/ops", {"ops": [{"op": "append", "text": "x"}]})
    unknown = edited.browser.post(f"/api/s/{edited.key}/ops", {"ops": [{"op": "append", "text": "x"}]}, "nothing")

    assert (missing.status, unknown.status) == (428, 409)
    assert edited.texts() == ["One", "Two", "Three"]


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


def test_a_change_is_taken_back_and_redone(edited: Edited) -> None:
    event = edited.ops({"op": "mark", "at": [0], "status": "completed"}).json["event"]
    edited.seen = edited.shown()["head"]
    undone = edited.post("undo", {"event": event})
    edited.seen = undone.json["head"]
    after, redoable = edited.tasks()[0], edited.shown()["can_redo"]
    redone = edited.post("redo", {})
    nothing = edited.post("redo", {})

    assert (undone.status, undone.json["what"], after, redoable) == (200, "completed “One”", "One pending", True)
    assert (redone.status, edited.tasks()[0]) == (200, "One completed")
    assert nothing.status == 409


def test_an_older_change_is_taken_back_while_later_ones_stay(edited: Edited) -> None:
    event = edited.ops(
        {"op": "mark", "at": [0], "status": "completed"}, {"op": "remove", "at": 1}, {"op": "append", "text": "Four"}
    ).json["event"]
    edited.theirs.change([Rename(Numbered((3,)), "Drei")])
    answered = edited.post("undo", {"event": event})

    assert answered.status == 200
    assert edited.tasks() == ["One pending", "Two pending", "Drei pending"]
    assert [task.number for task in edited.theirs.plan.tasks] == [1, 2, 3]


def test_a_change_is_not_taken_back_if_its_tasks_were_touched_since(edited: Edited) -> None:
    event = edited.ops({"op": "mark", "at": [0], "status": "completed"}).json["event"]
    edited.theirs.change([Rename(Numbered((1,)), "Uno")])
    answered = edited.post("undo", {"event": event})

    assert (answered.status, answered.json["touched"]) == (409, ["Uno"])
    assert edited.tasks()[0] == "Uno completed"


def test_undo_without_an_event_takes_back_the_newest_change_that_the_person_saw(edited: Edited) -> None:
    edited.ops({"op": "mark", "at": [0], "status": "completed"})
    edited.seen = edited.shown()["head"]
    edited.theirs.change([Append((Task("Theirs"),))])
    answered = edited.post("undo", {})

    assert (answered.status, edited.tasks()) == (200, ["One pending", "Two pending", "Three pending", "Theirs pending"])


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


def test_the_first_answer_to_a_question_wins(edited: Edited) -> None:
    store = edited.theirs.store
    store.records.ask(Need("ask-1", edited.name, "command", "make", ("once", "no"), 5))
    wrong = edited.browser.post("/api/needs/ask-1", {"answer": "maybe"})
    first = edited.browser.post("/api/needs/ask-1", {"answer": "once"})
    second = edited.browser.post("/api/needs/ask-1", {"answer": "no"})
    missing = edited.browser.post("/api/needs/ask-2", {"answer": "no"})
    need = store.records.need("ask-1")

    assert (wrong.status, first.status, second.status, missing.status) == (422, 200, 409, 404)
    assert second.json["error"].startswith("Ada answered it ")
    assert (second.json["answer"], second.json["by"]) == ("once", "Ada")
    assert need
    assert (need.answer, need.answered_by) == ("once", "Ada")


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
