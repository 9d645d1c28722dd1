"""What hooks remember about a conversation apart from the store: small files in a folder for temporary ones.

These facts are needed when the store or the whole data folder cannot be used, so they are not kept there. The first
folder that can be written is used: `$XDG_RUNTIME_DIR`, the folder for temporary files, or shared memory, which are
rarely all full at once. They are lost at a restart of the machine, which ends every conversation.
"""

from __future__ import annotations

import os
import stat

from tildone.agents.identity import digest
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tildone.agents.identity import AgentId

VARIABLES = ("XDG_RUNTIME_DIR", "TMPDIR", "TEMP")
FOLDERS = ("/tmp", "/dev/shm")  # noqa: S108  files are created exclusively, in a folder of the user
MAX_BYTES = 10_000


class Remembered:
    """The facts about the conversation of one agent, by name."""

    def __init__(self, environ: Mapping[str, str], agent_id: AgentId) -> None:
        self._environ = environ
        self._key = digest(str(agent_id))

    def is_new(self, name: str) -> bool | None:
        """Remember a fact; return whether it was unknown. None means that it cannot be remembered."""
        if self.knows(name):
            return False
        return True if self._create(name, b"") else None

    def knows(self, name: str) -> bool:
        """Return whether a fact is remembered."""
        return any(os.path.exists(path) for path in self._paths(name))

    def leave(self, name: str, text: str) -> None:
        """Remember a text under a name, unless there is one already or nothing can be written."""
        if not self.knows(name):
            self._create(name, text.encode("utf-8", "backslashreplace")[:MAX_BYTES])

    def take(self, name: str) -> str:
        """Return the text under a name and forget it; empty if there is none."""
        for path in self._paths(name):
            try:
                with open(path, encoding="utf-8", errors="replace") as file:
                    text = file.read(MAX_BYTES)
                os.remove(path)
            except OSError:
                continue
            return text
        return ""

    def _create(self, name: str, content: bytes) -> bool:
        # Late, because most hooks only look.
        from tildone.files.private import make_private_folder, open_private  # noqa: PLC0415  see above

        for path in self._paths(name):
            try:
                make_private_folder(os.path.dirname(path))
                file = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            except OSError:
                continue
            try:
                if os.write(file, content) == len(content):
                    return True
            except OSError:
                os.remove(path)
            finally:
                os.close(file)
        return False

    def _paths(self, name: str) -> Iterator[str]:
        user = os.getuid() if hasattr(os, "getuid") else 0
        for folder in (*map(self._environ.get, VARIABLES), *FOLDERS):
            if folder and os.path.isdir(folder):
                own = os.path.join(folder, f"tildone-{user}")
                if _is_usable(own, user):
                    yield os.path.join(own, f"{self._key}.{name}")


def _is_usable(folder: str, user: int) -> bool:
    """Return whether a folder belongs to the user or does not exist: others may create one of that name first."""
    try:
        found = os.lstat(folder)
    except OSError:
        return True
    return stat.S_ISDIR(found.st_mode) and found.st_uid == user
