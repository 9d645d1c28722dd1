"""Start a program as a child that dies with its parent. Standard library only; for processes with a single thread.

The kernel kills the child when the thread that started it ends (`PR_SET_PDEATHSIG`), so this must be the only thread.
"""

from __future__ import annotations

import os
import sys

from tildone.fleet.signals import signal
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from typing import NoReturn

    from tildone.fleet.cgroup import Cgroup

_SET_PARENT_DEATH_SIGNAL, _SET_CHILD_SUBREAPER = 1, 36
"""Options of prctl(2)."""

_NOT_CONTAINED = b"\0"
"""What a child reports if it cannot enter its control group. The rest of a report says why it was not started."""

_NOT_STARTED = 127


class StartFailed(Exception):
    """A program cannot be started. The text says why."""


@value
class Program:
    """What is started: a program with its arguments, the folder it runs in, and its environment."""

    arguments: list[bytes]
    folder: bytes
    environ: dict[bytes, bytes]


def start(program: Program, output: int, cgroup: Cgroup | None) -> tuple[int, bool]:
    """Start a program in a session of its own; return its process id, and whether it has entered the control group.

    Standard input is empty, and both outputs go to the file descriptor `output`. No signal is ignored or blocked. On
    Linux the program is killed when this process dies.

    Raises:
        StartFailed: it cannot be started.
    """
    reading, writing = os.pipe()
    parent = os.getpid()
    try:
        pid = os.fork()
    except OSError as error:
        os.close(reading)
        os.close(writing)
        raise StartFailed(f"no process can be created: {error.strerror}") from error
    if not pid:
        _execute(program, (output, writing), parent, cgroup)
    os.close(writing)
    report = _read_to_end(reading)
    if reason := report.removeprefix(_NOT_CONTAINED):
        os.waitpid(pid, 0)
        raise StartFailed(reason.decode("utf-8", "replace"))
    return pid, cgroup is not None and not report


def adopt_orphans() -> None:
    """Make this process the parent of its descendants whose own parents have ended. Linux only."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def _execute(program: Program, ends: tuple[int, int], parent: int, cgroup: Cgroup | None) -> NoReturn:
    """Become the program, in a child process; report to the parent if that fails."""
    output, report = ends
    try:
        os.setsid()
        _die_with(parent)
        if cgroup:
            try:
                cgroup.enter()
            except OSError:
                os.write(report, _NOT_CONTAINED)
        _reset_signals()
        for source, target in ((os.open(os.devnull, os.O_RDONLY), 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        os.write(report, _become(program))
    except OSError as error:
        os.write(report, os.fsencode(str(error)))
    finally:
        os._exit(_NOT_STARTED)


def _become(program: Program) -> bytes:
    """Replace this process with a program; return why that is not possible."""
    try:
        os.chdir(program.folder)
    except OSError as error:
        return b"the folder " + program.folder + b" cannot be entered: " + os.fsencode(error.strerror or "")
    name = program.arguments[0]
    try:
        os.execvpe(name, program.arguments, program.environ)  # noqa: S606  whoever runs a fleet chooses the program
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return b"the program " + name + b" cannot be started: " + os.fsencode(reason)


def _die_with(parent: int) -> None:
    """Have the kernel kill this process when the process `parent` dies, which has started it."""
    if sys.platform != "linux":
        return
    _prctl(_SET_PARENT_DEATH_SIGNAL, int(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(_NOT_STARTED)


def _reset_signals() -> None:
    """Undo what a program would inherit: signals that are ignored or blocked. Python itself ignores two."""
    for number in signal.valid_signals():
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _prctl(option: int, argument: int) -> None:
    # Late, because it is slow to import and only Linux has this call.
    import ctypes  # noqa: PLC0415  see above

    if ctypes.CDLL(None, use_errno=True).prctl(option, argument, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl failed")


def _read_to_end(pipe: int) -> bytes:
    try:
        read = b""
        while chunk := os.read(pipe, 4096):
            read += chunk
        return read
    finally:
        os.close(pipe)
