"""What an agent is doing, in one short line: the tool that it uses, and on what."""

from __future__ import annotations

from tildone.views.sanitize import printable, single_line

MAX_DOING = 120
MAX_READ = 1000
"""How much of a text is sanitized, so that a long command costs nothing."""

TELLING = ("command", "cmd", "file_path", "path", "pattern", "query", "url", "description", "prompt")
"""The names of arguments that tell the most, the best first."""


def doing(tool: str, arguments: object = None) -> str:
    """Return a tool call as one printable line, such as `bash: pytest -q`, cut to its beginning."""
    detail = _detail(arguments) if isinstance(arguments, dict) else ""
    line = printable(single_line(f"{tool}: {detail}" if detail else tool))
    return line if len(line) <= MAX_DOING else f"{line[: MAX_DOING - 1]}…"


def _detail(arguments: dict[object, object]) -> str:
    named = (arguments.get(name) for name in TELLING)
    found = (each for each in (*named, *arguments.values()) if isinstance(each, str) and each.strip())
    return next(found, "").strip()[:MAX_READ]
