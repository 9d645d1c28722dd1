"""What a command leaves out because it is damaged: it is named, and the exit code says that something is missing."""

from __future__ import annotations

from tildone.cli.output.screen import put_notice
from tildone.errors import StoreDamaged
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_NAMED = 10


def exit_code_for(left_out: Sequence[str]) -> int:
    """Name what was left out on standard error, and return the exit code."""
    if not left_out:
        return 0
    for what in left_out[:MAX_NAMED]:
        put_notice(f"tildone: left out: {printable(what)}")
    if len(left_out) > MAX_NAMED:
        put_notice(f"tildone: left out: {len(left_out) - MAX_NAMED:,} more")
    put_notice("tildone: to check the store: tildone doctor")
    return StoreDamaged.exit_code
