"""Questions that are open in the store: the first answer counts, from the keyboard or from another process."""

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.person import Person
from tests.run.run_workspace import statuses, write_plan
from tests.run.screens import ASKED, at_terminal, screen
from tests.stores.overridden import overridden, raising
from tests.suite.waiting import until
from tildone.app.opening import open_store
from tildone.app.settings import load
from tildone.base.errors import StoreError
from tildone.log.needs import Need
from tildone.log.presence import Presence
from tildone.log.store import Store
from tildone.run.asking import Asker, SharedQuestions
from tildone.run.extension import NoUI, PermissionAnswer, PermissionReply, PermissionRequest
from tildone.stores.memory import MemoryStore
from tildone.stores.sqlite.store import SqliteStore

LONG_ENOUGH = 20.0
PERMISSION = PermissionRequest("Run this command?", ("rm -r build", "ls"), always="rm *", plan=("ls",))
ONCE = PermissionReply(PermissionAnswer.ONCE)


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

    async def select(self, _title: str, _options: Sequence[str], _timeout: float | None = None) -> str | None:
        answer: str | None = await self._answer()
        return answer

    async def confirm(self, _title: str, _message: str, _timeout: float | None = None) -> bool:
        answer: bool = await self._answer()
        return answer

    async def input(self, _title: str, _placeholder: str = "") -> str | None:
        answer: str | None = await self._answer()
        return answer

    async def editor(self, title: str, prefill: str = "") -> str | None:
        return f"{title} {prefill}"

    async def ask_permission(self, _request: PermissionRequest) -> PermissionReply | None:
        answer: PermissionReply | None = await self._answer()
        return answer

    async def _answer(self) -> Any:
        self.asked.set()
        try:
            return await self.typed
        except asyncio.CancelledError:
            self.cancelled = True
            raise


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


@pytest.mark.parametrize(
    ("ask", "answer", "meaning"),
    [
        (lambda ui: ui.ask_permission(PERMISSION), "once", ONCE),
        (lambda ui: ui.ask_permission(PERMISSION), "always", PermissionReply(PermissionAnswer.ALWAYS)),
        (lambda ui: ui.ask_permission(PERMISSION), "plan", PermissionReply(PermissionAnswer.PLAN)),
        (lambda ui: ui.ask_permission(PERMISSION), "no", PermissionReply(PermissionAnswer.NO)),
        (lambda ui: ui.ask_permission(PERMISSION), "no: use rg", PermissionReply(PermissionAnswer.NO, "use rg")),
        (lambda ui: ui.ask_permission(PERMISSION), "ok go", PermissionReply(PermissionAnswer.NO, "ok go")),
        (lambda ui: ui.ask_permission(PermissionRequest("?")), "plan", PermissionReply(PermissionAnswer.NO, "plan")),
        (lambda ui: ui.confirm("Clear?", "All of it"), "yes", True),
        (lambda ui: ui.confirm("Clear?", ""), "maybe", False),
        (lambda ui: ui.select("Which?", ["left", "right"]), "right", "right"),
        (lambda ui: ui.select("Which?", ["left", "right"]), "up", None),
        (lambda ui: ui.input("Name?", "e.g. x"), "two\nlines", "two lines"),
    ],
)
async def test_an_answer_of_another_process_counts_and_ends_the_question_here(
    store: SqliteStore, tmp_path: Path, ask: Callable[[SharedQuestions], Any], answer: str, meaning: object
) -> None:
    keyboard, ui = questions(store)
    asking, need = await started(keyboard, ask(ui), store)

    await asyncio.to_thread(SqliteStore(tmp_path / "plans.db").records.answer, need.id, answer, "Bob\x1b", 1)

    assert await asyncio.wait_for(asking, LONG_ENOUGH) == meaning
    assert keyboard.cancelled
    assert keyboard.notices == [f"info: Answered by Bob␛: {'⏎'.join(answer.splitlines())}"]


