"""Match paths with globs as git does: `*` and `?` stay within a folder, `**` does not."""

from __future__ import annotations

import re

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def pattern(glob: str) -> re.Pattern[str]:
    """Return a glob as a regular expression for whole paths, with slashes."""
    return re.compile(_expression(glob))


def matches(path: str, globs: Iterable[str]) -> bool:
    """Return whether a path, with slashes, matches one of the globs."""
    return any(re.fullmatch(_expression(glob), path) for glob in globs)


def _expression(glob: str) -> str:
    parts: list[str] = []
    at = 0
    while at < len(glob):
        end = glob.find("]", at + 2) if glob[at] == "[" else -1
        if glob.startswith("**/", at):
            parts.append("(?:.*/)?")
            at += 3
        elif glob.startswith("**", at):
            parts.append(".*")
            at += 2
        elif end > 0:
            inner = glob[at + 1 : end].replace("\\", "\\\\").replace("!", "^", 1)
            parts.append(f"[{inner}]")
            at = end + 1
        else:
            parts.append({"*": "[^/]*", "?": "[^/]"}.get(glob[at], re.escape(glob[at])))
            at += 1
    return "".join(parts)
