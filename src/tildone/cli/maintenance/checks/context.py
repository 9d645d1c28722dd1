"""What the checks of `tildone doctor` work on."""

from __future__ import annotations

from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tildone.cli.output.progress import ProgressLine
    from tildone.config import Settings


@value
class CheckContext:
    """The settings and the flags they may come from; `progress` is called as a check advances.

    `problems` are what is wrong with settings that are left out of `settings`. `agents` are the names of the coding
    agents to check; empty means all of them. With `fix`, a check mends what it can, instead of suggesting it.
    """

    settings: Settings
    flags: Mapping[str, str]
    folder: str
    progress: ProgressLine
    problems: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    fix: bool = False
