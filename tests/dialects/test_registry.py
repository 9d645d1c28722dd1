"""The registry of dialects: each is found by its name and by its tools, and imported alone."""

import subprocess
import sys

import pytest

from tildone.base.errors import UsageError
from tildone.plan.dialects import (
    DEFAULT_DIALECT,
    DIALECTS,
    dialect_named,
    dialect_of_tool,
    names_by_position,
    plan_in_entry,
    tools_of,
)
from tildone.plan.dialects.phased import EDIT, SNAPSHOT
from tildone.plan.model import Phase, Plan, Task

every_dialect = pytest.mark.parametrize("name", list(DIALECTS))


@every_dialect
def test_the_registry_entry_equals_the_record(name: str) -> None:
    """Entries repeat the names so that a look-up imports nothing; this test compares them with the record."""
    dialect = dialect_named(name)

    assert dialect.name == name
    assert tools_of(name) == tuple(tool.name for tool in dialect.tools)
    assert {dialect_of_tool(tool.name) for tool in dialect.tools} == {name}


@every_dialect
def test_every_record_is_complete(name: str) -> None:
    """MCP, system prompts and the shell driver are derived from these fields."""
    dialect = dialect_named(name)

    assert dialect.phrasing is not None
    assert all(tool.label and tool.description and tool.snippet for tool in dialect.tools)
    assert all(tool.output_schema is not None or tool.hints.read_only for tool in dialect.tools)
    assert not any(tool.hints.destructive for tool in dialect.tools)


def test_an_unknown_dialect_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="there is no dialect 'phases'; did you mean 'phased'"):
        dialect_named("phases")

    assert dialect_of_tool("bash") is None
    assert DEFAULT_DIALECT in DIALECTS


@every_dialect
def test_one_dialect_is_imported_without_the_others(name: str) -> None:
    show = f"import sys; from tildone.plan.dialects import dialect_named; dialect_named({name!r}); print(*sys.modules)"

    answer = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True)

    loaded = {module.split(".")[2] for module in answer.stdout.split() if module.startswith("tildone.plan.dialects.")}
    assert loaded & set(DIALECTS) == {name}


@pytest.mark.parametrize("custom_type", [EDIT, SNAPSHOT])
def test_a_custom_entry_contains_the_plan_of_its_dialect(custom_type: str) -> None:
    data = {"phases": [{"name": "A", "tasks": [{"content": "a", "status": "pending"}]}]}

    assert plan_in_entry({"type": "custom", "customType": custom_type, "data": data}) == Plan(
        (Phase("A", (Task("a"),)),)
    )


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "custom", "customType": "another", "data": {}},
        {"type": "message", "message": {"role": "user", "content": "hello"}},
        {"type": "message", "message": {"role": "toolResult", "toolName": "bash"}},
        {"type": "label"},
    ],
)
def test_other_entries_contain_no_plan(entry: dict[str, object]) -> None:
    assert plan_in_entry(entry) is None


def test_only_the_models_of_indexed_name_tasks_by_position() -> None:
    assert [name for name in [None, *DIALECTS] if names_by_position(name)] == ["indexed"]


def test_only_the_results_of_brief_lack_the_plan() -> None:
    """Hosts add the plan to them, to recover it from the conversation."""
    assert [name for name in DIALECTS if dialect_named(name).needs_snapshots] == ["brief"]
