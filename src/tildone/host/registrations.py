"""What extensions have registered with a host, to be restored if one of them raises while it is loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tildone.host.dispatcher import Dispatcher
from tildone.host.extension_api import Contributions
from tildone.host.runtime import Runtime


def restorer(runtime: Runtime, dispatcher: Dispatcher, contributions: Contributions) -> Callable[[], None]:
    """Return a function that removes everything that is registered from now on."""
    tables: list[dict[Any, Any]] = [runtime.tools, dispatcher.handlers, contributions.commands, contributions.renderers]
    inactive, before = runtime.inactive, [dict(table) for table in tables]

    def restore() -> None:
        for table, entries in zip(tables, before, strict=True):
            table.clear()
            table.update(entries)
        runtime.inactive = inactive

    return restore
