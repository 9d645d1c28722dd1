"""Every use case that changes a plan, through every surface that offers it: the same facts, and the same refusals.

A surface is driven as people drive it: the command line as a process, the board over HTTP, `watch` by what its keys
hand on, the library by its calls. What an agent may not do is in `test_who.py`, for every way in.
"""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.person import Person
from tests.web.boards import Answered, Browser, Place, board, place_in, until
from tildone.app.checks import SessionChecks, typed_check
from tildone.app.edits import added_after, edit, moved_by, sentence
from tildone.app.opening import check_approvals, dialect_of_session, open_session
from tildone.commands import attributes, edits
from tildone.core.check import Check, Proof, Result
from tildone.core.ops import Append, Mark, Numbered, Order, SetCheck, Touch
from tildone.core.plan import Plan, Status, Task
from tildone.errors import TildoneError
from tildone.session import Session
from tildone.tui.editing import Editor, Notice
from tildone.value import replace
from tildone.views.proofs import check_text

if TYPE_CHECKING:
    from tildone.app.edits import Command

PASSES, FAILS = (sys.executable, "-c", "open('there')"), (sys.executable, "-c", "raise SystemExit(7)")
FAILED = "exit code 7"
NUMBERS = count(1)
REFUSED = {0, 3, 422}
"""The exit code and the status of what cannot be applied to a plan."""

NO_TASK = "there is no task #9"


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
        way = getattr(self, case, None)
        if way is None:
            pytest.skip("this surface does not offer it")
        found: str | None = way(*words)
        return found


def fact(task: Task) -> str:
    """A task as all surfaces should leave it."""
    more = [*task.notes, *(f"after {number}" for number in task.after), *task.touches]
    proof = [task.proof.result.value] if task.proof else []
    return " ".join([f"#{task.number}", task.text, task.status.value, *more, *proof])


class CommandLine(Surface):
    def typed(self, *argv: str) -> str | None:
        person = Person(self.place.folder, self.place.home, self.place.environment())
        answer = person.run(*argv[: argv.index("--") if "--" in argv else None], "--session", self.name, *rest(argv))
        self.code = answer.code
        return None if answer.code == 0 else answer.err.removeprefix("tildone: ").strip() or answer.out

    def add(self, text: str) -> str | None:
        return self.typed("todo", "add", text)

    def rename(self, number: int, text: str) -> str | None:
        return self.typed("todo", "rename", str(number), text)

    def note(self, number: int, text: str) -> str | None:
        return self.typed("todo", "note", str(number), text)

    def move_up(self, number: int) -> str | None:
        return self.typed("todo", "move", str(number), "--before", str(number - 1))

    def remove(self, number: int) -> str | None:
        return self.typed("todo", "rm", str(number))

    def mark(self, number: int, status: Status) -> str | None:
        return self.typed("todo", VERBS[status], str(number))

    def order(self, number: int, after: int) -> str | None:
        return self.typed("todo", "after", str(number), str(after))

    def touch(self, number: int, glob: str) -> str | None:
        return self.typed("todo", "touches", str(number), glob)

    def set_check(self, number: int, command: tuple[str, ...]) -> str | None:
        return self.typed("todo", "check", str(number), *(("--", *command) if command else ("--remove",)))

    def verify(self, number: int) -> str | None:
        return self.typed("verify", str(number))

    def approve(self, number: int, _seen: Check) -> str | None:
        return self.typed("approve", str(number), "--yes")

    def undo(self) -> str | None:
        return self.typed("undo")

    def redo(self) -> str | None:
        return self.typed("redo")

    def restore(self, event: str) -> str | None:
        return self.typed("checkout", event)


VERBS = {
    Status.IN_PROGRESS: "start",
    Status.COMPLETED: "done",
    Status.ABANDONED: "drop",
    Status.BLOCKED: "block",
    Status.PENDING: "reopen",
}


def rest(argv: tuple[str, ...]) -> tuple[str, ...]:
    return argv[argv.index("--") :] if "--" in argv else ()


