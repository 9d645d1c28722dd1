"""A program and everything that it starts: frozen, continued and ended as a whole. Standard library only.

Theory of operation. A process that is to be ended may fork meanwhile, move to another session, or leave its parent. A
tree is held together by the strongest means that the system has and that `Containment` allows:

- `CGROUP`: a control group (version 2) of its own, frozen and killed by the kernel in one step. It is created inside
  the group of this process, if that folder is writable: for root, and for a person to whom systemd has delegated it.
- `TREE`: this process is made the parent of every orphan below it (`PR_SET_CHILD_SUBREAPER`). Every descendant is then
  found by going down from here, and none is left when this process has no children. Signals are sent to the process
  groups of the descendants: the kernel signals all members of a group in one step, which no fork escapes. What has
  moved to a new group is found in the next round.
- `GROUP`: the process group of the program, on systems other than Linux. What leaves the group is lost.

The program dies with this process: the kernel kills it when the thread that started it ends (`PR_SET_PDEATHSIG`), so
this must be the only thread. A process can have only one tree at a time.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time

from tildone.base import TYPE_CHECKING, value
from tildone.stores.agents import PARENT, process_stat

if TYPE_CHECKING:
    import signal as signal  # noqa: PLC0414  the supervisor takes it from here
    from collections.abc import Iterator
    from typing import NoReturn, Self
else:
    try:
        import _signal as signal  # without enums, whose import takes longer
    except ImportError:
        import signal

_NEEDED = ("cgroup.procs", "cgroup.freeze", "cgroup.kill")
_MOUNTS, _OWN = "/proc/self/mounts", "/proc/self/cgroup"
_ESCAPES = (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\"))
"""How `/proc/self/mounts` writes the separators in a path."""


class Cgroup:
    """The control group with this folder. Its processes may move on to groups inside it: these count, too."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    @classmethod
    def create(cls) -> Self | None:
        """Create a group for a tree of this process; None if the system or the permissions do not allow it."""
        try:
            above = _own_folder()
            if not above:
                return None
            group = cls(os.path.join(above, f"tildone-{os.getpid()}"))
            # It may have been left by a process that was killed and had the same id.
            group.remove()
            os.mkdir(group.folder)
        except OSError:
            return None
        if all(os.access(os.path.join(group.folder, name), os.W_OK) for name in _NEEDED):
            return group
        group.remove()
        return None

    def enter(self) -> None:
        """Move the calling process into the group. Raises OSError if the kernel refuses."""
        self._write("cgroup.procs", b"0")

    def freeze(self, *, frozen: bool) -> None:
        """Stop the processes of the group, or let them continue. What they start meanwhile is frozen, too."""
        self._write("cgroup.freeze", b"1" if frozen else b"0")

    def kill(self) -> None:
        """Kill all processes of the group, frozen or not."""
        self._write("cgroup.kill", b"1")

    def remove(self) -> bool:
        """Remove the group with the groups inside it, and return whether it is gone; False if a process is left."""
        try:
            for folder, _, _ in os.walk(self.folder, topdown=False):
                os.rmdir(folder)
        except OSError:
            return False
        return True

    def _write(self, name: str, text: bytes) -> None:
        file = os.open(os.path.join(self.folder, name), os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(file, text)
        finally:
            os.close(file)


def _own_folder() -> str:
    """The folder of the group of this process; empty if the hierarchy is not mounted or begins below it."""
    own = next((line[3:] for line in _lines(_OWN) if line.startswith("0::/")), "")
    mounts = (line.split(" ") for line in _lines(_MOUNTS))
    root = next((fields[1] for fields in mounts if fields[2] == "cgroup2"), "")
    for escaped, character in _ESCAPES:
        root = root.replace(escaped, character)
    return os.path.join(root, own.lstrip("/")) if root and own and ".." not in own.split("/") else ""


def _lines(path: str) -> list[str]:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read().splitlines()


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
    Linux the program is killed when this process dies. Raises StartFailed if it cannot be started.
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


class Containment:
    """The means that hold a process tree together, strongest first. Not an `Enum`: importing `enum` is slow."""

    CGROUP = "cgroup"
    TREE = "tree"
    GROUP = "group"


def boot_seconds() -> float:
    """Return the time since the machine was started, in seconds, including the time that it slept."""
    # On macOS, `CLOCK_MONOTONIC` includes it.
    return time.clock_gettime(time.CLOCK_BOOTTIME if sys.platform == "linux" else time.CLOCK_MONOTONIC)


class ContainedTree:
    """A program in a session of its own, and everything below it. `status` is its wait status, None until it ends."""

    def __init__(self, containment: str) -> None:
        self.status: int | None = None
        self._root = 0
        self._follows = sys.platform == "linux" and containment != Containment.GROUP
        self._cgroup = Cgroup.create() if self._follows and containment == Containment.CGROUP else None
        if self._follows:
            adopt_orphans()

    @property
    def cgroup(self) -> str:
        return self._cgroup.folder if self._cgroup else ""

    def start(self, program: Program, output: int) -> int:
        """Start the program with both outputs to a descriptor; return its process id. Raises StartFailed."""
        self._root, contained = start(program, output, self._cgroup)
        if not contained:
            self.remove()
        return self._root

    def freeze(self) -> None:
        """Stop all processes. Repeat it: a process that has just been started may be missed."""
        if self._cgroup:
            self._cgroup.freeze(frozen=True)
        else:
            self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        if self._cgroup:
            self._cgroup.freeze(frozen=False)
        else:
            self._signal(signal.SIGCONT)

    def terminate(self) -> None:
        """Ask all processes to end, also those that are stopped."""
        self._signal(signal.SIGTERM)
        self._signal(signal.SIGCONT)
        if self._cgroup:
            self._cgroup.freeze(frozen=False)

    def kill(self) -> None:
        if self._cgroup:
            self._cgroup.kill()
        self._signal(signal.SIGKILL)

    def is_empty(self) -> bool:
        """Collect the processes that have ended, and return whether none is left."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return False
                if pid == self._root:
                    self.status = status
        except ChildProcessError:
            return self._follows or not self._group_exists()

    def remove(self) -> None:
        """Remove the control group. The tree must be empty."""
        if self._cgroup:
            self._cgroup.remove()
        self._cgroup = None

    def _signal(self, number: int) -> None:
        """Send a signal to the group of every process, as soon as it is found."""
        signalled = {os.getpgrp()}
        for group in self._groups():
            if group not in signalled:
                signalled.add(group)
                _send(group, number)

    def _groups(self) -> Iterator[int]:
        if not self._follows:
            yield from [self._root] if self._root else []
            return
        for pid in descendants(os.getpid()):
            if group := _group_of(pid):
                yield group

    def _group_exists(self) -> bool:
        return bool(self._root) and _send(self._root, 0)


def _send(group: int, number: int) -> bool:
    """Send a signal to a process group, and return whether the group exists."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        # It belongs to another user.
        return True
    return True


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def descendants(root: int) -> Iterator[int]:
    """Yield the processes below a process, parents before their children, as they are when they are looked at."""
    if not os.path.exists(f"/proc/{root}/task/{root}/children"):
        yield from _descendants_in_table(root)
        return
    waiting = [root]
    while waiting:
        for child in _children(waiting.pop()):
            yield child
            waiting.append(child)


def _children(pid: int) -> list[int]:
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    return [int(child) for task in tasks for child in _content(f"/proc/{pid}/task/{task}/children").split()]


def _descendants_in_table(root: int) -> Iterator[int]:
    """The same for kernels that do not list children (`CONFIG_PROC_CHILDREN`): it reads all processes."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (fields := process_stat(int(entry))[1]):
            children.setdefault(int(fields[PARENT]), []).append(int(entry))
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        yield from below
        waiting += below


def _content(path: str) -> bytes:
    """The content of a file; empty if its process has ended."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
