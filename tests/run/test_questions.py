"""Questions of a run.

At a plain terminal, open in the store for others to answer, and about checks that were only proposed.
"""

import asyncio
import io
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.person import CTRL_C, Person, Terminal
from tests.host.models.model_server import ModelServer, Turn
from tests.rpc.client import Client
from tests.run.plan_calls import call
from tests.run.run_workspace import CHAT, edit, provider_environment, run_model, start, statuses, write_plan
from tests.run.screens import ASKED, at_terminal, model_at_terminal, screen
from tests.stores.overridden import overridden, raising
from tests.suite.waiting import until
from tildone.app.opening import open_store
from tildone.app.settings import load
from tildone.base import StoreError
from tildone.cli.run.lines import LineOutput
from tildone.cli.run.modes import PlainUI
from tildone.log.needs import Need
from tildone.log.store import Store
from tildone.plan.text.safe import printable
from tildone.run.asking import Asker, SharedQuestions
from tildone.run.extension import NoUI, PermissionAnswer, PermissionReply, PermissionRequest
from tildone.run.kit.components import Text
from tildone.run.kit.definition import draw
from tildone.run.metering import RunMeter
from tildone.stores.memory import MemoryStore
from tildone.stores.sqlite.store import SqliteStore

needs_terminal = pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
DONE: Turn = {"text": "Done.", "repeat": True}


def asked(terminal: Terminal, words: str, answer: str = "") -> None:
    """Wait until a question with these words takes an answer, and type it."""
    terminal.until(words)
    terminal.until_after(words, ASKED)
    if answer:
        terminal.say(answer)


@needs_terminal
def test_a_letter_and_enter_answer(person: Person) -> None:
    """Enter alone, several lines and other words do not."""
    name = write_plan(person, "- [ ] One: `echo 1`\n- [ ] Two: `pwd -P`\n- [ ] Again: `pwd -L`\n- [ ] No: `echo 3`\n")
    terminal = at_terminal(person, name, "--session", "s")

    asked(terminal, "  echo 1\r\n")
    terminal.say("")
    terminal.say("sure", "That is no answer. Type one of y a p n r ? and Enter")
    terminal.say("y")
    asked(terminal, "  pwd -P\r\n")
    terminal.type(b"a\ry\r")
    terminal.until_after("pwd -P", "That is no answer.")
    terminal.type(b"a\r")
    asked(terminal, "  echo 3\r\n", "n")
    answer = terminal.end()

    assert answer.code == 1
    assert "  a  always in this conversation: pwd *" in answer.out
    assert "✗ #4 No failed: Denied by the person who was asked: echo 3" in screen(answer.out)
    assert statuses(person, "s") == "✓✓✓●"


@needs_terminal
@pytest.mark.parametrize("answers", [False, True], ids=["Ctrl-C", "Y"])
def test_what_was_typed_before_a_question_does_not_answer_it(person: Person, *, answers: bool) -> None:
    """It is discarded, so that the Enter that was meant to send it allows nothing. Ctrl-C stops the turn.

    A dangerous command needs capital letters, and says why.
    """
    (person.folder / "build").mkdir()
    script = ({**call("bash", command="touch made"), "hold": 1}, call("bash", command="rm -r build"), DONE)
    with model_at_terminal(person, *script) as (server, terminal):
        assert server.held.wait(30)
        terminal.type(b"y")
        server.release()
        asked(terminal, "  touch made")
        terminal.say("")
        terminal.say("no", "That is no answer.")
        assert not (person.folder / "made").exists()
        if answers:
            terminal.say("y")
            asked(terminal, "Careful: it deletes files.", "?")
            terminal.until("Y  allows this one call.")
            terminal.say("y")
            terminal.until_after("allows this one call.", "That is no answer.")
            terminal.until_after("That is no answer.", ASKED)
            assert (person.folder / "build").exists()
        answer = terminal.end(b"Y\r" if answers else CTRL_C)

    made, built = (person.folder / "made").exists(), (person.folder / "build").exists()
    assert (answer.code, made, built) == ((0, True, False) if answers else (130, False, True))
    assert len(server.requests) == (3 if answers else 1)


