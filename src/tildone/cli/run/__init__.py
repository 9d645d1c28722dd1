"""The parts of `tildone run`: its arguments, its setup and its output modes."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from tildone.base import Registry
from tildone.cli.run.setup import RunSetup

Mode = Callable[[RunSetup], Coroutine[Any, Any, int]]

MODES: Registry[Mode, str] = Registry(
    __name__,
    "run",
    {
        "terminal": "an interactive run",
        "headless:run_print_mode": "print the last answer",
        "headless:run_json_mode": "print every event as JSON",
    },
)
"""The modes that are part of the CLI. The mode `rpc` is `tildone.run.rpc`."""
