"""The composition root: components are opened by name, and only the necessary ones are imported."""

import re
import sys
from pathlib import Path

import pytest

from tests.plans import plan_of
from tildone.app.opening import MAX_EVENTS_SEARCHED, dialect_of_session, open_session, open_store, session_in, store_at
from tildone.app.settings import Settings
from tildone.base.distribution import install_extra
from tildone.base.errors import UsageError
from tildone.plan.dialects import BY_HAND, dialect_named
from tildone.plan.events import Actor
from tildone.plan.model import Rules
from tildone.plan.ops import Write
from tildone.stores import parse_address
from tildone.stores.memory import MemoryStore

HERE = Settings(store=parse_address("unused.db"), session="s", project="/nowhere")


@pytest.mark.parametrize("scheme", ["mysql", "file"])
def test_an_unknown_kind_of_store_is_named_in_the_error(scheme: str) -> None:
    with pytest.raises(
        UsageError, match=f"there are no {scheme}:// stores; a store is a file, jsonl:FOLDER or postgresql://"
    ):
        open_store(Settings(store=parse_address(f"{scheme}://host/plans"), session="s", project="/"))


def test_a_misspelled_kind_of_store_is_corrected_in_the_error() -> None:
    with pytest.raises(UsageError, match=r"there are no PostgreSQL:// stores; did you mean 'postgresql'\?"):
        open_store(Settings(store=parse_address("PostgreSQL://host/plans"), session="s", project="/"))


@pytest.mark.parametrize("missing", ["psycopg", "psycopg.conninfo"])
def test_a_missing_driver_is_named_in_the_error(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    """With the command that installs it."""
    for name in [name for name in sys.modules if name.startswith("tildone.stores.postgres.address")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)

    with pytest.raises(UsageError, match=re.escape(f"postgres:// stores need a driver: {install_extra('postgres')}")):
        open_store(Settings(store=parse_address("postgres://host/plans"), session="s", project="/"))


@pytest.mark.parametrize(
    ("tool", "arguments", "dialect"),
    [
        ("write_todos", {"mode": "replace", "todos": [{"text": "a"}]}, "indexed"),
        ("todo_write", {"ops": [{"op": "append", "phase": "A", "items": ["a"]}]}, "phased"),
        (
            "TodoWrite",
            {"summary": "x", "todos": [{"content": "a", "status": "pending"}]},
            "declared",
        ),
    ],
)
def test_a_persons_edits_follow_the_dialect_of_the_newest_call(
    tool: str, arguments: dict[str, object], dialect: str
) -> None:
    store = MemoryStore()
    open_session(HERE, dialect_named(dialect), store).call(tool, arguments)
    open_session(HERE, BY_HAND, store).change([Write(plan_of("b").phases)])

    assert dialect_of_session(HERE, store).name == dialect


def test_without_a_models_call_no_dialect_is_assumed() -> None:
    store = MemoryStore()
    open_session(HERE, BY_HAND, store).change([Write(plan_of("a").phases)], Actor.IMPORT)

    assert dialect_of_session(HERE, store) is BY_HAND
    assert dialect_of_session(HERE, MemoryStore()) is BY_HAND
    assert BY_HAND.rules == Rules()


def test_only_recent_events_are_searched_for_a_call() -> None:
    """The cost does not depend on the length of the history."""
    store = MemoryStore()
    session = open_session(HERE, dialect_named("indexed"), store)
    session.call("write_todos", {"mode": "replace", "todos": [{"text": "a"}]})
    for count in range(MAX_EVENTS_SEARCHED):
        session.change([Write(plan_of(str(count)).phases)])

    assert dialect_of_session(HERE, store) is BY_HAND


def test_a_configured_dialect_takes_precedence() -> None:
    settings = Settings(store=parse_address("unused.db"), session="s", project="/", dialect="declared")

    assert dialect_of_session(settings, MemoryStore()).name == "declared"


@pytest.mark.parametrize("prefix", ["", "jsonl:"], ids=["sqlite", "pi"])
def test_a_store_is_opened_by_its_address(prefix: str, tmp_path: Path) -> None:
    """What is written through one is there in the next."""
    address = f"{prefix}{tmp_path / 'plans'}"
    store = store_at(address)
    session_in(store, "s", BY_HAND).change([Write(plan_of("a").phases)])
    store.close()

    reopened = store_at(address, timeout=5)

    assert [task.text for task in session_in(reopened, "s", BY_HAND).plan.tasks] == ["a"]
