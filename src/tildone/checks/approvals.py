"""Which commands a person has approved as checks: by typing them, by approving them, or in the list of their settings.

Approvals belong to a person on one machine, not to a plan: a plan that somebody else wrote, or that a model changed,
brings none with it. Each is a file whose name is a hash of the project and of the command as it is run; its content is
for people, except for the PATH of the person who approved it. Files are only ever created or removed, so several
processes can do it at once.
"""

from __future__ import annotations

import os
from enum import Enum

from tildone.agents.identity import digest
from tildone.core.check import leaves_tree
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.core.check import Check


_PATH = "PATH="


class Consent(Enum):
    """What a person says to a check that was only proposed: run it never, this time, or whenever it is needed."""

    NO = "no"
    ONCE = "once"
    ALWAYS = "always"


class Approvals:
    """The approved checks in a project. `folder` is where they are kept, `allowed` the patterns of the settings.

    Without a folder, as in a store in memory, only the patterns count.
    """

    def __init__(self, folder: str, project: str, allowed: Sequence[str] = ()) -> None:
        self._folder = folder
        self._project = os.path.realpath(project)
        self._allowed = tuple(allowed)

    def is_allowed(self, check: Check) -> bool:
        """Return whether the check may be run."""
        return (self._folder != "" and os.path.exists(self._path(check))) or self._is_listed(check)

    def approve(self, check: Check) -> None:
        """Record that a person has approved the check.

        Raises:
            OSError: it cannot be recorded.
        """
        if not self._folder:
            raise OSError("there is no folder for approvals")
        from tildone.files.private import REPLACED, make_private_folder, open_private  # noqa: PLC0415  reading needs none

        make_private_folder(self._folder)
        file_number = open_private(self._path(check), REPLACED)
        with os.fdopen(file_number, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write("\n".join((self._project, check.folder, *check.command, f"{_PATH}{os.environ.get('PATH', '')}")))

    def search_path(self, check: Check, current: str) -> str:
        """Return the PATH that the program of a check is looked for in: that of the approval.

        A check that is approved by a pattern, or by an earlier version, has the current one, without what is in the
        working tree or relative to it: an agent can write there.
        """
        try:
            with open(self._path(check), encoding="utf-8", errors="surrogateescape") as file:
                last = file.read().rpartition("\n")[2]
        except OSError:
            last = ""
        if last.startswith(_PATH):
            return last.removeprefix(_PATH)
        outside = (
            folder for folder in current.split(os.pathsep) if os.path.isabs(folder) and not self._is_inside(folder)
        )
        return os.pathsep.join(outside)

    def revoke(self, check: Check) -> None:
        """Remove the approval of a check, if there is one."""
        try:
            os.remove(self._path(check))
        except FileNotFoundError:
            return

    def _is_inside(self, folder: str) -> bool:
        return os.path.join(os.path.realpath(folder), "").startswith(os.path.join(self._project, ""))

    def _stays_inside(self, folder: str) -> bool:
        """Return whether a folder is in the working tree: a pattern means commands there, not those of other trees."""
        return not leaves_tree(folder) and (not folder or self._is_inside(os.path.join(self._project, folder)))

    def _path(self, check: Check) -> str:
        return os.path.join(self._folder, digest("\0".join((self._project, check.folder, *check.command))))

    def _is_listed(self, check: Check) -> bool:
        if not self._allowed or not self._stays_inside(check.folder):
            return False
        from fnmatch import fnmatchcase  # noqa: PLC0415  few people have such a list

        from tildone.views.proofs import check_text  # noqa: PLC0415  the same

        text = check_text(check)
        return any(fnmatchcase(text, pattern) for pattern in self._allowed)
