"""Our tools for an agent that gets them from its hooks: what there is to call, and the calls."""

from __future__ import annotations

from tildone.agents.hooks.context import arguments
from tildone.agents.hooks.event import HookEvent
from tildone.app.opening import open_session
from tildone.app.settings import Settings
from tildone.base import UsageError, replace
from tildone.log.session import Session
from tildone.plan import codec
from tildone.plan.dialects import dialect_named, dialect_of_tool
from tildone.plan.events import Author
from tildone.plan.text.safe import escape_json, status_line


def offered_tools(dialect: str) -> str:
    """Return the tools of a dialect as JSON, for the shim that registers them with the agent."""
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


def call_tool(event: HookEvent, settings: Settings, agent_session: Session, author: Author) -> str:
    """Carry out a tool call in an agent's session, as a change by `author`. Return the result to print.

    Raises:
        UsageError: there is no such tool.
    """
    tool = event.text("tool")
    dialect = dialect_of_tool(tool)
    if dialect is None:
        raise UsageError(f"there is no tool {tool!r}")
    session = open_session(settings, dialect_named(dialect), agent_session.store, lambda: author, agent_session.reader)
    parts = replace(session.parts, taken=agent_session.parts.taken, prover=agent_session.parts.prover)
    session = session.using(parts=parts)
    reply = session.call(tool, arguments(event.get("tool_input")))
    result = {
        "text": reply.text,
        "failed": reply.is_error,
        "line": status_line(session.state, held_up=session.held_up),
    }
    return f"{escape_json(codec.dump(result))}\n"
