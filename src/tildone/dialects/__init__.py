"""The dialects: the todo tools, schemas and texts for each family of models.

Every folder of this package is a dialect and defines its record as the global `DIALECT`, whose texts are harmless and
of limited size (`safe_texts`). The other plain modules are shared, too: the type `Dialect` (`base`), the parsing of
arguments, and the records of plans that are changed without our tools. To add a dialect, add a folder and a line to
`DIALECTS`; shells, hosts and documentation read the rest from the record.
"""

from __future__ import annotations

from tildone.errors import UsageError, nearest
from tildone.registry import Registry
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tildone.core.plan import Plan
    from tildone.dialects.base import Dialect


@value
class DialectEntry:
    """The facts about a dialect that are available without importing it.

    `tools` are the names of its tools. `custom_types` are the types of the custom conversation entries that contain its
    plans; the results of its tools may contain plans, too. `by_position` means that its models name tasks by position.
    """

    tools: tuple[str, ...]
    custom_types: tuple[str, ...] = ()
    by_position: bool = False


DIALECTS: Registry[Dialect, DialectEntry] = Registry(
    __name__,
    "DIALECT",
    {
        "indexed": DialectEntry(("write_todos", "list_todos", "edit_todos"), by_position=True),
        "phased": DialectEntry(("todo_write",), ("user_todo_edit", "tildone_plan")),
        "declared": DialectEntry(("TodoWrite",)),
        "brief": DialectEntry(("todo",)),
    },
)

DEFAULT_DIALECT = "brief"
"""The dialect for MCP clients and hooks, unless another one is configured."""


def dialect_named(name: str) -> Dialect:
    """Return the dialect of that name, importing no other.

    Raises:
        UsageError: there is no such dialect.
    """
    if name not in DIALECTS:
        raise UsageError(f"there is no dialect {name!r}; {nearest(name, tuple(DIALECTS))}")
    return DIALECTS[name]


def dialect_of_tool(tool: str) -> str | None:
    """Return the name of the dialect that defines the tool, or None."""
    return next((name for name, entry in DIALECTS.entries.items() if tool in entry.tools), None)


def tools_of(name: str) -> tuple[str, ...]:
    """Return the names of a dialect's tools without importing the dialect."""
    return DIALECTS.entries[name].tools


def names_by_position(name: str | None) -> bool:
    """Return whether the models of a dialect name tasks by position; False for None, which is no dialect."""
    return name is not None and DIALECTS.entries[name].by_position


def plan_in_entry(entry: Mapping[str, Any]) -> Plan | None:
    """Return the plan in a conversation entry of pi's format, whichever dialect wrote it."""
    name = _dialect_of_entry(entry)
    return None if name is None else dialect_named(name).recover([entry])


def _dialect_of_entry(entry: Mapping[str, Any]) -> str | None:
    message = entry.get("message")
    if isinstance(message, dict):
        return dialect_of_tool(str(message.get("toolName")))
    custom_type = entry.get("customType")
    return next((name for name, listed in DIALECTS.entries.items() if custom_type in listed.custom_types), None)
