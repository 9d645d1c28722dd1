"""Our tools, for hosts that have no tool servers: what there is to call, and a call."""

from __future__ import annotations

from tildone.dialects import dialect_named, dialect_of_tool
from tildone.errors import UsageError
from tildone.hooks.native_lists import arguments
from tildone.log import codec
from tildone.typing import TYPE_CHECKING
from tildone.views.status import status_line
from tildone.wiring import open_session

if TYPE_CHECKING:
    from tildone.config import Settings
    from tildone.hooks.event import HookEvent
    from tildone.log.store import Store


def offered(dialect: str) -> str:
    """The tools of a dialect, as whoever registers them with the host needs them."""
    tools = [
        {
            "name": tool.name,
            "label": tool.label,
            "description": tool.description,
            "parameters": tool.parameters,
            "snippet": tool.snippet,
            "guidelines": list(tool.guidelines),
        }
        for tool in dialect_named(dialect).tools
    ]
    return f"{codec.dump({'tools': tools})}\n"


def called(heard: HookEvent, settings: Settings, store: Store, seen: str | None) -> tuple[str, str | None]:
    """Carry out the call of a model that has `seen` the session so far: what to print, and what it has seen then.

    Raises:
        UsageError: there is no such tool.
    """
    tool = heard.text("tool")
    dialect = dialect_of_tool(tool)
    if dialect is None:
        raise UsageError(f"there is no tool {tool!r}")
    session = open_session(settings, dialect_named(dialect), store)
    session.set_seen_head(seen)
    reply = session.call(tool, arguments(heard.get("input")))
    told = {"text": reply.text, "failed": reply.failed, "line": status_line(session.state)}
    return f"{codec.dump(told)}\n", session.seen_head
