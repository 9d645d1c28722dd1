"""Order, files and claims from the board: set, refused with a reason, and shown."""

import pytest

from tests.web.boards import Browser, Json, Place
from tests.web.test_editing import Edited
from tildone.plan.claims import Claimant
from tildone.plan.model import Check, Status, Task
from tildone.plan.ops import Mark, Numbered, Order, SetCheck, Touch


@pytest.fixture
def edited(browser: Browser, shared_place: Place, request: pytest.FixtureRequest) -> Edited:
    return Edited(browser, shared_place, request.node.name[:200])


def task_of(edited: Edited, number: int) -> Task:
    return next(task for task in edited.theirs.plan.tasks if task.number == number)


def shown_task(edited: Edited, position: int) -> Json:
    found: Json = edited.shown()["plan"]["phases"][0]["tasks"][position]
    return found


def test_the_order_and_the_files_of_a_task_are_set_and_shown(edited: Edited) -> None:
    answered = edited.ops(
        {"op": "order", "at": 2, "after": [1, 2, 1]}, {"op": "touch", "at": 2, "globs": ["src/**", "a b"]}
    )

    assert answered.status == 200
    assert (task_of(edited, 3).after, task_of(edited, 3).touches) == ((1, 2), ("src/**", "a b"))
    assert shown_task(edited, 2)["waits"] == [1, 2]
    assert shown_task(edited, 2)["touches"] == ["src/**", "a b"]
    edited.seen = answered.json["head"]
    assert edited.ops({"op": "order", "at": 2, "after": []}, {"op": "touch", "at": 2, "globs": []}).status == 200
    assert (task_of(edited, 3).after, task_of(edited, 3).touches) == ((), ())


def test_what_somebody_else_has_set_meanwhile_is_not_overwritten(edited: Edited) -> None:
    edited.theirs.change([Order(Numbered((3,)), (1,)), Touch(Numbered((3,)), ("docs/**",))])

    order, files = (
        edited.ops({"op": "order", "at": 2, "after": [2]}).json["clash"][0],
        edited.ops({"op": "touch", "at": 2, "globs": ["src/**"]}).json["clash"][0],
    )

    assert (order["field"], order["base"], order["theirs"], order["yours"]) == ("order", "", "#1", "#2")
    assert (files["field"], files["base"], files["theirs"], files["yours"]) == ("files", "", "docs/**", "src/**")
    assert order["when"]
    assert (task_of(edited, 3).after, task_of(edited, 3).touches) == ((1,), ("docs/**",))


def test_a_task_whose_files_a_started_one_changes_meets_it(edited: Edited) -> None:
    edited.theirs.change([Touch(Numbered((1, 2)), ("src/**",)), Mark(Numbered((1,)), Status.IN_PROGRESS)])

    assert shown_task(edited, 1)["meets"] == [1]
    assert shown_task(edited, 0)["meets"] == []


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
    edited.theirs.change(
        [
            SetCheck(Numbered((1,)), check),
            Order(Numbered((3,)), (2,)),
            Touch(Numbered((3,)), ("a",)),
            SetCheck(None, check),
        ]
    )
    event = edited.shown()["head"]
    assert task_of(edited, 1).status is Status.PENDING
    edited.theirs.change([Mark(Numbered((2,)), Status.IN_PROGRESS)])
    edited.seen = edited.shown()["head"]

    assert edited.post("undo", {"event": event}).status == 200

    first, second, third = (task_of(edited, number) for number in (1, 2, 3))
    assert (first.check, first.status, second.status) == (None, Status.COMPLETED, Status.IN_PROGRESS)
    assert (third.after, third.touches, edited.theirs.plan.check) == ((), (), None)


def test_an_order_that_was_changed_again_is_not_taken_back(edited: Edited) -> None:
    edited.theirs.change([Order(Numbered((3,)), (2,))])
    event = edited.shown()["head"]
    edited.theirs.change([Order(Numbered((3,)), (1,))])
    edited.seen = edited.shown()["head"]

    answered = edited.post("undo", {"event": event})

    assert (answered.status, answered.json["touched"]) == (409, ["Three"])
    assert task_of(edited, 3).after == (1,)
