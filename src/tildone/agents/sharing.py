"""Whether the agents of a project share one plan: a marker file in the project's folder of the registry.

Without it, the project's plan belongs to one agent at a time, and every other agent gets a plan of its own.
"""

from __future__ import annotations

import os

from tildone.errors import StoreError
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.agents.registry import AgentRegistry

MARKER = ".shared"
"""A name with a dot at its beginning never expires."""


def is_shared(agents: AgentRegistry) -> bool:
    """Return whether new agents of the project join the project's plan even if another agent works on it."""
    return os.path.exists(os.path.join(agents.folder, MARKER))


def set_shared(agents: AgentRegistry, *, shared: bool) -> bool:
    """Set whether the project's plan is shared. Return False if nothing changed.

    Raises:
        StoreError: the marker cannot be written or removed.
    """
    if is_shared(agents) == shared:
        return False
    # Late, because hooks only ask whether the plan is shared.
    from tildone.files.private import make_private_folder, open_private  # noqa: PLC0415  see above

    path = os.path.join(agents.folder, MARKER)
    try:
        if shared:
            make_private_folder(agents.folder)
            with os.fdopen(open_private(path, os.O_WRONLY | os.O_CREAT), "w", encoding="utf-8") as file:
                file.write(agents.project)
        else:
            os.remove(path)
    except OSError as error:
        raise StoreError(f"cannot change {path}: {error.strerror}") from error
    return True