async def test_an_answer_that_was_faster_in_the_store_counts(store: SqliteStore) -> None:
    """Nobody is told that their answer counted, when it did not."""
    keyboard, ui = questions(store)
    asking, need = await started(keyboard, ui.ask_permission(PERMISSION), store)

    store.records.answer(need.id, "no", "Bob", 1)
    keyboard.typed.set_result(ONCE)

    assert await asyncio.wait_for(asking, LONG_ENOUGH) == PermissionReply(PermissionAnswer.NO)


async def test_an_answer_that_comes_before_a_refusal_to_answer_counts(store: SqliteStore) -> None:
    keyboard, ui = questions(store)
    asking, need = await started(keyboard, ui.ask_permission(PERMISSION), store)

    store.records.answer(need.id, "once", "Bob", 1)
    keyboard.typed.set_result(None)

    assert await asyncio.wait_for(asking, LONG_ENOUGH) == ONCE


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


async def test_a_question_that_somebody_removes_stays_open_here(store: SqliteStore) -> None:
    keyboard, ui = questions(store)
    asking, need = await started(keyboard, ui.confirm("Clear?", ""), store)

    store.records.withdraw(need.id)
    keyboard.typed.set_result(True)

    assert await asyncio.wait_for(asking, LONG_ENOUGH) is True


async def test_without_a_store_that_can_be_written_the_question_is_asked_here(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "plans.db").close()
    keyboard, ui = questions(SqliteStore(tmp_path / "plans.db", read_only=True))
    keyboard.typed.set_result(ONCE)

    assert await asyncio.wait_for(ui.ask_permission(PERMISSION), LONG_ENOUGH) == ONCE


async def test_a_store_that_fails_later_leaves_the_question_to_the_keyboard() -> None:
    store = MemoryStore()
    gone = raising(StoreError("gone"))
    store.records = overridden(store.records, revision=gone, answer=gone)
    keyboard, ui = questions(store)
    asking, _ = await started(keyboard, ui.confirm("Clear?", ""), store)
    keyboard.typed.set_result(True)

    assert await asyncio.wait_for(asking, LONG_ENOUGH) is True


async def test_everything_else_is_shown_by_the_inner_ui(store: SqliteStore) -> None:
    keyboard, ui = questions(store)

    ui.notify("Hello", "warning")
    ui.set_status("k", "v")
    ui.set_widget("k", ["line"])

    assert keyboard.notices == ["warning: Hello"]
    assert await ui.editor("Edit", "this") == "Edit this"
    assert ui.has_ui


def store_of(person: Person) -> Store:
    return open_store(load({}, person.environment({}), str(person.folder)), read_only=True)


def at_work(store: Store) -> Presence:
    """Wait until an agent tells what it is doing."""
    return until(lambda: [present for present in store.records.presences() if present.doing])[0]


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_a_command_at_a_terminal_is_allowed_from_another_one(person: Person) -> None:
    person = replace(person, environ={**person.environ, "XDG_DATA_HOME": str(person.home / "data")})
    name = write_plan(person, "- [ ] One: `echo 1`\n- [ ] Two: `echo 2`\n")
    terminal = at_terminal(person, name, "--session", "s")
    terminal.until("  echo 1\r\n")
    terminal.until_after("  echo 1\r\n", ASKED)

    [first] = person.run("answer", "--json").json["questions"]
    present = at_work(store_of(person))
    person.says("answer", first["id"], "once", TILDONE_USER="Bob")
    terminal.until("  echo 2\r\n")
    terminal.until_after("  echo 2\r\n", ASKED)
    terminal.type(b"y\r")
    answer = terminal.end()

    assert first["text"] == "echo 1"
    assert (present.agent, present.session, present.host) == (first["agent"], "s", "run")
    assert present.doing == "bash: echo 1"
    assert not store_of(person).records.presences()
    assert answer.code == 0
    assert "Answered by Bob: once" in screen(answer.out)
    assert statuses(person, "s") == "✓✓"
    assert person.says("answer") == "No agent waits for an answer.\n"


def test_a_run_that_declines_every_question_leaves_none_in_the_store(person: Person) -> None:
    name = write_plan(person, "- [ ] One: `echo 1`\n")

    answer = person.run("run", name, "--session", "s")

    assert answer.code == 1
    assert person.says("answer") == "No agent waits for an answer.\n"
