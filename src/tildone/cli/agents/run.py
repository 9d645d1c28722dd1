"""`tildone run`: let tildone's own agent work through a task or a plan.

A run ends in time, whatever its tools do. One that ignores its abort signal and its cancellation, or is busy in a
thread, is left behind, and the process ends without it.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any

from tildone.cli import end_process
from tildone.cli.run.modes import is_possible, run_in_full_screen, run_in_terminal, run_json_mode, run_print_mode
from tildone.cli.run.setup import RunSetup
from tildone.cli.table import ParsedArgs
from tildone.run.rpc import run as run_rpc

END_SECONDS = 1.0
"""How long tasks, and then threads, may take to end once the run is over."""

IN_LOOP = "tildone-loop"
"""The beginning of the names of the threads that the event loop has started for tools and others."""


def run(args: ParsedArgs) -> int:
    """Run the agent until it ends; the exit code tells whether the work was completed."""
    setup = RunSetup(args)
    try:
        if is_possible(args, setup):
            code, ended = _completed(run_in_full_screen(setup), own_threads=True)
        else:
            setup.prepare()
            code, ended = _completed(_mode(setup.mode)(setup), own_threads=False)
    finally:
        if setup.traces:
            setup.traces.close()
    if not ended:
        end_process(code)
    return code


def _completed(work: Coroutine[Any, Any, int], *, own_threads: bool) -> tuple[int, bool]:
    """Run a mode like `asyncio.run`; return its exit code, and whether every task and thread of it has ended.

    A mode with threads of its own, which may write to the store, leaves behind only those of the event loop.
    """
    before = threading.enumerate()
    runner, executor = asyncio.Runner(), ThreadPoolExecutor(thread_name_prefix=IN_LOOP)
    runner.get_loop().set_default_executor(executor)
    ended = False
    try:
        code = runner.run(work)
    finally:
        left = runner.run(_cancel_tasks())
        executor.shutdown(wait=False, cancel_futures=True)
        begun = [thread for thread in threading.enumerate() if thread not in before and not thread.daemon]
        ended = not left and _join([thread for thread in begun if not own_threads or thread.name.startswith(IN_LOOP)])
        if ended:
            runner.close()
    return code, ended


async def _cancel_tasks() -> bool:
    """Cancel all tasks, and return whether some have not ended in time."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    return bool(others and (await asyncio.wait(others, timeout=END_SECONDS))[1])


def _join(threads: Sequence[threading.Thread]) -> bool:
    """Wait for threads, and return whether they have ended in time."""
    until = monotonic() + END_SECONDS
    for thread in threads:
        thread.join(max(0.0, until - monotonic()))
    return not any(thread.is_alive() for thread in threads)


def _mode(name: str) -> Callable[[RunSetup], Coroutine[Any, Any, int]]:
    if name == "rpc":
        return lambda setup: run_rpc(setup.conversations, setup.open)
    return {"print": run_print_mode, "json": run_json_mode}.get(name, run_in_terminal)
