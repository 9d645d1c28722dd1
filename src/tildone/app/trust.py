"""Which commands a person has approved as checks: by typing them, by approving them, or in the list of their settings.

Approvals belong to a person on one machine, not to a plan: a plan that somebody else wrote, or that a model changed,
brings none with it. Each is a file whose name is a hash of the project and of the command as it is run; its content is
for people, except for the PATH of the person who approved it.

An agent in its shell may set the PATH of tildone, so that it does not decide which program is run. For a check that a
pattern allows there is no moment of approval: it has the PATH that the person last approved or ran a check of the
project with. One more file for each project keeps it.
"""

from __future__ import annotations

import os
from enum import Enum

from tildone.base import TYPE_CHECKING
from tildone.plan.model import leaves_tree
from tildone.stores.agents import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tildone.plan.model import Check


_PATH = "PATH="


class Consent(Enum):
    """What a person says to a check that was only proposed: run it never, this time, or whenever it is needed."""

    NO = "no"
    ONCE = "once"
    ALWAYS = "always"


class Approvals:
    """The approved checks in a project. `folder` is where they are kept, `allowed` the patterns of the settings.

    Without a folder, as in a store in memory, only the patterns count. `is_person` returns whether a person runs this
    process, and no agent.
    """

    def __init__(
        self,
        folder: str,
        project: str,
        allowed: Sequence[str] = (),
        is_person: Callable[[], bool] = lambda: True,
    ) -> None:
        self._folder = folder
        self._project = os.path.realpath(project)
        self._allowed = tuple(allowed)
        self._is_person = is_person

    def is_allowed(self, check: Check) -> bool:
        return (self._folder != "" and os.path.exists(self._path(check))) or self._is_listed(check)

    def approve(self, check: Check) -> None:
        """Record that a person has approved the check. Raises OSError if it cannot be recorded."""
        if not self._folder:
            raise OSError("there is no folder for approvals")
        path = os.environ.get("PATH", "")
        self._write(self._path(check), "\n".join((self._project, check.folder, *check.command, f"{_PATH}{path}")))
        self._write(self._persons_path, path)

    def search_path(self, check: Check, current: str) -> str:
        """Return the PATH that the program of a check is looked for in: that of the approval.

        A check without one has that of the person: the current one if a person runs it, else the one that is kept for
        the project, else the current one without what is in the working tree or relative to it.
        """
        approved = self._read(self._path(check)).rpartition("\n")[2]
        if approved.startswith(_PATH):
            return approved.removeprefix(_PATH) or os.defpath
        kept = self._read(self._persons_path)
        if not self._is_person():
            return kept or self._outside(current) or os.defpath
        if current != kept and self._folder:
            try:
                self._write(self._persons_path, current)
            except OSError:
                return current or os.defpath
        return current or os.defpath

    def revoke(self, check: Check) -> None:
        try:
            os.remove(self._path(check))
        except FileNotFoundError:
            return

    @property
    def _persons_path(self) -> str:
        return os.path.join(self._folder, f"{digest(self._project)}.path")

    def _write(self, path: str, text: str) -> None:
        from tildone.base.private import REPLACED, make_private_folder, open_private

        make_private_folder(self._folder)
        with os.fdopen(open_private(path, REPLACED), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)

    def _read(self, path: str) -> str:
        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                return file.read()
        except OSError:
            return ""

    def _outside(self, path: str) -> str:
        folders = path.split(os.pathsep)
        return os.pathsep.join(each for each in folders if os.path.isabs(each) and not self._is_inside(each))

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
        from fnmatch import fnmatchcase

        from tildone.plan.text.proofs import check_text

        text = check_text(check)
        return any(fnmatchcase(text, pattern) for pattern in self._allowed)