class Watch(Surface):
    def __init__(self, place: Place, name: str, browser: Browser) -> None:
        super().__init__(place, name, browser)
        self.editor = Editor(place.settings(), place.store())

    def told(self, notice: Notice) -> str | None:
        return notice.text if notice.failed else None

    def applied(self, command: "Command") -> str | None:
        return self.told(self.editor.apply(self.name, command))

    def add(self, text: str) -> str | None:
        return self.applied(added_after(None, text, None))

    def rename(self, number: int, text: str) -> str | None:
        was = next((task.text for task in self.session.plan.tasks if task.number == number), "")
        return self.told(self.editor.rename(self.name, number, was, text))

    def note(self, number: int, text: str) -> str | None:
        return self.applied(lambda plan: edits.note(plan, [str(number)], text))

    def move_up(self, number: int) -> str | None:
        return self.applied(moved_by(number, -1))

    def remove(self, number: int) -> str | None:
        return self.applied(lambda plan: edits.remove(plan, [str(number)]))

    def mark(self, number: int, status: Status) -> str | None:
        words = [str(number)]
        match status:
            case Status.COMPLETED:
                try:
                    self.editor.checks.begin(self.name, [number])
                except TildoneError as error:
                    return sentence(error)
                notice = self.editor.done(self.name, number)
                self.editor.checks.end(self.name, [number])
                return self.told(notice)
            case Status.ABANDONED:
                return self.applied(lambda plan: edits.close(plan, words, status))
            case Status.BLOCKED:
                return self.applied(lambda plan: edits.block(plan, words, ""))
            case Status.IN_PROGRESS:
                return self.applied(lambda plan: edits.start(plan, words))
            case Status.PENDING:
                return self.applied(lambda plan: edits.reopen(plan, words))

    def order(self, number: int, after: int) -> str | None:
        return self.applied(lambda plan: attributes.order(plan, str(number), [str(after)]))

    def touch(self, number: int, glob: str) -> str | None:
        return self.applied(lambda plan: attributes.set_words(plan, "touches", str(number), [glob]))

    def set_check(self, number: int, command: tuple[str, ...]) -> str | None:
        was = next((task.check for task in self.session.plan.tasks if task.number == number), None)
        line = check_text(Check(command)) if command else ""
        return self.told(self.editor.set_check(self.name, number, line, was))

    def verify(self, number: int) -> str | None:
        return self.told(self.editor.verify(self.name, number))

    def approve(self, _number: int, seen: Check) -> str | None:
        return self.told(self.editor.approve(self.name, seen))

    def undo(self) -> str | None:
        return self.told(self.editor.undo(self.name))

    def redo(self) -> str | None:
        return self.told(self.editor.redo(self.name))


class Board(Surface):
    def __init__(self, place: Place, name: str, browser: Browser) -> None:
        super().__init__(place, name, browser)
        self.key = browser.key(name)

    def post(self, path: str, **body: object) -> str | None:
        answered: Answered = self.browser.post(f"/api/s/{self.key}/{path}", body, self.session.state.head or "empty")
        self.code = answered.status
        if answered.status == 200:
            unproved = answered.json.get("unproved")
            return unproved[0]["reason"] if unproved else None
        return str(answered.json["error"])

    def op(self, name: str, number: int, **fields: object) -> str | None:
        return self.post("ops", ops=[{"op": name, "at": self.at(number), **fields}])

    def at(self, number: int) -> int:
        return next((at for at, task in enumerate(self.session.plan.tasks) if task.number == number), number)

    def add(self, text: str) -> str | None:
        return self.post("ops", ops=[{"op": "append", "text": text}])

    def rename(self, number: int, text: str) -> str | None:
        return self.op("reword", number, text=text)

    def note(self, number: int, text: str) -> str | None:
        return self.op("note", number, text=text)

    def move_up(self, number: int) -> str | None:
        return self.op("move", number, before=max(0, self.at(number) - 1))

    def remove(self, number: int) -> str | None:
        return self.op("remove", number)

    def mark(self, number: int, status: Status) -> str | None:
        return self.op("mark", number, status=status.value)

    def order(self, number: int, after: int) -> str | None:
        return self.op("order", number, after=[after])

    def touch(self, number: int, glob: str) -> str | None:
        return self.op("touch", number, globs=[glob])

    def set_check(self, number: int, command: tuple[str, ...]) -> str | None:
        was = next((task.check for task in self.session.plan.tasks if task.number == number), None)
        line, base = (check_text(Check(each)) if each else "" for each in (command, was.command if was else ()))
        return self.post("check", number=number, line=line, base=base)

    def verify(self, number: int) -> str | None:
        return self.post("verify", number=number)

    def approve(self, number: int, seen: Check) -> str | None:
        return self.post("approve", number=number, command=list(seen.command))

    def undo(self) -> str | None:
        return self.post("undo")

    def redo(self) -> str | None:
        return self.post("redo")

    def restore(self, event: str) -> str | None:
        return self.post("restore", event=event)


