"""The dialects: for each family of models, the todo tools, schemas and words that it is given.

Every folder of this package is a dialect, whose record is its global `DIALECT`. The plain modules are shared: what a
dialect is (`base`), how it reads arguments, and the records for plans that are changed without tools of ours. To add a
dialect, add a folder and a line to `DIALECTS`; shells, hosts and documentation read the rest from the record.
"""

from __future__ import annotations

from tildone.errors import UsageError
from tildone.registry import Registry
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tildone.core.plan import Plan
    from tildone.dialects.base import Dialect


@value
class Listing:
    """What is known of a dialect before it is imported.

    `tools` are the names of its tools. `custom_types` are the types of custom entries in a conversation that hold its
    plans, besides the results of its tools.
    """

    tools: tuple[str, ...]
    custom_types: tuple[str, ...] = ()


DIALECTS: Registry[Dialect, Listing] = Registry(
    __name__,
    "DIALECT",
    {
        "indexed": Listing(("write_todos", "list_todos", "edit_todos")),
        "phased": Listing(("todo_write",), ("user_todo_edit", "tildone_plan")),
        "declared": Listing(("TodoWrite",)),
        "brief": Listing(("todo",)),
    },
)

DEFAULT_DIALECT = "brief"
"""The dialect of models that are served over MCP or by hooks, unless another is configured."""


def dialect_named(name: str) -> Dialect:
    """The dialect of that name. No other is imported.

    Raises:
        UsageError: there is no such dialect.
    """
    if name not in DIALECTS:
        raise UsageError(f"there is no dialect {name!r}; known are {', '.join(DIALECTS)}")
    return DIALECTS[name]


def dialect_of_tool(tool: str) -> str | None:
    """The name of the dialect that has this tool."""
    return next((name for name, listing in DIALECTS.entries.items() if tool in listing.tools), None)


def tools_of(name: str) -> tuple[str, ...]:
    """The names of a dialect's tools, without importing it."""
    return DIALECTS.entries[name].tools


def plan_in_entry(entry: Mapping[str, Any]) -> Plan | None:
    """The plan that an entry of a conversation in pi's format holds, whichever dialect wrote it."""
    name = _dialect_of_entry(entry)
    return None if name is None else dialect_named(name).recover([entry])


def _dialect_of_entry(entry: Mapping[str, Any]) -> str | None:
    message = entry.get("message")
    if isinstance(message, dict):
        return dialect_of_tool(str(message.get("toolName")))
    custom_type = entry.get("customType")
    return next((name for name, listing in DIALECTS.entries.items() if custom_type in listing.custom_types), None)
