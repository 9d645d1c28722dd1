"""`tildone run`: let tildone's own agent work through a task or a plan; `tildone extensions` lists what can extend it.

A run ends in time, whatever its tools do. One that ignores its abort signal and its cancellation, or is busy in a
thread, is left behind, and the process ends without it.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any

from tildone.app.opening import dialect_name
from tildone.app.settings import Settings, data_folder
from tildone.base import replace, value
from tildone.base.ids import now
from tildone.cli import end_process
from tildone.cli.opening import open_to_read, settings_for, with_session, working_folder
from tildone.cli.output import max_columns, put, put_spans
from tildone.cli.output.prompts import put_data
from tildone.cli.run.modes import is_possible, run_in_full_screen, run_in_terminal, run_json_mode, run_print_mode
from tildone.cli.run.setup import RunSetup
from tildone.cli.table import ParsedArgs
from tildone.plan.model import Plan
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import Role, Span, wrap_text
from tildone.run import hosting
from tildone.run.host import Host
from tildone.run.rpc import run as run_rpc
from tildone.run.shell_model import ShellModel
from tildone.run.tools.permissions import PermissionPolicy
from tildone.stores.memory import MemoryStore

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


NONE = """\
There are no extensions. To add one:
  tildone run --extension FILE.py     for one run
  extensions = ["FILE.py"]            for every run, in config.toml
  pip install PACKAGE                 a package that provides one"""

INDENT = "    "
MIN_COLUMNS = 20


@value
class LoadedExtension:
    source: hosting.ExtensionSource
    tools: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    error: str = ""


def list_extensions(args: ParsedArgs) -> int:
    """Load each extension into a host that nobody talks to, and tell what came of it."""
    folder = working_folder()
    settings = settings_for(args)
    sources = hosting.extension_sources(
        settings,
        args.values("extension"),
        folder=folder,
        data=data_folder(os.environ),
        all_origins=not args.has("no-extensions"),
    )
    host = _host(args, settings, folder) if sources else None
    loaded = [_load(host, source) for source in sources] if host else []
    if args.has("json"):
        put_data(extensions=[_extension_data(each) for each in loaded])
    elif loaded:
        put_spans(line for each in loaded for line in _extension_lines(each))
    else:
        put(NONE)
    return 1 if any(each.error for each in loaded) else 0


def _host(args: ParsedArgs, settings: Settings, folder: str) -> Host:
    store = open_to_read(settings)
    dialect = dialect_name(with_session(args, settings, store), store) or hosting.DEFAULT_DIALECT
    return hosting.open_host(
        replace(settings, dialect=dialect),
        MemoryStore(),
        hosting.open_conversations(settings, folder, kept=False).new(),
        cwd=folder,
        model=ShellModel(Plan, now, frozenset),
        mode="print",
        policy=PermissionPolicy(()),
    )


def _load(host: Host, source: hosting.ExtensionSource) -> LoadedExtension:
    tools, commands = dict(host.tools), dict(host.commands)
    failures = host.load([(source.name, hosting.registration(source))])
    if failures:
        return LoadedExtension(source, error=failures[0].error)
    added = tuple(name for name, tool in host.tools.items() if tools.get(name) is not tool)
    return LoadedExtension(
        source,
        tools=added,
        replaced=tuple(name for name in added if name in tools),
        commands=tuple(name for name, command in host.commands.items() if commands.get(name) is not command),
    )


def _extension_data(loaded: LoadedExtension) -> dict[str, object]:
    source = loaded.source
    return {
        "name": source.name,
        "origin": source.origin,
        "named_by": source.named_by,
        "target": source.target,
        "function": source.function,
        "tools": list(loaded.tools),
        "replaced": list(loaded.replaced),
        "commands": list(loaded.commands),
        "error": loaded.error or None,
    }


def _extension_lines(loaded: LoadedExtension) -> list[tuple[Span, ...]]:
    """The extension and its origin; below, where it is and what it adds, or the error."""
    source = loaded.source
    sign, role = ("✗", Role.ERROR) if loaded.error else ("✓", Role.SUCCESS)
    heading = (Span(f"{sign} ", role), Span(source.name, bold=True), Span(f"  from {source.named_by}", Role.DIM))
    texts = [loaded.error] if loaded.error else [f"{source.target}:{source.function}", _additions(loaded)]
    room = max(MIN_COLUMNS, max_columns() - len(INDENT))
    return [heading, *((Span(f"{INDENT}{line}"),) for text in texts for line in wrap_text(printable(text), room))]


def _additions(loaded: LoadedExtension) -> str:
    tools = [f"{name} (replaces the one before)" if name in loaded.replaced else name for name in loaded.tools]
    parts = [f"tools: {', '.join(tools)}"] if tools else []
    parts += [f"commands: {', '.join(f'/{name}' for name in loaded.commands)}"] if loaded.commands else []
    return "; ".join(parts) or "no tools and no commands"
