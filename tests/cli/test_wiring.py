"""The parts are put together by name, and only those that are needed are loaded."""

import subprocess
import sys

import pytest

from tests.plans import plan_of
from tildone.config import Settings
from tildone.core.ops import Write
from tildone.core.rules import Rules
from tildone.errors import UsageError
from tildone.log.address import parse_address
from tildone.log.events import Actor
from tildone.stores.memory import MemoryStore
from tildone.wiring import (
    BY_HAND,
    LOOK_BACK,
    TOOLS,
    dialect_named,
    dialect_of_session,
    dialect_of_tool,
    open_session,
    open_store,
)

HERE = Settings(store=parse_address("unused.db"), session="s", project="/nowhere")


def test_the_table_of_tools_is_that_of_the_dialects() -> None:
    """It stands in the wiring so that looking a tool up loads no dialect; here both are compared."""
    assert {name: tuple(tool.name for tool in dialect_named(name).tools) for name in TOOLS} == TOOLS
    assert [dialect_of_tool(tool) for tools in TOOLS.values() for tool in tools] == [
        name for name, tools in TOOLS.items() for _ in tools
    ]


def test_an_unknown_dialect_is_told_with_what_may_have_been_meant() -> None:
    with pytest.raises(UsageError, match="there is no dialect 'phases'; did you mean 'phased'"):
        dialect_named("phases")


@pytest.mark.parametrize("name", TOOLS)
def test_one_dialect_is_loaded_without_the_others(name: str) -> None:
    asked = f"import sys; from tildone.wiring import dialect_named; dialect_named({name!r}); print(*sys.modules)"

    answer = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)

    loaded = {module.split(".")[2] for module in answer.stdout.split() if module.startswith("tildone.dialects.")}
    assert loaded & TOOLS.keys() == {name}


@pytest.mark.parametrize("scheme", ["mysql", "file", "PostgreSQL"])
def test_a_kind_of_store_that_there_is_not_is_named(scheme: str) -> None:
    with pytest.raises(
        UsageError, match=f"there are no {scheme}:// stores; a store is a file, jsonl:FOLDER or postgresql://"
    ):
        open_store(Settings(store=parse_address(f"{scheme}://host/plans"), session="s", project="/"))


@pytest.mark.parametrize("missing", ["psycopg", "psycopg.conninfo"])
def test_a_driver_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    """With what to type to have it."""
    for name in [name for name in sys.modules if name.startswith("tildone.stores.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)

    with pytest.raises(UsageError, match=r"postgres:// stores need a driver: pip install 'tildone\[postgres\]'"):
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
def test_a_persons_edits_keep_to_the_rules_of_the_newest_call(
    tool: str, arguments: dict[str, object], dialect: str
) -> None:
    store = MemoryStore()
    open_session(HERE, dialect_named(dialect), store).call(tool, arguments)
    open_session(HERE, BY_HAND, store).change([Write(plan_of("b").phases)])

    assert dialect_of_session(HERE, store).name == dialect


def test_where_no_model_has_written_nothing_is_assumed() -> None:
    store = MemoryStore()
    open_session(HERE, BY_HAND, store).change([Write(plan_of("a").phases)], Actor.IMPORT)

    assert dialect_of_session(HERE, store) is BY_HAND
    assert dialect_of_session(HERE, MemoryStore()) is BY_HAND
    assert BY_HAND.rules == Rules()


def test_a_call_of_long_ago_is_not_looked_for() -> None:
    """The look back is short, so that it costs the same however long the history is."""
    store = MemoryStore()
    session = open_session(HERE, dialect_named("indexed"), store)
    session.call("write_todos", {"mode": "replace", "todos": [{"text": "a"}]})
    for count in range(LOOK_BACK):
        session.change([Write(plan_of(str(count)).phases)])

    assert dialect_of_session(HERE, store) is BY_HAND


def test_a_settled_dialect_comes_first() -> None:
    settings = Settings(store=parse_address("unused.db"), session="s", project="/", dialect="declared")

    assert dialect_of_session(settings, MemoryStore()).name == "declared"
