"""Hooks: the events that coding agents report to `tildone hook`, and the replies they get.

A hook fails open. Whatever goes wrong, the exit code is 0, standard output holds a complete reply or nothing, standard
error holds at most one line, and a watchdog ends the process after a few seconds: a broken tildone never blocks an
agent. The person is told once (`tildone.agents.hooks.reply`). Imports happen inside the guarded functions for the same
reason, and because they take most of a hook's time: an event loads only what it needs.

There are two exceptions from the exit code. Some agents show the person what a hook wrote to standard error if it ends
with an exit code of its own (`Hooks.warnings_at`): so they are given notices. And at the end of a session, which no
hook can delay, where the agent prints what a failed hook wrote, and nothing else, a notice that was shown nowhere is
given there.
"""

from __future__ import annotations

import gc
import os
from _thread import LockType, allocate_lock, start_new_thread

from tildone.base import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tildone.agents.hooks.event import HookEvent
    from tildone.agents.integrations import Hooks, Integration

TIMEOUT_SECONDS = 5.0
RESERVED_SECONDS = 0.5
"""How long before the agent's own time limit a hook ends."""

WARNING_EXIT_CODE = 2
"""With which some agents show the person what a hook wrote to standard error."""

MAX_ERROR_LENGTH = 300
OPTIONS = ("store", "session", "dialect")
AT_A_TERMINAL = "a hook reads the JSON that a coding agent sends on standard input; see tildone hook --help"


class HookRun:
    """One run of a hook: the event, as soon as it is known, and whether a reply has been printed."""

    def __init__(self) -> None:
        self.event: HookEvent | None = None
        self.pid = 0
        self.has_printed = False
        self.exit_code = 0
        self.finished = allocate_lock()
        self.finished.acquire()

    def print(self, text: str, warning: str = "") -> None:
        """Write a reply to standard output, and a warning to standard error."""
        if warning:
            self.has_printed = True
            self.exit_code = WARNING_EXIT_CODE
            os.write(2, warning.encode("utf-8", "backslashreplace"))
        remaining = text.encode("utf-8", "backslashreplace")
        while remaining:
            self.has_printed = True
            remaining = remaining[os.write(1, remaining) :]

    def watch(self, seconds: float) -> None:
        """End the process, whatever it is doing, if it has not finished after that time."""
        start_new_thread(_watch, (self.finished, seconds))


def main(argv: Sequence[str]) -> int:
    """Answer a hook. `argv` names the coding agent, and the event unless the JSON on standard input names it."""
    # Garbage collection takes up to a tenth of the time of a process this short, and frees nothing that matters.
    gc.disable()
    hook = HookRun()
    try:
        hook.watch(TIMEOUT_SECONDS)
        run(argv, hook)
    except BaseException as error:  # noqa: BLE001  whatever the error, the agent continues
        _report(error, hook)
    finally:
        hook.finished.release()
        gc.enable()
    return _end_with_notice(hook)


def run(argv: Sequence[str], hook: HookRun) -> None:
    """Read the event and print the reply. Errors propagate to `main`."""
    from tildone.agents.hooks.event import HookEvent, field_in, read
    from tildone.agents.hooks.fast_path import try_fast_path
    from tildone.agents.integrations import PROBE, HookPoint
    from tildone.app.settings import load, load_valid

    words, flags = _parse(argv)
    integration, hooks = _integration(words[0] if words else "")
    payload = read(0)
    if payload is None or _is_run_by_another(integration.name, payload):
        return
    name = words[1] if len(words) > 1 else field_in(payload, hooks, "event")
    point = hooks.points.get(name) if isinstance(name, str) else None
    if point is None:
        return
    if name in hooks.time_limits:
        hook.watch(hooks.time_limits[str(name)] - RESERVED_SECONDS)
    event = HookEvent(integration, hooks, str(name), point, payload, os.environ)
    if PROBE in payload:
        from tildone.agents.hooks.without_session import probe_reply

        hook.print(probe_reply(load(flags, os.environ, event.folder)))
        return
    hook.event, hook.pid = event, event.process
    if point is HookPoint.OFFER_TOOLS:
        # The tools are offered all the same: a call tells the model what is wrong with the settings.
        settings, _ = load_valid(flags, os.environ, event.folder)
    else:
        settings = load(flags, os.environ, event.folder)
    if "TILDONE_LEASE" in os.environ:
        from tildone.agents.hooks.lease import check_lease, note_transcript

        note_transcript(event)
        check_lease(event, settings)
    if not try_fast_path(event, settings, hook.pid):
        from tildone.agents.hooks.answers import answer

        answer(event, settings, hook.pid, hook.print)
    if settings.untrusted and not hook.has_printed:
        from tildone.agents.hooks.reply import notice_once

        hook.print(*notice_once(event, hook.pid, f"tildone: {settings.trust_notice}"))


