"""`tildone run`: an agent of our own that works through a task or a plan."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Coroutine
from typing import Any

from tildone.cli.parsing.args import Typed
from tildone.cli.run.arguments import parse_arguments
from tildone.cli.run.setup import RunSetup

MODES = {
    "terminal": "tildone.cli.run.terminal",
    "print": "tildone.cli.run.print_mode",
    "json": "tildone.cli.run.json_mode",
    "rpc": "tildone.rpc.run",
}
"""Where each mode is, as a name: one of them is a shell of its own, and shells do not import each other."""


def run(typed: Typed) -> int:
    """Run the agent until it is done; the exit code says whether it was."""
    order = parse_arguments(typed)
    mode: Callable[[RunSetup], Coroutine[Any, Any, int]] = importlib.import_module(MODES[order.mode]).run
    return asyncio.run(mode(RunSetup(order)))
