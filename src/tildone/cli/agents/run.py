"""`tildone run`: let tildone's own agent work through a task or a plan."""

from __future__ import annotations

import asyncio

from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.run import MODES, full_screen
from tildone.cli.run.setup import RunSetup
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.cli.run import Mode


def run(args: ParsedArgs) -> int:
    """Run the agent until it ends; the exit code tells whether the work was completed."""
    setup = RunSetup(args)
    try:
        if full_screen.is_possible(args, setup):
            return asyncio.run(full_screen.run(setup))
        setup.prepare()
        return asyncio.run(_mode(setup.mode)(setup))
    finally:
        if setup.traces:
            setup.traces.close()


def _mode(name: str) -> Mode:
    if name == "rpc":
        # The other modes start without the RPC server.
        from tildone.rpc.run import run as run_rpc  # noqa: PLC0415  see above

        return run_rpc
    return MODES[name if name == "terminal" else f"{name}_mode"]
