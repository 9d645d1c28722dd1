"""What pages are told of a session: everything once, then what differs, whatever happened meanwhile."""

import json
import random
from collections.abc import Sequence
from typing import Any

import pytest

from tildone.app.opening import session_in
from tildone.app.sessions import SessionRow
from tildone.base import replace
from tildone.log.session import Session
from tildone.plan.dialects import BY_HAND
from tildone.plan.events import Actor, AgentUsage, Author, Call, Event, Labelled, Nudged, PlanChanged
from tildone.plan.gate import Patience
from tildone.plan.history import stats
from tildone.plan.model import Phase, Plan, Status, Task, with_status
from tildone.plan.ops import Append, Insert, Mark, Move, Note, Numbered, Op, Order, Remove, Rename, Touch, Write
from tildone.plan.text.state import SessionWord
from tildone.screens.board import views
from tildone.screens.board.views import (
    MAX_FOLLOWED,
    MAX_VERSIONS,
    MAX_VIEWS,
    SessionView,
    SessionViews,
    runs,
)
from tildone.stores.memory import MemoryStore

Json = dict[str, Any]
ROW = SessionRow("long", "long", None, SessionWord.IDLE)


@pytest.fixture(autouse=True)
def _still(monkeypatch: pytest.MonkeyPatch) -> None:
    """No time passes: what is told at two moments can be compared."""
    monkeypatch.setattr(views, "now", lambda: 4_000_000_000_000)


@pytest.fixture
def session() -> Session:
    return session_in(MemoryStore(), "long", BY_HAND, author=Author("Grace"))


def view_of(session: Session) -> SessionView:
    return SessionView(session.store, session.name, Patience())


