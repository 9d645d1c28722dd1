"""A program and everything that it starts: frozen, continued and ended as a whole. Standard library only.

Theory of operation. A process that is to be ended may fork meanwhile, move to another session, or leave its parent. A
tree is held together by the strongest means that the system has and that `Containment` allows:

- `CGROUP`: a control group (version 2) of its own, frozen and killed by the kernel in one step.
- `TREE`: this process is made the parent of every orphan below it (`PR_SET_CHILD_SUBREAPER`). Every descendant is then
  found by going down from here, and none is left when this process has no children. Signals are sent to the process
  groups of the descendants: the kernel signals all members of a group in one step, which no fork escapes. What has
  moved to a new group is found in the next round.
- `GROUP`: the process group of the program, on systems other than Linux. What leaves the group is lost.

A process can have only one tree at a time.
"""

from __future__ import annotations

import os
import sys
import time

from tildone.agents.processes import PARENT, process_stat
from tildone.fleet.cgroup import Cgroup
from tildone.fleet.signals import signal
from tildone.fleet.starting import Program, adopt_orphans, start
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


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
        """The folder of the control group; empty if there is none."""
        return self._cgroup.folder if self._cgroup else ""

    def start(self, program: Program, output: int) -> int:
        """Start the program with both outputs to a file descriptor, and return its process id.

        Raises:
            StartFailed: it cannot be started.
        """
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
        """Let all processes continue."""
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
        """Kill all processes. Repeat it until the tree is empty."""
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
    """The process group of a process; 0 if it has ended."""
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
    """The children of all threads of a process."""
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
