"""What extensions have registered with a host, restored if one of them raises while it is loaded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tildone.host.dispatcher import Dispatcher
from tildone.host.extension_api import Contributions
from tildone.host.runtime import Runtime


@contextmanager
def undone_on_error(runtime: Runtime, dispatcher: Dispatcher, contributions: Contributions) -> Iterator[None]:
    """Remove everything that was registered in the `with` statement if it raises."""
    tables: list[dict[Any, Any]] = [runtime.tools, dispatcher.handlers, contributions.commands, contributions.renderers]
    inactive, before = runtime.inactive, [dict(table) for table in tables]
    try:
        yield
    except Exception:
        for table, entries in zip(tables, before, strict=True):
            table.clear()
            table.update(entries)
        runtime.inactive = inactive
        raise
