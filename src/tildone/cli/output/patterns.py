"""What a person is told about patterns for commands that allow more than they look like."""

from __future__ import annotations

import sys

from tildone.cli.output.screen import on_terminal, put_notice
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def tell_reach(source: str, patterns: Iterable[str], tell: Callable[[str], object] = put_notice) -> None:
    """Tell a line for each pattern that allows more than it looks like. `source` is the option or setting.

    That `*` allows everything is said only at a terminal: a script that gives it was written by someone who knows.
    """
    given = [pattern for pattern in dict.fromkeys(patterns) if pattern != "*" or on_terminal(sys.stderr)]
    if not given:
        return
    # Late, because few commands give patterns.
    from tildone.core.shell.reach import told  # noqa: PLC0415  see above
    from tildone.views.sanitize import printable  # noqa: PLC0415  see above

    for line in filter(None, (told(source, pattern) for pattern in given)):
        tell(f"tildone: {printable(line)}")
