"""Extensions of the host: one for each dialect, all on one skeleton, and one by which people steer the agent.

A dialect with a panel, a command or a countdown of its own has a module here that is named as it is; any other runs on
the skeleton alone.
"""

from __future__ import annotations

from tildone.registry import Registry
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tildone.config import Settings
    from tildone.dialects.base import Dialect
    from tildone.extensions.restoring import OpenSession
    from tildone.host.extension_api import ExtensionAPI

    ExtensionFactory = Callable[[Dialect, OpenSession, Settings], Callable[[ExtensionAPI], None]]

SKELETON = "skeleton"

EXTENSIONS: Registry[ExtensionFactory, None] = Registry(
    __name__, "EXTENSION", dict.fromkeys((SKELETON, "indexed", "phased", "declared"))
)


def extension_of(dialect: Dialect, open_session: OpenSession, settings: Settings) -> Callable[[ExtensionAPI], None]:
    """The extension of a dialect; `open_session` opens the plan's session for a conversation's id."""
    factory = EXTENSIONS[dialect.name if dialect.name in EXTENSIONS else SKELETON]
    return factory(dialect, open_session, settings)
