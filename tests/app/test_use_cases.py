"""Every use case that changes a plan, through every surface that offers it: the same facts, and the same refusals.

A surface is driven as people drive it: the command line as a process, the board over HTTP, `watch` by what its keys
hand on, the library by its calls. Two sides that edit a plan at once get the change as meant, or a clash; nothing is
overwritten. What an agent may not do is in `test_who.py`, for every way in.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.person import Person
from tests.web.boards import Answered, Browser, Place, board, place_in, until
from tildone.app import commands
from tildone.app.apply import Editor, Notice
from tildone.app.checks import SessionChecks
from tildone.app.commands import Answer
from tildone.app.edits import added_after, edit, moved_by, sentence
from tildone.app.moves import plan_without
from tildone.app.opening import check_approvals, dialect_of_session, open_session
from tildone.app.rebase import (
    ORDER,
    STATUS,
    TEXT,
    MoveTasks,
    NewTasks,
    NoteOnTask,
    PlanOp,
    Rebase,
    RemoveTasks,
    SetPart,
)
from tildone.base import TYPE_CHECKING, TildoneError, replace, value
from tildone.log.session import Session
from tildone.plan.history.changes import match_plans, task_at, task_locations
from tildone.plan.model import Check, Phase, Plan, Proof, Result, Rules, Status, Task, numbered
from tildone.plan.ops import Append, At, Mark, Move, Note, Numbered, Op, Order, Remove, Rename, SetCheck, Touch
from tildone.plan.reduce import reduce
from tildone.plan.text.proofs import check_text

if TYPE_CHECKING:
    from tildone.app.edits import Command


PASSES, FAILS = (sys.executable, "-c", "open('there')"), (sys.executable, "-c", "raise SystemExit(7)")
FAILED = "exit code 7"
NUMBERS = count(1)
REFUSED = {0, 3, 422}
"""The exit code and the status of what cannot be applied to a plan."""


Acts = dict[str, Callable[..., str | None]]


class Surface:
    """A way in to one session with three tasks. `did` is what came of an act: None, or why it was refused."""

    def __init__(self, place: Place, name: str, browser: Browser) -> None:
        self.place, self.name, self.browser = place, name, browser
        self.session: Session = place.session(name)
        self.session.change([Append((Task("One"), Task("Two"), Task("Three")), "")])
        self.code = 0
        """The exit code, or the status, of the last act; 0 where there is none."""

    def give(self, command: tuple[str, ...], *, approved: bool = True) -> Check:
        """Give the first task a check, as an agent would have proposed it."""
        check = Check(command)
        self.session.change([SetCheck(Numbered((1,)), check)])
        if approved:
            check_approvals(self.place.settings()).approve(check)
        return check

    def facts(self) -> list[str]:
        return [fact(task) for task in self.session.plan.tasks]

    def did(self, case: str, *words: Any) -> str | None:
        return self.edited(EDITS[case], *words) if case in EDITS else self.acts()[case](*words)

    def acts(self) -> Acts:
        """What is no edit of the plan."""
        raise NotImplementedError

    def edited(self, row: "Row", *words: Any) -> str | None:
        raise NotImplementedError

    def check_of(self, number: int) -> Check | None:
        return next((task.check for task in self.session.plan.tasks if task.number == number), None)


def fact(task: Task) -> str:
    """A task as all surfaces should leave it."""
    more = [*task.notes, *(f"after {number}" for number in task.after), *task.touches]
    proof = [task.proof.result.value] if task.proof else []
    return " ".join([f"#{task.number}", task.text, task.status.value, *more, *proof])


@value
class Row:
    """An edit: how it is typed, what a screen or a program makes of it, and what a page sends."""

    argv: Callable[..., tuple[str, ...]]
    command: Callable[..., "Command"]
    op: Callable[..., dict[str, object]]


def verb(name: str) -> Callable[..., tuple[str, ...]]:
    return lambda *words: ("todo", name, *map(str, words))


def on_task(make: Callable[..., Answer]) -> Callable[..., "Command"]:
    return lambda number, *more: lambda plan: make(plan, [str(number)], *more)


def marked(number: int, status: Status) -> "Command":
    words = [str(number)]
    match status:
        case Status.IN_PROGRESS:
            return lambda plan: commands.start(plan, words)
        case Status.BLOCKED:
            return lambda plan: commands.block(plan, words, "")
        case Status.PENDING:
            return lambda plan: commands.reopen(plan, words)
        case _:
            return lambda plan: commands.close(plan, words, status)


VERBS = dict(zip(Status, ("reopen", "start", "done", "drop", "block"), strict=True))
EDITS = {
    "add": Row(verb("add"), lambda text: added_after(None, text, None), lambda text: {"op": "append", "text": text}),
    "rename": Row(verb("rename"), on_task(commands.rename), lambda at, text: {"op": "reword", "at": at, "text": text}),
    "note": Row(verb("note"), on_task(commands.note), lambda at, text: {"op": "note", "at": at, "text": text}),
    "move up": Row(
        lambda number: verb("move")(number, "--before", number - 1),
        lambda number: moved_by(number, -1),
        lambda at: {"op": "move", "at": at, "before": max(0, at - 1)},
    ),
    "remove": Row(verb("rm"), on_task(commands.remove), lambda at: {"op": "remove", "at": at}),
    "mark": Row(
        lambda number, status: ("todo", VERBS[status], str(number)),
        marked,
        lambda at, status: {"op": "mark", "at": at, "status": status.value},
    ),
    "order": Row(
        verb("after"),
        lambda number, after: lambda plan: commands.order(plan, str(number), [str(after)]),
        lambda at, after: {"op": "order", "at": at, "after": [after]},
    ),
    "touch": Row(
        verb("touches"),
        lambda number, glob: lambda plan: commands.set_words(plan, "touches", str(number), [glob]),
        lambda at, glob: {"op": "touch", "at": at, "globs": [glob]},
    ),
}


class CommandLine(Surface):
    def edited(self, row: Row, *words: Any) -> str | None:
        return self.typed(*row.argv(*words))

    def typed(self, *argv: str, command: tuple[str, ...] = ()) -> str | None:
        person = Person(self.place.folder, self.place.home, self.place.environment())
        answer = person.run(*argv, "--session", self.name, *(("--", *command) if command else ()))
        self.code = answer.code
        return None if answer.code == 0 else answer.err.removeprefix("tildone: ").strip() or answer.out

    def acts(self) -> Acts:
        def set_check(number: int, command: tuple[str, ...]) -> str | None:
            return self.typed("todo", "check", str(number), *(() if command else ("--remove",)), command=command)

        return {
            "set_check": set_check,
            "verify": lambda number: self.typed("verify", str(number)),
            "approve": lambda number, _seen: self.typed("approve", str(number) if number else "--plan", "--yes"),
            "undo": lambda: self.typed("undo"),
            "redo": lambda: self.typed("redo"),
            "restore": lambda event: self.typed("checkout", event),
        }


class Watch(Surface):
    def __init__(self, place: Place, name: str, browser: Browser) -> None:
        super().__init__(place, name, browser)
        self.editor = Editor(place.settings(), place.store())

    def edited(self, row: Row, *words: Any) -> str | None:
        if words[1:] != (Status.COMPLETED,):
            return self.told(self.editor.apply(self.name, row.command(*words)))
        try:
            self.editor.checks.begin(self.name, words[:1])
        except TildoneError as error:
            return sentence(error)
        notice = self.editor.done(self.name, words[0])
        self.editor.checks.end(self.name, words[:1])
        return self.told(notice)

    def told(self, notice: Notice) -> str | None:
        return notice.text if notice.failed else None

    def acts(self) -> Acts:
        def set_check(number: int, command: tuple[str, ...]) -> str | None:
            line = check_text(Check(command)) if command else ""
            return self.told(self.editor.set_check(self.name, number, line, self.check_of(number)))

        return {
            "set_check": set_check,
            "verify": lambda number: self.told(self.editor.verify(self.name, number)),
            "approve": lambda _number, seen: self.told(self.editor.approve(self.name, seen)),
            "undo": lambda: self.told(self.editor.undo(self.name)),
            "redo": lambda: self.told(self.editor.redo(self.name)),
        }


class Board(Surface):
    def __init__(self, place: Place, name: str, browser: Browser) -> None:
        super().__init__(place, name, browser)
        self.key = browser.key(name)

    def edited(self, row: Row, *words: Any) -> str | None:
        numbers = [task.number for task in self.session.plan.tasks]
        at = [numbers.index(word) if word in numbers else word for word in words[:1]]
        return self.post("ops", ops=[row.op(*at, *words[1:])])

    def post(self, path: str, **body: object) -> str | None:
        answered: Answered = self.browser.post(f"/api/s/{self.key}/{path}", body, self.session.state.head or "empty")
        self.code = answered.status
        if answered.status == 200:
            unproved = answered.json.get("unproved")
            return unproved[0]["reason"] if unproved else None
        return str(answered.json["error"])

    def acts(self) -> Acts:
        def set_check(number: int, command: tuple[str, ...]) -> str | None:
            was = self.check_of(number)
            line, base = (check_text(Check(each)) if each else "" for each in (command, was.command if was else ()))
            return self.post("check", number=number, line=line, base=base)

        return {
            "set_check": set_check,
            "verify": lambda number: self.post("verify", number=number),
            "approve": lambda number, seen: self.post("approve", number=number, command=list(seen.command)),
            "undo": lambda: self.post("undo"),
            "redo": lambda: self.post("redo"),
            "restore": lambda event: self.post("restore", event=event),
        }


class Library(Surface):
    """What a program does with a session of its own."""

    def __init__(self, place: Place, name: str, browser: Browser) -> None:
        super().__init__(place, name, browser)
        self.settings, store = replace(place.settings(), session=name), place.store()
        self.own = open_session(self.settings, dialect_of_session(self.settings, store), store)
        self.checks = SessionChecks(self.settings)

    def edited(self, row: Row, *words: Any) -> str | None:
        def change() -> str | None:
            outcome = edit(self.own, row.command(*words)).outcome
            unproved = [task for task in outcome.after.tasks if task.number in outcome.unproved]
            return next((task.proof.reason for task in unproved if task.proof), None)

        return self.caught(change)

    def caught(self, act: Callable[..., object], *words: Any) -> str | None:
        try:
            found = act(*words)
        except TildoneError as error:
            return str(error)
        return found if isinstance(found, str) else None

    def acts(self) -> Acts:
        def set_check(number: int, command: tuple[str, ...]) -> object:
            return self.checks.set_check(self.own, number, Check(command) if command else None, self.check_of(number))

        acts: dict[str, Callable[..., object]] = {
            "set_check": set_check,
            "verify": lambda number: self.checks.verify(self.own, [number])[1][number].reason or None,
            "approve": lambda _number, seen: self.checks.approve(self.own, [seen]),
            "undo": self.own.undo,
            "redo": self.own.redo,
            "restore": self.own.checkout,
        }
        return {case: partial(self.caught, act) for case, act in acts.items()}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return place_in(tmp_path_factory.mktemp("use-cases"))


@pytest.fixture(scope="module")
def browser(place: Place) -> Iterator[Browser]:
    with board(place) as running:
        yield running.browser()


@pytest.fixture(params=[CommandLine, Watch, Board, Library], ids=lambda kind: kind.__name__)
def surface(place: Place, browser: Browser, request: pytest.FixtureRequest) -> Surface:
    (place.folder / "there").touch()
    made: Surface = request.param(place, f"s{next(NUMBERS)}", browser)
    return made


ONE, TWO, THREE = "#1 One pending", "#2 Two pending", "#3 Three pending"
CHANGES: list[tuple[str, tuple[Any, ...], list[str]]] = [
    ("add", ("Four",), [ONE, TWO, THREE, "#4 Four pending"]),
    ("rename", (2, "Zwei"), [ONE, "#2 Zwei pending", THREE]),
    ("note", (2, "why"), [ONE, "#2 Two pending why", THREE]),
    ("move up", (3,), [ONE, THREE, TWO]),
    ("remove", (1,), [TWO, THREE]),
    ("mark", (2, Status.IN_PROGRESS), [ONE, "#2 Two in_progress", THREE]),
    ("mark", (2, Status.COMPLETED), [ONE, "#2 Two completed", THREE]),
    ("mark", (2, Status.ABANDONED), [ONE, "#2 Two abandoned", THREE]),
    ("mark", (2, Status.BLOCKED), [ONE, "#2 Two blocked", THREE]),
    ("order", (1, 2), ["#1 One pending after 2", TWO, THREE]),
    ("touch", (1, "src/**"), ["#1 One pending src/**", TWO, THREE]),
]
IDS = [" ".join([case, *(str(getattr(word, "value", word)) for word in words)]) for case, words, _ in CHANGES]


@pytest.mark.parametrize(("case", "words", "after"), CHANGES, ids=IDS)
def test_a_change_is_the_same_is_undone_redone_and_gone_back_to(
    surface: Surface, case: str, words: tuple[Any, ...], after: list[str]
) -> None:
    first = surface.session.state.head

    assert surface.did(case, *words) is None
    assert surface.facts() == after
    event = next(surface.session.store.history(surface.name))
    assert (event.actor.value, event.author.name) == ("user", "Ada")
    assert surface.did("undo") is None
    assert surface.facts() == [ONE, TWO, THREE]
    assert surface.did("redo") is None
    assert surface.facts() == after
    if not isinstance(surface, Watch):
        assert surface.did("restore", first) is None
        assert surface.facts() == [ONE, TWO, THREE]


NOT_THERE = [
    *(("rename", (9, "x")), ("note", (9, "x")), ("remove", (9,)), *(("mark", (9, status)) for status in VERBS)),
    *(("order", (9, 1)), ("order", (1, 9)), ("touch", (9, "x")), ("set_check", (9, PASSES)), ("verify", (9,))),
]


@pytest.mark.parametrize(("case", "words"), NOT_THERE, ids=str)
def test_a_task_that_is_not_there_is_refused(surface: Surface, case: str, words: tuple[Any, ...]) -> None:
    head = surface.session.state.head
    why = surface.did(case, *words)

    assert why is not None
    assert "there is no task" in why.lower() or "no task has the number 9" in why.lower()
    assert surface.code in ({400, 404, 422} if isinstance(surface, Board) else {0, 4})
    assert surface.session.state.head == head


@pytest.mark.parametrize("case", ["undo", "redo"])
def test_what_cannot_be_undone_or_redone_is_refused(surface: Surface, case: str) -> None:
    if case == "undo":
        assert surface.did("undo") is None

    assert f"nothing to {case}" in str(surface.did(case)).lower()
    assert surface.code in REFUSED


def test_a_task_is_done_only_if_its_check_passes(surface: Surface) -> None:
    surface.give(FAILS)
    failed = surface.did("mark", 1, Status.COMPLETED)
    first = surface.facts()[0]
    again = surface.did("verify", 1)
    surface.give(PASSES)

    assert FAILED in str(failed)
    assert FAILED in str(again) or isinstance(surface, CommandLine)
    assert first == "#1 One in_progress failed"
    assert surface.did("mark", 1, Status.COMPLETED) is None
    assert surface.facts()[0] == "#1 One completed passed"
    assert [task.proof.by for task in surface.session.plan.tasks if task.proof] == ["Ada"]


def test_a_done_task_whose_check_fails_now_is_open_again(surface: Surface) -> None:
    surface.give(PASSES)
    surface.did("mark", 1, Status.COMPLETED)
    assert surface.did("verify", 1) is None
    (surface.place.folder / "there").unlink()

    assert surface.did("verify", 1) is not None
    assert surface.facts()[0] == "#1 One in_progress failed"


def test_a_check_that_a_person_sets_is_approved_and_can_be_removed(surface: Surface) -> None:
    command = (*PASSES, surface.name)

    assert surface.did("set_check", 1, command) is None
    assert surface.session.plan.tasks[0].check == Check(command)
    assert check_approvals(surface.place.settings()).is_allowed(Check(command))
    assert surface.did("set_check", 1, ()) is None
    assert surface.session.plan.tasks[0].check is None


def test_a_command_that_proves_nothing_is_refused_and_not_approved(surface: Surface) -> None:
    why = surface.did("set_check", 1, ("echo", surface.name))

    assert "a check needs a command that can fail, not “echo" in str(why).lower()
    assert surface.code in REFUSED
    assert not check_approvals(surface.place.settings()).is_allowed(Check(("echo", surface.name)))


def test_a_task_without_a_check_cannot_be_verified(surface: Surface) -> None:
    assert "#1 has no check" in str(surface.did("verify", 1))
    assert surface.code in REFUSED


def test_tasks_that_would_wait_for_each_other_are_refused(surface: Surface) -> None:
    assert surface.did("order", 2, 1) is None

    why = surface.did("order", 1, 2)

    assert "would wait for each other" in str(why)
    assert surface.code in REFUSED
    assert surface.facts()[0] == ONE


def test_a_check_that_nobody_has_approved_does_not_run_until_a_person_does(surface: Surface) -> None:
    """Where nobody can be asked, this is recorded, and the task waits; on a screen, the person is asked."""
    check = surface.give((*PASSES, surface.name), approved=False)
    asks = isinstance(surface, Watch | Board)

    why = surface.did("mark", 1, Status.COMPLETED)

    assert "a person has to approve" in str(why).lower()
    assert surface.facts()[0] == ("#1 One pending" if asks else "#1 One blocked refused")
    assert surface.did("approve", 1, check) is None
    assert surface.facts()[0].startswith("#1 One pending")
    assert surface.did("mark", 1, Status.COMPLETED) is None
    assert surface.facts()[0] == "#1 One completed passed"


def test_a_task_that_waited_for_a_result_of_its_check_can_go_on(surface: Surface) -> None:
    surface.give(PASSES)
    surface.session.record_proofs({1: Proof(Result.INCONCLUSIVE, PASSES)})
    surface.session.change([Mark(Numbered((1,)), Status.BLOCKED)])

    assert surface.did("verify", 1) is None
    assert surface.facts()[0] == "#1 One pending passed"


def test_approving_forgets_that_the_check_of_the_plan_was_refused(surface: Surface) -> None:
    check = Check((*PASSES, surface.name))
    surface.session.change([SetCheck(None, check)])
    surface.session.record_proofs({0: Proof(Result.REFUSED, check.command)})

    assert surface.did("approve", 0, check) is None
    assert surface.session.plan.proof is None


@pytest.mark.parametrize("surface", [Watch, Board], indirect=True)
def test_what_was_seen_and_changed_meanwhile_is_not_overwritten(surface: Surface) -> None:
    """A person on a screen sees an older plan; a command line acts on the newest one."""
    seen, make = surface.session.plan, Check(("make", "test"))
    surface.session.change([SetCheck(Numbered((1,)), make)])
    older = _Older(seen, surface.session)
    surface.session = older  # type: ignore[assignment]  # it has what a surface looks at

    why = surface.did("set_check", 1, PASSES)

    assert "the check of #1 was changed meanwhile: make test" in str(why).lower()
    assert older.now.plan.tasks[0].check == make


class _Older:
    """A session as it is shown on a screen that has not been drawn again."""

    def __init__(self, plan: Plan, now: Session) -> None:
        self.plan, self.now, self.state = plan, now, now.state


@pytest.mark.parametrize("surface", [Watch], indirect=True)
def test_a_screen_does_not_run_a_check_twice(surface: Watch) -> None:
    """A command line and a program wait for their own checks."""
    surface.give(PASSES)
    surface.editor.checks.begin(surface.name, [1])

    assert surface.did("mark", 1, Status.COMPLETED) == "The check of #1 is running already"
    assert surface.facts()[0] == ONE


@pytest.mark.parametrize("surface", [Board], indirect=True)
def test_a_board_does_not_run_a_check_twice(surface: Board) -> None:
    began, ready = surface.place.folder / f"{surface.name}.began", surface.place.folder / f"{surface.name}.ready"
    waits = f"[time.sleep(0.02) for _ in iter(lambda: os.path.exists({str(ready)!r}), True)]"
    surface.give((sys.executable, "-c", f"import os, time; open({str(began)!r}, 'a').write('x'); {waits}"))
    facts = f"/api/s/{surface.key}/checks"
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(surface.did, "mark", 1, Status.COMPLETED)
        until(began.exists, bool)
        assert surface.browser.get(facts).json["checking"] == [1]
        for case, words in (("mark", (1, Status.COMPLETED)), ("verify", (1,))):
            assert surface.did(case, *words) == "The check of #1 is running already."
            assert surface.code == 409
        ready.touch()
        assert first.result() is None
    assert (began.read_text(), surface.browser.get(facts).json["checking"]) == ("x", [])


RULES = Rules(atomic=True)
NAMES = {STATUS: "status", TEXT: "text", ORDER: "after", "files": "touches"}
TEXTS = st.sampled_from(["one", "two", "three", "four", "five"])
STATUSES = st.sampled_from(list(Status))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    # Few tasks, so that both sides often mean the same one.
    phases = draw(st.lists(st.lists(st.tuples(TEXTS, STATUSES), max_size=2), min_size=1, max_size=2))
    names = ["Read", "Build"]
    listed = [Phase(names[i], tuple(Task(text, status) for text, status in tasks)) for i, tasks in enumerate(phases)]
    return numbered(Plan(tuple(listed)))


def changes(total: int) -> st.SearchStrategy[list[Op]]:
    """What others do, by positions that are valid as long as nothing is removed before."""
    places = st.integers(0, max(0, total - 1)).map(lambda at: At((at,)))
    kinds: list[st.SearchStrategy[Op]] = [st.builds(Append, st.tuples(st.builds(Task, TEXTS)))]
    if total:
        kinds += [st.builds(Mark, places, STATUSES), st.builds(Rename, places, TEXTS), st.builds(Move, places, places)]
        kinds += [st.builds(Touch, places, st.just(("theirs",))), st.builds(Order, places, st.just(()))]
        kinds += [st.builds(Note, places, st.just("theirs")), st.builds(Remove, places)]
    return st.lists(st.one_of(kinds), max_size=4)


def plan_ops(total: int) -> st.SearchStrategy[list[PlanOp]]:
    places = st.integers(0, max(0, total - 1))
    several = st.lists(places, min_size=1, max_size=3, unique=True).map(tuple)
    new = st.tuples(st.sampled_from(["new", "newer"]))
    kinds: list[st.SearchStrategy[PlanOp]] = [st.builds(NewTasks, new), st.builds(NewTasks, new, st.integers(0, total))]
    if total:
        kinds += [
            st.builds(SetPart, several, st.just(STATUS), STATUSES),
            st.builds(SetPart, st.tuples(places), st.just(TEXT), st.just("mine")),
            st.builds(SetPart, several, st.just("files"), st.sampled_from([("mine",), ("theirs",)])),
            st.builds(SetPart, several, st.just(ORDER), st.just(())),
            st.builds(NoteOnTask, places, st.just("mine")),
            st.builds(MoveTasks, several, places),
            st.builds(RemoveTasks, several),
        ]
    return st.lists(st.one_of(kinds), min_size=1, max_size=3)


def meant(base: Plan, now: Plan, ops: list[PlanOp]) -> tuple[dict[int, Task | None], Counter[str], bool]:
    """The tasks by number as they should become, the texts of new ones, and whether the two sides clash."""
    origins = {origin: location for location, origin in match_plans(base, now).origins.items()}
    places = [(task_at(base, at), origins.get(at)) for at in task_locations(base)]
    tasks: dict[int, Task | None] = {task.number: task for task in now.tasks}
    new: Counter[str] = Counter()
    clash = False

    def each(
        positions: tuple[int, ...], fits: Callable[[Task, Task], bool], change: Callable[[Task], Task | None]
    ) -> None:
        nonlocal clash
        for at in positions:
            seen, place = places[at]
            today = None if place is None else task_at(now, place)
            if today is None or not fits(seen, today):
                clash = True
            elif (current := tasks[today.number]) is not None:
                tasks[today.number] = change(current)

    for op in ops:
        match op:
            case SetPart(positions, part, wanted):
                each(positions, _fits(NAMES[part], wanted), _with(**{NAMES[part]: wanted}))
            case NoteOnTask(at, text):
                each((at,), lambda _seen, _today: True, _noted(text))
            case MoveTasks(positions):
                each(positions, lambda _seen, _today: True, lambda task: task)
            case RemoveTasks(positions):
                present = tuple(at for at in positions if places[at][1] is not None)
                each(present, lambda seen, today: _plain(seen) == _plain(today), lambda _task: None)
            case NewTasks(texts):
                new.update(texts)
    return tasks, new, clash


def _plain(task: Task) -> Task:
    """What a removal takes away: a task whose order or files others changed is removed all the same."""
    return Task(task.text, task.status, task.notes)


def _fits(part: str, wanted: object) -> Callable[[Task, Task], bool]:
    return lambda seen, today: getattr(today, part) in (getattr(seen, part), wanted)


def _with(**fields: object) -> Callable[[Task], Task]:
    return lambda task: replace(task, **fields)


def _noted(note: str) -> Callable[[Task], Task]:
    return lambda task: replace(task, notes=(*task.notes, note))


@settings(max_examples=3 * settings().max_examples)
@given(st.data())
def test_no_update_is_lost(data: st.DataObject) -> None:
    base = data.draw(plans())
    now = base
    for op in data.draw(changes(len(base.tasks))):
        now = reduce(now, [op], Rules()).after
    ops = data.draw(plan_ops(len(base.tasks)))
    tasks, new, clash = meant(base, now, ops)
    rebase = Rebase(base, now)
    steps = [step for op in ops for step in rebase.steps(op)]

    assert bool(rebase.clashes) is clash
    if clash:
        return
    outcome = reduce(now, steps, RULES)
    removed_first = any(isinstance(op, RemoveTasks) for op in ops)
    if outcome.faults:
        # Two ops of one request contradict each other: a task was removed, and then changed.
        assert removed_first
        return
    after = {task.number: task for task in outcome.after.tasks}
    assert {number: task for number, task in after.items() if number in tasks} == {
        number: task for number, task in tasks.items() if task is not None
    }
    assert Counter(task.text for number, task in after.items() if number not in tasks) == new


@given(st.data())
def test_taking_back_a_change_leaves_what_others_did(data: st.DataObject) -> None:
    before = data.draw(plans())
    after = before
    for op in data.draw(changes(len(before.tasks))):
        after = reduce(after, [op], Rules()).after
    now = reduce(after, [Append((Task("theirs"),))], Rules()).after
    found = plan_without((before, after), now)

    assert isinstance(found, Plan)
    expected = Counter((task.text, task.status, task.notes) for task in before.tasks)
    expected["theirs", Status.PENDING, ()] += 1
    assert Counter((task.text, task.status, task.notes) for task in found.tasks) == expected