class Library(Surface):
    """What a program does with a session, without commands in words."""

    def __init__(self, place: Place, name: str, browser: Browser) -> None:
        super().__init__(place, name, browser)
        self.settings, store = replace(place.settings(), session=name), place.store()
        self.own = open_session(self.settings, dialect_of_session(self.settings, store), store)

    def caught(self, act: Callable[[], object]) -> str | None:
        try:
            act()
        except TildoneError as error:
            return str(error)
        return None

    def edited(self, command: "Command") -> str | None:
        return self.caught(lambda: edit(self.own, command))

    def add(self, text: str) -> str | None:
        return self.edited(lambda plan: edits.add(plan, [text]))

    def rename(self, number: int, text: str) -> str | None:
        return self.edited(lambda plan: edits.rename(plan, [str(number)], text))

    def remove(self, number: int) -> str | None:
        return self.edited(lambda plan: edits.remove(plan, [str(number)]))

    def mark(self, number: int, status: Status) -> str | None:
        outcome = self.own.change([Mark(Numbered((number,)), status)])
        if outcome.faults:
            return NO_TASK
        proof = next((task.proof for task in outcome.after.tasks if task.number in outcome.unproved), None)
        return proof.reason if proof else None

    def order(self, number: int, after: int) -> str | None:
        return self.faulty(Order(Numbered((number,)), (after,)))

    def touch(self, number: int, glob: str) -> str | None:
        return self.faulty(Touch(Numbered((number,)), (glob,)))

    def faulty(self, step: Order | Touch) -> str | None:
        return NO_TASK if self.own.change([step]).faults else None

    def verify(self, number: int) -> str | None:
        def verify() -> None:
            proofs.update(SessionChecks(self.settings).verify(self.own, [number])[1])

        proofs: dict[int, Proof] = {}
        return self.caught(verify) or next((proof.reason for proof in proofs.values() if proof.reason), None)

    def set_check(self, number: int, command: tuple[str, ...]) -> str | None:
        was = next((task.check for task in self.session.plan.tasks if task.number == number), None)
        check = typed_check(check_text(Check(command)) if command else "", was)
        return self.caught(lambda: SessionChecks(self.settings).set_check(self.own, number, check, was))

    def approve(self, _number: int, seen: Check) -> str | None:
        return self.caught(lambda: SessionChecks(self.settings).approve(self.own, [seen]))

    def undo(self) -> str | None:
        return self.caught(self.own.undo)

    def redo(self) -> str | None:
        return self.caught(self.own.redo)

    def restore(self, event: str) -> str | None:
        return self.caught(lambda: self.own.checkout(event))


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
    ("move_up", (3,), [ONE, THREE, TWO]),
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


@pytest.mark.parametrize(
    ("case", "words"),
    [
        *(("rename", (9, "x")), ("note", (9, "x")), ("remove", (9,))),
        *(("mark", (9, status)) for status in VERBS),
        *(("order", (9, 1)), ("order", (1, 9)), ("touch", (9, "x"))),
        *(("set_check", (9, PASSES)), ("verify", (9,))),
    ],
    ids=str,
)
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
    proof = surface.session.plan.tasks[0].proof
    assert proof
    assert proof.by == "Ada"


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

    assert isinstance(surface, Library) or "would wait for each other" in str(why)
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
    number = "--plan" if isinstance(surface, CommandLine) else 0

    assert surface.did("approve", number, check) is None
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
