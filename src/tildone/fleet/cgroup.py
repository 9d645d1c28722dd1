"""A control group (cgroup version 2) of Linux: processes that the kernel freezes and kills together.

A group is created inside the group of the calling process, if that folder is writable: it is for root, and for a person
to whom systemd has delegated it. It must be removed: the kernel keeps empty groups. Standard library only.
"""

from __future__ import annotations

import os

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

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
        """Move the calling process into the group.

        Raises:
            OSError: the kernel refuses.
        """
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
