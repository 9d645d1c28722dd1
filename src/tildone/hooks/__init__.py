"""Hooks: the events that coding agents report to `tildone hook`, and the replies they get.

A hook fails open. Whatever goes wrong, the exit code is 0, standard output holds a complete reply or nothing, standard
error holds at most one line, and a watchdog ends the process after a few seconds: a broken tildone never blocks an
agent. Imports happen inside the guarded functions for the same reason, and because they take most of a hook's time:
an event loads only what it needs.
"""

from __future__ import annotations

import gc
import os
from _thread import allocate_lock, start_new_thread

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _thread import LockType
    from collections.abc import Sequence

    from tildone.integrations.record import Hooks, Integration

TIMEOUT_SECONDS = 5.0
MAX_ERROR_LENGTH = 300
OPTIONS = ("store", "session", "dialect")
AT_A_TERMINAL = "a hook reads the JSON that a coding agent sends on standard input; see tildone hook --help"


def main(argv: Sequence[str]) -> int:
    """Answer a hook. `argv` names the coding agent, and the event unless the JSON on standard input names it."""
    # Garbage collection takes up to a tenth of the time of a process this short, and frees nothing that matters.
    gc.disable()
    finished = allocate_lock()
    try:
        finished.acquire()
        start_new_thread(_watch, (finished,))
        run(argv)
    except BaseException as error:  # noqa: BLE001  whatever the error, the agent continues
        _report(error)
    finally:
        finished.release()
        gc.enable()
    return 0


def run(argv: Sequence[str]) -> None:
    """Read the event and print the reply. Errors propagate to `main`."""
    from tildone.config import load  # noqa: PLC0415  see the module's docstring
    from tildone.hooks.event import HookEvent, field_in, read  # noqa: PLC0415  the same
    from tildone.hooks.fast_path import try_fast_path  # noqa: PLC0415  the same
    from tildone.integrations.hook_protocol import PROBE  # noqa: PLC0415  the same

    words, flags = _parse(argv)
    integration, hooks = _integration(words[0] if words else "")
    payload = read(0)
    if payload is None:
        return
    name = words[1] if len(words) > 1 else field_in(payload, hooks, "event")
    point = hooks.points.get(name) if isinstance(name, str) else None
    if point is None:
        return
    event = HookEvent(integration, hooks, str(name), point, payload, os.environ)
    pid = event.process
    settings = load(flags, os.environ, event.folder)
    if PROBE in payload:
        from tildone.hooks.probe import probe_reply  # noqa: PLC0415  the same

        _print(probe_reply(settings))
    elif not try_fast_path(event, settings, pid):
        from tildone.hooks.answers import answer  # noqa: PLC0415  the same

        _print(answer(event, settings, pid))


def _integration(name: str) -> tuple[Integration, Hooks]:
    """Return the integration of that name, and its hooks.

    Raises:
        UsageError: there is no such integration, it has no hooks, or standard input is a terminal.
    """
    from tildone.errors import UsageError, nearest  # noqa: PLC0415  see the module's docstring
    from tildone.integrations import INTEGRATIONS, names_with_hooks  # noqa: PLC0415  the same

    if name in names_with_hooks():
        integration = INTEGRATIONS[name]
        if integration.hooks is not None:
            if os.isatty(0):
                raise UsageError(AT_A_TERMINAL)
            return integration, integration.hooks
    known = names_with_hooks()
    hint = nearest(name, known, f"known are {', '.join(known)}")
    raise UsageError(f"there are no hooks for {name!r}; {hint}")


def _parse(argv: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the positional arguments and the options, without the cost of importing the CLI's parser."""
    words, flags = list[str](), dict[str, str]()
    pending = iter(argv)
    for arg in pending:
        name, equals, given = arg.removeprefix("--").partition("=")
        if not arg.startswith("--"):
            words.append(arg)
        elif name in OPTIONS:
            flags[name] = given if equals else next(pending, "")
    return words, flags


def _print(text: str) -> None:
    remaining = text.encode("utf-8", "backslashreplace")
    while remaining:
        remaining = remaining[os.write(1, remaining) :]


def _watch(finished: LockType) -> None:
    """End the process, whatever it is doing, if it does not finish in time."""
    if not finished.acquire(timeout=TIMEOUT_SECONDS):
        _write_error(f"the hook took longer than {TIMEOUT_SECONDS:.0f} seconds")
        os._exit(0)


def _report(error: BaseException) -> None:
    """Write one line about an error, with its type if it is a bug, and with control characters escaped."""
    try:
        from tildone.errors import TildoneError  # noqa: PLC0415  only errors need it
        from tildone.views.sanitize import printable  # noqa: PLC0415  the same

        expected = isinstance(error, TildoneError | ValueError) and str(error)
        _write_error(printable(str(error) if expected else f"{type(error).__name__}: {error}"))
    except BaseException:  # noqa: BLE001, S110  there is no way left to report it
        pass


def _write_error(line: str) -> None:
    os.write(2, f"tildone: {line[:MAX_ERROR_LENGTH]}; the agent goes on\n".encode("utf-8", "backslashreplace"))
