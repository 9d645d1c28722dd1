"""The parts of `tildone run`: its arguments, its setup and its output modes."""

from __future__ import annotations

from tildone.registry import Registry
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from tildone.cli.run.setup import RunSetup

    Mode = Callable[[RunSetup], Coroutine[Any, Any, int]]

MODES: Registry[Mode, str] = Registry(
    __name__,
    "run",
    {
        "terminal": "an interactive run",
        "print_mode": "print the last answer",
        "json_mode": "print every event as JSON",
    },
)
"""The modes that are part of the CLI. The mode `rpc` is `tildone.rpc`."""
