"""Hooks: what the host of a coding agent tells at its boundaries, and what it is answered.

A hook fails open. Whatever goes wrong, its exit code is 0, standard output holds an answer or nothing, standard error
one line at most, and all of it is over in a few seconds: a broken tildone lets the agent go.
"""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock, start_new_thread

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _thread import LockType
    from collections.abc import Sequence

SECONDS = 5.0
LONGEST = 300
OPTIONS = ("store", "session", "dialect")
AT_A_TERMINAL = "hook reads what the host of an agent says on standard input; see tildone hook --help"


def main(argv: Sequence[str]) -> int:
    """Answer the hook that these words name: the host, and its event unless the host says it."""
    over = allocate_lock()
    try:
        over.acquire()
        start_new_thread(_give_up, (over,))
        answered(argv)
    except BaseException as error:  # noqa: BLE001  whatever it is, the agent goes on
        _complain(error)
    finally:
        over.release()
    return 0


def answered(argv: Sequence[str]) -> None:
    """Read, answer, print; and raise what goes wrong."""
    # Each of these where it is needed: what is not loaded costs nothing.
    from tildone.agents.processes import agent_process  # noqa: PLC0415  see above
    from tildone.config import load, nearest  # noqa: PLC0415  see above
    from tildone.errors import UsageError  # noqa: PLC0415  see above
    from tildone.hooks.event import HookEvent, read  # noqa: PLC0415  see above
    from tildone.hooks.fast_path import settled  # noqa: PLC0415  see above
    from tildone.hooks.hosts import HOSTS  # noqa: PLC0415  see above

    words, flags = _typed(argv)
    name = words[0] if words else ""
    host = HOSTS.get(name)
    if host is None:
        raise UsageError(f"there are no hooks of {name!r}; {nearest(name, tuple(HOSTS))}")
    if os.isatty(0):
        raise UsageError(AT_A_TERMINAL)
    said = read(0)
    if said is None:
        return
    event = words[1] if len(words) > 1 else HookEvent(host, "", "", said, os.environ).text("event")
    moment = host.moments.get(event)
    if moment is None:
        return
    # On Windows a shell stands in between, and is another one each time.
    pid = 0 if sys.platform == "win32" else agent_process()
    heard = HookEvent(host, event, moment, said, os.environ)
    settings = load(flags, os.environ, heard.folder)
    if settled(heard, settings, pid):
        return
    # Late: this is most of what a hook costs that has something to say.
    from tildone.hooks.answers import answer  # noqa: PLC0415  see above

    _print(answer(heard, settings, pid))


def _typed(argv: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The words and the options of a command line, which is not worth loading more for."""
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
    left = text.encode("utf-8", "backslashreplace")
    while left:
        left = left[os.write(1, left) :]


def _give_up(over: LockType) -> None:
    """End the program, whatever it is doing, if it is not over in time."""
    if not over.acquire(timeout=SECONDS):
        _say(f"the hook took longer than {SECONDS:.0f} seconds")
        os._exit(0)


def _complain(error: BaseException) -> None:
    """One line, in which nothing can pass for another; for a bug, which kind of error it is as well."""
    try:
        from tildone.errors import TildoneError  # noqa: PLC0415  nothing but an error needs it
        from tildone.views.sanitize import printable  # noqa: PLC0415  the same

        known = isinstance(error, TildoneError | ValueError) and str(error)
        _say(printable(str(error) if known else f"{type(error).__name__}: {error}"))
    except BaseException:  # noqa: BLE001, S110  there is nobody left to tell
        pass


def _say(line: str) -> None:
    os.write(2, f"tildone: {line[:LONGEST]}; the agent goes on\n".encode("utf-8", "backslashreplace"))