def _integration(name: str) -> tuple[Integration, Hooks]:
    """Return the integration of that name, and its hooks."""
    from tildone.agents.integrations import INTEGRATIONS, names_with_hooks
    from tildone.base import UsageError, nearest

    known = names_with_hooks()
    if name not in known or (hooks := INTEGRATIONS[name].hooks) is None:
        hint = nearest(name, known, f"known are {', '.join(known)}")
        raise UsageError(f"there are no hooks for {name!r}; {hint}")
    if os.isatty(0):
        raise UsageError(AT_A_TERMINAL)
    return INTEGRATIONS[name], hooks


def _is_run_by_another(name: str, payload: Mapping[str, Any]) -> bool:
    """Return whether a coding agent runs the hook of another one, which it found in the settings of that.

    It has hooks of its own, or is not to be held: two hooks would take one conversation for two agents.
    """
    from tildone.agents.integrations import PROBE
    from tildone.stores.agents import KNOWN

    marks = (known.hook_mark for other, known in KNOWN.items() if other != name and known.hook_mark)
    return PROBE not in payload and any(os.environ.get(mark) for mark in marks)


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


def _watch(finished: LockType, seconds: float) -> None:
    """End the process if it does not finish in time. There may be several watchdogs."""
    if finished.acquire(timeout=seconds):
        finished.release()
        return
    _write_error(f"the hook took longer than {seconds:.3g} seconds")
    os._exit(0)


def _report(error: BaseException, hook: HookRun) -> None:
    """Write one line about an error, with its type if it is a bug, and tell the person if the agent can."""
    try:
        from tildone.app.held_marks import PlanLost
        from tildone.base import RunFenced, TildoneError
        from tildone.plan.text.safe import printable

        event = hook.event
        if isinstance(error, RunFenced) and event is not None:
            from tildone.agents.hooks.lease import fenced_reply

            if not hook.has_printed:
                hook.print(*fenced_reply(event, hook.pid))
            return
        expected = isinstance(error, TildoneError | ValueError) and str(error)
        problem = printable(str(error) if expected else f"{type(error).__name__}: {error}")[:MAX_ERROR_LENGTH]
        # Where the agent shows standard error, the person would be told at every event.
        if event is None or not (event.hooks.shows_stderr or event.ends_unattended or event.can_warn):
            _write_error(problem)
        if isinstance(error, PlanLost) and event is not None:
            from tildone.agents.hooks.fast_path import loss_reply

            hook.print(*loss_reply(event, hook.pid, str(error)))
        elif event is not None and not hook.has_printed:
            from tildone.agents.hooks.reply import trouble_reply

            hook.print(*trouble_reply(event, hook.pid, problem))
    except BaseException:  # noqa: BLE001, S110  there is no way left to report it
        pass


def _end_with_notice(hook: HookRun) -> int:
    """Print the notice that was kept until now, if there is one and nothing else to say; return the exit code."""
    event = hook.event
    if event is None or not (event.ends_unattended or (event.point in event.hooks.notices_at and not hook.has_printed)):
        return hook.exit_code
    try:
        from tildone.agents.hooks.event import postponed_notice

        notice = postponed_notice(event, hook.pid)
        if notice and event.ends_unattended:
            os.write(2, f"{notice}\n".encode("utf-8", "backslashreplace"))
            return WARNING_EXIT_CODE
        if notice:
            from tildone.agents.hooks.reply import HookReply, rendered
            from tildone.agents.integrations import ReplyKind

            hook.print(*rendered(event, HookReply(ReplyKind.NOTIFY, notice)))
    except BaseException:  # noqa: BLE001, S110  there is no way left to report it
        pass
    return 0


def _write_error(line: str) -> None:
    os.write(2, f"tildone: {line[:MAX_ERROR_LENGTH]}; the agent goes on\n".encode("utf-8", "backslashreplace"))
