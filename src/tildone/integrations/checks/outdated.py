"""Entries of ours that an earlier version wrote, or that work on one machine only: installing again mends them."""

from __future__ import annotations

import os
import re

from tildone.integrations.checks.launches import HOOKS, shim_without_constants
from tildone.integrations.settings.edits import ArrayItem, Edit, ObjectMember, WholeFile, get
from tildone.integrations.settings.files import read
from tildone.integrations.settings.ours import is_our_server, program_in
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tildone.integrations.checks.launches import Launch
    from tildone.integrations.settings.site import Site

_BARE_HOOK = re.compile(r"""^(?:'[^']*'|"[^"]*"|\S+)\s+hook\s+[\w-]+(?:\s+[\w.-]+)?$""")
"""A hook's command line that consists of the program and its arguments."""


def outdated(edits: Sequence[Edit], launches: Sequence[Launch], expected: Sequence[Launch], site: Site) -> list[str]:
    """Return what is out of date in the settings files that these edits are made to.

    Raises:
        Refused: a file cannot be read or parsed.
    """
    return [*dict.fromkeys([*_old_entries(edits), *_old_hooks(launches, expected), *_local_paths(launches, site)])]


def _old_entries(edits: Sequence[Edit]) -> Iterator[str]:
    for edit in edits:
        text = read(edit.file)
        if text is None or not text.strip("\ufeff \t\r\n"):
            continue
        match edit:
            case ObjectMember(_, _, entry) if is_our_server(entry):
                present = get(edit, text)
                missing = [key for key in entry if key not in present] if is_our_server(present) else []
                if missing:
                    yield f"the server's entry has no {', '.join(missing)}"
            case WholeFile(file, ours) if file.endswith((".js", ".ts")):
                if shim_without_constants(text) != shim_without_constants(ours):
                    yield f"{os.path.basename(file)} is another version's"
            case ObjectMember() | ArrayItem() | WholeFile():
                pass


def _old_hooks(launches: Sequence[Launch], expected: Sequence[Launch]) -> Iterator[str]:
    """Yield a finding if hooks run the program directly where they now run it in a line that guards against errors."""
    lines = {launch.event: launch.command for launch in expected if launch.part == HOOKS}
    for launch in launches:
        wanted = lines.get(launch.event)
        if launch.part != HOOKS or not isinstance(launch.command, str) or not isinstance(wanted, str):
            continue
        if _BARE_HOOK.match(launch.command) and not _BARE_HOOK.match(wanted):
            yield "a tildone that cannot be started would stop the agent"


def _local_paths(launches: Sequence[Launch], site: Site) -> Iterator[str]:
    """Yield a finding if settings that are shared name the program by a path."""
    if not site.for_user and any(os.path.isabs(program_in(launch.command)) for launch in launches):
        yield "they name tildone by a path of this machine"
