"""`tildone call`: call a tool as a model would, and print what the model would receive."""

from __future__ import annotations

import sys

from tildone.app.opening import agent_here, open_session
from tildone.base import TYPE_CHECKING, Refused, UsageError
from tildone.base.files import STREAM
from tildone.cli.opening import settings_for
from tildone.cli.output import put_json, put_raw
from tildone.cli.output.prompts import standard_input
from tildone.cli.table import ParsedArgs
from tildone.plan import codec
from tildone.plan.dialects import DIALECTS, dialect_named, dialect_of_tool, tools_of
from tildone.plan.events import Author

if TYPE_CHECKING:
    from tildone.plan.dialects import Dialect


def run(args: ParsedArgs) -> int:
    settings = settings_for(args)
    dialect = _dialect(args.positional[0], args.options.get("dialect"))
    arguments = args.positional[1] if len(args.positional) > 1 else None
    session = open_session(settings, dialect, agent=lambda: Author(agent=agent_here(settings)))
    reply = session.call(args.positional[0], _arguments(arguments))
    if args.has("json"):
        content = [{"type": "text", "text": reply.text}]
        put_json(codec.dump({"content": content, "details": reply.details, "isError": reply.is_error}))
    else:
        put_raw(reply.text)
    return Refused.exit_code if reply.failed else 0


def _dialect(tool: str, wanted: str | None) -> Dialect:
    if wanted:
        dialect = dialect_named(wanted)
        if dialect.tool(tool) is None:
            raise UsageError(f"{wanted} has no tool {tool!r}; its tools are {', '.join(tools_of(wanted))}")
        return dialect
    name = dialect_of_tool(tool)
    if name is None:
        known = ", ".join(f"{' '.join(tools_of(name))} ({name})" for name in DIALECTS)
        raise UsageError(f"there is no tool {tool!r}; tools are {known}")
    return dialect_named(name)


def _arguments(given: str | None) -> str:
    """The JSON of the command line or of standard input; without both, at a terminal, no arguments."""
    if given is not None and given != STREAM:
        return given
    if given is None and sys.stdin.isatty():
        return "{}"
    return standard_input().strip() or "{}"