def written(session: Session, count: int, phases: int = 2) -> None:
    plan = [Phase(f"P{at}", tuple(Task(f"Task {at}.{n}") for n in range(count // phases))) for at in range(phases)]
    session.change([Write(tuple(plan))])


class ShownPage:
    """A page as `shown.js` keeps it: read whole, then changed by differences."""

    def __init__(self, whole: Json) -> None:
        self.session: Json = json.loads(json.dumps(whole))
        self.rows = {row["id"]: row for row in self.session["history"]["rows"]}

    @property
    def head(self) -> str | None:
        found: str | None = self.session["head"]
        return found

    @property
    def tasks(self) -> dict[int, Json]:
        return {task["number"]: task for phase in self.session["plan"]["phases"] for task in phase["tasks"]}

    def take(self, given: Json | None) -> None:
        assert given is not None
        got: Json = json.loads(json.dumps(given))
        assert got.pop("from") == self.head
        news = {task["number"]: task for task in got.pop("tasks")}
        plan, tasks = self.session["plan"], self.tasks | news
        plan["check"] = got.pop("check")
        order = got.pop("order", [[phase["name"], [t["number"] for t in phase["tasks"]]] for phase in plan["phases"]])
        plan["phases"] = [{"name": name, "tasks": [tasks[n] for n in _numbers(told)]} for name, told in order]
        for name in ("lanes", "used", "told"):
            kept = {number: fact for number, fact in self.session[name].items() if int(number) not in news}
            self.session[name] = {
                number: fact for number, fact in (kept | got.pop(name)).items() if int(number) in self.tasks
            }
        if steps := got.pop("steps", []):
            self.session["open"] = [step for step in self.session["open"] if step[0] < steps[0][0]] + steps
        self.rows |= {row["id"]: row for row in got.pop("rows")}
        self.session |= got

    def history(self) -> list[str]:
        """The sentences of the branch that ends at the head, as far as they are known."""
        found, at = list[str](), self.head
        while at in self.rows:
            found.append("; ".join(self.rows[at]["what"]))
            at = self.rows[at]["parent"]
        return found


def _numbers(told: str | list[int]) -> list[int]:
    if isinstance(told, list):
        return told
    ranges = (part.partition("-") for part in told.split(",") if part)
    return [number for first, _, last in ranges for number in range(int(first), int(last or first) + 1)]


def same(page: ShownPage, session: Session) -> None:
    """A page that took every difference shows what one shows that is opened now."""
    fresh = ShownPage(view_of(session).whole(ROW))
    names = page.session.keys() - {"history", "from"}
    assert {name: page.session[name] for name in names} == {name: fresh.session[name] for name in names}
    assert page.history()[: len(fresh.rows)] == fresh.history()


def some_op(chance: random.Random, session: Session) -> Sequence[Op]:
    numbers = [task.number for task in session.plan.tasks]
    one = Numbered((chance.choice(numbers),))
    match chance.randrange(12):
        case 0:
            return [Append((Task(f"New {chance.random()}"),), chance.choice(["P0", "P1", "P2"]))]
        case 1:
            return [Insert((Task(f"New {chance.random()}"),), chance.randrange(len(numbers)))]
        case 2:
            return [Move(one, phase="P1")]
        case 3 if len(numbers) > 3:
            return [Remove(one)]
        case 4:
            return [Rename(one, f"Other {chance.random()}")]
        case 5:
            return [Note(one, "Look here")]
        case 6:
            return [Order(one, (min(numbers),))] if one.numbers != (min(numbers),) else []
        case 7:
            return [Touch(one, ("src/**",))]
        case 8 | 9:
            return [Mark(one, Status.IN_PROGRESS)]
        case _:
            return [Mark(one, chance.choice(list(Status)))]


@pytest.mark.parametrize("seed", range(6))
def test_a_page_that_takes_every_difference_shows_the_session_as_it_is(session: Session, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311  no secret
    written(session, 12)
    view = view_of(session)
    pages = [ShownPage(view.whole(ROW)) for _ in range(2)]
    for step in range(40):
        action = chance.randrange(8)
        if action == 0 and step:
            session.undo()
        elif action == 1 and session.store.session_head(session.name).redo:
            session.redo()
        elif action == 2:
            session.turn_ended()
        elif ops := some_op(chance, session):
            session.change(ops)
        pages[0].take(view.since(pages[0].head, ROW))
        same(pages[0], session)
    # The second one was not told for long.
    pages[1].take(view.since(pages[1].head, ROW))
    same(pages[1], session)


@pytest.mark.parametrize("count", [20, 2_000])
def test_what_differs_is_as_long_in_a_long_plan(session: Session, count: int) -> None:
    written(session, count)
    view = view_of(session)
    page = ShownPage(view.whole(ROW))

    session.change([Mark(Numbered((count,)), Status.COMPLETED)])
    found = view.since(page.head, ROW)

    assert found is not None
    assert len(json.dumps(found)) < 1_500
    assert [task["number"] for task in found["tasks"]] == [count]  # type: ignore[attr-defined]  # a list of tasks


def test_an_order_that_is_not_known_is_told_in_ranges() -> None:
    assert runs([]) == ""
    assert runs([1, 2, 3, 7, 5, 6]) == "1-3,7,5-6"


def test_a_task_that_was_not_changed_is_neither_told_nor_another_object(session: Session) -> None:
    written(session, 10)
    view = view_of(session)
    before, head = view.state.plan, view.state.head
    plan = with_status(Plan(tuple(replace(phase) for phase in before.phases)), {3}, Status.BLOCKED)
    tasks = [Phase(phase.name, tuple(replace(task) for task in phase.tasks)) for phase in plan.phases]
    event = Event("theirs", head, 5, Actor.AGENT, PlanChanged(replace(plan, phases=tuple(tasks))), Author())
    session.store.append(session.name, event)

    found = view.since(head, ROW)

    assert found is not None
    assert [task["number"] for task in found["tasks"]] == [3]  # type: ignore[attr-defined]  # a list of tasks
    after = view.state.plan
    assert [one is other for one, other in zip(before.tasks, after.tasks, strict=True)] == [n != 2 for n in range(10)]


def test_only_what_the_view_remembers_is_told_as_a_difference(session: Session) -> None:
    written(session, 4)
    view = view_of(session)
    first = ShownPage(view.whole(ROW)).head
    assert view.since("nobody-knows", ROW) is None
    assert view.since(first, ROW) is not None
    for _ in range(MAX_VERSIONS):
        session.change([Note(Numbered((1,)), "again")])
        assert view.state.head == session.state.head

    assert view.since(first, ROW) is None


def test_a_head_that_comes_back_is_known_only_as_long_as_the_changes_since(session: Session) -> None:
    written(session, 4)
    view = view_of(session)
    first = view.state.head
    session.change([Mark(Numbered((1,)), Status.BLOCKED)])
    blocked = view.state.head
    for _ in range(MAX_VERSIONS):
        session.undo()
        assert view.state.head == first
        session.redo()
        assert view.state.head == blocked

    assert view.since(first, ROW) is not None
    assert len(view._heads) == 2  # noqa: SLF001  how much is remembered


@pytest.mark.parametrize("many", [1, MAX_FOLLOWED + 1])
def test_a_view_that_is_far_behind_is_read_again(session: Session, many: int) -> None:
    written(session, 4)
    view = view_of(session)
    page = ShownPage(view.whole(ROW))
    for at in range(many):
        session.change([Mark(Numbered((at % 4 + 1,)), Status.BLOCKED), Note(Numbered((at % 4 + 1,)), str(at))])

    found = view.since(page.head, ROW)

    assert found is not None
    assert ("open" in found) == (many > 1)
    page.take(found)
    same(page, session)


def test_a_label_changes_the_row_of_another_event(session: Session) -> None:
    written(session, 4)
    view = view_of(session)
    page = ShownPage(view.whole(ROW))
    assert page.head
    session.store.append(session.name, Event("l", page.head, 5, Actor.USER, Labelled(page.head, "v1"), Author("Grace")))

    page.take(view.since(page.head, ROW))

    assert [row["label"] for row in page.rows.values()] == ["v1", None]


def test_a_session_without_tasks_and_one_that_is_gone(session: Session) -> None:
    view = view_of(session)
    empty = ShownPage(view.whole(ROW))
    assert (empty.session["plan"], empty.session["open"], empty.session["estimate"]) == (
        {"phases": [], "check": None},
        [],
        None,
    )
    written(session, 4)
    empty.take(view.since(None, ROW))
    same(empty, session)
    session.store.delete(session.name, expected=session.state.head)

    assert view.since(empty.head, ROW) is not None
    assert view.state.plan == Plan()


def test_of_a_long_plan_few_events_are_read(session: Session) -> None:
    """And the first of them is not told: what it changed is not known."""
    written(session, 20_000)
    for number in (1, 2, 3):
        session.change([Mark(Numbered((number,)), Status.COMPLETED)])

    found = ShownPage(view_of(session).whole(ROW)).session

    assert stats.MAX_TASKS_READ == 40_000
    assert [row["what"] for row in found["history"]["rows"]] == [["completed #3 “Task 0.2”"]]
    assert found["history"]["before"] == found["history"]["rows"][0]["parent"]


def test_nudges_alone_do_not_hide_the_plan(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    written(session, 4)
    for count in range(3):
        nudge = Event(f"n{count}", session.state.head, 5, Actor.TIMER, Nudged(count + 1, count + 1), Author())
        session.store.append(session.name, nudge)
    monkeypatch.setattr(stats, "MAX_TASKS_READ", 1)

    found = ShownPage(view_of(session).whole(ROW)).session

    assert len(found["plan"]["phases"][0]["tasks"]) == 2
    assert [count for _, count in found["open"]] == [4]


def test_the_views_that_were_asked_for_last_are_kept(session: Session) -> None:
    kept = SessionViews(session.store, Patience())
    first = kept["0"]
    assert kept["0"] is first
    for number in range(1, MAX_VIEWS + 1):
        kept[str(number)]

    assert kept["0"] is not first


def test_the_newest_tool_call_is_known_however_long_ago_it_was(session: Session) -> None:
    """A person's edits follow the rules of its dialect; it is not looked for at each of them."""
    written(session, 4)
    view = view_of(session)
    assert not view.newest_call
    fact = PlanChanged(session.plan, Call("todo", "{}"))
    called = Event("called", session.state.head, 5, Actor.AGENT, fact, Author(agent="claude:1"), AgentUsage(cost=0.5))
    session.store.append(session.name, called)

    assert [event.id for event in view.newest_call] == ["called"]
    session.change([Mark(Numbered((1,)), Status.COMPLETED)])
    assert [event.id for event in view.newest_call] == ["called"]
    assert [event.id for event in view_of(session).newest_call] == ["called"]


@pytest.mark.parametrize("calls", [0, 1])
def test_a_call_before_the_events_that_are_read_is_looked_for_once(
    session: Session, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    written(session, 4)
    for _ in range(calls):
        fact = PlanChanged(session.plan, Call("todo", "{}"))
        called = Event("called", session.state.head, 5, Actor.AGENT, fact, Author(agent="claude:1"))
        session.store.append(session.name, called)
    for number in (1, 2, 3):
        session.change([Mark(Numbered((number,)), Status.COMPLETED)])
    monkeypatch.setattr(stats, "MAX_TASKS_READ", 4)

    assert [event.id for event in view_of(session).newest_call] == ["called"] * calls


def test_what_an_agent_used_is_told_with_the_task_that_it_worked_on(session: Session) -> None:
    session.change([Append((Task("One"), Task("Two")), "Build")])
    for at, (status, cost) in enumerate(((Status.IN_PROGRESS, 1.0), (Status.COMPLETED, 1.41))):
        fact = PlanChanged(with_status(session.plan, {1}, status))
        used = AgentUsage(int(cost * 200_000), cost=cost)
        author = Author("Grace", "claude:1")
        session.store.append(session.name, Event(f"e{at}", session.state.head, 5 + at, Actor.AGENT, fact, author, used))

    assert view_of(session).whole(ROW)["used"] == {1: "82k · $0.41"}