@needs_terminal
def test_a_long_command_is_shown_whole(person: Person) -> None:
    words = [f"word{number:03}" for number in range(120)]
    script = (call("bash", command=f"echo {' '.join(words)}\x1b[2J"), DONE)
    with model_at_terminal(replace(person, columns=40), *script) as (_, terminal):
        terminal.until(ASKED)
        answer = terminal.end(b"n\r")

    shown = " ".join(screen(answer.out, columns=40))
    assert all(word in shown for word in words)


@needs_terminal
def test_a_change_is_shown_as_a_diff_before_it_is_written(person: Person) -> None:
    (person.folder / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    paths = {"new/b.txt": "hello\n", "c.txt": "x\n", "d.txt": "x\n"}
    writes = (call("write", path=path, content=content) for path, content in paths.items())
    script = (call("edit", path="a.txt", old_text="two", new_text="zwei"), *writes, DONE)
    with model_at_terminal(person, *script) as (_, terminal):
        asked(terminal, "? Change a.txt?  +1 −1")
        assert (person.folder / "a.txt").read_text(encoding="utf-8") == "one\ntwo\n"
        terminal.type(b"y\r")
        asked(terminal, "? Create new/b.txt?  +1 −0", "n")
        asked(terminal, "? Create c.txt?", "a")
        answer = terminal.end()

    assert answer.code == 0
    assert "  @@ -1,2 +1,2 @@\n   one\n  -two\n  +zwei\n" in answer.out
    assert "  a  always in this conversation: every file in this folder and below" in answer.out
    assert sorted(path.name for path in person.folder.glob("*.txt")) == ["a.txt", "c.txt", "d.txt"]
    assert (person.folder / "a.txt").read_text(encoding="utf-8") == "one\nzwei\n"
    assert not (person.folder / "new").exists()


def test_without_a_terminal_a_change_or_a_command_needs_a_pattern(person: Person) -> None:
    """The model and the person are told which option gives it."""
    writes = (call("write", path=path, content="x\n") for path in ("src/a.py", "b.py"))
    script = (*writes, call("bash", command="rm -rf build"), DONE)
    answer, server = run_model(person, "Go", "--allow-write", "src", script=script)

    assert answer.code == 0
    assert (person.folder / "src/a.py").exists()
    assert not (person.folder / "b.py").exists()
    assert "Not allowed: changing b.py\n  Start with --allow-write b.py to allow it" in answer.out
    assert "Start with --allow 'rm -rf build' to allow it" in answer.out
    assert "Not allowed: rm -rf build" in str(server.requests[-1].messages)


@needs_terminal
def test_the_commands_of_the_plan_are_listed_before_they_are_allowed(person: Person) -> None:
    tasks = [{"text": "First `touch 1`"}, {"text": "Then `touch 2`"}]
    touches = (call("bash", command=f"touch {number}") for number in (1, 2))
    script = (call("write_todos", mode="replace", todos=tasks), *touches, edit("complete", 0, 1), DONE)
    with model_at_terminal(person, *script) as (_, terminal):
        asked(terminal, "? Run this command?", "p")
        terminal.until("p  again: allow exactly the 2 commands listed above")
        answer = terminal.end(b"p\r")

    assert answer.code == 0
    assert "Commands in the open tasks of the plan:\n  touch 1\n  touch 2\n" in answer.out
    assert {path.name for path in person.folder.iterdir()} >= {"1", "2"}


ONCE, ALWAYS, PLAN = (PermissionReply(PermissionAnswer(name)) for name in ("once", "always", "plan"))
ASK = PermissionRequest("Run?", ("ls",), always="ls *", plan=("ls", "pwd"))
DANGEROUS = PermissionRequest("Run?", ("rm -r build",), always="exactly this command")


def no(reason: str = "") -> PermissionReply:
    return PermissionReply(PermissionAnswer.NO, reason)


class Desk:
    """A plain terminal. The person types a line whenever one is asked for; None declines."""

    def __init__(self, *lines: str | None) -> None:
        self.stream = io.StringIO()
        self.lines = list(lines)
        self.output = LineOutput(self.stream)
        self.ui = PlainUI(self.output, self.show, self.edit, self.discard, RunMeter())
        self.discarded = 0

    def show(self, text: Text) -> None:
        self.output.put(draw(text, 80, safe=printable))

    async def edit(self, text: str) -> str | None:
        return f"{text}, edited"

    def discard(self) -> None:
        self.discarded += 1

    async def answered(self, question: Awaitable[Any]) -> Any:
        task = asyncio.ensure_future(question)
        while not task.done():
            await asyncio.sleep(0)
            if self.ui.is_asking and self.lines:
                line = self.lines.pop(0)
                self.output.entered()
                if line is None:
                    self.ui.decline()
                else:
                    self.ui.answer(line)
        return task.result()


COLOURS = ["red", "blue"]
ANSWERED: list[tuple[Callable[[PlainUI], Awaitable[Any]], list[str | None], Any]] = [
    (lambda ui: ui.select("Which?", COLOURS), ["2"], "blue"),
    (lambda ui: ui.select("Which?", COLOURS), ["", "3", "blue", " 1 "], "red"),
    (lambda ui: ui.select("Which?", COLOURS), [None], None),
    (lambda ui: ui.select("Which?", COLOURS, timeout=0.01), [], None),
    (lambda ui: ui.confirm("Sure?", "It is."), ["perhaps", "Y"], True),
    (lambda ui: ui.confirm("Sure?", ""), ["n"], False),
    (lambda ui: ui.confirm("Sure?", ""), [None], False),
    (lambda ui: ui.input("Name?", "a name"), ["Ada"], "Ada"),
    (lambda ui: ui.input("Name?"), [None], None),
    (lambda ui: ui.editor("Edit", "this"), [], "this, edited"),
    (lambda ui: ui.ask_permission(ASK), ["?", "yes", "Y"], ONCE),
    (lambda ui: ui.ask_permission(ASK), ["a"], ALWAYS),
    (lambda ui: ui.ask_permission(ASK), ["p", "p"], PLAN),
    (lambda ui: ui.ask_permission(ASK), ["p", "y", "n"], no()),
    (lambda ui: ui.ask_permission(ASK), ["r", " use fd "], no("use fd")),
    (lambda ui: ui.ask_permission(ASK), ["r", ""], no()),
    (lambda ui: ui.ask_permission(ASK), ["r", None], None),
    (lambda ui: ui.ask_permission(ASK), [None], None),
    (lambda ui: ui.ask_permission(DANGEROUS), ["y", "a", "p", "Y"], ONCE),
    (lambda ui: ui.ask_permission(DANGEROUS), ["y", "A"], ALWAYS),
]


async def test_a_question_takes_these_answers() -> None:
    for number, (ask, lines, expected) in enumerate(ANSWERED):
        desk = Desk(*lines)
        answer = await desk.answered(ask(desk.ui))
        assert (number, answer, desk.lines, desk.ui.is_asking) == (number, expected, [], False)


async def test_a_question_explains_its_answers() -> None:
    desk = Desk("?", "N")

    assert await desk.answered(desk.ui.ask_permission(DANGEROUS)) == no()
    shown = desk.stream.getvalue()
    assert "Careful: it deletes files." in shown
    assert "\nA  allows everything that is named behind it" in shown
    assert "\nn  refuses this call; the model is told, and goes on.\n" in shown


async def test_questions_are_asked_one_at_a_time_and_the_row_above_is_taken_up_again() -> None:
    desk = Desk("y", "n")
    desk.output.ask("> ")

    assert await desk.answered(asyncio.gather(desk.ui.confirm("A?", ""), desk.ui.confirm("B?", ""))) == [True, False]
    assert desk.discarded == 2
    assert [line for line in desk.stream.getvalue().split("\n") if not line.startswith("  ")] == [
        *("> ", "? A?", "Answer: > ", "? B?", "Answer: > ")
    ]


async def test_what_is_shown_is_printed_when_it_changes_and_cannot_control_the_terminal() -> None:
    desk = Desk()
    for left in (3, 2, 1):
        desk.ui.set_widget("countdown", [f"Goes on in {left} s"])
    desk.ui.set_widget("countdown", None)
    desk.ui.set_widget("countdown", ["Goes on in 3 s"])
    desk.ui.set_status("limit", "waits\x1b[2J")
    desk.ui.set_status("limit", "waits\x1b[2J")
    desk.ui.set_status("limit", None)
    desk.ui.notify("Seen")

    assert desk.stream.getvalue().split("\n") == [*2 * ["Goes on in 3 s"], "waits␛[2J", "Seen", ""]


QUESTION = "? Run this command as the check of task 1?"
CALLS_IT_DONE = call("todo", done=1)
STOP: Turn = {"text": "I stop.", "repeat": True}
AT_TERMINAL = ("Go", "--dialect", "brief")
RUN = ("run", *AT_TERMINAL, "--model", CHAT)


@pytest.fixture
def importer(person: Person) -> Person:
    """Somebody whose plan came from a file that nobody has trusted."""
    person.environ["TILDONE_SESSION"] = "plan"
    person.says("todo", "import", write_plan(person, "- [ ] Make it\n  $ cp plan.md 'made here'\n"))
    return person


@pytest.fixture
def made(importer: Person) -> Path:
    """What the check leaves."""
    return importer.folder / "made here"


def proposed(importer: Person) -> bool:
    return bool(importer.run("approve", "--json").json["checks"])


@needs_terminal
@pytest.mark.parametrize(
    ("keys", "runs", "stays_proposed"), [(["y"], True, True), (["a"], True, False), (["r", "It copies"], False, True)]
)
def test_the_person_at_a_terminal_answers(
    importer: Person, made: Path, keys: list[str], *, runs: bool, stays_proposed: bool
) -> None:
    """The model is told the reason of a no."""
    with model_at_terminal(importer, CALLS_IT_DONE, STOP, argv=AT_TERMINAL) as (server, terminal):
        asked(terminal, QUESTION)
        assert not made.exists()
        for key in keys[:-1]:
            terminal.say(key, "Why not?")
        answer = terminal.end(f"{keys[-1]}\r".encode())

    assert "  cp plan.md 'made here'\n" in answer.out
    assert "  a  always in this project: exactly this check" in answer.out
    assert (made.exists(), statuses(importer)) == (runs, "✓" if runs else "!")
    assert proposed(importer) == stays_proposed
    told = str(server.requests[1].messages[-1])
    assert ("waits for a person" in told, "Their reason: It copies" in told) == (not runs, not runs)


@needs_terminal
def test_once_is_for_once(importer: Person, made: Path) -> None:
    """The next time that the same check is needed, the person is asked again. No is a no without a reason, too."""
    task = "- [ ] {}\n  $ cp plan.md 'made here'\n"
    importer.says("todo", "import", write_plan(importer, task.format("Make it") + task.format("Make it again")))
    script = (CALLS_IT_DONE, call("todo", done=2), STOP)
    with model_at_terminal(importer, *script, argv=AT_TERMINAL) as (_, terminal):
        asked(terminal, QUESTION, "y")
        asked(terminal, QUESTION.replace("1", "2"), "n")
        terminal.end()

    assert (made.exists(), statuses(importer)) == (True, "✓!")


@pytest.mark.parametrize("mode", ["print", "json"])
def test_nobody_is_asked_without_a_terminal(importer: Person, made: Path, mode: str) -> None:
    with ModelServer(CALLS_IT_DONE, STOP) as server:
        answer = importer.run(*RUN, "--mode", mode, **provider_environment(server))

    assert "as the check of" not in answer.out + answer.err
    assert "waits for a person to approve" in str(server.requests[1].messages[-1])
    assert (made.exists(), proposed(importer)) == (False, True)
    assert importer.says("answer") == "No agent waits for an answer.\n"


def test_a_client_is_asked(importer: Person, made: Path) -> None:
    always = "Always allow in this project: exactly this check"
    argv = ("run", *RUN[2:], "--mode", "rpc")
    with ModelServer(CALLS_IT_DONE, STOP) as server, start(importer, *argv, **provider_environment(server)) as process:
        client = Client(process)
        client.get("prompt", message="Go")
        question = client.answer("select", value=always)
        client.event("agent_settled")
        assert client.hang_up() == 0

    assert question["title"] == f"{QUESTION.removeprefix('? ')}\ncp plan.md 'made here'"
    assert question["options"] == ["Allow once", always, "Deny"]
    assert [record for record in client.records if record.get("method") == "select"] == [question]
    assert made.exists()
    assert not proposed(importer)


LONG_ENOUGH = 20.0
PERMISSION = PermissionRequest("Run this command?", ("rm -r build", "ls"), always="rm *", plan=("ls",))


class Keyboard(NoUI):
    """A UI that waits for an answer, which a test types."""

    has_ui = True

    def __init__(self) -> None:
        self.typed: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.asked = asyncio.Event()
        self.cancelled = False
        self.notices: list[str] = []

    def notify(self, message: str, kind: str = "info") -> None:
        self.notices.append(f"{kind}: {message}")

    async def editor(self, title: str, prefill: str = "") -> str | None:
        return f"{title} {prefill}"

    async def _answer(self, *_question: object) -> Any:
        self.asked.set()
        try:
            return await self.typed
        except asyncio.CancelledError:
            self.cancelled = True
            raise

    select = confirm = input = ask_permission = _answer  # type: ignore[assignment]  # whatever is asked


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    return SqliteStore(tmp_path / "plans.db")


def questions(store: Store) -> tuple[Keyboard, SharedQuestions]:
    keyboard = Keyboard()
    return keyboard, SharedQuestions(keyboard, store, Asker(lambda: "s", lambda: "tildone:a", lambda: "Ada"))


async def started(keyboard: Keyboard, question: Any, store: Store) -> tuple[asyncio.Task[Any], Need]:
    """Ask a question, and return it as it is in the store."""
    asking = asyncio.create_task(question)
    await asyncio.wait_for(keyboard.asked.wait(), LONG_ENOUGH)
    [need] = store.records.needs()
    return asking, need


async def test_a_question_is_in_the_store_while_it_is_open(store: SqliteStore) -> None:
    keyboard, ui = questions(store)
    asking, need = await started(keyboard, ui.ask_permission(PERMISSION), store)

    keyboard.typed.set_result(ONCE)

    assert await asyncio.wait_for(asking, LONG_ENOUGH) == ONCE
    assert (need.session, need.kind, need.text, need.agent) == ("s", "command", "rm -r build\nls", "tildone:a")
    assert need.options == ("once", "always", "plan", "no")
    assert need.detail == "Run this command?\nalways in this conversation: rm *"
    assert need.since > 0
    decided = store.records.need(need.id)
    assert decided is not None
    assert (decided.answer, decided.answered_by) == ("once", "Ada")
    assert keyboard.notices == []


COUNTS: list[tuple[Callable[[SharedQuestions], Any], str, Any]] = [
    (lambda ui: ui.ask_permission(PERMISSION), "once", ONCE),
    (lambda ui: ui.ask_permission(PERMISSION), "always", ALWAYS),
    (lambda ui: ui.ask_permission(PERMISSION), "plan", PLAN),
    (lambda ui: ui.ask_permission(PERMISSION), "no", no()),
    (lambda ui: ui.ask_permission(PERMISSION), "no: use rg", no("use rg")),
    (lambda ui: ui.ask_permission(PERMISSION), "ok go", no("ok go")),
    (lambda ui: ui.ask_permission(PermissionRequest("?")), "plan", no("plan")),
    (lambda ui: ui.confirm("Clear?", "All of it"), "yes", True),
    (lambda ui: ui.confirm("Clear?", ""), "maybe", False),
    (lambda ui: ui.select("Which?", ["left", "right"]), "right", "right"),
    (lambda ui: ui.select("Which?", ["left", "right"]), "up", None),
    (lambda ui: ui.input("Name?", "e.g. x"), "two\nlines", "two lines"),
]


async def test_an_answer_of_another_process_counts_and_ends_the_question_here(
    store: SqliteStore, tmp_path: Path
) -> None:
    for ask, answer, meaning in COUNTS:
        keyboard, ui = questions(store)
        asking, need = await started(keyboard, ask(ui), store)

        await asyncio.to_thread(SqliteStore(tmp_path / "plans.db").records.answer, need.id, answer, "Bob\x1b", 1)

        assert await asyncio.wait_for(asking, LONG_ENOUGH) == meaning, answer
        assert keyboard.cancelled
        assert keyboard.notices == [f"info: Answered by Bob␛: {'⏎'.join(answer.splitlines())}"]


async def test_an_answer_that_was_faster_in_the_store_counts(store: SqliteStore) -> None:
    """Nobody is told that their answer counted, when it did not. A refusal to answer does not count either."""
    for stored, typed, counts in (("no", ONCE, no()), ("once", None, ONCE)):
        keyboard, ui = questions(store)
        asking, need = await started(keyboard, ui.ask_permission(PERMISSION), store)

        store.records.answer(need.id, stored, "Bob", 1)
        keyboard.typed.set_result(typed)

        assert await asyncio.wait_for(asking, LONG_ENOUGH) == counts


async def test_a_question_that_is_declined_or_cancelled_is_withdrawn(store: SqliteStore) -> None:
    keyboard, ui = questions(store)
    asking, declined = await started(keyboard, ui.select("Which?", ["left"], 5), store)
    keyboard.typed.set_result(None)
    assert await asyncio.wait_for(asking, LONG_ENOUGH) is None

    keyboard, ui = questions(store)
    asking, cancelled = await started(keyboard, ui.confirm("Clear?", ""), store)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking

    assert keyboard.cancelled
    assert [store.records.need(each.id) for each in (declined, cancelled)] == [None, None]


async def test_without_a_store_that_can_be_written_the_question_is_asked_here(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "plans.db").close()
    keyboard, ui = questions(SqliteStore(tmp_path / "plans.db", read_only=True))
    keyboard.typed.set_result(ONCE)

    assert await asyncio.wait_for(ui.ask_permission(PERMISSION), LONG_ENOUGH) == ONCE


@pytest.mark.parametrize("fails", [False, True])
async def test_a_question_that_is_removed_or_whose_store_fails_stays_open_here(*, fails: bool) -> None:
    store = MemoryStore()
    if fails:
        gone = raising(StoreError("gone"))
        store.records = overridden(store.records, revision=gone, answer=gone)
    keyboard, ui = questions(store)
    asking, need = await started(keyboard, ui.confirm("Clear?", ""), store)
    if not fails:
        store.records.withdraw(need.id)
    keyboard.typed.set_result(True)

    assert await asyncio.wait_for(asking, LONG_ENOUGH) is True


async def test_everything_else_is_shown_by_the_inner_ui(store: SqliteStore) -> None:
    keyboard, ui = questions(store)
    ui.notify("Hello", "warning")
    ui.set_status("k", "v")
    ui.set_widget("k", ["line"])

    assert keyboard.notices == ["warning: Hello"]
    assert (await ui.editor("Edit", "this"), ui.has_ui) == ("Edit this", True)


@needs_terminal
def test_a_command_at_a_terminal_is_allowed_from_another_one(person: Person) -> None:
    person = replace(person, environ={**person.environ, "XDG_DATA_HOME": str(person.home / "data")})
    name = write_plan(person, "- [ ] One: `echo 1`\n- [ ] Two: `echo 2`\n")
    terminal = at_terminal(person, name, "--session", "s")
    asked(terminal, "  echo 1\r\n")

    [first] = person.run("answer", "--json").json["questions"]
    store = open_store(load({}, person.environment({}), str(person.folder)), read_only=True)
    present = until(lambda: [present for present in store.records.presences() if present.doing])[0]
    person.says("answer", first["id"], "once", TILDONE_USER="Bob")
    asked(terminal, "  echo 2\r\n")
    answer = terminal.end(b"y\r")

    assert (present.agent, present.session, present.host) == (first["agent"], "s", "run")
    assert (first["text"], present.doing) == ("echo 1", "bash: echo 1")
    assert not store.records.presences()
    assert answer.code == 0
    assert "Answered by Bob: once" in screen(answer.out)
    assert statuses(person, "s") == "✓✓"
    assert person.says("answer") == "No agent waits for an answer.\n"
